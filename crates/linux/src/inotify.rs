//! Whether anything changed in a directory, heard from the kernel instead of looked up (inotify(7)).
//!
//! The process has one instance, since a user may have few: all watches are in it, and whoever asks reads what has
//! come for all of them.

use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

/// Watches one directory for as long as it lives: its entries, and the contents and attributes of the files in it,
/// whichever path they are changed by. What is written by a memory mapping, by another machine, or through another
/// hard link is not heard of (inotify(7), "Limitations and caveats").
#[derive(Debug)]
pub struct DirectoryWatch {
    descriptor: i32,
    changes: u64,
}

/// The watches of this process.
struct Instance {
    fd: OwnedFd,
    watches: HashMap<i32, Watch>,
}

/// What is known of one watch descriptor, of which several may be one: a directory has one of its own.
#[derive(Default)]
struct Watch {
    holders: usize,
    /// How often a change was heard of.
    changes: u64,
}

/// Room for some events with the longest names.
const BUFFER_LEN: usize = 4096;

impl DirectoryWatch {
    /// Begins to watch the directory `path`; a link is followed.
    ///
    /// # Errors
    /// What inotify_init1(2) and inotify_add_watch(2) say, `NOSPC` and `MFILE` where the user has too many watches.
    pub fn new(path: &Path) -> Result<Self, Errno> {
        let mut instance = instance()?;
        let flags = WatchFlags::MODIFY
            | WatchFlags::ATTRIB
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MOVE
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF
            | WatchFlags::ONLYDIR;
        let descriptor = inotify::add_watch(&instance.fd, path, flags)?;
        let watch = instance.watches.entry(descriptor).or_default();
        watch.holders = watch.holders.saturating_add(1);
        // What was heard before and not read yet counts as a change: it costs a look.
        Ok(Self {
            descriptor,
            changes: watch.changes,
        })
    }

    /// As [`Self::new`], for the open directory `folder`, wherever it is now.
    ///
    /// # Errors
    /// The same, and `NOENT` without proc(5).
    pub fn of(folder: BorrowedFd<'_>) -> Result<Self, Errno> {
        Self::new(&PathBuf::from(format!(
            "/proc/self/fd/{}",
            folder.as_raw_fd()
        )))
    }

    /// Whether nothing was heard of a change since this began. Once it is false it stays so.
    pub fn is_quiet(&self) -> bool {
        Self::are_quiet([self])
    }

    /// Whether all are quiet, for the cost of one.
    pub fn are_quiet<'a>(watches: impl IntoIterator<Item = &'a Self>) -> bool {
        let Ok(mut instance) = instance() else {
            return false;
        };
        let is_quiet = |instance: &Instance, watch: &Self| {
            let heard = instance.watches.get(&watch.descriptor);
            heard.is_some_and(|heard| heard.changes == watch.changes)
        };
        instance.listen().is_ok() && watches.into_iter().all(|watch| is_quiet(&instance, watch))
    }
}

impl Drop for DirectoryWatch {
    fn drop(&mut self) {
        let Ok(mut instance) = instance() else {
            return;
        };
        if let Some(watch) = instance.watches.get_mut(&self.descriptor) {
            watch.holders = watch.holders.saturating_sub(1);
            if watch.holders == 0 {
                instance.watches.remove(&self.descriptor);
                // The directory may be gone, and the watch with it.
                let _ = inotify::remove_watch(&instance.fd, self.descriptor);
            }
        }
    }
}

impl Instance {
    /// Notes all that has come.
    fn listen(&mut self) -> Result<(), Errno> {
        let mut buffer = [MaybeUninit::uninit(); BUFFER_LEN];
        let mut reader = Reader::new(&self.fd, &mut buffer);
        loop {
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::WOULDBLOCK) => return Ok(()),
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error),
            };
            let note = |watch: &mut Watch| watch.changes = watch.changes.saturating_add(1);
            if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
                self.watches.values_mut().for_each(note);
            } else {
                self.watches.get_mut(&event.wd()).into_iter().for_each(note);
            }
        }
    }
}

/// The instance of this process, made when it is first asked for.
fn instance() -> Result<MutexGuard<'static, Instance>, Errno> {
    static INSTANCE: OnceLock<Result<Mutex<Instance>, Errno>> = OnceLock::new();
    let made = INSTANCE.get_or_init(|| {
        let fd = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        Ok(Mutex::new(Instance {
            fd,
            watches: HashMap::new(),
        }))
    });
    match made {
        // Whoever panicked left a number too high or too low by one: nothing that matters to others.
        Ok(instance) => Ok(instance.lock().unwrap_or_else(PoisonError::into_inner)),
        Err(error) => Err(*error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::fd::AsFd;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn every_change_in_the_directory_is_heard_of_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        fs::write(path.join("file"), "one").unwrap();
        fs::create_dir(path.join("below")).unwrap();
        let deeds: [(&str, &dyn Fn()); 6] = [
            ("write in place", &|| {
                fs::write(path.join("file"), "two").unwrap();
            }),
            ("create", &|| fs::write(path.join("new"), "").unwrap()),
            ("rename", &|| {
                fs::rename(path.join("new"), path.join("file")).unwrap();
            }),
            ("change attributes", &|| {
                let file = fs::File::open(path.join("file")).unwrap();
                file.set_permissions(fs::Permissions::from_mode(0o600))
                    .unwrap();
            }),
            ("remove", &|| fs::remove_file(path.join("file")).unwrap()),
            ("remove the directory", &|| {
                fs::remove_dir_all(path).unwrap();
            }),
        ];
        for (name, deed) in deeds {
            let watch = DirectoryWatch::new(path).unwrap();
            let other = DirectoryWatch::new(path).unwrap();
            // What came of the deed before may still be unread.
            let (watch, other) = match watch.is_quiet() {
                true => (watch, other),
                false => (
                    DirectoryWatch::new(path).unwrap(),
                    DirectoryWatch::new(path).unwrap(),
                ),
            };
            if path.join("below").exists() {
                fs::write(path.join("below/other"), name).unwrap();
            }
            assert!(watch.is_quiet() && other.is_quiet(), "{name}");
            deed();
            assert!(!watch.is_quiet() && !other.is_quiet(), "{name}");
            assert!(!watch.is_quiet(), "{name}");
        }
        assert_eq!(DirectoryWatch::new(path).unwrap_err(), Errno::NOENT);
    }

    #[test]
    fn an_open_directory_is_watched_wherever_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("folder");
        fs::create_dir(&path).unwrap();
        let open = fs::File::open(&path).unwrap();
        let moved = folder.path().join("moved");
        fs::rename(&path, &moved).unwrap();
        let watch = DirectoryWatch::of(open.as_fd()).unwrap();
        let other = DirectoryWatch::new(folder.path()).unwrap();
        assert!(DirectoryWatch::are_quiet([&watch, &other]));
        fs::write(moved.join("file"), "").unwrap();
        assert!(!DirectoryWatch::are_quiet([&other, &watch]));
        assert!(other.is_quiet());
    }

    #[test]
    fn a_dropped_watch_leaves_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let kept = DirectoryWatch::new(folder.path()).unwrap();
        drop(DirectoryWatch::new(folder.path()).unwrap());
        fs::write(folder.path().join("file"), "").unwrap();
        assert!(!kept.is_quiet());
    }
}
