//! Whether the record of an earlier look can still be trusted: what it requires of the clock and the file system.
//!
//! A record holds the [stamp](crate::stamp::Stamp) that a directory or file had when it was looked at, and what was
//! found. It may be used again if
//! - the stamp was not racy then ([`vigil_model::timestamp::is_racy_at`]), else nothing is recorded;
//! - the wall clock has not been set back to that time since ([`untrusted_since`](vigil_model::clock::untrusted_since), with
//!   the [`mark`] from before the look and that of now);
//! - the file system changes stamps when it should ([`FileSystem::trust`]);
//! - the stamp is the same now.

mod known;
mod probe;

use std::os::fd::BorrowedFd;

use vigil_linux::Errno;
use vigil_linux::clock::{boot_id, clocks};
use vigil_linux::filesystem::kind_of;
use vigil_linux::stat::stat_fd;
use vigil_model::clock::ClockMark;
use vigil_model::timestamp::{Granularity, Timestamp};

pub use known::{known, name};
pub use probe::{Error, PREFIX, probe};

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
    /// The granularity of its timestamps, if known.
    pub granularity: Option<Granularity>,
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

/// One file system, and what a probe found out about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSystem {
    /// Its type (`f_type` in statfs(2)).
    pub kind: u32,
    /// The device of its files (`st_dev`).
    pub device: u64,
    /// What a probe found; `None` if there was no probe.
    pub findings: Option<Findings>,
}

/// What a probe found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// The granularity of its timestamps; `None` if they are not simply truncated.
    pub granularity: Option<Granularity>,
    /// Whether timestamps come from this machine's clock.
    pub has_own_clock: bool,
    /// Whether a directory's mtime changes when a file is created in it.
    pub moves_at_creation: bool,
    /// Whether it changes when a file is renamed in it.
    pub moves_at_rename: bool,
    /// Whether it changes when a file is removed from it.
    pub moves_at_removal: bool,
    /// Whether it changes when a directory is created in it, and when one is removed.
    pub moves_with_directories: bool,
}

impl Findings {
    /// The flags, lowest bit first.
    const fn bits(&self) -> [bool; 5] {
        [
            self.has_own_clock,
            self.moves_at_creation,
            self.moves_at_rename,
            self.moves_at_removal,
            self.moves_with_directories,
        ]
    }

    fn trust(&self) -> FileSystemTrust {
        let contents = self.has_own_clock && self.granularity.is_some();
        FileSystemTrust {
            granularity: self.granularity,
            directories: contents && self.bits().iter().all(|is_good| *is_good),
            contents,
        }
    }
}

impl FileSystem {
    /// The length of [`FileSystem::to_bytes`], in bytes.
    pub const LEN: usize = 16;

    /// Stands for an unknown granularity.
    const NO_UNIT: u8 = 0xff;
    /// The bit that is set if there was a probe.
    const PROBED: u8 = 0x80;

    /// Encodes the file system for a file on disk, little-endian: device, 8 bytes; type, 4; granularity, 1; findings, 1
    /// bit each; and 2 zero bytes.
    pub fn to_bytes(&self) -> [u8; Self::LEN] {
        let (unit, bits) = self.findings.map_or((Self::NO_UNIT, 0), |findings| {
            let unit = findings
                .granularity
                .map_or(Self::NO_UNIT, Granularity::number);
            let bits = findings.bits().into_iter().rev();
            let bits = bits.fold(0, |bits, bit| bits << 1 | u8::from(bit));
            (unit, Self::PROBED | bits)
        });
        let [d0, d1, d2, d3, d4, d5, d6, d7] = self.device.to_le_bytes();
        let [k0, k1, k2, k3] = self.kind.to_le_bytes();
        [
            d0, d1, d2, d3, d4, d5, d6, d7, k0, k1, k2, k3, unit, bits, 0, 0,
        ]
    }

    /// Decodes `bytes`; `None` if [`FileSystem::to_bytes`] cannot have written them.
    pub fn from_bytes(bytes: &[u8; Self::LEN]) -> Option<Self> {
        let [device @ .., k0, k1, k2, k3, unit, bits, 0, 0] = *bytes else {
            return None;
        };
        let bit = |number: u8| bits >> number & 1 == 1;
        let findings = Findings {
            granularity: Granularity::from_number(unit),
            has_own_clock: bit(0),
            moves_at_creation: bit(1),
            moves_at_rename: bit(2),
            moves_at_removal: bit(3),
            moves_with_directories: bit(4),
        };
        let facts = Self {
            kind: u32::from_le_bytes([k0, k1, k2, k3]),
            device: u64::from_le_bytes(device),
            findings: (bits & Self::PROBED != 0).then_some(findings),
        };
        (facts.to_bytes() == *bytes).then_some(facts)
    }

    /// Returns the file system that the open file `fd` is on, without findings.
    ///
    /// # Errors
    /// fstatfs(2) or fstat(2) failed.
    pub fn of(fd: BorrowedFd<'_>) -> Result<Self, Errno> {
        Ok(Self {
            kind: kind_of(fd)?,
            device: stat_fd(fd)?.dev,
            findings: None,
        })
    }

    /// Returns what can be trusted about files on this file system. `probed` is a file system that was probed earlier;
    /// it counts only if it is the same one.
    ///
    /// For a known type, a probe can only reduce trust, never add it: another machine may have changed the files while
    /// the file system was mounted there, and no probe can find that.
    pub fn trust(&self, probed: Option<&Self>) -> FileSystemTrust {
        let is_same = |other: &&Self| other.kind == self.kind && other.device == self.device;
        let found = probed
            .filter(is_same)
            .and_then(|probed| probed.findings)
            .map(|findings| findings.trust());
        match (known(self.kind), found) {
            (Some(known), Some(found)) => FileSystemTrust {
                granularity: found.granularity,
                directories: known.directories && found.directories,
                contents: known.contents && found.contents,
            },
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => FileSystemTrust::default(),
        }
    }
}

#[cfg(test)]
mod tests;
