//! Whether the record of an earlier look can still be trusted: what it requires of the clock and the file system.
//!
//! A record holds the [stamp](crate::stamp::Stamp) that a directory or file had when it was looked at, and what was
//! found. It may be used again if
//! - the stamp was not racy then ([`vigil_model::timestamp::is_racy`]), else nothing is recorded;
//! - the wall clock has not been set back to that time since ([`untrusted_since`](vigil_model::clock::untrusted_since), with
//!   the [`mark`] from before the look and that of now);
//! - the file system changes stamps when it should ([`FileSystem::trust`]);
//! - the stamp is the same now.

mod known;

use std::os::fd::BorrowedFd;

use vigil_linux::Errno;
use vigil_linux::clock::{boot_id, clocks};
use vigil_linux::filesystem::kind_of;
use vigil_linux::stat::stat_fd;
use vigil_model::clock::ClockMark;
use vigil_model::timestamp::Timestamp;

pub use known::name;

/// Reads the clocks. Call this before looking at anything that will be recorded with the mark.
pub fn mark() -> ClockMark {
    mark_of_run(boot_id().unwrap_or_default())
}

/// Like [`mark`], with a known boot ID.
pub fn mark_of_run(boot: [u8; 16]) -> ClockMark {
    let clocks = clocks();
    ClockMark {
        wall: Timestamp {
            s: clocks.wall_s,
            ns: clocks.wall_ns,
        },
        since_boot: Timestamp {
            s: clocks.since_boot_s,
            ns: clocks.since_boot_ns,
        },
        boot,
    }
}

/// What can be trusted on one file system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileSystemTrust {
    /// Whether a directory with the same stamp still has the same entries.
    pub directories: bool,
    /// Whether a file with the same stamp still has the same contents.
    pub contents: bool,
}

impl FileSystemTrust {
    /// Whether stamps can prove what a scan saw.
    pub fn is_whole(&self) -> bool {
        self.directories && self.contents
    }
}

/// One file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSystem {
    /// Its type (`f_type` in statfs(2)).
    pub kind: u32,
    /// The device of its files (`st_dev`).
    pub device: u64,
}

impl FileSystem {
    /// Returns the file system that the open file `fd` is on.
    ///
    /// # Errors
    /// fstatfs(2) or fstat(2) failed.
    pub fn of(fd: BorrowedFd<'_>) -> Result<Self, Errno> {
        Ok(Self {
            kind: kind_of(fd)?,
            device: stat_fd(fd)?.dev,
        })
    }

    /// Returns what can be trusted about files on this file system: nothing, if its type is unknown.
    pub fn trust(&self) -> FileSystemTrust {
        known::trust_in(self.kind).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
