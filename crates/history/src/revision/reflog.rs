//! The log of a reference: its former values and their times (gitrepository-layout(5), "logs").

mod tables;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use bstr::{BStr, ByteSlice};
use gix_hash::{Kind, ObjectId};

use super::names::Stop;
use vigil_git::refs::{self, Owner};
use vigil_git::repository::{RefFormat, Repository};

/// One change of a reference.
#[derive(Debug)]
pub(super) struct Record {
    /// Its value before; null if it did not exist.
    pub(super) old: ObjectId,
    pub(super) new: ObjectId,
    /// The time, in seconds since 1970.
    pub(super) time_s: i64,
    /// The time zone in git's notation: hours times 100, plus minutes.
    pub(super) zone: i32,
}

/// A log, the newest record first.
#[derive(Debug)]
pub(super) struct Log {
    pub(super) records: Vec<Record>,
}

impl Log {
    /// Whether the reference `name` has a log.
    pub(super) fn exists(repository: &Repository, name: &BStr) -> Result<bool, Stop> {
        match repository.ref_format {
            RefFormat::Files => Ok(path_of(repository, name).is_file()),
            RefFormat::Reftable => Ok(!Self::read(repository, name)?.records.is_empty()),
        }
    }

    /// Reads the log of the reference `name`; it is empty if there is none.
    pub(super) fn read(repository: &Repository, name: &BStr) -> Result<Self, Stop> {
        let records = match repository.ref_format {
            RefFormat::Files => {
                let text = vigil_stamp::file::read(&path_of(repository, name)).unwrap_or_default();
                let lines = text.lines_with_terminator();
                let mut records: Vec<Record> = lines
                    .filter_map(|line| parse(line, repository.hash))
                    .collect();
                records.reverse();
                records
            }
            RefFormat::Reftable => {
                let (owner, own) = Owner::of(name);
                let folder = owner.folder(&repository.ref_dir, &repository.common_ref_dir);
                tables::read(&folder.join("reftable"), own, repository.hash)
                    .map_err(refs::Error::from)?
            }
        };
        Ok(Self { records })
    }

    /// Returns the index of the newest record from `time_s` or before.
    pub(super) fn at_time(&self, time_s: i64) -> Option<usize> {
        self.records
            .iter()
            .position(|record| record.time_s <= time_s)
    }
}

fn path_of(repository: &Repository, name: &BStr) -> PathBuf {
    let (owner, own) = Owner::of(name);
    let folder = owner.folder(&repository.ref_dir, &repository.common_ref_dir);
    folder.join("logs").join(OsStr::from_bytes(own))
}

/// Parses `old SP new SP name <email> SP time SP zone TAB message LF`. git silently skips other
/// lines.
fn parse(line: &[u8], hash: Kind) -> Option<Record> {
    let line = line.strip_suffix(b"\n")?;
    let (old, rest) = id_and_space(line, hash)?;
    let (new, rest) = id_and_space(rest, hash)?;
    let rest = rest.get(rest.find_byte(b'>')?..)?.strip_prefix(b"> ")?;
    let rest = rest.trim_ascii_start();
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (time, rest) = rest.split_at_checked(digits)?;
    let [b' ', sign @ (b'+' | b'-'), zone @ ..] = rest else {
        return None;
    };
    let zone = zone.get(..4)?;
    let zone: i32 = match zone.iter().all(u8::is_ascii_digit) {
        true => zone.to_str().ok()?.parse().ok()?,
        false => return None,
    };
    Some(Record {
        old,
        new,
        time_s: time.to_str().ok()?.parse().ok().filter(|time| *time != 0)?,
        zone: if *sign == b'-' { -zone } else { zone },
    })
}

fn id_and_space(line: &[u8], hash: Kind) -> Option<(ObjectId, &[u8])> {
    let (id, rest) = line.split_at_checked(hash.len_in_hex())?;
    Some((ObjectId::from_hex(id).ok()?, rest.strip_prefix(b" ")?))
}
