//! What is to be looked at again.

use std::collections::BTreeSet;

use bstr::BString;

/// What changed, or may have, in one tree. Paths are from its top.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Nothing is known any more: all is to be looked at.
    pub everything: bool,
    /// Files, links and other entries that came, went or changed.
    pub paths: BTreeSet<BString>,
    /// Those of the paths of which the last that was heard is that they went.
    pub gone: BTreeSet<BString>,
    /// Folders that came, went or changed, with all that is below them.
    pub folders: BTreeSet<BString>,
}

impl Changes {
    /// Nothing changed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// How many paths it names.
    pub fn len(&self) -> usize {
        self.paths.len().saturating_add(self.folders.len())
    }

    /// Takes in that all may have changed.
    pub fn add_everything(&mut self) {
        *self = Self {
            everything: true,
            ..Self::default()
        };
    }

    /// Takes in that the entry at `path` changed.
    pub fn add_path(&mut self, path: BString) {
        if !self.everything {
            self.paths.insert(path);
        }
    }

    /// Takes in that the entry at `path` went, which is the last that was heard of it.
    pub fn add_gone(&mut self, path: BString) {
        if !self.everything {
            self.gone.insert(path.clone());
            self.paths.insert(path);
        }
    }

    /// Takes in that the folder at `path` changed, and all below; with an empty path that is everything.
    pub fn add_folder(&mut self, path: BString) {
        if path.is_empty() {
            self.add_everything();
        } else if !self.everything {
            self.folders.insert(path);
        }
    }
}
