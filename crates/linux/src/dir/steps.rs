//! The way to the fast listing, step by step, kept so that each step can be measured.
//!
//! The first five are the steps that the author of gitstatus wrote up for his `ListDir`; the last of them is
//! [`Listing`] itself, and the sixth is the floor under all of them. Each step opens the directory, reads it
//! and closes it, and keeps its memory for the next directory as far as its idea allows.

#![expect(unsafe_code, reason = "the first steps go through the C library")]

use std::ffi::CStr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;

use super::kernel::Records;
use super::{Listing, open_dir_at};
use crate::errno;

/// One directory, named in both ways.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The whole path.
    pub path: &'a CStr,
    /// The open parent.
    pub parent: BorrowedFd<'a>,
    /// The name in the parent.
    pub name: &'a CStr,
}

/// A way of listing a directory.
pub trait Step {
    /// Lists the directory into the step's own memory.
    fn list(&mut self, place: Place<'_>) -> Result<(), Errno>;

    /// The names that were listed, in the step's order.
    fn names(&self) -> Vec<Vec<u8>>;
}

/// All steps with what each is about, the slowest first, the floor last.
pub fn all() -> Vec<(&'static str, Box<dyn Step>)> {
    vec![
        ("an owned string per name", Box::<OwnedNames>::default()),
        ("names in an arena", Box::<ArenaNames>::default()),
        (
            "opened from the parent",
            Box::new(ArenaNames {
                from_parent: true,
                ..ArenaNames::default()
            }),
        ),
        ("getdents64 into the arena", Box::<RawNames>::default()),
        ("sorted by eight bytes at once", Box::<Listing>::default()),
        ("the system calls alone", Box::<Floor>::default()),
    ]
}

/// Step 1: the C library's `readdir(3)` of a path, and a string for each name.
#[derive(Default)]
struct OwnedNames {
    names: Vec<Vec<u8>>,
}

impl Step for OwnedNames {
    fn list(&mut self, place: Place<'_>) -> Result<(), Errno> {
        let mut names = Vec::new();
        Stream::open(place.path)?.for_each(|name| names.push(name.to_bytes().to_vec()))?;
        names.sort_unstable();
        self.names = names;
        Ok(())
    }

    fn names(&self) -> Vec<Vec<u8>> {
        self.names.clone()
    }
}

/// Steps 2 and 3: names copied one behind the other into memory that is reused.
#[derive(Default)]
struct ArenaNames {
    from_parent: bool,
    bytes: Vec<u8>,
    spans: Vec<Span>,
}

impl Step for ArenaNames {
    fn list(&mut self, place: Place<'_>) -> Result<(), Errno> {
        let Self { bytes, spans, .. } = self;
        bytes.clear();
        spans.clear();
        let stream = if self.from_parent {
            Stream::from_fd(open_dir_at(place.parent, place.name)?)?
        } else {
            Stream::open(place.path)?
        };
        stream.for_each(|name| {
            let start = bytes.len();
            bytes.extend_from_slice(name.to_bytes());
            spans.push(Span {
                start,
                end: bytes.len(),
            });
        })?;
        spans.sort_unstable_by(|a, b| a.of(bytes).cmp(b.of(bytes)));
        Ok(())
    }

    fn names(&self) -> Vec<Vec<u8>> {
        let names = self.spans.iter().map(|span| span.of(&self.bytes).to_vec());
        names.collect()
    }
}

/// Step 4: the kernel writes the names into the arena.
#[derive(Default)]
struct RawNames {
    records: Records,
    spans: Vec<Span>,
}

impl Step for RawNames {
    fn list(&mut self, place: Place<'_>) -> Result<(), Errno> {
        self.spans.clear();
        let dir = open_dir_at(place.parent, place.name)?;
        self.records.read(dir.as_fd())?;
        let bytes = self.records.bytes();
        for record in self.records.iter() {
            let record = record?;
            let span = Span {
                start: record.name_at,
                end: record.name_at + record.name_len,
            };
            if !matches!(span.of(bytes), b"." | b"..") {
                self.spans.push(span);
            }
        }
        self.spans
            .sort_unstable_by(|a, b| a.of(bytes).cmp(b.of(bytes)));
        Ok(())
    }

    fn names(&self) -> Vec<Vec<u8>> {
        let bytes = self.records.bytes();
        let names = self.spans.iter().map(|span| span.of(bytes).to_vec());
        names.collect()
    }
}

/// Step 5: what Vigil uses.
impl Step for Listing {
    fn list(&mut self, place: Place<'_>) -> Result<(), Errno> {
        self.read(open_dir_at(place.parent, place.name)?.as_fd())
    }

    fn names(&self) -> Vec<Vec<u8>> {
        let names = self.entries().map(|entry| entry.name_bytes().to_vec());
        names.collect()
    }
}

/// Step 6: the same calls into the same memory, and no look at what they return.
#[derive(Debug, Default)]
pub struct Floor {
    records: Records,
}

impl Floor {
    /// Calls `getdents64(2)` on the open directory `dir` until its end.
    pub fn read(&mut self, dir: BorrowedFd<'_>) -> Result<(), Errno> {
        self.records.read(dir)
    }
}

impl Step for Floor {
    fn list(&mut self, place: Place<'_>) -> Result<(), Errno> {
        self.read(open_dir_at(place.parent, place.name)?.as_fd())
    }

    fn names(&self) -> Vec<Vec<u8>> {
        Vec::new()
    }
}

/// Where a name lies in an arena.
#[derive(Clone, Copy)]
struct Span {
    start: usize,
    end: usize,
}

impl Span {
    fn of(self, bytes: &[u8]) -> &[u8] {
        bytes.get(self.start..self.end).unwrap_or_default()
    }
}

/// An open directory stream of the C library.
struct Stream(std::ptr::NonNull<libc::DIR>);

impl Stream {
    fn open(path: &CStr) -> Result<Self, Errno> {
        // SAFETY: `path` ends in NUL and lives through the call.
        let stream = unsafe { libc::opendir(path.as_ptr()) };
        std::ptr::NonNull::new(stream)
            .map(Self)
            .ok_or_else(errno::last)
    }

    fn from_fd(dir: OwnedFd) -> Result<Self, Errno> {
        // SAFETY: `dir` is open.
        let stream = unsafe { libc::fdopendir(dir.as_raw_fd()) };
        let stream = std::ptr::NonNull::new(stream).ok_or_else(errno::last)?;
        // The stream closes it.
        std::mem::forget(dir);
        Ok(Self(stream))
    }

    /// Calls `found` with each name but `.` and `..`.
    fn for_each(&self, mut found: impl FnMut(&CStr)) -> Result<(), Errno> {
        loop {
            // SAFETY: the location of the calling thread's `errno` is valid.
            unsafe { *libc::__errno_location() = 0 };
            // SAFETY: the stream is open until `self` is dropped.
            let Some(entry) = std::ptr::NonNull::new(unsafe { libc::readdir(self.0.as_ptr()) })
            else {
                return match std::io::Error::last_os_error().raw_os_error() {
                    None | Some(0) => Ok(()),
                    Some(_) => Err(errno::last()),
                };
            };
            // SAFETY: a non-null entry is valid until the stream's next call, and its name ends in NUL.
            let name = unsafe { CStr::from_ptr((&raw const (*entry.as_ptr()).d_name).cast()) };
            if !matches!(name.to_bytes(), b"." | b"..") {
                found(name);
            }
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: the stream is open, and this is its last use.
        unsafe { libc::closedir(self.0.as_ptr()) };
    }
}
