//! What the dirstate says about directories that Mercurial listed, and when that hides something.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use bstr::{BStr, ByteSlice};
use vigil_hg::dirstate::{Dirstate, ListedDirectories};
use vigil_hg::patterns::Ignore;
use vigil_linux::stat::{Stat, lstat_path};
use vigil_scan::{Findings, Observed};

use super::NO_FILE;

/// The directories that Mercurial listed under the current ignore patterns.
pub(super) struct MercurialListings<'a> {
    directories: Option<ListedDirectories<'a>>,
    is_trusted: AtomicBool,
    /// Whether a directory was skipped because the dirstate was believed.
    was_used: AtomicBool,
}

impl<'a> MercurialListings<'a> {
    pub(super) fn new(dirstate: &'a Dirstate, ignore: &Ignore) -> Self {
        let hash = ignore.hash();
        Self {
            directories: hash.and_then(|hash| dirstate.listed_under(hash)),
            is_trusted: AtomicBool::new(true),
            was_used: AtomicBool::new(false),
        }
    }

    /// Whether the directory at `path`, whose stat data is `stat`, holds only recorded and ignored names. What is at a recorded
    /// name may still be of another type.
    pub(super) fn holds_only_recorded(&self, path: &BStr, stat: &Stat) -> bool {
        let holds = self.is_trusted.load(Ordering::Relaxed)
            && (self.directories).is_some_and(|all| all.holds_only_recorded(path, stat));
        if holds && !self.was_used.load(Ordering::Relaxed) {
            self.was_used.store(true, Ordering::Relaxed);
        }
        holds
    }

    /// From now on has each directory listed.
    pub(super) fn stop_trusting(&self) {
        self.is_trusted.store(false, Ordering::Relaxed);
        self.was_used.store(false, Ordering::Relaxed);
    }

    /// Whether directories were not listed, and the place of a recorded file or directory is taken by something that only a
    /// listing shows to be unknown, or to hold unknown files.
    pub(super) fn was_misled(&self, top: &Path, dirstate: &Dirstate, found: &Findings) -> bool {
        if !self.was_used.load(Ordering::Relaxed) {
            return false;
        }
        let tracked = || found.tracked.iter().copied();
        if tracked().any(|(_, observed)| observed == Observed::Present(NO_FILE)) {
            return true;
        }
        let missing = tracked().filter(|&(_, observed)| observed == Observed::Missing);
        let missing = missing.filter_map(|(number, _)| dirstate.get(number as usize));
        let missing = missing.map(|(path, _)| path);
        let unseen = found.unknown.iter().map(|unseen| unseen.path.as_bstr());
        let mut looked_at: HashSet<&BStr> = HashSet::new();
        for path in missing.chain(unseen) {
            for slash in path.rfind_iter("/") {
                let above = path.get(..slash).unwrap_or_default().as_bstr();
                if !looked_at.insert(above) {
                    break;
                }
                let there = lstat_path(&top.join(OsStr::from_bytes(above)));
                if there.is_ok_and(|stat| !stat.is_dir()) {
                    return true;
                }
            }
        }
        false
    }
}
