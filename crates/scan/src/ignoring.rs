//! What is ignored in one directory.

use std::sync::Arc;

use bstr::BStr;

use super::system::IgnoreScope;

/// The ignore rules in force in a directory, and whether they matter there.
#[derive(Clone)]
pub(super) struct Ignoring {
    pub(super) rules: Arc<dyn IgnoreScope>,
    /// Whether an ignore rule matches the directory or one above it. Then everything in it is ignored.
    pub(super) is_excluded: bool,
}

impl Ignoring {
    /// Whether the entry at `path`, directly in the directory, is ignored.
    pub(super) fn excludes(&self, path: &BStr, is_dir: bool) -> bool {
        self.is_excluded || self.rules.is_ignored(path, is_dir)
    }

    /// Returns what is ignored in the directory if `rules` are in force there.
    pub(super) fn with_rules(&self, rules: Arc<dyn IgnoreScope>) -> Self {
        Self {
            rules,
            is_excluded: self.is_excluded,
        }
    }

    /// Returns what is ignored in a subdirectory without rules of its own.
    pub(super) fn below(&self, is_excluded: bool) -> Self {
        Self {
            rules: self.rules.clone(),
            is_excluded,
        }
    }
}
