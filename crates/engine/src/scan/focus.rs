//! A part of the working tree, for a scan that need not look at all of it.

use std::collections::BTreeMap;

use bstr::{BStr, BString, ByteSlice};
use vigil_model::index::Index;

use super::tree::{DirId, DirTree, ROOT};

/// Directories, and of each the entries to look at. The directories above are in too: ignore rules come from there.
#[derive(Debug, Default)]
pub struct Focus {
    dirs: BTreeMap<DirId, Vec<u32>>,
}

impl Focus {
    /// The part in which the tracked files `tracked` are, and the directories that hold the paths `untracked`.
    /// Paths that are not tracked (any more) are left out of the former.
    pub fn new(index: &Index, tree: &DirTree, tracked: &[BString], untracked: &[BString]) -> Self {
        let mut focus = Self::default();
        for path in tracked {
            if let Ok(entry) = index.position(path.as_bstr(), 0)
                && let Ok(entry) = u32::try_from(entry)
            {
                focus.add(index, tree, path.as_bstr()).push(entry);
            }
        }
        for path in untracked {
            focus.add(index, tree, path.as_bstr());
        }
        for entries in focus.dirs.values_mut() {
            entries.sort_unstable();
            entries.dedup();
        }
        focus
    }

    /// Takes in the innermost tracked directory that holds `path`, and returns its entries.
    fn add(&mut self, index: &Index, tree: &DirTree, path: &BStr) -> &mut Vec<u32> {
        let mut dir = ROOT;
        self.dirs.entry(dir).or_default();
        for name in path.split_str("/") {
            match tree.find_subdir(index, dir, name) {
                Some(sub) => dir = sub,
                None => break,
            }
            self.dirs.entry(dir).or_default();
        }
        self.dirs.entry(dir).or_default()
    }

    /// Whether the directory `id` is in.
    pub(super) fn has(&self, id: DirId) -> bool {
        self.dirs.contains_key(&id)
    }

    /// The entries directly in the directory `id` to look at, in order.
    pub(super) fn files(&self, id: DirId) -> &[u32] {
        self.dirs.get(&id).map(Vec::as_slice).unwrap_or_default()
    }
}
