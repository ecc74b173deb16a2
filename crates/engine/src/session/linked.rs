//! Files that have more than one name: what is written by one of them is heard of where that is, and nowhere else. Of a recorded file
//! that is found to be one, nothing is believed to be heard. This is about files that become such meanwhile.

use std::collections::{BTreeSet, HashSet};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bstr::BString;
use vigil_linux::Errno;
use vigil_linux::stat::lstat_path;
use vigil_model::tracked::Tracked;

/// So many are remembered. With more, all are doubted again.
const LINKED_MAX: usize = 100_000;

/// The files with more names of which recorded ones are known to be looked at for each question.
#[derive(Debug, Default)]
pub(super) struct Linked {
    /// By device and inode.
    known: HashSet<(u64, u64)>,
}

impl Linked {
    /// Whether a file at one of `paths` below `top`, of which a change was heard, may be one that is recorded in `tracked` by another
    /// name, and not known to have one. Then all is to be looked at.
    pub(super) fn casts_doubt(
        &mut self,
        top: &Path,
        paths: &BTreeSet<BString>,
        tracked: &Tracked,
    ) -> bool {
        let mut fresh = HashSet::new();
        for path in paths {
            match lstat_path(&top.join(std::ffi::OsStr::from_bytes(path))) {
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
