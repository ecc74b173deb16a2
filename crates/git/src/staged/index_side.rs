//! The side that is compared with HEAD: tree objects, the index, or its tracked files directory by directory.

use std::ops::Range;

use bstr::{BStr, ByteSlice};
use gix_hash::ObjectId;
use vigil_model::index::{Entry, EntryFlags, Index};
use vigil_model::tracked::{DirNumber, InOrder, Member, Subdir, Tracked, TrackedFile};
use vigil_objects::tree::{Key, TreeEntry};

use super::change::FileState;
use super::error::Error;

/// A tree object, and how far it has been read.
pub(super) struct Cursor {
    pub(super) id: ObjectId,
    pub(super) data: Vec<u8>,
    pub(super) at: usize,
}

impl Cursor {
    pub(super) fn peek(&self) -> Result<Option<TreeEntry<'_>>, Error> {
        let rest = self.data.get(self.at..).unwrap_or_default();
        TreeEntry::first(rest, self.id.kind()).map_err(|reason| Error::Corrupt {
            id: self.id,
            reason,
        })
    }
}

/// The side that is compared with HEAD.
pub(super) enum NewSide<'i> {
    /// The directory does not exist; its entries would be at this position in the index.
    Absent(usize),
    /// The tree object of a sparse directory.
    Tree(Cursor),
    /// Entries of the index: all that remain to be compared below the directory.
    Index {
        index: &'i Index,
        range: Range<usize>,
    },
    /// A directory of the tracked files.
    Tracked(Box<Members<'i>>),
}

/// The members of a directory of the tracked files.
pub(super) struct Members<'i> {
    tracked: &'i Tracked,
    after: InOrder<'i>,
    next: Option<Member<'i>>,
}

impl<'i> Members<'i> {
    pub(super) fn new(tracked: &'i Tracked, number: DirNumber) -> Self {
        let mut after = InOrder::new(tracked.directory(number));
        let next = after.next().map(|(_, member)| member);
        Self {
            tracked,
            after,
            next,
        }
    }

    /// Skips the next member, with all its stages.
    fn advance(&mut self) {
        let conflict = match self.next {
            Some(Member::File(file)) if file.flags().stage() != 0 => Some(file.name()),
            _ => None,
        };
        let is_stage = |member: &Member<'_>| match member {
            Member::File(file) => conflict == Some(file.name()),
            Member::Subdir(_) => false,
        };
        let mut after = self.after.by_ref().map(|(_, member)| member);
        self.next = after.find(|member| !is_stage(member));
    }
}

impl NewSide<'_> {
    /// The position in the index of the next item.
    pub(super) fn position(&self) -> usize {
        match self {
            Self::Absent(at) => *at,
            Self::Tree(_) | Self::Tracked(_) => 0,
            Self::Index { range, .. } => range.start,
        }
    }

    /// Skips everything before `position`.
    pub(super) fn skip_to(&mut self, position: usize) {
        match self {
            Self::Absent(at) => *at = position.max(*at),
            Self::Tree(_) | Self::Tracked(_) => {}
            Self::Index { range, .. } => range.start = position.min(range.end).max(range.start),
        }
    }

    /// Skips the next item, whose length is `len`, unless that is 0.
    pub(super) fn advance(&mut self, len: usize) {
        match self {
            Self::Absent(_) => {}
            Self::Tree(cursor) => cursor.at = cursor.at.saturating_add(len),
            Self::Index { range, .. } => range.start = range.start.saturating_add(len),
            Self::Tracked(members) if len > 0 => members.advance(),
            Self::Tracked(_) => {}
        }
    }
}

impl<'i> NewSide<'i> {
    /// Returns the next item in the directory, whose path is `dir_len` bytes long.
    pub(super) fn peek(&self, dir_len: usize) -> Result<Option<Item<'i, '_>>, Error> {
        Ok(match self {
            Self::Absent(_) => None,
            Self::Tree(cursor) => cursor.peek()?.map(Item::Tree),
            Self::Index { index, range } => {
                let index: &'i Index = index;
                let entries = index.entries().get(range.clone()).unwrap_or_default();
                entries.first().map(|entry| {
                    let rest = index.path(entry).get(dir_len..).unwrap_or_default();
                    // No tree has a directory with an empty name.
                    let (name, is_dir) = match rest.find_byte(b'/') {
                        Some(at) if at > 0 => (rest.get(..at).unwrap_or_default(), true),
                        _ => (rest, false),
                    };
                    Item::Index {
                        key: Key { name, is_dir },
                        entry,
                        index,
                        range: range.clone(),
                    }
                })
            }
            Self::Tracked(members) => members.next.map(|member| match member {
                Member::File(file) => Item::File {
                    name: file.name(),
                    file,
                },
                Member::Subdir(subdir) => Item::Subdir {
                    tracked: members.tracked,
                    subdir,
                },
            }),
        })
    }
}

