//! The one instance of inotify(7) of a process, and the trees that it watches.

use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use bstr::{BStr, BString, ByteSlice};
use parking_lot::Mutex;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use vigil_linux::Errno;
use vigil_linux::inotify::Queue;
use vigil_linux::mounts;
use vigil_linux::stat::stat_fd;
use vigil_model::timestamp::Timestamp;
use vigil_stamp::trust::FileSystem;

use crate::changes::Changes;
use crate::forest::{Forest, Heard, TreeId};
use crate::journal::{Journal, Position};

/// Watches trees of folders. All who ask share it.
#[derive(Debug)]
pub struct Watcher {
    inner: Mutex<Inner>,
    /// The queue again, to wait for events while others ask,
    queue: OwnedFd,
    /// and what tells that one of them heard some: an eventfd(2).
    heard: Arc<OwnedFd>,
}

/// Which tree it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Top {
    /// Where its top is.
    pub path: PathBuf,
    /// The device and inode of that.
    pub id: (u64, u64),
}

/// A tree of folders that is watched, for all who ask about it. When the last of them lets go, so does the kernel.
#[derive(Debug)]
pub struct WatchedTree {
    watcher: Arc<Watcher>,
    id: TreeId,
    serial: u64,
}

/// A number that no tree had before.
fn next_serial() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

