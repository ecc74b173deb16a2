//! Watching folders, and what no watch can report.

use std::cmp::Ordering;
use std::os::fd::BorrowedFd;

use bstr::{BStr, BString};
use vigil_model::path::is_at_or_below;

/// Watches folders for changes.
pub trait Watch: Sync {
    /// Starts watching the open folder at `path`, from the top, and returns whether that succeeded. Called before the folder
    /// is looked at.
    fn watch(&self, path: &BStr, folder: BorrowedFd<'_>) -> bool;
}

/// What may change without an event. Paths are from the top.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SilentPaths {
    /// Tracked files, by number: those with other hard links through which they may be written, those whose contents no
    /// stamp vouches for, and those with a directory in their place.
    pub files: Vec<u32>,
    /// Folders with tracked files, for what else is in them.
    pub folders: Vec<BString>,
    /// Folders, with everything below.
    pub trees: Vec<BString>,
    /// Untracked folders that are repositories, or may become ones.
    pub nested: Vec<Nested>,
}

/// An untracked folder that is a repository, or may become one: that depends on what is inside, which is not watched.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Nested {
    /// The path of the folder, from the top.
    pub path: BString,
    /// The path of the folder with tracked files that it lies in.
    pub tracked_folder: BString,
}

impl SilentPaths {
    /// Appends `other`.
    pub(super) fn add(&mut self, other: Self) {
        self.files.extend(other.files);
        self.folders.extend(other.folders);
        self.trees.extend(other.trees);
        self.nested.extend(other.nested);
    }

    /// Sorts everything, and removes duplicates and trees within others.
    pub(super) fn sort(&mut self) {
        self.files.sort_unstable();
        self.files.dedup();
        self.folders.sort_unstable();
        self.folders.dedup();
        self.nested.sort_unstable();
        self.nested.dedup();
        self.trees
            .sort_unstable_by(|one, other| compare_folders(one, other));
        self.trees
            .dedup_by(|path, above| above.is_empty() || is_at_or_below(path, above));
    }
}

/// Compares two folders by their paths, each with a trailing `/`: what is below a folder comes right after it.
fn compare_folders(one: &[u8], other: &[u8]) -> Ordering {
    let len = one.len().min(other.len());
    let next = |path: &[u8]| path.get(len).copied();
    let (start, rest) = (one.get(..len), (next(one), next(other)));
    start
        .cmp(&other.get(..len))
        .then_with(|| rest.0.unwrap_or(b'/').cmp(&rest.1.unwrap_or(b'/')))
        .then(one.len().cmp(&other.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_within_others_are_not_listed() {
        let mut silent = SilentPaths {
            trees: ["b", "a/c/d", "a-b", "a/c", "a-b/c", "a0", "ab", "a/b", "a"]
                .map(BString::from)
                .to_vec(),
            ..SilentPaths::default()
        };
        silent.sort();
        assert_eq!(silent.trees, ["a-b", "a", "a0", "ab", "b"]);
        silent.trees.insert(2, BString::default());
        silent.sort();
        assert_eq!(silent.trees, [""]);
    }
}
