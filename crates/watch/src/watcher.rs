//! The process's one inotify(7) instance, and the trees that it watches.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
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
use crate::forest::{Forest, TreeId, WatchEvent};
use crate::journal::{Journal, Position};
use crate::unwatched::Unwatched;

/// Watches trees of folders. All sessions share it.
#[derive(Debug)]
pub struct Watcher {
    inner: Mutex<Inner>,
    /// A duplicate of the queue's descriptor, to wait for events while others use the queue.
    queue: OwnedFd,
    /// As in [`Inner`], to wait for it without the lock.
    events_read: Arc<OwnedFd>,
}

/// The identity of a tree.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Top {
    /// The path of its top.
    pub path: PathBuf,
    /// The device and inode of its top.
    pub id: (u64, u64),
}

/// A watched tree of folders, shared by all who ask about it. When the last reference is dropped, its watches are removed.
#[derive(Debug)]
pub struct WatchedTree {
    watcher: Arc<Watcher>,
    id: TreeId,
    serial: u64,
}

/// Returns a number that no tree has had before.
fn next_serial() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

#[derive(Debug)]
struct Inner {
    queue: Queue,
    forest: Forest,
    /// The trees that are still referenced.
    trees: HashMap<Top, KnownTree>,
    /// Whether each device's file system reports all changes, by [`Watcher::reports_all_changes`].
    devices_that_report: HashMap<u64, bool>,
    /// An eventfd(2), signalled whenever events were read, and by [`Watcher::wake`].
    events_read: Arc<OwnedFd>,
    /// Some folder is not watched because the user's watches ran out.
    watches_ran_out: bool,
    /// The user has had no watch left since events were last read. Until they are read again, no other folder is tried, which would
    /// cost a system call for each.
    has_no_watch_left: bool,
    /// The mounts, of whose changes there are no events. `None` if they cannot be followed: then everything is doubted.
    mounts: Option<Mounts>,
}

/// A watched tree, as long as somebody refers to it.
#[derive(Debug)]
struct KnownTree {
    id: TreeId,
    /// The path of its top without symbolic links, if it could be found out.
    real_path: Option<PathBuf>,
    tree: Weak<WatchedTree>,
}

/// The mounts that this process sees.
#[derive(Debug)]
struct Mounts {
    changes: mounts::Changes,
    /// The table as it was at the last change, or later.
    table: Vec<u8>,
}

impl Mounts {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            // Changes after this are noticed, whether or not the table has them.
            changes: mounts::Changes::new()?,
            table: mounts::table()?,
        })
    }

    /// How the mounts changed since the last call; `None` if they did not.
    ///
    /// # Errors
    /// The table cannot be read, or is longer than what is read of it.
    fn take_changes(&mut self) -> std::io::Result<Option<MountChanges>> {
        if !self.changes.have_occurred() {
            return Ok(None);
        }
        let now = mounts::table()?;
        let before = std::mem::replace(&mut self.table, now);
        match self.table.len() as u64 {
            mounts::TABLE_LEN_MAX.. => Err(ErrorKind::FileTooLarge.into()),
            _ => Ok(Some(MountChanges {
                points: mounts::changed_points(&before, &self.table),
                present: mounts::below(Path::new("/"), &self.table),
            })),
        }
    }
}

/// How the mounts changed.
#[derive(Debug, Default)]
struct MountChanges {
    /// The points where something was mounted or unmounted, by the tables.
    points: Vec<PathBuf>,
    /// The points where something is mounted now. It may have replaced another folder of the same path: the kernel uses the
    /// numbers of mounts again, and the tables then look the same.
    present: Vec<PathBuf>,
}

impl MountChanges {
    /// Whether another folder may be at `top` or below it now. One that was mounted at `top` itself over an earlier mount shows
    /// by its inode.
    fn concern(&self, top: &Path) -> bool {
        let mut points = self.points.iter();
        let mut present = self.present.iter();
        points.any(|point| point.starts_with(top) || top.starts_with(point))
            || present.any(|point| point != top && point.starts_with(top))
    }
}

/// The number of watches to remove before reading the queue: a small part of `max_queued_events`.
const UNWATCHED_AT_ONCE: usize = 1024;

