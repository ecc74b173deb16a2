//! The sparse index as git works with it in memory: which directories are one entry of it.

use std::path::Path;

use bstr::{BStr, BString, ByteSlice};
use vigil_model::index::Index;
use vigil_model::tracked::Tracked;

use super::error::SessionError;
use super::index::IndexState;
use super::looks::Looks;
use crate::status::StatusRequest;
use vigil_git::repository::Repository;
use vigil_git::repository::settings::Settings;
use vigil_model::request::UntrackedMode;
use vigil_rules::sparse::SparseCheckout;

/// A sparse index that git works with.
pub(super) struct Collapsed<'s> {
    entries: Entries<'s>,
    checkout: SparseCheckout,
    /// Whether a directory that is one entry is in the working tree nevertheless.
    has_present_directory: bool,
}

enum Entries<'s> {
    /// The index has all files: git collapses them.
    Full(&'s Index),
    /// The index was written as a sparse one, and git collapses no more of it.
    Written {
        tracked: &'s Tracked,
        /// Directories that are one entry on disk but expanded to their files in memory, with a trailing `/`.
        expanded: &'s [BString],
    },
}

impl<'s> Collapsed<'s> {
    /// Returns how the index of `state` is sparse; `None` if git works with all entries.
    pub(super) fn of(
        repository: &Repository,
        settings: &Settings,
        state: &'s IndexState,
        warnings: &mut Vec<BString>,
    ) -> Result<Option<Self>, SessionError> {
        let expects_present = settings.expects_files_outside;
        let Some(checkout) = state.collapsing_rules(repository, settings, warnings)? else {
            return Ok(None);
        };
        let (entries, has_present) = match &state.written_sparse {
            Some(written) => {
                let expanded = written.expanded.as_slice();
                let entries = Entries::Written {
                    tracked: &state.tracked,
                    expanded,
                };
                (entries, written.has_present_directory)
            }
            None => {
                let index = state.whole(repository)?;
                let top = repository.require_work_tree()?;
                let has_present = has_present_sparse_directory(index, &checkout, top);
                (Entries::Full(index), has_present)
            }
        };
        Ok((expects_present || !has_present).then_some(Self {
            entries,
            checkout,
            has_present_directory: has_present,
        }))
    }

    /// Whether it stays sparse: searching for untracked files in a directory that is one entry needs all entries.
    /// `is_searched` tells whether a directory is searched.
    pub(super) fn stays_sparse(
        &self,
        request: &StatusRequest,
        is_searched: impl Fn(&BStr) -> bool,
    ) -> bool {
        if !self.has_present_directory || request.untracked == UntrackedMode::No {
            return true;
        }
        match &self.entries {
            Entries::Full(_) => false,
            Entries::Written { expanded, .. } => !expanded
                .iter()
                .any(|dir| is_searched(dir.strip_suffix(b"/").unwrap_or(dir).as_bstr())),
        }
    }

    /// Whether git needs all entries to look up the attributes of `path`. That is so if `path` lies below a directory
    /// that is one entry although the cone now includes it (because its rules were edited, or case no longer counts):
    /// git then looks in the index for the `.gitattributes` of a directory in between.
    pub(super) fn expands_for_attributes(&self, path: &BStr) -> bool {
        if matches!(self.entries, Entries::Full(_)) {
            return false;
        }
        let Some(outside) = self.directory_above(path) else {
            return false;
        };
        let first = outside.len().saturating_sub(1);
        path.find_iter("/")
            .skip_while(|slash| *slash < first)
            .filter_map(|slash| path.get(..=slash))
            .any(|directory| self.checkout.in_checkout(directory.as_bstr()))
    }

    /// The highest directory above `path`, with a trailing `/`, that is one entry, or would be if it were in the index.
    pub(super) fn directory_above<'p>(&self, path: &'p BStr) -> Option<&'p BStr> {
        let (tracked, expanded) = match self.entries {
            Entries::Full(index) => return collapsed_above(index, &self.checkout, path),
            Entries::Written { tracked, expanded } => (tracked, expanded),
        };
        if let Some(directory) = expanded.iter().find(|dir| path.starts_with(dir)) {
            return path.get(..directory.len()).map(BStr::new);
        }
        path.find_iter("/").find_map(|slash| {
            let directory = path.get(..=slash)?.as_bstr();
            let name = path.get(..slash)?.as_bstr();
            let is_one = match tracked.find_directory(name) {
                // If a file has its name, the directory is walked.
                None => !self.checkout.in_checkout(directory) && tracked.find(name, 0).is_none(),
                Some(number) => {
                    let below = tracked.directory(number);
                    let only = below.file(0).filter(|_| below.sums().entries == 1);
                    only.is_some_and(|only| only.mode().is_tree())
                }
            };
            is_one.then_some(directory)
        })
    }
}

/// Whether a directory that would be one entry of the sparse index is in the working tree: git then works with all
/// entries.
fn has_present_sparse_directory(index: &Index, checkout: &SparseCheckout, top: &Path) -> bool {
    let mut last: Option<BString> = None;
    let mut looks = Looks::new(top);
    index.entries().iter().any(|entry| {
        let path = index.path(entry);
        if !entry.flags.is_skip_worktree()
            || last.as_ref().is_some_and(|last| path.starts_with(last))
        {
            return false;
        }
        let Some(directory) = collapsed_above(index, checkout, path) else {
            return false;
        };
        last = Some(directory.to_owned());
        looks.lstat(directory).is_ok()
    })
}

/// The highest directory above `path`, with a trailing `/`, that is outside the checkout with everything below it.
fn collapsed_above<'p>(
    index: &Index,
    checkout: &SparseCheckout,
    path: &'p BStr,
) -> Option<&'p BStr> {
    path.find_iter("/").find_map(|slash| {
        let directory = path.get(..=slash)?.as_bstr();
        if checkout.in_checkout(directory) {
            return None;
        }
        let below = index.range_of_directory(path.get(..slash)?.as_bstr());
        let entries = index.entries().get(below)?;
        let is_collapsible = entries.iter().all(|entry| {
            entry.flags.is_skip_worktree() && entry.flags.stage() == 0 && !entry.mode.is_gitlink()
        });
        is_collapsible.then_some(directory)
    })
}
