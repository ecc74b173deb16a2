//! An inotify(7) instance: its watches, and the events in its queue.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::inotify::{self, CreateFlags, Reader, WatchFlags};
use rustix::io::Errno;

pub use rustix::fs::inotify::ReadFlags;

/// The events watched for in a folder: changes of its entries, of the contents and attributes of its files, and of the
/// folder itself. A file opened here by a name that is gone, or without one (`O_TMPFILE`), may have another name by now; its
/// events are reported too.
fn watch_mask() -> WatchFlags {
    WatchFlags::MODIFY
        | WatchFlags::ATTRIB
        | WatchFlags::CLOSE_WRITE
        | WatchFlags::CREATE
        | WatchFlags::DELETE
        | WatchFlags::MOVE
        | WatchFlags::DELETE_SELF
        | WatchFlags::MOVE_SELF
        | WatchFlags::ONLYDIR
}

/// Room for many events with names of the usual length.
const BUFFER_LEN: usize = 64 << 10;

/// An instance. Dropping the value closes it.
#[derive(Debug)]
pub struct Queue {
    fd: OwnedFd,
    buffer: Vec<MaybeUninit<u8>>,
}

/// One event, as the kernel reports it.
#[derive(Clone, Copy, Debug)]
pub struct Event<'e> {
    /// The watch descriptor, or -1 if events were lost.
    pub wd: i32,
    /// What happened.
    pub flags: ReadFlags,
    /// The value shared by the two halves of a rename.
    pub cookie: u32,
    /// The folder's entry that the event is about, or `None` if it is about the folder itself.
    pub name: Option<&'e CStr>,
}

impl Queue {
    /// Creates a queue without watches.
    ///
    /// # Errors
    /// Those of inotify_init1(2): `MFILE` if the user has as many instances as allowed.
    pub fn new() -> Result<Self, Errno> {
        let mut buffer = Vec::new();
        buffer.resize_with(BUFFER_LEN, MaybeUninit::uninit);
        Ok(Self {
            fd: inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?,
            buffer,
        })
    }

    /// Watches the open folder `folder`, wherever it is. Returns the watch descriptor, which is always the same for one
    /// folder.
    ///
    /// # Errors
    /// Those of inotify_add_watch(2): `NOSPC` if the user has as many watches as allowed; `NOENT` without proc(5).
    pub fn watch(&self, folder: BorrowedFd<'_>) -> Result<i32, Errno> {
        let path = format!("/proc/self/fd/{}", folder.as_raw_fd());
        inotify::add_watch(&self.fd, path, watch_mask())
    }

    /// Removes a watch. Events that are already queued are still reported.
    ///
    /// # Errors
    /// Those of inotify_rm_watch(2): `INVAL` if the folder, and so its watch, is gone.
    pub fn unwatch(&self, wd: i32) -> Result<(), Errno> {
        inotify::remove_watch(&self.fd, wd)
    }

    /// Calls `take` for every event until the queue is empty. Every change whose system call returned before this call is
    /// among them, unless events were lost, which is an event itself.
    ///
    /// # Errors
    /// Those of read(2).
    pub fn drain(&mut self, mut take: impl FnMut(Event<'_>)) -> Result<(), Errno> {
        let mut reader = Reader::new(&self.fd, &mut self.buffer);
        loop {
            match reader.next() {
                Ok(event) => take(Event {
                    wd: event.wd(),
                    flags: event.events(),
                    cookie: event.cookie(),
                    name: event.file_name(),
                }),
                Err(Errno::WOULDBLOCK) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl AsFd for Queue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
