//! The walk over trees and index, side by side. Its stack is its own: git allows directories to lie deeper in
//! each other than a thread's stack might.

use std::cmp::Ordering;
use std::ops::Range;

use bstr::{BStr, ByteSlice};
use gix_hash::{Kind, ObjectId, oid};
use vigil_model::index::{CacheTree, Entry, Index};

use super::tree::{Key, TreeEntry};
use super::{Error, Side, StagedChange, StagedDiff, TreeSource, UnmergedPath};

/// git's own limit (`core.maxTreeDepth`, git-config(1)).
const DEPTH_MAX: usize = 2048;

/// Why a walk ends early.
pub(super) enum Stop {
    /// As many changes as were asked for are found.
    Enough,
    /// A tree cannot be used.
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// A tree object, and how far it is read.
struct Cursor {
    id: ObjectId,
    data: Vec<u8>,
    at: usize,
}

impl Cursor {
    fn peek(&self) -> Result<Option<TreeEntry<'_>>, Error> {
        let rest = self.data.get(self.at..).unwrap_or_default();
        TreeEntry::first(rest, self.id.kind()).map_err(|reason| Error::Corrupt {
            id: self.id,
            reason,
        })
    }
}

/// The side that is compared with HEAD.
enum Later<'i> {
    /// The directory is not there.
    Absent,
    /// A tree object, of a sparse directory.
    Tree(Cursor),
    /// Entries of the index: all below the directory that are still to be compared.
    Index {
        index: &'i Index,
        range: Range<usize>,
        node: Option<&'i CacheTree>,
    },
}

/// A directory being compared.
struct Frame<'i> {
    head: Option<Cursor>,
    later: Later<'i>,
    /// The length of the outer directory's path.
    outer_len: usize,
}

enum Step<'i> {
    Next,
    Enter(Frame<'i>),
    Leave,
}

pub(super) struct Walker<'t> {
    hash: Kind,
    trees: &'t dyn TreeSource,
    max: usize,
    found: StagedDiff,
    /// The directory being walked, with a `/` at its end, or empty at the top.
    path: Vec<u8>,
    /// Memory for tree objects, handed from one directory to the next.
    spare: Vec<Vec<u8>>,
}

impl<'t> Walker<'t> {
    pub(super) fn new(hash: Kind, trees: &'t dyn TreeSource, max: Option<usize>) -> Self {
        Self {
            hash,
            trees,
            max: max.unwrap_or(usize::MAX),
            found: StagedDiff::default(),
            path: Vec::new(),
            spare: Vec::new(),
        }
    }

    /// What was found, in order also where a malformed tree or index was not.
    pub(super) fn into_diff(mut self) -> StagedDiff {
        self.found.changes.sort_by(|a, b| a.path.cmp(&b.path));
        self.found.unmerged.sort_by(|a, b| a.path.cmp(&b.path));
        self.found.unmerged.dedup_by(|a, b| a.path == b.path);
        self.found
    }

    /// Compares the tree `head` with the whole of `index`.
    pub(super) fn index(&mut self, head: Option<&oid>, index: &Index) -> Result<(), Stop> {
        let later = Child::Index {
            index,
            range: 0..index.entries().len(),
            node: index.cache_tree(),
        };
        self.run(head.map(ObjectId::from), later)
    }

    /// Reports all files of the tree `id` as added below `path`, which ends in `/`.
    pub(super) fn sparse_directory(&mut self, path: &BStr, id: &oid) -> Result<(), Stop> {
        self.path = path.to_vec();
        self.run(None, Child::Tree(id.into()))
    }

    fn run(&mut self, head: Option<ObjectId>, later: Child<'_>) -> Result<(), Stop> {
        let Some(top) = self.open(b"", head, later)? else {
            return Ok(());
        };
        let mut stack = vec![top];
        while let Some(frame) = stack.last_mut() {
            match self.step(frame)? {
                Step::Next => {}
                Step::Enter(frame) if stack.len() <= DEPTH_MAX => stack.push(frame),
                Step::Enter(frame) => {
                    let id = frame.head.map_or_else(|| self.hash.null(), |head| head.id);
                    return Err(Error::TooDeep { id }.into());
                }
                Step::Leave => {
                    let left = stack.pop();
                    self.leave(left);
                }
            }
        }
        Ok(())
    }

