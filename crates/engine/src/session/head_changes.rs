//! HEAD's tree, and how the index differs from it.

use std::sync::Arc;

use bstr::{BStr, ByteSlice};
use gix_hash::ObjectId;
use gix_object::Kind;
use vigil_model::index::{Entry, Index};
use vigil_model::timestamp::Timestamp;

use super::SessionError;
use super::collapsed::Collapsed;
use super::head_tree::{Check, explained, tree_of};
use super::index::{IndexState, StagedMemory};
use super::known_renames::KnownRenames;
use super::object_mode::ObjectModes;
use super::path_question::PathQuestion;
use crate::state::{HeadTree, StagedBase, State};
use vigil_git::objects::Objects;
use vigil_git::refs::Head;
use vigil_git::repository::Repository;
use vigil_git::repository::settings::Settings;
use vigil_git::staged::{self, SparseDirectory, StagedDiff, TreeSource, Walk};
use vigil_rules::attributes::Attributes;
use vigil_rules::pathspec::Pathspec;
use vigil_scan::PathFilter;

/// The parts of a session that a comparison of HEAD with the index needs.
pub(super) struct HeadComparison<'s> {
    pub(super) repository: &'s Repository,
    pub(super) settings: &'s Settings,
    pub(super) objects: &'s Objects,
    pub(super) attributes: &'s Attributes,
    /// The state on disk, only in a process that answers one question: a longer-lived one may have read HEAD's tree
    /// before other object files appeared.
    pub(super) state: Option<&'s State>,
    /// When the process began to look.
    pub(super) session_started_at: Timestamp,
}

