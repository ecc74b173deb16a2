//! The one instance of inotify(7) of a process, and the trees that it watches.

use std::fs::File;
use std::os::fd::BorrowedFd;

use bstr::{BStr, ByteSlice};
use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use vigil_linux::Errno;
use vigil_linux::inotify::queue::Queue;
use vigil_stamp::trust::FileSystem;

use crate::changes::Changes;
use crate::forest::{Forest, Heard, TreeId};

/// Watches trees of folders. All who ask share it.
#[derive(Debug)]
pub struct Watcher(Mutex<Inner>);

#[derive(Debug)]
struct Inner {
    queue: Queue,
    forest: Forest,
    /// Tells when something is mounted or unmounted (proc_pid_mountinfo(5)): what is below a mount is not heard.
    mounts: Option<File>,
}

/// How many watches are given back before what is queued is heard: a small part of `max_queued_events`.
const UNWATCHED_AT_ONCE: usize = 1024;

/// Why a folder is not watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unwatched {
    /// Another machine can write there, and no event says so.
    #[error("its file system tells of no changes by others")]
    Untold,
    /// The kernel has no more watches for this user, or refuses for another reason.
    #[error("it cannot be watched: {}", vigil_linux::errno::text(*.0))]
    Refused(Errno),
}

impl Watcher {
    /// Without trees.
    ///
    /// # Errors
    /// The user has no instance left.
    pub fn new() -> Result<Self, Errno> {
        let mounts = File::open("/proc/self/mountinfo").ok();
        Ok(Self(Mutex::new(Inner {
            queue: Queue::new()?,
            forest: Forest::default(),
            mounts,
        })))
    }

    /// Begins a tree. All of it is to be looked at first, each folder after it is watched.
    pub fn begin(&self) -> TreeId {
        self.0.lock().forest.begin()
    }

    /// Watches the open folder at `path` from the top of `tree`. To be called before it is looked at.
    ///
    /// # Errors
    /// What happens in it would not be heard: it is to be looked at again at each question, with all below.
    pub fn watch(
        &self,
        tree: TreeId,
        path: &BStr,
        folder: BorrowedFd<'_>,
    ) -> Result<(), Unwatched> {
        let trust = FileSystem::of(folder).map_err(Unwatched::Refused)?;
        let trust = trust.trust(None);
        if !(trust.directories && trust.contents) {
            return Err(Unwatched::Untold);
        }
        // Nothing is heard between the watch and the note of it.
        let mut inner = self.0.lock();
        let wd = inner.queue.watch(folder).map_err(Unwatched::Refused)?;
        inner.forest.watched(tree, path, wd);
        Ok(())
    }

    /// What changed in `tree` since this was asked last: every change whose system call returned before this was called.
    pub fn changes(&self, tree: TreeId) -> Changes {
        let mut inner = self.0.lock();
        inner.listen();
        inner.forest.take_changes(tree)
    }

    /// To be called when all of a tree was looked at, each folder after it was watched.
    pub fn looked_at_all(&self, tree: TreeId) {
        let mut inner = self.0.lock();
        inner.forest.looked_at_all(tree);
        inner.unwatch_unused();
    }

    /// Forgets a tree.
    pub fn forget(&self, tree: TreeId) {
        let mut inner = self.0.lock();
        inner.forest.forget(tree);
        inner.unwatch_unused();
    }

    /// How many folders are watched.
    pub fn watches(&self) -> usize {
        self.0.lock().forest.watches()
    }
}

impl Inner {
    /// Takes in all that is queued.
    fn listen(&mut self) {
        self.hear();
        if self.mounts_changed() {
            self.forest.doubt_everything();
        }
        self.unwatch_unused();
    }

    fn hear(&mut self) {
        let forest = &mut self.forest;
        let heard = self.queue.drain(|event| {
            forest.hear(Heard {
                wd: event.wd,
                flags: event.flags,
                cookie: event.cookie,
                name: event.name.map(|name| name.to_bytes().as_bstr()),
            });
        });
        self.forest.settle();
        if heard.is_err() {
            self.forest.doubt_everything();
        }
    }

    fn unwatch_unused(&mut self) {
        loop {
            let unused = self.forest.take_unused();
            if unused.is_empty() {
                return;
            }
            // The kernel tells of each: too many at once would make it lose what others change.
            for some in unused.chunks(UNWATCHED_AT_ONCE) {
                for wd in some {
                    // Its folder may be gone, and the watch with it.
                    let _ = self.queue.unwatch(*wd);
                }
                self.hear();
            }
        }
    }

    /// Whether mounts changed since this was asked last, or that cannot be told.
    fn mounts_changed(&self) -> bool {
        let Some(mounts) = &self.mounts else {
            return true;
        };
        let mut waiting = [PollFd::new(mounts, PollFlags::PRI)];
        let at_once = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        match poll(&mut waiting, Some(&at_once)) {
            Ok(0) => false,
            Ok(_) => waiting
                .iter()
                .any(|mounts| mounts.revents().intersects(PollFlags::PRI | PollFlags::ERR)),
            Err(_) => true,
        }
    }
}

#[cfg(test)]
mod tests;