    /// Compares what comes next in a directory.
    fn step<'i>(&mut self, frame: &mut Frame<'i>) -> Result<Step<'i>, Stop> {
        let head = frame.head.as_ref().map_or(Ok(None), Cursor::peek)?;
        let later = frame.later.peek(self.path.len())?;
        let order = match (&head, &later) {
            (None, None) => return Ok(Step::Leave),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(head), Some(later)) => head.key.cmp(&later.key()),
        };
        let head = head.filter(|_| order.is_le());
        let later = later.filter(|_| order.is_ge());
        let Some(key) = head.map(|head| head.key).or(later.as_ref().map(Item::key)) else {
            return Ok(Step::Leave);
        };
        let advance = (
            head.map_or(0, |head| head.len),
            later.as_ref().map_or(0, |item| item.len(self.path.len())),
        );
        let step = if key.is_dir {
            let child = later.map_or(Child::Absent, |item| {
                item.into_child(self.path.len(), advance.1)
            });
            let opened = self.open(key.name, head.map(|head| head.id), child)?;
            opened.map_or(Step::Next, Step::Enter)
        } else {
            let head = head.map(|head| Side {
                mode: head.mode,
                id: head.id,
            });
            let outer_len = self.path.len();
            self.path.extend_from_slice(key.name);
            self.file(head, later)?;
            self.path.truncate(outer_len);
            Step::Next
        };
        frame.advance(advance);
        Ok(step)
    }

    /// Starts to compare the directory `name`; nothing where both sides are known to be one tree.
    fn open<'i>(
        &mut self,
        name: &[u8],
        head: Option<ObjectId>,
        later: Child<'i>,
    ) -> Result<Option<Frame<'i>>, Stop> {
        let is_same = match (head, &later) {
            (None, _) | (_, Child::Absent) => false,
            (Some(head), Child::Tree(id)) => head == *id,
            (Some(head), Child::Index { node, range, .. }) => {
                let is_top = self.path.is_empty() && name.is_empty();
                node.is_some_and(|node| is_tree(node, &head, range.len(), is_top))
            }
        };
        if is_same {
            return Ok(None);
        }
        let frame = Frame {
            head: head.map(|id| self.read_tree(id)).transpose()?,
            later: match later {
                Child::Absent => Later::Absent,
                Child::Tree(id) => Later::Tree(self.read_tree(id)?),
                Child::Index { index, range, node } => Later::Index { index, range, node },
            },
            outer_len: self.path.len(),
        };
        self.path.extend_from_slice(name);
        if !name.is_empty() {
            self.path.push(b'/');
        }
        Ok(Some(frame))
    }

    fn leave(&mut self, frame: Option<Frame<'_>>) {
        let Some(frame) = frame else { return };
        self.path.truncate(frame.outer_len);
        self.spare.extend(frame.head.map(|cursor| cursor.data));
        if let Later::Tree(cursor) = frame.later {
            self.spare.push(cursor.data);
        }
    }

    /// Compares the file at the current path.
    fn file(&mut self, head: Option<Side>, later: Option<Item<'_, '_>>) -> Result<(), Stop> {
        let later = match later {
            None => None,
            Some(Item::Tree(tree)) => Some(Side {
                mode: tree.mode,
                id: tree.id,
            }),
            Some(Item::Index { entry, .. }) if entry.flags.stage() != 0 => {
                self.found.unmerged.push(UnmergedPath {
                    path: self.path.as_slice().into(),
                    head_mode: head.map_or_else(Default::default, |head| head.mode),
                    head_id: head.map_or_else(|| self.hash.null(), |head| head.id),
                });
                return Ok(());
            }
            Some(Item::Index { entry, .. }) => index_side(entry),
        };
        if let Some(change) = StagedChange::between(&self.path, head, later, self.hash) {
            self.found.changes.push(change);
            if self.found.changes.len() >= self.max {
                return Err(Stop::Enough);
            }
        }
        Ok(())
    }

    fn read_tree(&mut self, id: ObjectId) -> Result<Cursor, Stop> {
        let mut data = self.spare.pop().unwrap_or_default();
        data.clear();
        // git knows the empty tree without having it.
        let found = id.is_empty_tree() || {
            let read = self.trees.tree(&id, &mut data);
            read.map_err(|source| Error::Unreadable { id, source })?
        };
        if !found {
            return Err(Error::Missing { id }.into());
        }
        Ok(Cursor { id, data, at: 0 })
    }
}

impl Frame<'_> {
    fn advance(&mut self, (head_len, later_len): (usize, usize)) {
        if let Some(cursor) = &mut self.head {
            cursor.at = cursor.at.saturating_add(head_len);
        }
        match &mut self.later {
            Later::Absent => {}
            Later::Tree(cursor) => cursor.at = cursor.at.saturating_add(later_len),
            Later::Index { range, .. } => range.start = range.start.saturating_add(later_len),
        }
    }
}