impl HeadComparison<'_> {
    /// Compares HEAD with the index. Of a sparse index, git looks only where `pathspec` does. With `max`, finds at least
    /// that many changes, if there are.
    ///
    /// # Errors
    /// HEAD or the index cannot be read. For a damaged object, the error has all of git's lines.
    pub(super) fn staged(
        &self,
        index: Option<&mut IndexState>,
        head: &Head,
        max: Option<usize>,
        pathspec: &Pathspec,
    ) -> Result<Arc<StagedDiff>, SessionError> {
        self.compared(index, head, max, pathspec)
            .map_err(|error| explained(self.repository, head, self.objects, error))
    }

    fn compared(
        &self,
        index: Option<&mut IndexState>,
        head: &Head,
        max: Option<usize>,
        pathspec: &Pathspec,
    ) -> Result<Arc<StagedDiff>, SessionError> {
        let Some(state) = index else {
            if head.commit().and_then(|id| self.known_tree(&id)).is_none() {
                self.head_tree(head, Check::Contents)?;
            }
            return Ok(Arc::default());
        };
        if self.has_no_cache_tree(state)? {
            let tree = self.head_tree(head, Check::Contents)?;
            let walk = Walk {
                max,
                topmost_sparse: &|_| None,
                uses_cache_tree: false,
            };
            return self.staged_by_walk(state, tree, walk);
        }
        // The two ways differ only in how deep directories lie.
        let plain = self.staged_by_path(state, head, max);
        let depth_max = self.objects.depth_max();
        let is_deep = match &plain {
            Ok(diff) => has_deeper_than(diff, depth_max),
            Err(SessionError::Staged(staged::Error::TooDeep { .. })) => true,
            Err(_) => false,
        };
        if !is_deep {
            return plain;
        }
        let state = &*state;
        let collapsed = self.collapsed(state)?;
        let has_new_cache_tree = self.has_new_cache_tree(state, collapsed.is_some())?;
        if collapsed.is_none() && !has_new_cache_tree {
            return plain;
        }
        let top = self.repository.require_work_tree()?;
        let modes = ObjectModes::new(top, self.repository, &state.tracked);
        let question = PathQuestion::new(pathspec, self.attributes, modes);
        let index = state.whole(self.repository)?;
        let topmost_sparse = |path: &BStr| {
            let collapsed = collapsed.as_ref();
            match collapsed.and_then(|collapsed| collapsed.directory_above(path)) {
                Some(directory) => Some(SparseDirectory {
                    depth: depth(directory),
                    is_compared: pathspec.is_empty() || question.matches(directory, true),
                }),
                None => (has_new_cache_tree && !has_intent_to_add(index, path)).then_some(
                    SparseDirectory {
                        depth: 0,
                        is_compared: true,
                    },
                ),
            }
        };
        let tree = self.head_tree(head, Check::Contents)?;
        let walk = Walk {
            max,
            topmost_sparse: &topmost_sparse,
            uses_cache_tree: true,
        };
        self.staged_by_walk(state, tree, walk)
    }

    fn staged_by_walk(
        &self,
        state: &IndexState,
        tree: Option<ObjectId>,
        walk: Walk<'_>,
    ) -> Result<Arc<StagedDiff>, SessionError> {
        let index = state.whole(self.repository)?;
        let diff = staged::diff_with(tree.as_deref(), index, self.objects, walk)?;
        Ok(Arc::new(diff))
    }

    /// Whether git loses the cache-tree when it expands a sparse index: with conflicts it cannot build a new one, and so
    /// enters all directories.
    fn has_no_cache_tree(&self, state: &IndexState) -> Result<bool, SessionError> {
        let is_conflicted = state.written_sparse.is_some() && state.tracked.sums().conflicted > 0;
        Ok(is_conflicted && self.collapsed(state)?.is_none())
    }

    fn collapsed<'i>(&self, state: &'i IndexState) -> Result<Option<Collapsed<'i>>, SessionError> {
        Collapsed::of(self.repository, self.settings, state, &mut Vec::new())
    }

    /// Whether git builds a new cache-tree, as it does when it makes an index sparse and when it expands one. A directory
    /// that is as in HEAD is then skipped, however deep, unless an intent to add is recorded in it.
    fn has_new_cache_tree(
        &self,
        state: &IndexState,
        is_collapsed: bool,
    ) -> Result<bool, SessionError> {
        Ok(state.tracked.sums().conflicted == 0
            && match &state.written_sparse {
                Some(_) => !is_collapsed,
                None => state
                    .collapsing_rules(self.repository, self.settings, &mut Vec::new())?
                    .is_some(),
            })
    }

    /// Compares HEAD with the index, directory by directory; from memory if neither changed. With `max`, finds at least
    /// that many changes, if there are.
    fn staged_by_path(
        &self,
        state: &mut IndexState,
        head: &Head,
        max: Option<usize>,
    ) -> Result<Arc<StagedDiff>, SessionError> {
        let head_id = head.commit();
        if let Some(known) = &state.staged
            && known.head == head_id
            && (known.max.is_none() || known.max == max)
            // git reads the commit and its tree each time, and gives up if they are gone.
            && known.compared.tree == self.head_tree(head, Check::Presence)?
        {
            return Ok(known.diff.clone());
        }
        let known = head_id.and_then(|id| self.known_tree(&id));
        let tree = match &known {
            Some(known) => Some(known.tree),
            None => self.head_tree(head, Check::Contents)?,
        };
        let is_known = known.is_some();
        let told = known.or_else(|| self.head_tree_to_record(head_id?, tree?));
        state.is_dirty |= !is_known && told.is_some();
        state.head_tree = told;
        let recorded = state.recorded_staged.take();
        let compared = StagedBase {
            tree,
            depth_max: self.objects.depth_max(),
        };
        let recorded = recorded.filter(|(known, _)| *known == compared);
        let (diff, max) = match recorded.filter(|_| !self.objects.history().has_replacements()) {
            Some((_, diff)) => (diff, None),
            None => {
                state.is_dirty = true;
                let walked = match &state.cache_tree {
                    Some(cache_tree) => {
                        let index = (&state.tracked, cache_tree.as_ref());
                        staged::diff_tracked(tree.as_deref(), index, self.objects, max)?
                    }
                    None => None,
                };
                let diff = match walked {
                    Some(diff) => diff,
                    None => {
                        let index = state.whole(self.repository)?;
                        staged::diff(tree.as_deref(), index, self.objects, max)?
                    }
                };
                // A comparison that found fewer is complete.
                let max = max.filter(|max| diff.changes.len() >= *max);
                (diff, max)
            }
        };
        let diff = Arc::new(diff);
        state.staged = Some(StagedMemory {
            head: head_id,
            compared,
            diff: diff.clone(),
            max,
            renames: KnownRenames::default(),
        });
        Ok(diff)
    }

    /// Returns the tree of the commit that HEAD names; `None` on an unborn branch. The tree must exist even if it is not
    /// needed: git gives up without it.
    fn head_tree(&self, head: &Head, check: Check) -> Result<Option<ObjectId>, SessionError> {
        let Some(id) = head.commit() else {
            return Ok(None);
        };
        tree_of(self.objects, &id, check).map(Some)
    }

    /// Returns HEAD's tree as an earlier process found it, if the commit `id` and its tree are certain to be there still.
    pub(super) fn known_tree(&self, id: &ObjectId) -> Option<HeadTree> {
        let known = self
            .state?
            .head_tree()
            .filter(|known| known.commit == *id)?;
        self.objects
            .would_read_the_same(&known.files)
            .then_some(known)
    }

    /// Returns the record for the next process that HEAD names `id`, with `tree`, if the files of both are at rest.
    fn head_tree_to_record(&self, id: ObjectId, tree: ObjectId) -> Option<HeadTree> {
        let state = self.state?;
        let files = self
            .objects
            .evidence(&[id, tree], self.session_started_at)?;
        // HEAD may name a tag.
        let is_commit = self.objects.kind(&id).ok()? == Some(Kind::Commit);
        (is_commit && state.trusts_stamps_of(&files)).then_some(HeadTree {
            commit: id,
            tree,
            files,
        })
    }
}

/// Whether a change lies in a directory deeper than `depth_max`.
pub(super) fn has_deeper_than(diff: &StagedDiff, depth_max: i64) -> bool {
    let is_more = |count: usize| i64::try_from(count).is_ok_and(|count| count > depth_max);
    let mut paths = diff.changes.iter().map(|change| change.path.as_bstr());
    // Most paths are too short for that.
    paths.any(|path| is_more(path.len()) && is_more(depth(path)))
}

/// Whether any entry below `directory`, which ends in `/`, only records the intent to add.
fn has_intent_to_add(index: &Index, directory: &BStr) -> bool {
    let is_below = |entry: &&Entry| index.path(entry).starts_with(directory);
    let mut below = index.entries().iter().filter(is_below);
    below.any(|entry| entry.flags.is_intent_to_add())
}

/// The number of directories above a path, or the depth of a directory that ends in `/`.
fn depth(path: &BStr) -> usize {
    path.iter().filter(|byte| **byte == b'/').count()
}
