//! Names in the index regardless of case (`core.ignoreCase`).

use std::collections::HashSet;

use bstr::{BStr, BString};
use vigil_model::index::Index;

use super::tree::DirTree;

/// All tracked paths and their directories in lower case. git folds ASCII letters only.
pub(super) struct FoldedNames {
    files: HashSet<BString>,
    dirs: HashSet<BString>,
    gitlinks: HashSet<BString>,
}

impl FoldedNames {
    pub(super) fn new(index: &Index, tree: &DirTree) -> Self {
        let mut names = Self {
            files: HashSet::new(),
            dirs: HashSet::new(),
            gitlinks: HashSet::new(),
        };
        for entry in index.entries() {
            let folded = fold(index.path(entry));
            // Of several entries, such as the sides of a conflict, git finds the last.
            if entry.mode.is_gitlink() {
                names.gitlinks.insert(folded.clone());
            } else {
                names.gitlinks.remove(&folded);
            }
            names.files.insert(folded);
        }
        for id in 1..tree.len() {
            names
                .dirs
                .insert(fold(tree.path(index, u32::try_from(id).unwrap_or(0))));
        }
        names
    }

    pub(super) fn has_file(&self, path: &BStr) -> bool {
        self.files.contains(&fold(path))
    }

    pub(super) fn has_dir(&self, path: &BStr) -> bool {
        self.dirs.contains(&fold(path))
    }

    pub(super) fn has_gitlink(&self, path: &BStr) -> bool {
        self.gitlinks.contains(&fold(path))
    }
}

fn fold(path: &BStr) -> BString {
    path.to_ascii_lowercase().into()
}