#[derive(Debug)]
struct Inner {
    queue: Queue,
    forest: Forest,
    /// Those that somebody holds.
    trees: HashMap<Top, Weak<WatchedTree>>,
    /// Whether the file system of a device tells of all changes.
    devices: HashMap<u64, bool>,
    /// Is told of each time something was heard.
    heard: Arc<OwnedFd>,
    /// A folder is not watched because the user has no watch left.
    ran_out: bool,
    /// What is below a mount is not heard; none where that cannot be told.
    mounts: Option<mounts::Changes>,
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
        let queue = Queue::new()?;
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let heard = Arc::new(eventfd(0, flags)?);
        Ok(Self {
            queue: rustix::io::fcntl_dupfd_cloexec(queue.as_fd(), 0)?,
            heard: heard.clone(),
            inner: Mutex::new(Inner {
                queue,
                heard,
                forest: Forest::default(),
                trees: HashMap::new(),
                devices: HashMap::new(),
                ran_out: false,
                mounts: mounts::Changes::new().ok(),
            }),
        })
    }

    /// The tree below `top`: the one that others hold, or a new one, of which nothing is watched yet.
    pub fn tree(self: &Arc<Self>, top: Top) -> Arc<WatchedTree> {
        let mut inner = self.inner.lock();
        if let Some(tree) = inner.trees.get(&top).and_then(Weak::upgrade) {
            return tree;
        }
        let tree = Arc::new(WatchedTree {
            watcher: self.clone(),
            id: inner.forest.begin(),
            serial: next_serial(),
        });
        inner.trees.retain(|_, tree| tree.strong_count() > 0);
        inner.trees.insert(top, Arc::downgrade(&tree));
        tree
    }

    /// Has [`WatchedTree::told_since`] tell of everything for whatever was told before, in the tree whose top has the device and
    /// inode `id`.
    pub fn tell_of_everything(&self, id: (u64, u64)) {
        let mut inner = self.inner.lock();
        let trees = inner.trees.iter().filter(|(top, _)| top.id == id);
        // Whoever held the last one may want this lock to let go of it.
        let trees: Vec<Arc<WatchedTree>> = trees.filter_map(|(_, tree)| tree.upgrade()).collect();
        for tree in &trees {
            inner.forest.tell_of_everything(tree.id);
        }
        drop(inner);
    }

    /// Waits until something happened since this was called last, heard by somebody already or not, at most for `time` (without
    /// end if there is none); whether it did. For one thread, which is to [`Self::listen`] then.
    ///
    /// # Errors
    /// What poll(2) says.
    pub fn wait(&self, time: Option<Duration>) -> Result<bool, Errno> {
        let time = time.and_then(|time| Timespec::try_from(time).ok());
        let mut waiting = [
            PollFd::new(&self.queue, PollFlags::IN),
            PollFd::from_borrowed_fd(self.heard.as_fd(), PollFlags::IN),
        ];
        match poll(&mut waiting, time.as_ref()) {
            Ok(ready) => Ok(ready > 0),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Has whoever waits come back at once: there is something else to do.
    pub fn wake(&self) {
        // Whoever waits is told already where it cannot take more.
        let _ = rustix::io::write(&*self.heard, &1u64.to_ne_bytes());
    }

    /// Takes in all that happened, so that the kernel has room for more.
    pub fn listen(&self) {
        self.inner.lock().listen();
        let mut count = [0; 8];
        // Nothing to be read is as good.
        let _ = rustix::io::read(&*self.heard, &mut count);
    }

    /// How many folders are watched.
    pub fn watches(&self) -> usize {
        self.inner.lock().forest.watches()
    }

    /// Whether the user had no watch left for some folder since this was asked last.
    pub fn has_run_out(&self) -> bool {
        std::mem::take(&mut self.inner.lock().ran_out)
    }
}

impl WatchedTree {
    /// Watches the open folder at `path` from the top. To be called before it is looked at.
    ///
    /// # Errors
    /// What happens in it would not be heard: it is to be looked at again at each question, with all below.
    pub fn watch(&self, path: &BStr, folder: BorrowedFd<'_>) -> Result<(), Unwatched> {
        let device = stat_fd(folder).map_err(Unwatched::Refused)?.dev;
        // Nothing is heard between the watch and the note of it.
        let mut inner = self.watcher.inner.lock();
        let watched = match inner.is_told_of(device, folder) {
            Ok(true) => inner.queue.watch(folder).map_err(Unwatched::Refused),
            Ok(false) => Err(Unwatched::Untold),
            Err(error) => Err(error),
        };
        match watched {
            Ok(wd) => inner.forest.watched(self.id, path, wd),
            Err(why) => {
                inner.ran_out |= why == Unwatched::Refused(Errno::NOSPC);
                inner.forest.refused(self.id, path);
            }
        }
        watched.map(drop)
    }

    /// Where the journal ends, with every change whose system call returned before this was called.
    pub fn position(&self) -> Position {
        let mut inner = self.watcher.inner.lock();
        inner.listen();
        inner.end(self.id)
    }

    /// What changed after `position`, with every change whose system call returned before this was called; and up to where
    /// that is.
    pub fn changes_since(&self, position: Position) -> (Changes, Position) {
        let mut inner = self.watcher.inner.lock();
        inner.listen();
        let journal = inner.forest.journal(self.id);
        let changes = journal.map_or_else(Changes::default, |journal| journal.since(position));
        (changes, inner.end(self.id))
    }

    /// Where the journal ends by what was heard until now, whoever listened.
    pub fn heard_until(&self) -> Position {
        self.watcher.inner.lock().end(self.id)
    }

    /// Where the entry at `path` changed last, and when that was heard of, by what was heard until now and is still known.
    pub fn heard_of(&self, path: &BStr) -> Option<(Position, Timestamp)> {
        let inner = self.watcher.inner.lock();
        inner.forest.journal(self.id)?.last_of(path)
    }

    /// Which tree it is of all that this process ever watched.
    pub fn serial(&self) -> u64 {
        self.serial
    }

    /// From now on [`Self::told_since`] tells of what happens.
    pub fn begin_to_tell(&self) {
        self.watcher.inner.lock().forest.begin_to_tell(self.id);
    }

    /// Has [`Self::told_since`] tell of `path`, too.
    pub fn tell_of(&self, path: &BStr) {
        self.watcher.inner.lock().forest.tell_of_path(self.id, path);
    }

    /// As [`Self::changes_since`], for those who look by themselves at whatever was not watched before: a folder that was
    /// watched since is one that changed. `None` before [`Self::begin_to_tell`]. The positions are not those of
    /// [`Self::changes_since`].
    pub fn told_since(&self, position: Option<Position>) -> Option<(Changes, Position)> {
        let mut inner = self.watcher.inner.lock();
        inner.listen();
        let told = inner.forest.told(self.id)?;
        let changes = told.since(position.unwrap_or_default());
        Some((changes, told.end()))
    }

    /// The folder at `path` and those below that were met, at most `max`; and whether these are all.
    pub fn folders_from(&self, path: &BStr, max: usize) -> (Vec<BString>, bool) {
        let inner = self.watcher.inner.lock();
        inner.forest.folders_from(self.id, path, max)
    }

    /// How many of its folders are watched.
    pub fn watches(&self) -> usize {
        self.watcher.inner.lock().forest.watches_of(self.id)
    }

    /// To be called when all of it was looked at, each folder after it was watched.
    pub fn looked_at_all(&self) {
        let mut inner = self.watcher.inner.lock();
        inner.forest.looked_at_all(self.id);
        inner.unwatch_unused();
    }
}

impl Drop for WatchedTree {
    fn drop(&mut self) {
        let mut inner = self.watcher.inner.lock();
        inner.forest.forget(self.id);
        inner.unwatch_unused();
    }
}

impl Inner {
    /// Takes in all that is queued.
    fn listen(&mut self) {
        self.hear();
        if self.mounts.as_ref().is_none_or(mounts::Changes::happened) {
            self.devices.clear();
            self.forest.doubt_everything();
        }
        self.unwatch_unused();
    }

    fn hear(&mut self) {
        let forest = &mut self.forest;
        forest.set_time(vigil_stamp::now());
        let mut count = 0u64;
        let heard = self.queue.drain(|event| {
            count = count.saturating_add(1);
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
        if count > 0 {
            // Whoever waits is told already where it cannot take more.
            let _ = rustix::io::write(&*self.heard, &1u64.to_ne_bytes());
        }
    }

    fn end(&self, tree: TreeId) -> Position {
        let journal = self.forest.journal(tree);
        journal.map_or_else(Position::default, Journal::end)
    }

    /// Whether the kernel tells of all changes on `device`, on which `folder` is.
    fn is_told_of(&mut self, device: u64, folder: BorrowedFd<'_>) -> Result<bool, Unwatched> {
        if let Some(is_told) = self.devices.get(&device) {
            return Ok(*is_told);
        }
        let trust = FileSystem::of(folder).map_err(Unwatched::Refused)?;
        let trust = trust.trust(None);
        let is_told = trust.directories && trust.contents;
        self.devices.insert(device, is_told);
        Ok(is_told)
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
}

#[cfg(test)]
mod tests;
