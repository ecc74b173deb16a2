//! What a record of an earlier look may still be believed: what is asked of the clock and of the file system.
//!
//! A record says that a directory or file had a [stamp](crate::stamp::Stamp) when it was looked at, and what was found.
//! It may be used again if
//! - the stamp was not racy then ([`vigil_model::timestamp::is_racy_at`]), else nothing is recorded;
//! - the wall clock has not stepped back to it since ([`distrusted_from`](vigil_model::clock::distrusted_from), of the
//!   [`mark`] from before the look and the one of now);
//! - the file system moves stamps when it should ([`FileSystem::trust`]);
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

/// What the clocks show now. To be made before anything is looked at that will be recorded under it.
pub fn mark() -> ClockMark {
    mark_of_run(boot_id().unwrap_or_default())
}

/// As [`mark`], in the run of the machine that `boot` names.
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

/// What may be believed on one file system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileSystemTrust {
    /// The unit of its time stamps, where it is known.
    pub granularity: Option<Granularity>,
    /// Whether a directory with the stamp that it had holds the entries that it held.
    pub directories: bool,
    /// Whether a file with the stamp that it had has the contents that it had.
    pub contents: bool,
}

/// One file system, and what was found out about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSystem {
    /// Its kind (`f_type` in statfs(2)).
    pub kind: u32,
    /// The device that its files are on (`st_dev`).
    pub device: u64,
    /// What a probe found; `None` if there was none.
    pub findings: Option<Findings>,
}

/// What a probe found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// The unit of its time stamps; `None` if they are not simply cut down.
    pub granularity: Option<Granularity>,
    /// Whether stamps are those of this machine's clock.
    pub has_own_clock: bool,
    /// Whether a directory's mtime moves when a file is created in it.
    pub moves_at_creation: bool,
    /// Whether it moves when a file is renamed in it.
    pub moves_at_rename: bool,
    /// Whether it moves when a file is removed from it.
    pub moves_at_removal: bool,
    /// Whether it moves when a directory is created in it, and when one is removed.
    pub moves_with_directories: bool,
}

impl Findings {
    /// The bits of a byte, from the lowest.
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
    /// How many bytes [`FileSystem::to_bytes`] makes.
    pub const LEN: usize = 16;

    /// Of a unit that is not known.
    const NO_UNIT: u8 = 0xff;
    /// The bit that says that there was a probe.
    const PROBED: u8 = 0x80;

    /// The facts for a file on disk, little-endian: device, 8 bytes; kind, 4; unit, 1; findings, 1 bit each; and zero,
    /// 2 bytes.
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

    /// The facts that `bytes` stand for, if they stand for any.
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

    /// The file system that the open file `fd` is on, without findings.
    ///
    /// # Errors
    /// What fstatfs(2) and fstat(2) say.
    pub fn of(fd: BorrowedFd<'_>) -> Result<Self, Errno> {
        Ok(Self {
            kind: kind_of(fd)?,
            device: stat_fd(fd)?.dev,
            findings: None,
        })
    }

    /// What may be believed of files on this file system. `probed` is one that was probed at some time, and of which it
    /// is not known whether it is the same.
    ///
    /// A probe may only take from what is known of a kind: a machine of another make may have changed the files while
    /// they were not here, and no probe finds that.
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
