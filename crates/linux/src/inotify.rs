//! An instance of inotify(7): watches, and the events of its queue.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::inotify::{self, CreateFlags, Reader, WatchFlags};
use rustix::io::Errno;

pub use rustix::fs::inotify::ReadFlags;

/// What is heard of a folder: its entries, the contents and attributes of its files, and what becomes of itself. A file that
/// was opened here by a name that is gone, or by none (`O_TMPFILE`), may have another one by now: it is heard of, too.
fn heard() -> WatchFlags {
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

/// Room for many events with names of usual length.
const BUFFER_LEN: usize = 64 << 10;

/// An instance. It is closed with the value.
#[derive(Debug)]
pub struct Queue {
    fd: OwnedFd,
    buffer: Vec<MaybeUninit<u8>>,
}

/// What the kernel tells.
#[derive(Clone, Copy, Debug)]
pub struct Event<'e> {
    /// The watch descriptor; -1 where events were lost.
    pub wd: i32,
    /// What happened.
    pub flags: ReadFlags,
    /// What the two halves of a rename have in common.
    pub cookie: u32,
    /// The entry of the folder that it happened to; none for the folder itself.
    pub name: Option<&'e CStr>,
}

impl Queue {
    /// A queue without watches.
    ///
    /// # Errors
    /// What inotify_init1(2) says: `MFILE` where the user has all instances that he may have.
    pub fn new() -> Result<Self, Errno> {
        let mut buffer = Vec::new();
        buffer.resize_with(BUFFER_LEN, MaybeUninit::uninit);
        Ok(Self {
            fd: inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?,
            buffer,
        })
    }

    /// Watches the open folder `folder`, wherever it is; the watch descriptor, which is the same for the same folder.
    ///
    /// # Errors
    /// What inotify_add_watch(2) says: `NOSPC` where the user has all watches that he may have; `NOENT` without proc(5).
    pub fn watch(&self, folder: BorrowedFd<'_>) -> Result<i32, Errno> {
        let path = format!("/proc/self/fd/{}", folder.as_raw_fd());
        inotify::add_watch(&self.fd, path, heard())
    }

    /// Watches no longer. What is queued already is still told.
    ///
    /// # Errors
    /// What inotify_rm_watch(2) says: `INVAL` where the folder and its watch are gone.
    pub fn unwatch(&self, wd: i32) -> Result<(), Errno> {
        inotify::remove_watch(&self.fd, wd)
    }

    /// Tells `take` all events until the queue is empty. Every change whose system call returned before this was called is
    /// among them, or events were lost, which is told, too.
    ///
    /// # Errors
    /// What read(2) says.
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
