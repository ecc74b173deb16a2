//! Mercurial's ignore patterns as the rules of a scan.

use std::sync::Arc;

use bstr::{BStr, BString};
use parking_lot::Mutex;
use vigil_hg::patterns::{Ignore, Matcher};
use vigil_scan::IgnoreScope;

/// The ignore patterns, and which directories they matched.
#[derive(Debug)]
pub(crate) struct Ignored {
    pub(crate) patterns: Arc<Ignore>,
    /// Which paths are asked for.
    matcher: Arc<Matcher>,
    directories: Mutex<Vec<BString>>,
}

impl Ignored {
    pub(crate) fn new(patterns: Arc<Ignore>, matcher: Arc<Matcher>) -> Self {
        Self {
            patterns,
            matcher,
            directories: Mutex::default(),
        }
    }

    /// The directories that were found to be ignored.
    pub(crate) fn directories(&self) -> Vec<BString> {
        self.directories.lock().clone()
    }
}

impl IgnoreScope for Ignored {
    fn digest(&self) -> u128 {
        self.patterns.digest()
    }

    fn is_ignored(&self, path: &BStr, is_dir: bool) -> bool {
        // Paths that are not asked for are not looked up: a lookup may read patterns that Mercurial would not read.
        let is_asked_for = match is_dir {
            _ if self.matcher.is_everything() => true,
            true => self.matcher.may_match_below(path),
            false => self.matcher.is_match(path),
        };
        if !is_asked_for {
            return false;
        }
        let is_ignored = self.patterns.is_match(path);
        if is_ignored && is_dir {
            self.directories.lock().push(path.to_owned());
        }
        is_ignored
    }
}
