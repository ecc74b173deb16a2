//! Whether anything changed in a directory, heard from the kernel instead of looked up (inotify(7)).
//!
//! A user may have few instances, often 128, and other programs need them, too. So the process has one at most, and none
//! without a watch: all watches are in it, and whoever asks reads what has come for all of them. And all processes of a user
//! together have no more than a quarter of what he may have. Each takes one of so many names, which nobody else has until
//! the process lets go of it or ends: those of sockets that are in no file system (unix(7), "Abstract sockets"), since they
//! need no folder, and nothing is left of them.

pub mod queue;

use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

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
    _name: UnixDatagram,
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
    /// What inotify_init1(2) and inotify_add_watch(2) say, `NOSPC` and `MFILE` where the user has too many watches, or
    /// processes like this one have their share.
    pub fn new(path: &Path) -> Result<Self, Errno> {
        let mut instance = instance();
        let flags = WatchFlags::MODIFY
            | WatchFlags::ATTRIB
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MOVE
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF
            | WatchFlags::ONLYDIR;
        let made = match instance.take() {
            Some(known) => known,
            None => Instance::new()?,
        };
        let made = instance.insert(made);
        let added = inotify::add_watch(&made.fd, path, flags);
        let descriptor = match added {
            Ok(descriptor) => descriptor,
            Err(error) => {
                if made.watches.is_empty() {
                    *instance = None;
                }
                return Err(error);
            }
        };
        let watch = made.watches.entry(descriptor).or_default();
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
        let mut instance = instance();
        let Some(instance) = instance.as_mut() else {
            // Whoever has a watch keeps it open.
            return watches.into_iter().next().is_none();
        };
        let is_quiet = |instance: &Instance, watch: &Self| {
            let heard = instance.watches.get(&watch.descriptor);
            heard.is_some_and(|heard| heard.changes == watch.changes)
        };
        instance.listen().is_ok() && watches.into_iter().all(|watch| is_quiet(instance, watch))
    }
}

impl Drop for DirectoryWatch {
    fn drop(&mut self) {
        let mut instance = instance();
        let Some(known) = instance.as_mut() else {
            return;
        };
        if let Some(watch) = known.watches.get_mut(&self.descriptor) {
            watch.holders = watch.holders.saturating_sub(1);
            if watch.holders == 0 {
                known.watches.remove(&self.descriptor);
                // The directory may be gone, and the watch with it.
                let _ = inotify::remove_watch(&known.fd, self.descriptor);
            }
        }
        if known.watches.is_empty() {
            *instance = None;
        }
    }
}

impl Instance {
    fn new() -> Result<Self, Errno> {
        let user = rustix::process::geteuid().as_raw();
        let name = take_name(&format!("vigil/inotify/{user}"), instances_max());
        let name = name.ok_or(Errno::MFILE)?;
        Ok(Self {
            fd: inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?,
            watches: HashMap::new(),
            _name: name,
        })
    }

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

/// How many instances all processes like this one may have together.
fn instances_max() -> u32 {
    let limit = std::fs::read_to_string("/proc/sys/fs/inotify/max_user_instances");
    let limit: Option<u32> = limit.ok().and_then(|limit| limit.trim().parse().ok());
    limit.unwrap_or(0) / 4
}

/// One of `count` names that begin with `start`, which is held for as long as the value lives. `None` if others have all.
fn take_name(start: &str, count: u32) -> Option<UnixDatagram> {
    // Each process begins with another one, most of which are free.
    let first = std::process::id();
    (0..count).find_map(|turn| {
        let number = first.wrapping_add(turn) % count;
        let name = SocketAddr::from_abstract_name(format!("{start}/{number}")).ok()?;
        UnixDatagram::bind_addr(&name).ok()
    })
}

/// The instance of this process, while there are watches.
fn instance() -> MutexGuard<'static, Option<Instance>> {
    static INSTANCE: Mutex<Option<Instance>> = Mutex::new(None);
    // Whoever panicked left a number too high or too low by one: nothing that matters to others.
    INSTANCE.lock().unwrap_or_else(PoisonError::into_inner)
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

    #[test]
    fn a_name_is_free_again_once_it_is_let_go_of() {
        let start = format!("vigil/test/{}", std::process::id());
        let take = || take_name(&start, 3);
        let mut taken: Vec<UnixDatagram> = std::iter::from_fn(take).collect();
        assert_eq!(taken.len(), 3);
        taken.pop();
        assert!(take().is_some());
        assert!(take_name(&start, 0).is_none());
    }
}
