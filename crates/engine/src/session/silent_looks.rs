//! What changes without an event, as it was when a file system monitor last asked. Only what differs since is reported: git
//! writes its index after each report, however short.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::os::fd::AsFd;
use std::path::Path;

use bstr::{BStr, BString};
use vigil_linux::stat::{lstat_path, stat_path};
use vigil_model::path::join;
use vigil_stamp::paths::path_of;
use vigil_stamp::trust::FileSystem;
use vigil_stamp::{Stamp, now};

/// The maximum number of files whose stamps are remembered, of some 16 bytes each. More are reported each time.
const FILES_MAX: usize = 1_000_000;

/// What was last seen.
#[derive(Debug, Default)]
pub(super) struct SilentLooks {
    /// The folders that may be repositories.
    nested: BTreeMap<BString, NestedLook>,
    /// Hashes of the stamps of tracked files, which include the inode: which path has it, events tell. Nobody outside knows
    /// the hash function, so that no two of them can be made equal.
    files: HashSet<u64>,
    hash: RandomState,
}

/// What was seen of a folder that may be a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NestedLook {
    /// Whether it was one.
    is_repository: bool,
    /// The stamp of its `.git`.
    stamp: Option<Stamp>,
}

impl SilentLooks {
    /// Looks at the folders `nested` below `top`, and returns those that became repositories, or ceased to be ones, since the last
    /// call.
    pub(super) fn changed_nested(
        &mut self,
        top: &Path,
        nested: impl Iterator<Item = BString>,
        is_repository: impl Fn(&BStr) -> bool,
    ) -> Vec<BString> {
        let look = |path: BString| {
            let dot_git = join(path.as_ref(), ".git".into());
            let stat = stat_path(&top.join(path_of(&dot_git)));
            let look = NestedLook {
                is_repository: is_repository(path.as_ref()),
                stamp: stat.ok().map(|stat| Stamp::from(&stat)),
            };
            (path, look)
        };
        let now = nested.map(look).collect();
        let before = std::mem::replace(&mut self.nested, now);
        let changed = before
            .iter()
            .filter(|(path, look)| self.nested.get(*path) != Some(look));
        let new = self
            .nested
            .keys()
            .filter(|path| !before.contains_key(*path));
        changed.map(|(path, _)| path).chain(new).cloned().collect()
    }

    /// Looks at the tracked `files` below `top`, and returns those that may have changed since the last call.
    pub(super) fn changed_files(
        &mut self,
        top: &Path,
        files: impl Iterator<Item = BString>,
    ) -> Vec<BString> {
        let asked_at = now();
        let trusted_device = trusted_device(top);
        let mut seen = HashSet::new();
        let mut changed = Vec::new();
        for path in files {
            let stat = lstat_path(&top.join(path_of(&path))).ok();
            let stat = stat.filter(|stat| Some(stat.dev) == trusted_device);
            let stamp = stat.and_then(|stat| Stamp::trusted(&stat, asked_at));
            let hash = stamp.map(|stamp| self.hash.hash_one(stamp));
            if hash.is_none_or(|hash| !self.files.contains(&hash)) {
                changed.push(path);
            }
            seen.extend(hash.filter(|_| seen.len() < FILES_MAX));
        }
        self.files = seen;
        changed
    }
}

/// The device of `top`, if stamps prove something there.
fn trusted_device(top: &Path) -> Option<u64> {
    let folder = File::open(top).ok()?;
    let file_system = FileSystem::of(folder.as_fd()).ok()?;
    let is_trusted = file_system.trust().is_whole();
    let stat = stat_path(top).ok().filter(|_| is_trusted)?;
    Some(stat.dev)
}
