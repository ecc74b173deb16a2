//! The first format of the dirstate: the parents, then one record after the other.

use bstr::ByteSlice;

use super::entry::{DirstateEntry, Flags};
use super::record::{ByteRange, Damaged, Record};
use crate::fields::i32_at;
use crate::node::Node;

/// The length of a record's header: state, mode, size, mtime and the length of the names.
const HEADER_LEN: usize = 17;
/// A size that means that nothing is known of the file's stat data.
const NOT_NORMAL: i32 = -1;
/// A size that means that the file is, or is merged with, that of the second parent.
const FROM_P2: i32 = -2;
/// An mtime that means that none is known.
const NO_MTIME: i32 = -1;
const S_IFMT: u32 = 0o170_000;
const S_IFLNK: u32 = 0o120_000;

pub(super) fn parse(bytes: &[u8]) -> Result<([Node; 2], Vec<Record>), Damaged> {
    if bytes.is_empty() {
        return Ok(([Node::NULL; 2], Vec::new()));
    }
    let cut = Damaged("the dirstate is cut off");
    if u32::try_from(bytes.len()).is_err() {
        return Err(Damaged("the dirstate is too large"));
    }
    let p1 = Node::from_start_of(bytes).ok_or(cut)?;
    let p2 = bytes.get(Node::LEN..).and_then(Node::from_start_of);
    let parents = [p1, p2.ok_or(cut)?];
    let mut entries = Vec::with_capacity(bytes.len() / 64);
    let mut at = 2 * Node::LEN;
    while at < bytes.len() {
        let state = bytes.get(at).copied().ok_or(cut)?;
        let number = |field: usize| i32_at(bytes, at.saturating_add(field)).ok_or(cut);
        let (mode, size, mtime, len) = (number(1)?, number(5)?, number(9)?, number(13)?);
        let len = usize::try_from(len).map_err(|_| Damaged("a name has a negative length"))?;
        let start = at.saturating_add(HEADER_LEN);
        let end = start.saturating_add(len);
        let names = bytes.get(start..end).ok_or(cut)?;
        let path_len = names.find_byte(0).unwrap_or(names.len());
        let copy_source = (path_len < names.len()).then(|| {
            let skipped = path_len.saturating_add(1);
            byte_range(start.saturating_add(skipped), len.saturating_sub(skipped))
        });
        entries.push(Record {
            path: byte_range(start, path_len),
            copy_source,
            entry: entry(state, mode.cast_unsigned(), size, mtime)?,
        });
        at = end;
    }
    Ok((parents, entries))
}

/// Every place is within a file of less than 4 GiB, so the numbers fit.
fn byte_range(start: usize, len: usize) -> ByteRange {
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    ByteRange {
        start: number(start),
        len: number(len),
    }
}

fn entry(state: u8, mode: u32, size: i32, mtime: i32) -> Result<DirstateEntry, Damaged> {
    let (tracked, p1, p2) = (Flags::WDIR_TRACKED, Flags::P1_TRACKED, Flags::P2_INFO);
    let flags = match (state, size) {
        (b'm', _) => tracked | p1 | p2,
        (b'a', _) => tracked,
        (b'r', NOT_NORMAL) => p1 | p2,
        (b'r', FROM_P2) => p2,
        (b'r', _) => p1,
        (b'n', FROM_P2) => tracked | p2,
        (b'n', NOT_NORMAL) => tracked | p1,
        (b'n', _) => {
            return Ok(normal(
                tracked | p1 | Flags::HAS_MODE_AND_SIZE,
                mode,
                size,
                mtime,
            ));
        }
        _ => return Err(Damaged("an entry has an unknown state")),
    };
    Ok(DirstateEntry {
        flags,
        ..DirstateEntry::default()
    })
}

fn normal(mut flags: Flags, mode: u32, size: i32, mtime: i32) -> DirstateEntry {
    if mode & 0o100 != 0 {
        flags = flags | Flags::MODE_EXEC_PERM;
    }
    if mode & S_IFMT == S_IFLNK {
        flags = flags | Flags::MODE_IS_SYMLINK;
    }
    if size < 0 {
        // No file has such a size: the contents decide.
        flags = flags.without(Flags::HAS_MODE_AND_SIZE);
    }
    if mtime != NO_MTIME {
        flags = flags | Flags::HAS_MTIME;
    }
    DirstateEntry {
        flags,
        size: size.cast_unsigned() & 0x7fff_ffff,
        mtime_s: mtime.cast_unsigned() & 0x7fff_ffff,
        mtime_ns: 0,
    }
}