impl Watcher {
    /// Creates a watcher without trees.
    ///
    /// # Errors
    /// The user has no inotify instance left, or another system call failed.
    pub fn new() -> Result<Self, Errno> {
        let queue = Queue::new()?;
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let events_read = Arc::new(eventfd(0, flags)?);
        Ok(Self {
            queue: rustix::io::fcntl_dupfd_cloexec(queue.as_fd(), 0)?,
            events_read: events_read.clone(),
            inner: Mutex::new(Inner {
                queue,
                events_read,
                forest: Forest::default(),
                trees: HashMap::new(),
                devices_that_report: HashMap::new(),
                watches_ran_out: false,
                has_no_watch_left: false,
                mounts: Mounts::new().ok(),
            }),
        })
    }

    /// Returns the tree below `top`: the existing one if it is still referenced, else a new one in which nothing is watched yet.
    pub fn tree(self: &Arc<Self>, top: Top) -> Arc<WatchedTree> {
        // A disk that hangs must not hang those who wait for the lock.
        let real_path = top.path.canonicalize().ok();
        let mut inner = self.inner.lock();
        let known = inner.trees.get(&top);
        if let Some(tree) = known.and_then(|known| known.tree.upgrade()) {
            return tree;
        }
        let id = inner.forest.begin();
        let tree = Arc::new(WatchedTree {
            watcher: self.clone(),
            id,
            serial: next_serial(),
        });
        inner.trees.retain(|_, known| known.tree.strong_count() > 0);
        let known = KnownTree {
            id,
            real_path,
            tree: Arc::downgrade(&tree),
        };
        inner.trees.insert(top, known);
        tree
    }

    /// Makes [`WatchedTree::monitor_changes_since`] report that everything changed, for all positions given out so far, in
    /// the tree whose top has the device and inode `id`.
    pub fn report_everything(&self, id: (u64, u64)) {
        let mut inner = self.inner.lock();
        let trees = inner.trees.iter().filter(|(top, _)| top.id == id);
        // If ours becomes the last reference, dropping it takes this lock: so it is dropped after the lock is released.
        let trees: Vec<Arc<WatchedTree>> = trees
            .filter_map(|(_, known)| known.tree.upgrade())
            .collect();
        for tree in &trees {
            inner.forest.report_everything(tree.id);
        }
        drop(inner);
    }

    /// Waits for at most `time` (`None`: for ever) until any thread has read events since the last call, or [`Self::wake`] was
    /// called. Returns whether that is so. For a single thread.
    ///
    /// # Errors
    /// poll(2) failed.
    pub fn wait(&self, time: Option<Duration>) -> Result<bool, Errno> {
        let time = time.and_then(|time| Timespec::try_from(time).ok());
        let is_signalled = is_readable(self.events_read.as_fd(), time.as_ref())?;
        if is_signalled {
            let mut count = [0; 8];
            rustix::io::read(&*self.events_read, &mut count)?;
        }
        Ok(is_signalled)
    }

    /// Wakes the thread in [`Self::wait`], because there is something else to do.
    pub fn wake(&self) {
        signal(&self.events_read);
    }

    /// Reads all events as they come, those of one `burst` at once, until they can no longer be waited for. If the kernel's
    /// queue is full, it drops events: so the calling thread should do nothing else.
    ///
    /// # Errors
    /// poll(2) failed.
    pub fn read_events_as_they_come(&self, burst: Duration) -> Result<Infallible, Errno> {
        loop {
            if is_readable(self.queue.as_fd(), None)? {
                std::thread::sleep(burst);
                self.read_events();
            }
        }
    }

    /// Reads all queued events, so that the kernel has room for more.
    pub fn read_events(&self) {
        self.inner.lock().read_events();
    }

    /// The number of watched folders.
    pub fn watches(&self) -> usize {
        self.inner.lock().forest.watches()
    }

    /// Whether watches have run out for some folder since the last call.
    pub fn has_run_out(&self) -> bool {
        std::mem::take(&mut self.inner.lock().watches_ran_out)
    }

