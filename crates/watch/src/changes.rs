//! The set of paths that must be looked at again.

use std::collections::BTreeSet;

use bstr::BString;

/// What changed, or may have changed, in one tree. Paths are relative to its top.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Nothing is known any more: everything must be looked at.
    pub everything: bool,
    /// Files, links and other entries that came, went or changed.
    pub paths: BTreeSet<BString>,
    /// The subset of `paths` whose last event said that the entry went away.
    pub gone: BTreeSet<BString>,
    /// Folders that came, went or changed, with all that is below them.
    pub folders: BTreeSet<BString>,
}

impl Changes {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The number of paths and folders named.
    pub fn len(&self) -> usize {
        self.paths.len().saturating_add(self.folders.len())
    }

    /// Takes out the entries below the folders, and the folders below other folders: the look at the outer folder covers them.
    pub fn take_below_folders(&mut self) -> Self {
        let with_slash = |folder: &BString| BString::from([folder.as_slice(), b"/"].concat());
        let mut tops: Vec<BString> = self.folders.iter().map(with_slash).collect();
        // Sorted, whatever is below a folder follows it.
        tops.sort_unstable();
        tops.dedup_by(|later, earlier| later.starts_with(earlier));
        let is_below = |path: &BString| {
            let before = tops.partition_point(|top| top < path);
            let top = before.checked_sub(1).and_then(|at| tops.get(at));
            top.is_some_and(|top| path.starts_with(top))
        };
        let below =
            |paths: &mut BTreeSet<BString>| paths.extract_if(.., |path| is_below(path)).collect();
        Self {
            everything: false,
            paths: below(&mut self.paths),
            gone: below(&mut self.gone),
            folders: below(&mut self.folders),
        }
    }

    /// Records that everything may have changed.
    pub(crate) fn add_everything(&mut self) {
        *self = Self {
            everything: true,
            ..Self::default()
        };
    }

    /// Records that the entry at `path` changed.
    pub fn add_path(&mut self, path: BString) {
        if !self.everything {
            self.paths.insert(path);
        }
    }

    /// Records that the entry at `path` went away, as its latest event.
    pub(crate) fn add_gone(&mut self, path: BString) {
        if !self.everything {
            self.gone.insert(path.clone());
            self.paths.insert(path);
        }
    }

    /// Records that the folder at `path` and everything below it changed. An empty path means everything.
    pub fn add_folder(&mut self, path: BString) {
        if path.is_empty() {
            self.add_everything();
        } else if !self.everything {
            self.folders.insert(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_below_a_folder_is_taken_out() {
        let set = |paths: &[&str]| paths.iter().map(|path| BString::from(*path)).collect();
        let mut changes = Changes {
            everything: false,
            paths: set(&["a", "a-/b", "a/b", "a/c/d", "a0", "b", "c/d/e/f", "c/f"]),
            gone: set(&["a/b", "b", "c/f"]),
            folders: set(&["a", "a-/c", "a/c", "c/d"]),
        };
        let below = changes.take_below_folders();
        let wanted = Changes {
            everything: false,
            paths: set(&["a", "a-/b", "a0", "b", "c/f"]),
            gone: set(&["b", "c/f"]),
            folders: set(&["a", "a-/c", "c/d"]),
        };
        assert_eq!(changes, wanted);
        let wanted = Changes {
            everything: false,
            paths: set(&["a/b", "a/c/d", "c/d/e/f"]),
            gone: set(&["a/b"]),
            folders: set(&["a/c"]),
        };
        assert_eq!(below, wanted);
        assert!(changes.take_below_folders().is_empty());
    }
}
