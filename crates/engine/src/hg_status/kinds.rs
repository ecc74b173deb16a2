//! The kinds of files in a status.

use bstr::{BStr, BString, ByteSlice};

/// How a file is in the working copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Different from the first parent.
    Modified,
    /// Tracked, but not in the first parent.
    Added,
    /// No longer tracked.
    Removed,
    /// Tracked, but missing on disk.
    Deleted,
    /// Not tracked.
    Unknown,
    /// Not tracked, and ignored.
    Ignored,
    /// As in the first parent.
    Clean,
}

impl FileKind {
    /// All kinds, in the order in which Mercurial shows them.
    pub const ALL: [Self; 7] = [
        Self::Modified,
        Self::Added,
        Self::Removed,
        Self::Deleted,
        Self::Unknown,
        Self::Ignored,
        Self::Clean,
    ];

    /// Mercurial's letter for the kind.
    pub fn letter(self) -> char {
        match self {
            Self::Modified => 'M',
            Self::Added => 'A',
            Self::Removed => 'R',
            Self::Deleted => '!',
            Self::Unknown => '?',
            Self::Ignored => 'I',
            Self::Clean => 'C',
        }
    }

    /// Mercurial's name for the kind.
    pub fn name(self) -> &'static str {
        match self {
            Self::Modified => "modified",
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Deleted => "deleted",
            Self::Unknown => "unknown",
            Self::Ignored => "ignored",
            Self::Clean => "clean",
        }
    }
}

/// A value for each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByKind<T> {
    /// That of [`FileKind::Modified`].
    pub modified: T,
    /// That of [`FileKind::Added`].
    pub added: T,
    /// That of [`FileKind::Removed`].
    pub removed: T,
    /// That of [`FileKind::Deleted`].
    pub deleted: T,
    /// That of [`FileKind::Unknown`].
    pub unknown: T,
    /// That of [`FileKind::Ignored`].
    pub ignored: T,
    /// That of [`FileKind::Clean`].
    pub clean: T,
}

/// The paths of each kind.
pub type Lists = ByKind<Vec<BString>>;

impl<T> ByKind<T> {
    /// Returns the value of a kind.
    pub fn get(&self, kind: FileKind) -> &T {
        match kind {
            FileKind::Modified => &self.modified,
            FileKind::Added => &self.added,
            FileKind::Removed => &self.removed,
            FileKind::Deleted => &self.deleted,
            FileKind::Unknown => &self.unknown,
            FileKind::Ignored => &self.ignored,
            FileKind::Clean => &self.clean,
        }
    }

    /// Returns the value of a kind, to be changed.
    pub fn get_mut(&mut self, kind: FileKind) -> &mut T {
        match kind {
            FileKind::Modified => &mut self.modified,
            FileKind::Added => &mut self.added,
            FileKind::Removed => &mut self.removed,
            FileKind::Deleted => &mut self.deleted,
            FileKind::Unknown => &mut self.unknown,
            FileKind::Ignored => &mut self.ignored,
            FileKind::Clean => &mut self.clean,
        }
    }

    /// Iterates over the values in the order of [`FileKind::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (FileKind, &T)> {
        FileKind::ALL.into_iter().map(|kind| (kind, self.get(kind)))
    }

    /// Returns the result of `map` for each value.
    pub fn map<U>(self, mut map: impl FnMut(T) -> U) -> ByKind<U> {
        ByKind {
            modified: map(self.modified),
            added: map(self.added),
            removed: map(self.removed),
            deleted: map(self.deleted),
            unknown: map(self.unknown),
            ignored: map(self.ignored),
            clean: map(self.clean),
        }
    }

    /// Iterates over the values, to be changed, in the order of [`FileKind::ALL`].
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        [
            &mut self.modified,
            &mut self.added,
            &mut self.removed,
            &mut self.deleted,
            &mut self.unknown,
            &mut self.ignored,
            &mut self.clean,
        ]
        .into_iter()
    }
}

impl Lists {
    /// Adds the paths of `more`, in order.
    pub fn merge(&mut self, mut more: Self) {
        for (list, more) in self.values_mut().zip(more.values_mut()) {
            list.append(more);
            list.sort_unstable();
        }
    }

    /// Keeps only the paths for which `is_asked_for` holds.
    pub fn retain(&mut self, is_asked_for: impl Fn(&BStr) -> bool) {
        for list in self.values_mut() {
            list.retain(|path| is_asked_for(path.as_bstr()));
        }
    }
}