    /// Whether the kernel reports all changes on the file system of `folder`.
    fn reports_all_changes(&self, folder: BorrowedFd<'_>) -> Result<bool, Unwatched> {
        let device = stat_fd(folder).map_err(Unwatched::from)?.dev;
        let known = self.inner.lock().devices_that_report.get(&device).copied();
        if let Some(reports_all) = known {
            return Ok(reports_all);
        }
        // A disk that hangs must not hang those who wait for the lock.
        let file_system = FileSystem::of(folder).map_err(Unwatched::from)?;
        let reports_all = file_system.trust().is_whole();
        // While the folder is open, no other file system gets the device's number.
        let mut inner = self.inner.lock();
        inner.devices_that_report.insert(device, reports_all);
        Ok(reports_all)
    }
}

impl WatchedTree {
    /// Watches the open folder at `path`, relative to the top. Must be called before the caller looks at the folder.
    ///
    /// # Errors
    /// Events in the folder would be missed: it must be looked at again for each question, with everything below it.
    pub fn watch(&self, path: &BStr, folder: BorrowedFd<'_>) -> Result<(), Unwatched> {
        let reports_all = self.watcher.reports_all_changes(folder);
        // The lock keeps events from being read before the watch is recorded.
        let mut inner = self.watcher.inner.lock();
        let watched = match reports_all {
            Ok(true) if inner.has_no_watch_left && !inner.forest.is_watched(self.id, path) => {
                Err(Unwatched::RanOut)
            }
            Ok(true) => inner.queue.watch(folder).map_err(Unwatched::from),
            Ok(false) => Err(Unwatched::Unreported),
            Err(error) => Err(error),
        };
        match watched {
            Ok(wd) => inner.forest.record_watch(self.id, path, wd),
            Err(why) => {
                if why == Unwatched::RanOut {
                    inner.watches_ran_out = true;
                    inner.has_no_watch_left = true;
                }
                inner.forest.record_refusal(self.id, path, why);
            }
        }
        watched.map(drop)
    }

    /// Whether the folder at `path` is watched, by the events read so far.
    pub fn is_watched(&self, path: &BStr) -> bool {
        self.watcher.inner.lock().forest.is_watched(self.id, path)
    }

    /// Why the folder at `path` is not watched, if the last attempt to watch it failed and that is remembered.
    pub fn why_unwatched(&self, path: &BStr) -> Option<Unwatched> {
        self.watcher
            .inner
            .lock()
            .forest
            .why_unwatched(self.id, path)
    }

    /// The end of the journal. It includes every change whose system call returned before this call.
    pub fn position(&self) -> Position {
        let mut inner = self.watcher.inner.lock();
        inner.read_events();
        inner.end(self.id)
    }

    /// Returns the changes after `position`, including every change whose system call returned before this call, and the
    /// position after them.
    pub fn changes_since(&self, position: Position) -> (Changes, Position) {
        let mut inner = self.watcher.inner.lock();
        inner.read_events();
        let journal = inner.forest.journal(self.id);
        let changes = journal.map_or_else(Changes::default, |journal| journal.since(position));
        (changes, inner.end(self.id))
    }

    /// The end of the journal by the events read so far, by any thread. Reads no events itself.
    pub fn heard_until(&self) -> Position {
        self.watcher.inner.lock().end(self.id)
    }

    /// The position and time of the latest change of the entry at `path` in the events read so far, if still in the journal.
    pub fn heard_of(&self, path: &BStr) -> Option<(Position, Timestamp)> {
        let inner = self.watcher.inner.lock();
        inner.forest.journal(self.id)?.last_of(path)
    }

    /// The number of this tree, unique among all that this process ever watched.
    pub fn serial(&self) -> u64 {
        self.serial
    }

    /// Starts the second journal, from which [`Self::monitor_changes_since`] answers.
    pub fn start_monitor_journal(&self) {
        self.watcher
            .inner
            .lock()
            .forest
            .start_monitor_journal(self.id);
    }

    /// Makes [`Self::monitor_changes_since`] report `path`, too.
    pub fn report_path(&self, path: &BStr) {
        self.watcher.inner.lock().forest.report_path(self.id, path);
    }