impl<'i> Later<'i> {
    /// What comes next in the directory, whose path takes `dir_len` bytes.
    fn peek(&self, dir_len: usize) -> Result<Option<Item<'i, '_>>, Error> {
        Ok(match self {
            Self::Absent => None,
            Self::Tree(cursor) => cursor.peek()?.map(Item::Tree),
            Self::Index { index, range, node } => {
                let index: &'i Index = index;
                let entries = index.entries().get(range.clone()).unwrap_or_default();
                entries.first().map(|entry| {
                    let rest = index.path(entry).get(dir_len..).unwrap_or_default();
                    let (name, is_dir) = match rest.find_byte(b'/') {
                        Some(at) => (rest.get(..at).unwrap_or_default(), true),
                        None => (rest, false),
                    };
                    Item::Index {
                        key: Key { name, is_dir },
                        entry,
                        index,
                        range: range.clone(),
                        node: *node,
                    }
                })
            }
        })
    }
}

/// A file or directory of the later side.
enum Item<'i, 'f> {
    Tree(TreeEntry<'f>),
    Index {
        key: Key<'i>,
        entry: &'i Entry,
        index: &'i Index,
        /// This item's entries and all that follow in the directory.
        range: Range<usize>,
        /// The cache-tree's node of the directory.
        node: Option<&'i CacheTree>,
    },
}

impl<'i, 'f> Item<'i, 'f> {
    fn key(&self) -> Key<'f>
    where
        'i: 'f,
    {
        match self {
            Self::Tree(tree) => tree.key,
            Self::Index { key, .. } => *key,
        }
    }

    /// How much of the later side this is: bytes of a tree, or entries of the index.
    fn len(&self, dir_len: usize) -> usize {
        let (key, entry, index, range) = match self {
            Self::Tree(tree) => return tree.len,
            Self::Index {
                key,
                entry,
                index,
                range,
                ..
            } => (key, entry, index, range),
        };
        let path = index.path(entry);
        let entries = index.entries().get(range.clone()).unwrap_or_default();
        if key.is_dir {
            let dir_len = dir_len.saturating_add(key.name.len()).saturating_add(1);
            let dir = path.get(..dir_len).unwrap_or_default();
            count_first(entries, |entry| index.path(entry).starts_with(dir)).max(1)
        } else if entry.flags.stage() == 0 {
            1
        } else {
            let stages = entries.iter().take_while(|entry| index.path(entry) == path);
            stages.count()
        }
    }

    /// The directory that this is, which has `len` entries if it is in the index, in one whose path takes `dir_len`
    /// bytes.
    fn into_child(self, dir_len: usize, len: usize) -> Child<'i> {
        match self {
            Self::Tree(tree) => Child::Tree(tree.id),
            // A sparse directory further down is the only entry of this one, too.
            Self::Index {
                entry, index, key, ..
            } if len == 1
                && entry.is_sparse_directory()
                && index.path(entry).len()
                    == dir_len.saturating_add(key.name.len()).saturating_add(1) =>
            {
                Child::Tree(entry.id)
            }
            Self::Index {
                key,
                index,
                range,
                node,
                ..
            } => Child::Index {
                index,
                range: range.start..range.start.saturating_add(len),
                node: node.and_then(|node| node.child(key.name)),
            },
        }
    }
}

/// A directory of the later side that is still to be read.
enum Child<'i> {
    Absent,
    Tree(ObjectId),
    Index {
        index: &'i Index,
        range: Range<usize>,
        node: Option<&'i CacheTree>,
    },
}

/// Whether the cache-tree says that the directory, of which the index has `len` entries, is the tree `id`. git itself
/// may leave one that knows of more entries than there are, and believes it of any directory but the top.
fn is_tree(node: &CacheTree, id: &oid, len: usize, is_top: bool) -> bool {
    node.tree.is_some_and(|(count, tree)| {
        let fits = match usize::try_from(count) {
            Ok(count) if is_top => count == len,
            Ok(count) => count >= len,
            Err(_) => false,
        };
        count > 0 && fits && *tree == *id
    })
}

/// How many of the first `entries` are as `is_within` says, after which none is. The cost depends on that number
/// only, since most directories are small.
fn count_first(entries: &[Entry], is_within: impl Fn(&Entry) -> bool) -> usize {
    let mut bound = 1usize;
    while entries.get(bound).is_some_and(&is_within) {
        bound = bound.saturating_mul(2);
    }
    let known = bound / 2;
    let rest = entries.get(known..bound.min(entries.len()));
    known.saturating_add(rest.unwrap_or_default().partition_point(is_within))
}

fn index_side(entry: &Entry) -> Option<Side> {
    (!entry.flags.is_intent_to_add()).then_some(Side {
        mode: entry.mode,
        id: entry.id,
    })
}
