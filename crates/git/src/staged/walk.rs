//! Walks over trees and index side by side. It has its own stack, because git allows deeper nesting than a thread's stack
//! may.

use std::cmp::Ordering;

use bstr::{BStr, BString, ByteSlice};
use gix_hash::{Kind, ObjectId, oid};
use vigil_model::index::{CacheTree, Index};
use vigil_model::path::has_impossible_component;
use vigil_model::tracked::{ROOT, Tracked};

use super::change::{FileState, StagedChange, StagedDiff, UnmergedPath};
use super::error::Error;
use super::index_side::{Child, Cursor, InConflict, Item, Members, NewSide};
use super::tree_source::TreeSource;

/// How to compare HEAD and the index.
#[derive(Clone, Copy)]
pub struct Walk<'a> {
    /// The number of changes after which the walk ends (at least 1).
    pub max: Option<usize>,
    /// Returns the topmost directory that is one entry of the index git works with: the one at the given path (with a `/`
    /// at its end), or one above it. Only called for directories deeper than `core.maxTreeDepth`.
    pub topmost_sparse: &'a dyn Fn(&BStr) -> Option<SparseDirectory>,
    /// Whether to consult the index's cache-tree.
    pub uses_cache_tree: bool,
}

impl Walk<'_> {
    pub(super) fn plain(max: Option<usize>) -> Self {
        Self {
            max,
            topmost_sparse: &|_| None,
            uses_cache_tree: true,
        }
    }
}

/// A directory that is one entry of a sparse index, or would be if the index contained it. git compares it as `diff-tree`
/// compares two trees: depth is counted from there, and equal trees are not entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SparseDirectory {
    /// Its own depth; 1 at the top. 0 if it is the whole index, in which git skips what is the same as in HEAD.
    pub depth: usize,
    /// Whether git looks into it: no pathspec excludes it.
    pub is_compared: bool,
}

/// The most changes that are collected: a few times the files of the largest repositories. Some trees, each with the one below it
/// several times, would make billions.
const CHANGES_MAX: usize = match cfg!(test) {
    true => 100_000,
    false => 1 << 24,
};

/// Why a walk ends early.
pub(super) enum Stop {
    /// As many changes as requested have been found.
    Enough,
    /// The cache-tree's counts contradict the entries, or a path has components that only a tree can have: the caller has
    /// to compare the index entry by entry.
    InconsistentIndex,
    /// A tree cannot be used.
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// A directory being compared.
struct Frame<'i> {
    head: Option<Cursor>,
    new: NewSide<'i>,
    /// The directory's node in the cache-tree.
    node: Option<&'i CacheTree>,
    /// The length of the parent directory's path.
    outer_len: usize,
}

enum Step<'i> {
    Next,
    Enter(Frame<'i>),
    /// Continues from this position in the index.
    SkipTo(usize),
    Leave,
}

pub(super) struct Walker<'t> {
    hash: Kind,
    trees: &'t dyn TreeSource,
    max: usize,
    topmost_sparse: &'t dyn Fn(&BStr) -> Option<SparseDirectory>,
    uses_cache_tree: bool,
    /// From this depth on, any difference is an error, because it is deeper than allowed.
    too_deep_from: Option<usize>,
    /// Whether that depth is counted from a directory that is one entry.
    too_deep_in_sparse: bool,
    found: StagedDiff,
    /// The directory being walked, with a `/` at its end, or empty at the top.
    path: Vec<u8>,
    /// Buffers for tree objects, reused from one directory to the next.
    spare: Vec<Vec<u8>>,
    /// Whether the cache-tree's counts apply to these entries: the index is as it was written.
    has_counts: bool,
    /// Whether entries have positions in the index.
    has_positions: bool,
}

impl<'t> Walker<'t> {
    pub(super) fn new(hash: Kind, trees: &'t dyn TreeSource, walk: Walk<'t>) -> Self {
        Self {
            hash,
            trees,
            max: walk.max.unwrap_or(usize::MAX),
            topmost_sparse: walk.topmost_sparse,
            uses_cache_tree: walk.uses_cache_tree,
            too_deep_from: None,
            too_deep_in_sparse: false,
            found: StagedDiff::default(),
            path: Vec::new(),
            spare: Vec::new(),
            has_counts: false,
            has_positions: true,
        }
    }

    /// Returns what was found, sorted even if a malformed tree or index was not.
    pub(super) fn into_diff(mut self) -> StagedDiff {
        self.found.changes.sort_by(|a, b| a.path.cmp(&b.path));
        self.found.unmerged.sort_by(|a, b| a.path.cmp(&b.path));
        self.found.unmerged.dedup_by(|a, b| a.path == b.path);
        self.found
    }

    /// Compares the tree `head` with the whole of `index`.
    pub(super) fn index(&mut self, head: Option<&oid>, index: &Index) -> Result<(), Stop> {
        self.has_counts = !index.is_expanded();
        let new = Child::Index {
            index,
            range: 0..index.entries().len(),
        };
        let cache_tree = index.cache_tree().filter(|_| self.uses_cache_tree);
        self.run(head.map(ObjectId::from), new, cache_tree)
    }

