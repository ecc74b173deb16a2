//! Files that have more than one name: what is written by one of them is heard of where that is, and nowhere else. Of a recorded file
//! that is found to be one, nothing is believed to be heard. This is about files that become such meanwhile, and about those that are
//! written by a descriptor whose name is gone: the kernel tells of that name, and not which other one the file got.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bstr::{BStr, ByteSlice};
use vigil_linux::Errno;
use vigil_linux::stat::{Stat, lstat_path};
use vigil_model::path::parent;
use vigil_model::tracked::Tracked;
use vigil_watch::Changes;

/// So many are remembered. With more, all are doubted again.
const LINKED_MAX: usize = 100_000;

/// The files with more names of which recorded ones are known to be looked at for each question.
#[derive(Debug, Default)]
pub(super) struct Linked {
    /// By device and inode.
    known: HashSet<(u64, u64)>,
}

impl Linked {
    /// Whether `changes` below `top` may be of a file that is recorded in `tracked` by another name, and not known to have one, or
    /// of any other. Then all is to be looked at.
    pub(super) fn casts_doubt(&mut self, top: &Path, changes: &Changes, tracked: &Tracked) -> bool {
        let mut fresh = HashSet::new();
        for path in &changes.paths {
            match lstat_below(top, path.as_ref()) {
                Ok(stat) if stat.is_file() && stat.nlink > 1 => {
                    let id = (stat.dev, stat.ino);
                    if !self.known.contains(&id) {
                        fresh.insert(id);
                    }
                }
                // It may have been one of two names, and the other one may get a third one.
                Err(Errno::NOENT) => self.known.clear(),
                _ => {}
            }
        }
        if has_nameless(top, changes) {
            return true;
        }
        if fresh.is_empty() || !may_be_recorded(&fresh, tracked) {
            return false;
        }
        if self.known.len().saturating_add(fresh.len()) > LINKED_MAX {
            self.known.clear();
        }
        self.known.extend(fresh);
        true
    }
}

/// Whether one of `changes` below `top` is of a file that was written by a name that it no longer has, in a folder that is there. It may
/// be anywhere.
pub(super) fn has_nameless(top: &Path, changes: &Changes) -> bool {
    let is_there = |path: &BStr| lstat_below(top, path).is_ok_and(|stat| stat.is_dir());
    let mut written = changes.paths.difference(&changes.gone);
    written.any(|path| {
        let path = path.as_bstr();
        lstat_below(top, path).is_err_and(|error| error == Errno::NOENT) && is_there(parent(path))
    })
}

fn lstat_below(top: &Path, path: &BStr) -> Result<Stat, Errno> {
    lstat_path(&top.join(OsStr::from_bytes(path)))
}

/// Whether one of `files` may be recorded. An index has the lower half of the inode (gitformat-index(5)); a dirstate has none.
fn may_be_recorded(files: &HashSet<(u64, u64)>, tracked: &Tracked) -> bool {
    let recorded: HashSet<u32> = files
        .iter()
        .filter_map(|(_, inode)| u32::try_from(inode & u64::from(u32::MAX)).ok())
        .collect();
    let mut directories = (0..tracked.directories()).map(|number| tracked.directory(number));
    directories.any(|directory| {
        let mut inodes = directory.files_from(0).map(|(_, file)| file.stat().ino);
        inodes.any(|inode| inode == 0 || recorded.contains(&inode))
    })
}