    /// Like [`Self::changes_since`], for readers that look by themselves at folders that were not watched before: a folder that
    /// was watched since `position` counts as changed. `None` before [`Self::start_monitor_journal`]. Positions are not
    /// interchangeable with those of [`Self::changes_since`].
    pub fn monitor_changes_since(&self, position: Option<Position>) -> Option<(Changes, Position)> {
        let mut inner = self.watcher.inner.lock();
        inner.read_events();
        let journal = inner.forest.monitor_journal(self.id)?;
        let changes = journal.since(position.unwrap_or_default());
        Some((changes, journal.end()))
    }

    /// Makes [`Self::changes_since`] and [`Self::monitor_changes_since`] report that everything may have changed, for all
    /// positions given out so far.
    pub fn doubt(&self) {
        self.watcher.inner.lock().forest.doubt(self.id);
    }

    /// Returns the folder at `path` and the known folders below it, at most `max`, and whether these are all.
    pub fn folders_from(&self, path: &BStr, max: usize) -> (Vec<BString>, bool) {
        let inner = self.watcher.inner.lock();
        inner.forest.folders_from(self.id, path, max)
    }

    /// The number of watched folders in this tree.
    pub fn watches(&self) -> usize {
        self.watcher.inner.lock().forest.watches_of(self.id)
    }

    /// Call this once the whole tree has been looked at, each folder after it was watched.
    pub fn finish_scan(&self) {
        let mut inner = self.watcher.inner.lock();
        inner.forest.finish_scan(self.id);
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

/// Waits for at most `time` (`None`: for ever) until something can be read from `fd`. Returns whether it can.
fn is_readable(fd: BorrowedFd<'_>, time: Option<&Timespec>) -> Result<bool, Errno> {
    match poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)], time) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Signals `eventfd` to the thread that waits for it.
fn signal(eventfd: &OwnedFd) {
    // If the counter is full, that thread has been signalled already.
    let _ = rustix::io::write(eventfd, &1u64.to_ne_bytes());
}

impl Inner {
    /// Reads all queued events.
    fn read_events(&mut self) {
        self.has_no_watch_left = false;
        self.drain_queue();
        match self.mounts.as_mut().map(Mounts::take_changes) {
            Some(Ok(None)) => {}
            Some(Ok(Some(changes))) => self.doubt_trees_with(&changes),
            Some(Err(_)) | None => {
                self.devices_that_report.clear();
                self.forest.doubt_everything();
            }
        }
        self.unwatch_unused();
    }

    /// Doubts the trees that may have other files since the mounts changed.
    fn doubt_trees_with(&mut self, changes: &MountChanges) {
        self.devices_that_report.clear();
        for (top, known) in &self.trees {
            let real_path = known.real_path.as_deref();
            if changes.concern(&top.path) || real_path.is_none_or(|top| changes.concern(top)) {
                self.forest.doubt(known.id);
            }
        }
    }

    fn drain_queue(&mut self) {
        let forest = &mut self.forest;
        forest.set_time(vigil_stamp::now());
        let mut count = 0u64;
        let drained = self.queue.drain(|event| {
            count = count.saturating_add(1);
            forest.handle(WatchEvent {
                wd: event.wd,
                flags: event.flags,
                cookie: event.cookie,
                name: event.name.map(|name| name.to_bytes().as_bstr()),
            });
        });
        self.forest.settle();
        if drained.is_err() {
            self.forest.doubt_everything();
        }
        if count > 0 {
            signal(&self.events_read);
        }
    }

    fn end(&self, tree: TreeId) -> Position {
        let journal = self.forest.journal(tree);
        journal.map_or_else(Position::default, Journal::end)
    }

    fn unwatch_unused(&mut self) {
        loop {
            let unused = self.forest.take_unused_watches();
            if unused.is_empty() {
                return;
            }
            // The kernel queues an event for each removed watch: too many at once would overflow the queue and lose changes.
            for some in unused.chunks(UNWATCHED_AT_ONCE) {
                for wd in some {
                    // The folder may be gone, and its watch with it.
                    let _ = self.queue.unwatch(*wd);
                }
                self.drain_queue();
            }
        }
    }
}

#[cfg(test)]
mod tests;
