//! The kernel's directory records: reads them with `getdents64(2)` into reused memory, and finds the names in it.

#![expect(
    unsafe_code,
    reason = "the call has no safe wrapper that keeps the records"
)]

use std::ffi::CStr;
use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::io::Errno;

use crate::errno;

/// The memory for records, in bytes, that a listing keeps from one directory to the next.
const KEPT_BYTES: usize = 1 << 20;
/// The first allocation, in bytes. The 1,000 names of a large directory fit in it, so that one call reads them.
const FIRST_BYTES: usize = 64 << 10;
/// The minimum room for a call, in bytes. A call with less would read too few names to be worth it.
const ROOM_BYTES_MIN: usize = 8 << 10;
/// Bytes after the last record that may be read together with it.
const SLACK_BYTES: usize = 64;

/// The length of the shortest record: a name of up to four bytes, and its NUL.
const RECORD_BYTES_MIN: usize = 24;
/// The offset of `d_name` in `struct linux_dirent64`, right after the two bytes of `d_reclen` and the one of `d_type`.
const NAME_AT: usize = 19;

/// The records of one directory, as the kernel wrote them, in memory that is reused.
#[derive(Debug, Default)]
pub(super) struct Records {
    bytes: Vec<u8>,
    used: usize,
}

impl Records {
    /// Drops the contents and keeps the memory.
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

    /// Appends a record.
    #[cfg(test)]
    pub(super) fn append(&mut self, record: &[u8]) {
        self.bytes.truncate(self.used);
        self.bytes.extend_from_slice(record);
        self.used = self.bytes.len();
        self.bytes.resize(self.used + SLACK_BYTES, b'e');
    }

    /// The records in the kernel's order, including `.` and `..`.
    #[inline]
    pub(super) fn iter(&self) -> RecordIter<'_> {
        RecordIter {
            bytes: &self.bytes,
            at: 0,
            used: self.used,
        }
    }

    /// An upper bound for the number of records.
    #[inline]
    pub(super) fn len_max(&self) -> usize {
        self.used / RECORD_BYTES_MIN
    }

    /// All memory, for slicing names out of it.
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// One record: the location of its name, and the type that the kernel reports.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    /// The offset of the name's first byte.
    pub(super) name_at: usize,
    /// The length of the name in bytes. The byte after the name is NUL, and no byte within it is.
    pub(super) name_len: usize,
    /// The eight bytes from the start of the name, as a big-endian number. Bytes after the NUL may be anything.
    pub(super) prefix: u64,
    /// `d_type` (readdir(3)).
    pub(super) d_type: u8,
}

/// An iterator over records. An impossible record is an error and ends the iteration.
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

/// The record at `at`, and the offset of the next one.
#[inline]
fn record_at(bytes: &[u8], at: usize, used: usize) -> Option<(Record, usize)> {
    let (head, name) = bytes.get(at..)?.split_first_chunk::<NAME_AT>()?;
    let name: &[u8; LOOKED_AT_BYTES] = name.first_chunk()?;
    let (_, [reclen_first, reclen_second, d_type]) = head.split_last_chunk::<3>()?;
    let reclen = usize::from(u16::from_ne_bytes([*reclen_first, *reclen_second]));
    let next = at + reclen;
    let name_at = at + NAME_AT;
    let name_len = match nul_mask(name) {
        0 => counted_name_len(bytes.get(name_at..next)?)?,
        nuls => nuls.trailing_zeros() as usize,
    };
    let record = Record {
        name_at,
        name_len,
        prefix: u64::from_be_bytes(*name.first_chunk()?),
        d_type: *d_type,
    };
    (name_at + name_len < next && next <= used).then_some((record, next))
}

/// The number of bytes of a name that are searched for the NUL without a loop.
const LOOKED_AT_BYTES: usize = 32;

/// The length of a name that is longer than [`LOOKED_AT_BYTES`].
#[cold]
fn counted_name_len(name: &[u8]) -> Option<usize> {
    Some(CStr::from_bytes_until_nul(name).ok()?.count_bytes())
}

/// A mask with a bit set for each zero byte, the lowest bit for the first byte.
///
/// The names of a directory differ in length, so that the end of a loop over their bytes would be mispredicted for every
/// name.
#[cfg(target_arch = "x86_64")]
#[inline]
fn nul_mask(bytes: &[u8; LOOKED_AT_BYTES]) -> u32 {
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_setzero_si128,
    };
    let (blocks, _) = bytes.as_chunks::<16>();
    blocks.iter().rev().fold(0, |mask, block| {
        // SAFETY: every x86-64 processor has SSE2; the 16 bytes are there, and need no alignment.
        let nuls = unsafe {
            let block = _mm_loadu_si128(block.as_ptr().cast::<__m128i>());
            _mm_movemask_epi8(_mm_cmpeq_epi8(block, _mm_setzero_si128()))
        };
        mask << 16 | u32::from(nuls as u16)
    })
}

/// A mask with a bit set for each zero byte, the lowest bit for the first byte.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn nul_mask(bytes: &[u8; LOOKED_AT_BYTES]) -> u32 {
    let bits = bytes.iter().rev();
    bits.fold(0, |mask, byte| mask << 1 | u32::from(*byte == 0))
}

/// Reads the next records of the open directory `dir` into `buffer` (getdents64(2)). Returns the number of bytes written,
/// 0 at the end.
///
/// # Errors
/// Those of the system call: `INVAL` if `buffer` is too small for the next record.
#[inline]
pub fn getdents64(dir: BorrowedFd<'_>, buffer: &mut [u8]) -> Result<usize, Errno> {
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
                let error = errno::last();
                if error != Errno::INTR {
                    return Err(error);
                }
            }
        }
    }
}
