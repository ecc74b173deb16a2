//! Looking up names in the index regardless of case (`core.ignoreCase`).

use std::collections::HashSet;
use std::ops::ControlFlow;

use bstr::{BStr, BString, ByteSlice};
use vigil_model::tracked::Tracked;

/// All tracked paths and their directories in lower case. git folds ASCII letters only.
pub(super) struct FoldedNames {
    files: HashSet<BString>,
    dirs: HashSet<BString>,
    nested: HashSet<BString>,
}

impl FoldedNames {
    pub(super) fn new(tracked: &Tracked) -> Self {
        let mut names = Self {
            files: HashSet::new(),
            dirs: HashSet::new(),
            nested: HashSet::new(),
        };
        let _ = tracked.visit::<()>(
            |_| true,
            |_, path, file| {
                names.add(fold(path), file.is_nested());
                ControlFlow::Continue(())
            },
        );
        names
    }

    fn add(&mut self, path: BString, is_nested: bool) {
        let mut above = path.as_bstr();
        while let Some((dir, _)) = above.rsplit_once_str("/") {
            if !self.dirs.insert(dir.into()) {
                break;
            }
            above = dir.as_bstr();
        }
        // Of several entries, such as the sides of a conflict, git finds the last.
        if is_nested {
            self.nested.insert(path.clone());
        } else {
            self.nested.remove(&path);
        }
        self.files.insert(path);
    }

    pub(super) fn has_file(&self, path: &BStr) -> bool {
        self.files.contains(&fold(path))
    }

    pub(super) fn has_dir(&self, path: &BStr) -> bool {
        self.dirs.contains(&fold(path))
    }

    pub(super) fn has_nested(&self, path: &BStr) -> bool {
        self.nested.contains(&fold(path))
    }
}

fn fold(path: &BStr) -> BString {
    path.to_ascii_lowercase().into()
}
