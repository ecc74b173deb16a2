//! Files that have more than one name: what is written by one of them is heard of where that is, and nowhere else. Of a
//! recorded file that is found to be one, nothing is believed to be heard. This is about files that become such meanwhile, and
//! about those that are written by a descriptor whose name is gone: the kernel tells of that name, and not which other one the
//! file got.

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use bstr::{BStr, BString};
use vigil_linux::Errno;
use vigil_linux::stat::{Stat, lstat_path};
use vigil_model::path::parent;
use vigil_watch::Changes;

/// So many are remembered. With more, all are doubted again.
const LINKED_MAX: usize = 100_000;

/// So many entries of changed folders are looked at in any case.
const ENTRIES_MIN: usize = 20_000;

/// The files with more names of which recorded ones are known to be looked at for each question.
#[derive(Debug, Default)]
pub(super) struct Linked {
    /// By device and inode.
    known: HashSet<(u64, u64)>,
}

impl Linked {
    /// Whether `changes` below `top` may be of files that are recorded by other names, and not known to have these. Then all is
    /// to be looked at. Which file has a record cannot be told by its inode: it may have been replaced by its like since. Of
    /// what went of `below_folders` nothing is there: what came in its place is gone through with its folder.
    pub(super) fn casts_doubt(
        &mut self,
        top: &Path,
        changes: &Changes,
        below_folders: &Changes,
    ) -> bool {
        let mut fresh = HashSet::new();
        let mut any_nameless = false;
        if !below_folders.gone.is_empty() {
            self.known.clear();
        }
        let not_gone = below_folders.paths.difference(&below_folders.gone);
        for path in changes.paths.iter().chain(not_gone) {
            match lstat_below(top, path.as_ref()) {
                Ok(stat) if stat.is_file() && stat.nlink > 1 => {
                    let id = (stat.dev, stat.ino);
                    if !self.known.contains(&id) {
                        fresh.insert(id);
                    }
                }
                Err(Errno::NOENT) => {
                    // It may have been one of two names, and the other one may get a third one.
                    self.known.clear();
                    any_nameless = any_nameless || is_of_nameless(top, changes, path);
                }
                _ => {}
            }
        }
        self.learn(fresh) || any_nameless
    }

    /// The same for what came with one of the changed `folders`: nobody listened there when it was written. To be called once
    /// somebody does. Where they have more entries than there are `tracked` files, to look at all takes no longer.
    pub(super) fn casts_doubt_by(
        &mut self,
        top: &Path,
        folders: &BTreeSet<BString>,
        tracked: usize,
    ) -> bool {
        let mut fresh = HashSet::new();
        let mut pending: Vec<PathBuf> = folders
            .iter()
            .map(|path| below(top, path.as_ref()))
            .collect();
        let mut entries_left = tracked.max(ENTRIES_MIN);
        while let Some(folder) = pending.pop() {
            let entries = match fs::read_dir(&folder) {
                Ok(entries) => entries,
                Err(error) => match error.kind() {
                    ErrorKind::NotFound | ErrorKind::NotADirectory => continue,
                    _ => return true,
                },
            };
            for entry in entries {
                let (Ok(entry), Some(left)) = (entry, entries_left.checked_sub(1)) else {
                    return true;
                };
                entries_left = left;
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => pending.push(entry.path()),
                    Ok(kind) if kind.is_file() => {
                        let facts = entry.metadata().ok().filter(|facts| facts.nlink() > 1);
                        let id = facts.map(|facts| (facts.dev(), facts.ino()));
                        fresh.extend(id.filter(|id| !self.known.contains(id)));
                    }
                    _ => {}
                }
            }
        }
        self.learn(fresh)
    }

    /// Whether there are `fresh` ones, which are known from now on.
    fn learn(&mut self, fresh: HashSet<(u64, u64)>) -> bool {
        if self.known.len().saturating_add(fresh.len()) > LINKED_MAX {
            self.known.clear();
        }
        let is_any = !fresh.is_empty();
        self.known.extend(fresh);
        is_any
    }
}

/// Whether one of `changes` below `top` is of a file that was written by a name that it no longer has. It may be
/// anywhere.
pub(super) fn has_nameless(top: &Path, changes: &Changes) -> bool {
    let mut paths = changes.paths.iter();
    paths.any(|path| {
        let stat = lstat_below(top, path.as_ref());
        stat.is_err_and(|error| error == Errno::NOENT) && is_of_nameless(top, changes, path)
    })
}

/// Whether `path`, at which nothing is, was written after it went, in a folder that is there.
fn is_of_nameless(top: &Path, changes: &Changes, path: &BString) -> bool {
    let folder = || lstat_below(top, parent(path.as_ref()));
    !changes.gone.contains(path) && folder().is_ok_and(|stat| stat.is_dir())
}

fn lstat_below(top: &Path, path: &BStr) -> Result<Stat, Errno> {
    lstat_path(&below(top, path))
}

fn below(top: &Path, path: &BStr) -> PathBuf {
    top.join(OsStr::from_bytes(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_folder_is_gone_through_unless_all_that_is_tracked_is_less() {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir_all(top.path().join("many/below")).unwrap();
        for number in 0..=ENTRIES_MIN {
            fs::write(top.path().join(format!("many/below/{number}")), "").unwrap();
        }
        let folders = BTreeSet::from([BString::from("many"), BString::from("gone")]);
        let casts_doubt =
            |linked: &mut Linked, tracked| linked.casts_doubt_by(top.path(), &folders, tracked);
        let mut linked = Linked::default();
        assert!(casts_doubt(&mut linked, ENTRIES_MIN));
        assert!(!casts_doubt(&mut linked, 2 * ENTRIES_MIN));
        // What has another name is still found, and once.
        fs::hard_link(top.path().join("many/below/7"), top.path().join("other")).unwrap();
        assert!(casts_doubt(&mut linked, 2 * ENTRIES_MIN));
        assert!(!casts_doubt(&mut linked, 2 * ENTRIES_MIN));
    }
}