/// A file or directory of the new side.
pub(super) enum Item<'i, 'f> {
    Tree(TreeEntry<'f>),
    Index {
        key: Key<'i>,
        entry: &'i Entry,
        index: &'i Index,
        /// The entries of this item and all that follow in the directory.
        range: Range<usize>,
    },
    File {
        name: &'i BStr,
        file: TrackedFile<'i>,
    },
    Subdir {
        tracked: &'i Tracked,
        subdir: Subdir<'i>,
    },
}

/// The file has conflicts.
pub(super) struct InConflict;

impl<'i, 'f> Item<'i, 'f> {
    pub(super) fn key(&self) -> Key<'f>
    where
        'i: 'f,
    {
        let (name, is_dir) = match self {
            Self::Tree(tree) => return tree.key,
            Self::Index { key, .. } => return *key,
            Self::File { name, .. } => (*name, false),
            Self::Subdir { subdir, .. } => (subdir.name(), true),
        };
        Key { name, is_dir }
    }

    /// Returns the file's state; `None` if only the intent to add it is recorded.
    pub(super) fn state(&self) -> Result<Option<FileState>, InConflict> {
        let (flags, mode, id) = match self {
            Self::Tree(tree) => (EntryFlags::default(), tree.mode, tree.id),
            Self::Index { entry, .. } => (entry.flags, entry.mode, entry.id),
            Self::File { file, .. } => (file.flags(), file.mode(), file.id()),
            Self::Subdir { .. } => return Ok(None),
        };
        match flags.stage() {
            0 => Ok((!flags.is_intent_to_add()).then_some(FileState { mode, id })),
            _ => Err(InConflict),
        }
    }

    /// Returns the length of the item in the new side: bytes of a tree, entries of the index, or 1.
    pub(super) fn len(&self, dir_len: usize) -> usize {
        let (key, entry, index, range) = match self {
            Self::Tree(tree) => return tree.len,
            Self::File { .. } | Self::Subdir { .. } => return 1,
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

    /// Converts the item to the directory that it is, with `len` entries if it is in the index, inside a directory
    /// whose path is `dir_len` bytes long.
    pub(super) fn into_child(self, dir_len: usize, len: usize) -> Child<'i> {
        match self {
            Self::Tree(tree) => Child::Tree(tree.id),
            // The path is compared because a sparse directory further down can also be the only entry of this one.
            Self::Index {
                entry, index, key, ..
            } if len == 1
                && entry.is_sparse_directory()
                && index.path(entry).len()
                    == dir_len.saturating_add(key.name.len()).saturating_add(1) =>
            {
                Child::Tree(entry.id)
            }
            Self::Index { index, range, .. } => Child::Index {
                index,
                range: range.start..range.start.saturating_add(len),
            },
            Self::Subdir { tracked, subdir } => {
                let sparse = (subdir.entries == 1)
                    .then(|| tracked.directory(subdir.number).file(0))
                    .flatten()
                    .filter(|only| only.mode().is_tree() && only.name().is_empty());
                match sparse {
                    Some(sparse) => Child::Tree(sparse.id()),
                    None => Child::Tracked {
                        tracked,
                        number: subdir.number,
                        entries: subdir.entries as usize,
                    },
                }
            }
            Self::File { .. } => Child::Absent(0),
        }
    }
}

/// A directory of the new side that has not been read yet.
pub(super) enum Child<'i> {
    /// It does not exist; its entries would be at this position in the index.
    Absent(usize),
    Tree(ObjectId),
    Index {
        index: &'i Index,
        range: Range<usize>,
    },
    Tracked {
        tracked: &'i Tracked,
        number: DirNumber,
        entries: usize,
    },
}

impl Child<'_> {
    /// Returns the range of its entries in the index; for tracked files, a range of the right length.
    pub(super) fn range(&self) -> Option<Range<usize>> {
        match self {
            Self::Tracked { entries, .. } => Some(0..*entries),
            Self::Absent(at) => Some(*at..*at),
            Self::Tree(_) => None,
            Self::Index { range, .. } => Some(range.clone()),
        }
    }

    /// Replaces the range of index entries.
    pub(super) fn with_range(self, range: Range<usize>) -> Self {
        match self {
            Self::Index { index, .. } => Self::Index { index, range },
            other => other,
        }
    }
}

/// Counts the `entries` at the start for which `is_within` holds; it must not hold for any after them. The cost
/// depends only on that count, which is small for most directories.
fn count_first(entries: &[Entry], is_within: impl Fn(&Entry) -> bool) -> usize {
    let mut bound = 1usize;
    while entries.get(bound).is_some_and(&is_within) {
        bound = bound.saturating_mul(2);
    }
    let known = bound / 2;
    let rest = entries.get(known..bound.min(entries.len()));
    known.saturating_add(rest.unwrap_or_default().partition_point(is_within))
}