    /// As [`Self::index`], for the tracked files of an index with this `cache_tree`.
    pub(super) fn tracked(
        &mut self,
        head: Option<&oid>,
        tracked: &Tracked,
        cache_tree: Option<&CacheTree>,
    ) -> Result<(), Stop> {
        self.has_counts = true;
        self.has_positions = false;
        let new = Child::Tracked {
            tracked,
            number: ROOT,
            entries: tracked.sums().entries as usize,
        };
        self.run(head.map(ObjectId::from), new, cache_tree)
    }

    /// Reports all files of the tree `id` as added below `path`, which ends in `/`.
    pub(super) fn sparse_directory(&mut self, path: &BStr, id: &oid) -> Result<(), Stop> {
        self.path = path.to_vec();
        self.run(None, Child::Tree(id.into()), None)
    }

    fn run<'i>(
        &mut self,
        head: Option<ObjectId>,
        new: Child<'i>,
        node: Option<&'i CacheTree>,
    ) -> Result<(), Stop> {
        let Ok(depth_max) = usize::try_from(self.trees.depth_max()) else {
            // git does not even compare the top directories then.
            let id = head.unwrap_or_else(|| self.hash.null());
            return Err(Error::TooDeep { id }.into());
        };
        let Step::Enter(top) = self.open(b"", head, new, node)? else {
            return Ok(());
        };
        let mut stack = vec![top];
        while let Some(frame) = stack.last_mut() {
            match self.step(frame)? {
                Step::Next => {}
                Step::Enter(frame) => {
                    if stack.len() > depth_max {
                        self.enter_deep(&frame, stack.len(), depth_max)?;
                    }
                    stack.push(frame);
                }
                Step::SkipTo(position) => {
                    for frame in &mut stack {
                        frame.new.skip_to(position);
                    }
                }
                Step::Leave => {
                    let left = stack.pop();
                    self.leave(left);
                    self.too_deep_from = self.too_deep_from.filter(|depth| *depth < stack.len());
                }
            }
        }
        Ok(())
    }

    fn too_deep(&self, frame: &Frame<'_>) -> Error {
        let head = frame.head.as_ref();
        Error::TooDeep {
            id: head.map_or_else(|| self.hash.null(), |head| head.id),
        }
    }

    /// Enters a directory deeper than `depth_max`, at `depth`, if that is allowed.
    fn enter_deep(
        &mut self,
        frame: &Frame<'_>,
        depth: usize,
        depth_max: usize,
    ) -> Result<(), Stop> {
        match (self.topmost_sparse)(self.path.as_bstr()) {
            None if frame.has_tree() => return Err(self.too_deep(frame).into()),
            Some(one)
                if one.is_compared
                    && self.too_deep_from.is_none()
                    && depth.saturating_sub(one.depth) > depth_max =>
            {
                self.too_deep_from = Some(depth);
                self.too_deep_in_sparse = one.depth > 0;
            }
            None | Some(_) => {}
        }
        Ok(())
    }

    /// Compares the next item in a directory.
    fn step<'i>(&mut self, frame: &mut Frame<'i>) -> Result<Step<'i>, Stop> {
        let head = frame.head.as_ref().map_or(Ok(None), Cursor::peek)?;
        let new = frame.new.peek(self.path.len())?;
        if let Some(Item::File { name, .. }) = &new
            && has_impossible_component(name)
        {
            // The name contains slashes, and a tree may have the directories in it.
            return Err(Stop::InconsistentIndex);
        }
        let order = match (&head, &new) {
            (None, None) => return Ok(Step::Leave),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(head), Some(new)) => head.key.cmp(&new.key()),
        };
        let head = head.filter(|_| order.is_le());
        let new = new.filter(|_| order.is_ge());
        let Some(key) = head.map(|head| head.key).or(new.as_ref().map(Item::key)) else {
            return Ok(Step::Leave);
        };
        let advance = (
            head.map_or(0, |head| head.len),
            new.as_ref().map_or(0, |item| item.len(self.path.len())),
        );
        let step = if key.is_dir {
            let absent = Child::Absent(frame.new.position());
            let child = new.map_or(absent, |item| item.into_child(self.path.len(), advance.1));
            let node = frame.node.and_then(|node| node.child(key.name));
            self.open(key.name, head.map(|head| head.id), child, node)?
        } else {
            let head = head.map(|head| FileState {
                mode: head.mode,
                id: head.id,
            });
            let outer_len = self.path.len();
            self.path.extend_from_slice(key.name);
            self.file(head, new)?;
            self.path.truncate(outer_len);
            Step::Next
        };
        frame.advance(advance);
        Ok(step)
    }

    /// Starts to compare the directory `name`, unless both sides are known to be the same tree.
    ///
    /// git relies on the cache-tree for that, and skips as many entries as the cache-tree counts. If an index contradicts
    /// its cache-tree, which git itself can cause, those are entries of other directories, or too few. At the top git
    /// does not consult the cache-tree.
    fn open<'i>(
        &mut self,
        name: &[u8],
        head: Option<ObjectId>,
        mut new: Child<'i>,
        mut node: Option<&'i CacheTree>,
    ) -> Result<Step<'i>, Stop> {
        let mut is_counted = false;
        let is_same_tree = matches!((&head, &new), (Some(head), Child::Tree(id)) if head == id);
        if is_same_tree {
            return Ok(Step::Next);
        }
        if let Some(head) = head.as_ref()
            && !name.is_empty()
            && let Some(count) = node.and_then(|node| count_if_tree(node, head))
            && let Some(mut range) = new.range()
        {
            let end = range.start.saturating_add(count);
            if end == range.end {
                return Ok(Step::Next);
            }
            if self.has_counts {
                if !self.has_positions {
                    return Err(Stop::InconsistentIndex);
                }
                if end > range.end {
                    return Ok(Step::SkipTo(end));
                }
                range.start = end;
                (new, node, is_counted) = (new.with_range(range), None, true);
            }
        }
        let head = head.filter(|_| !is_counted);
        let frame = Frame {
            head: head.map(|id| self.read_tree(name, id)).transpose()?,
            new: match new {
                Child::Absent(at) => NewSide::Absent(at),
                Child::Tree(id) => NewSide::Tree(self.read_tree(name, id)?),
                Child::Index { index, range } => NewSide::Index { index, range },
                Child::Tracked {
                    tracked, number, ..
                } => NewSide::Tracked(Box::new(Members::new(tracked, number))),
            },
            node,
            outer_len: self.path.len(),
        };
        self.path.extend_from_slice(name);
        if !name.is_empty() {
            self.path.push(b'/');
        }
        Ok(Step::Enter(frame))
    }

    fn leave(&mut self, frame: Option<Frame<'_>>) {
        let Some(frame) = frame else { return };
        self.path.truncate(frame.outer_len);
        self.spare.extend(frame.head.map(|cursor| cursor.data));
        if let NewSide::Tree(cursor) = frame.new {
            self.spare.push(cursor.data);
        }
    }

    /// Compares the file at the current path.
    fn file(&mut self, head: Option<FileState>, new: Option<Item<'_, '_>>) -> Result<(), Stop> {
        let new = match new.map_or(Ok(None), |new| new.state()) {
            Ok(new) => new,
            Err(InConflict) => {
                self.found.unmerged.push(UnmergedPath {
                    path: self.path.as_slice().into(),
                    head_mode: head.map_or_else(Default::default, |head| head.mode),
                    head_id: head.map_or_else(|| self.hash.null(), |head| head.id),
                });
                return Ok(());
            }
        };
        if let Some(change) = StagedChange::between(&self.path, head, new, self.hash) {
            if self.too_deep_from.is_some() {
                return Err(match self.too_deep_in_sparse {
                    true => Error::TooDeepInOneEntry { path: change.path },
                    false => Error::TooDeep { id: change.head_id },
                }
                .into());
            }
            if self.found.changes.len() >= CHANGES_MAX {
                return Err(Error::TooMany.into());
            }
            self.found.changes.push(change);
            if self.found.changes.len() >= self.max {
                return Err(Stop::Enough);
            }
        }
        Ok(())
    }

    /// Reads the tree `id` of the directory `name` inside the current one.
    fn read_tree(&mut self, name: &[u8], id: ObjectId) -> Result<Cursor, Stop> {
        let path = || match name {
            b"" => BString::default(),
            _ => [&self.path, name, b"/"].concat().into(),
        };
        let mut data = self.spare.pop().unwrap_or_default();
        data.clear();
        // git knows the empty tree even if it is not in the database.
        let found = id.is_empty_tree() || {
            let read = self.trees.tree(&id, &mut data);
            read.map_err(|source| Error::Unreadable {
                id,
                path: path(),
                source,
            })?
        };
        if !found {
            return Err(Error::Missing { id, path: path() }.into());
        }
        Ok(Cursor { id, data, at: 0 })
    }
}

impl Frame<'_> {
    /// Whether a tree object is read for it: only then is its depth limited.
    fn has_tree(&self) -> bool {
        self.head.is_some() || matches!(self.new, NewSide::Tree(_))
    }

    fn advance(&mut self, (head_len, new_len): (usize, usize)) {
        if let Some(cursor) = &mut self.head {
            cursor.at = cursor.at.saturating_add(head_len);
        }
        self.new.advance(new_len);
    }
}

/// Returns how many index entries a directory has, if the cache-tree says that it is the tree `id`.
fn count_if_tree(node: &CacheTree, id: &oid) -> Option<usize> {
    let (count, tree) = node.tree?;
    let count = usize::try_from(count).ok().filter(|count| *count > 0)?;
    (*tree == *id).then_some(count)
}
