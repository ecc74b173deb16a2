//! The state on disk of a session: what an answer found out is written to it, and it is dropped if it is damaged.

use vigil_git::state_place;
use vigil_store::{NoSteps, PublishOutcome, Steps, StoreError};

use super::Session;
use crate::removal;
use crate::state::{self, State, ToSave};

impl Session {
    /// Writes what is new to the state on disk. Call this after an answer: it saves the next process work, and no client waits
    /// for it.
    ///
    /// # Errors
    /// The state could not be written. No answer depends on that.
    pub fn save(&mut self, steps: &dyn Steps) -> Result<PublishOutcome, StoreError> {
        let saved = self.try_save(steps);
        if let Some(nested) = &mut self.nested {
            nested.save();
        }
        self.copy_state_to_memory();
        saved
    }

    /// Does the same unless somebody may be removing the repository. Only later questions would have been faster for what cannot be
    /// written.
    pub(super) fn save_if_left_alone(&mut self) {
        let folder = state_place::in_repository(&self.repository);
        if !removal::may_be_under_way(&folder) {
            drop(self.take_dropped_states());
            let _ = self.save(&NoSteps);
        }
    }

    fn try_save(&mut self, steps: &dyn Steps) -> Result<PublishOutcome, StoreError> {
        let (Some(state), Some(index)) = (&mut self.state, &mut self.index) else {
            return Ok(PublishOutcome::Unchanged);
        };
        if !index.needs_saving() || !index.is_as_written() || index.tracked.check().is_err() {
            return Ok(PublishOutcome::Unchanged);
        }
        if state.is_superseded() {
            // What is in memory does not match what is published now.
            self.state = State::of(&self.repository, self.mark);
            match self.watched.is_some() {
                // Looking at everything again would cost more than writing everything: the next save replaces what is published.
                true => index.tree_diff = None,
                // The next question starts from what is published.
                false => self.index = None,
            }
            return Ok(PublishOutcome::Superseded);
        }
        let has_replacements = self.objects.history().has_replacements();
        let staged = index.staged.as_ref();
        let staged = staged.filter(|staged| staged.max.is_none() && !has_replacements);
        let published = state.save(
            &ToSave {
                file: &index.file,
                tracked: &index.tracked,
                tree_diff: index.tree_diff.as_ref(),
                memory: index.memory.as_ref(),
                staged: staged.map(|staged| (staged.compared, &*staged.diff)),
                head_tree: index.head_tree.as_ref(),
            },
            steps,
        )?;
        if published.is_on_disk() {
            index.mark_saved();
        }
        if published.is_new() && self.watched.is_some() {
            state.use_published_blocks(&index.file, &mut index.tracked, index.memory.as_mut());
        }
        Ok(published)
    }

    /// Takes the reasons why states on disk were not used since the last call, one line each. They help to find the cause of a
    /// slow answer.
    pub fn take_dropped_states(&mut self) -> Vec<String> {
        self.state
            .as_mut()
            .map(State::take_dropped)
            .unwrap_or_default()
    }

    /// Whether the state on disk turned out to be damaged. If so, it is forgotten, and so is everything derived from it.
    pub(super) fn drop_damaged_state(&mut self) -> bool {
        let tracked = self.index.as_ref().map(|index| &index.tracked);
        let is_damaged = state::forget_if_damaged(self.state.as_mut(), tracked);
        if is_damaged {
            self.index = None;
        }
        is_damaged
    }

    /// Replaces the mapping of the state by a copy in memory, if no file may stay mapped.
    pub(super) fn copy_state_to_memory(&self) {
        if self.holds_no_files
            && let Some(state) = &self.state
        {
            state.copy_to_memory();
        }
    }
}
