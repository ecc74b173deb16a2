//! What only the long format shows: the operation in progress, all branches that the current one is compared with,
//! and how much of a sparse checkout is present.

use std::time::Instant;

use bstr::{BString, ByteSlice};
use vigil_model::index::Entry;

use super::SessionError;
use super::index::IndexState;
use super::looks::Looks;
use super::watched::WatchedFindings;
use crate::status::{LongStatus, SparseState, StatusRequest};
use vigil_git::objects::Objects;
use vigil_git::operation::under_way::OperationState;
use vigil_git::refs::{Head, Refs};
use vigil_git::repository::Repository;
use vigil_git::repository::settings::Settings;
use vigil_git::staged;
use vigil_history::branch::compared_branches;
use vigil_rules::sparse::{AbsentPaths, percent_present};

/// The parts of a session that the long format needs.
pub(super) struct LongQuestion<'s> {
    pub(super) repository: &'s Repository,
    pub(super) settings: &'s Settings,
    pub(super) refs: &'s Refs,
    pub(super) objects: &'s Objects,
    /// The index that was read last.
    pub(super) index: &'s IndexState,
    pub(super) watched: Option<&'s WatchedFindings>,
}

impl LongQuestion<'_> {
    /// Returns what only the long format shows, for the index that was read last and everything else as it is now.
    /// `stays_sparse` means that git works with a sparse index to the end.
    pub(super) fn status(
        &self,
        request: &StatusRequest,
        head: &Head,
        stays_sparse: bool,
        warnings: &mut Vec<BString>,
    ) -> Result<LongStatus, SessionError> {
        let under_way = OperationState::detect(self.repository, self.refs, self.objects)?;
        let sparse = self.sparse_state(stays_sparse)?;
        let comparison_start = Instant::now();
        let compared = match head {
            Head::Branch { name, id: Some(id) } => compared_branches(
                self.repository,
                self.refs,
                self.objects,
                name.as_bstr(),
                *id,
                request.ahead_behind,
                warnings,
            )?,
            Head::Branch { id: None, .. } | Head::Detached(_) => Vec::new(),
        };
        Ok(LongStatus {
            under_way,
            compared,
            compared_in: comparison_start.elapsed(),
            sparse,
            ..LongStatus::default()
        })
    }

    fn sparse_state(&self, stays_sparse: bool) -> Result<Option<SparseState>, SessionError> {
        let state = self.index;
        if !self.settings.sparse_checkout || state.tracked.sums().entries == 0 {
            return Ok(None);
        }
        if stays_sparse {
            return Ok(Some(SparseState::SparseIndex));
        }
        // A sparse index is expanded by what is present, and so is its tree.
        let heard = self.watched.and_then(WatchedFindings::heard_tree);
        let heard = heard.filter(|_| state.written_sparse.is_none() && !self.settings.ignore_case);
        let percent = match &heard {
            None => self.percent()?,
            Some(heard) => match state.presence.percent(heard, &state.tracked) {
                Some(percent) => percent,
                None => state.presence.keep(heard, || self.percent())?,
            },
        };
        Ok(percent.map(SparseState::Percent))
    }

    /// Returns the percentage of the tracked files that are present.
    fn percent(&self) -> Result<Option<usize>, SessionError> {
        let state = self.index;
        let index = state.whole(self.repository)?;
        let top = self.repository.require_work_tree()?;
        let expects_present = self.settings.expects_files_outside;
        // Without a sparse index, git also counts the files of sparse directories. In a split index it does not
        // notice that the index is sparse.
        let expanded;
        let index = if index.is_sparse() && state.file.shared.is_none() {
            expanded = staged::expand_sparse_directories(index.clone(), self.objects, |_| true)?;
            &expanded
        } else {
            index
        };
        let mut absent = AbsentPaths::default();
        let mut looks = Looks::new(top);
        let mut is_absent = |entry: &Entry| {
            entry.flags.is_skip_worktree()
                && (expects_present
                    || absent.is_absent(index.path(entry), |path| looks.lstat(path).is_ok()))
        };
        let skipped = index
            .entries()
            .iter()
            .filter(|entry| is_absent(entry))
            .count();
        Ok(percent_present(index.entries().len(), skipped))
    }
}
