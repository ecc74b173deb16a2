//! The kernel's directory records: `getdents64(2)` into reused memory, and where the names lie in it.

#![expect(
    unsafe_code,
    reason = "the call has no safe wrapper that keeps the records"
)]

use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::io::Errno;

/// Memory for one directory's records: what a listing keeps from one directory to the next.
const KEPT_BYTES: usize = 1 << 20;
/// First allocation. The 1,000 names of a large directory fit in it, so that one call reads them.
const FIRST_BYTES: usize = 64 << 10;
/// A call with less room than this would read too few names to be worth it.
const ROOM_BYTES_MIN: usize = 8 << 10;
/// Bytes after the last record which may be read as part of a name's first eight.
const SLACK_BYTES: usize = 8;

/// Offset of `d_reclen` in `struct linux_dirent64`.
const RECLEN_AT: usize = 16;
/// Offset of `d_type`.
const TYPE_AT: usize = 18;
/// Offset of `d_name`.
pub(super) const NAME_AT: usize = 19;
/// Length of the shortest record: a name of up to four bytes, and its NUL.
const RECORD_BYTES_MIN: usize = 24;

/// The records of one directory, as the kernel wrote them, in memory that is reused.
#[derive(Debug, Default)]
pub(super) struct Records {
    bytes: Vec<u8>,
    used: usize,
}

impl Records {
    /// Forgets the contents and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.used = 0;
    }

    /// Replaces the contents by all records of `dir`, which must be positioned at its start.
    pub(super) fn read(&mut self, dir: BorrowedFd<'_>) -> Result<(), Errno> {
        self.used = 0;
        loop {
            if self.bytes.len() < self.used + SLACK_BYTES + ROOM_BYTES_MIN {
                self.bytes
                    .resize((self.bytes.len() * 2).max(FIRST_BYTES), 0);
            }
            let end = self.bytes.len() - SLACK_BYTES;
            let room = self.bytes.get_mut(self.used..end).unwrap_or_default();
            match getdents64(dir, room)? {
                0 => break,
                count => self.used += count,
            }
        }
        if self.bytes.len() > KEPT_BYTES && self.used <= KEPT_BYTES / 2 {
            self.bytes.truncate(KEPT_BYTES);
            self.bytes.shrink_to_fit();
        }
        Ok(())
    }

    /// The records in the kernel's order, with `.` and `..`.
    #[inline]
    pub(super) fn iter(&self) -> RecordIter<'_> {
        RecordIter {
            bytes: &self.bytes,
            at: 0,
            used: self.used,
        }
    }

    /// All memory, for slicing names out of it.
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// One record: where its name is, and what the kernel says of its type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    /// Offset of the name's first byte.
    pub(super) name_at: usize,
    /// Length of the name in bytes; the byte after it is NUL, and none within it is.
    pub(super) name_len: usize,
    /// `d_type` (readdir(3)).
    pub(super) d_type: u8,
}

/// Walks over records; a record that cannot be is an error and ends the walk.
pub(super) struct RecordIter<'a> {
    bytes: &'a [u8],
    at: usize,
    used: usize,
}

impl Iterator for RecordIter<'_> {
    type Item = Result<Record, Errno>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.used {
            return None;
        }
        let record = record_at(self.bytes, self.at, self.used);
        self.at = match record {
            Some((_, next)) => next,
            None => self.used,
        };
        Some(record.map(|(record, _)| record).ok_or(Errno::IO))
    }
}

/// The record at `at`, and where the next one starts.
#[inline]
fn record_at(bytes: &[u8], at: usize, used: usize) -> Option<(Record, usize)> {
    let rest = bytes.get(at..used)?;
    let head: &[u8; RECORD_BYTES_MIN] = rest.first_chunk()?;
    let reclen = usize::from(u16::from_ne_bytes([head[RECLEN_AT], head[RECLEN_AT + 1]]));
    let record = rest.get(..reclen)?;
    let name_len = name_len(record)?;
    Some((
        Record {
            name_at: at + NAME_AT,
            name_len,
            d_type: head[TYPE_AT],
        },
        at + reclen,
    ))
}

/// Length of the name that a record holds.
///
/// The kernel rounds a record up to eight bytes, so the NUL is in the last eight, and no search is needed.
/// What follows the NUL is whatever the memory held before. That no NUL is in front of them is checked:
/// a damaged or hostile file system may return such a name, which then ends at its first NUL, as for every C
/// program.
#[inline]
fn name_len(record: &[u8]) -> Option<usize> {
    const HEAD_BITS: u64 = 0xFF_FFFF;
    let (words, tail) = record.as_chunks::<8>();
    let (last, before) = words.split_last()?;
    let (_, before) = before.split_at_checked(2).unwrap_or_default();
    let mut last = u64::from_le_bytes(*last);
    let mut earlier = 0;
    if record.len() == RECORD_BYTES_MIN {
        last |= HEAD_BITS;
    } else {
        let [first, middle @ ..] = before else {
            return None;
        };
        earlier = nul_bytes(u64::from_le_bytes(*first) | HEAD_BITS);
        for word in middle {
            earlier |= nul_bytes(u64::from_le_bytes(*word));
        }
    }
    let nul = nul_bytes(last);
    if earlier != 0 || nul == 0 || !tail.is_empty() {
        return counted_name_len(record);
    }
    let nul_at = record.len() - 8 + (nul.trailing_zeros() / 8) as usize;
    nul_at.checked_sub(NAME_AT)
}

/// [`name_len`] for records that are not laid out as usual.
#[cold]
fn counted_name_len(record: &[u8]) -> Option<usize> {
    record.get(NAME_AT..)?.iter().position(|&byte| byte == 0)
}

/// Bit 7 of the lowest byte of `word` that is zero, and perhaps of higher bytes; zero where no byte is.
#[inline]
fn nul_bytes(word: u64) -> u64 {
    const ONES: u64 = u64::from_ne_bytes([0x01; 8]);
    const HIGHS: u64 = u64::from_ne_bytes([0x80; 8]);
    word.wrapping_sub(ONES) & !word & HIGHS
}

/// Reads the next records of `dir` into `buffer`; the number of bytes written, zero at the end.
#[inline]
pub(super) fn getdents64(dir: BorrowedFd<'_>, buffer: &mut [u8]) -> Result<usize, Errno> {
    let room = buffer.len().min(i32::MAX as usize);
    loop {
        // SAFETY: `dir` is open for as long as it is borrowed, and the kernel writes at most `room` bytes to
        // `buffer`, which is exclusively ours and at least that long.
        let count = unsafe {
            libc::syscall(
                libc::SYS_getdents64,
                dir.as_raw_fd(),
                buffer.as_mut_ptr(),
                room,
            )
        };
        match usize::try_from(count) {
            Ok(count) => return Ok(count.min(room)),
            Err(_) => {
                let error =
                    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO);
                if error != Errno::INTR {
                    return Err(error);
                }
            }
        }
    }
}
