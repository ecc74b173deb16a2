//! The state on disk of a session: what an answer found out is written to it, and it is dropped if it is damaged.

use vigil_model::HashKind;
use vigil_store::{PublishOutcome, Steps, StoreError};

use super::recorded::Recorded;
use super::{HgSession, in_repository};
use crate::state::{self, State, StateReport, ToSave};

impl HgSession {
    /// Opens the state, if the session was given a place for one and has none open.
    pub(super) fn open_state(&mut self) {
        if self.state.is_none() && !self.places.is_empty() {
            let in_repository = in_repository(&self.dot_hg);
            let stores = self.places.clone();
            self.state = Some(State::open(in_repository, stores, &self.root, self.mark));
        }
    }

    /// Reports on the state on disk; `None` if the session was given no place for one.
    pub fn state_report(&mut self) -> Option<StateReport> {
        self.open_state();
        let path = self.dot_hg.join("dirstate");
        let state = self.state.as_ref()?;
        Some(state.report(HashKind::Sha1, &path))
    }

    /// Writes to the state on disk what it lacks. Call this after an answer.
    ///
    /// # Errors
    /// The state could not be written. No answer depends on that.
    pub fn save(&mut self, steps: &dyn Steps) -> Result<PublishOutcome, StoreError> {
        let recorded = self.recorded.as_ref();
        if !recorded.is_some_and(Recorded::needs_saving) || self.drop_damaged_state() {
            return Ok(PublishOutcome::Unchanged);
        }
        let (Some(state), Some(recorded)) = (&mut self.state, &mut self.recorded) else {
            return Ok(PublishOutcome::Unchanged);
        };
        if state.is_superseded() {
            // What is in memory does not belong to the state that is published now.
            self.state = None;
            match self.watched.is_some() {
                // Looking at everything again would cost more than writing it all: the next save replaces the published state.
                true => {
                    recorded.tree_diff = None;
                    self.open_state();
                }
                // The next question starts from the published state.
                false => self.recorded = None,
            }
            return Ok(PublishOutcome::Superseded);
        }
        let published = state.save(
            &ToSave {
                file: &recorded.file,
                tracked: &recorded.tracked,
                tree_diff: recorded.tree_diff.as_ref(),
                memory: recorded.memory.as_ref(),
                staged: None,
                head_tree: None,
            },
            steps,
        )?;
        if published.is_on_disk() {
            recorded.mark_saved();
        }
        if published.is_new() && self.watched.is_some() {
            let memory = recorded.memory.as_mut();
            state.use_published_blocks(&recorded.file, &mut recorded.tracked, memory);
        }
        Ok(published)
    }

    /// Replaces the mappings of the state and the dirstate by copies in memory, if there is room for them.
    pub(super) fn copy_files_to_memory(&self) {
        if let Some(state) = &self.state {
            state.copy_to_memory();
        }
        if let Some(recorded) = &self.recorded {
            recorded.dirstate.copy_to_memory();
        }
    }

    /// Whether the state on disk turned out to be damaged. If so, forgets it and what was made of it.
    pub(super) fn drop_damaged_state(&mut self) -> bool {
        let tracked = self.recorded.as_ref().map(|recorded| &recorded.tracked);
        let is_damaged = state::forget_if_damaged(self.state.as_mut(), tracked);
        if is_damaged {
            self.recorded = None;
        }
        is_damaged
    }
}
