//! A sorted listing of one directory.

#![expect(
    unsafe_code,
    reason = "names were checked when they were read, and are not counted again"
)]

use std::ffi::CStr;
use std::os::fd::BorrowedFd;

use rustix::io::Errno;

use super::kernel::Records;
use super::order::{self, Scratch, Slot};
use super::{Entry, EntryKind};
use crate::stat::{Stat, stat_at};

/// The number of slots, and as many for sorting, that are kept when a small directory follows a huge one.
const KEPT_SLOTS: usize = 16 << 10;

/// A sorted listing whose memory is reused from one directory to the next.
///
/// Names stay where the kernel wrote them. After a huge directory, the next small one frees the excess memory.
#[derive(Debug, Default)]
pub struct Listing {
    pub(super) records: Records,
    slots: Vec<Slot>,
    scratch: Scratch,
}

impl Listing {
    /// An empty listing with no memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces the contents with the entries of the open directory `dir`, in byte order, without `.` and
    /// `..`. `dir` must be positioned at its start. Entries that vanish in the meantime are left out.
    ///
    /// # Errors
    /// Those of `getdents64(2)` and, if the file system does not report types, of `fstatat(2)`; `IO` if the kernel's
    /// records make no sense. The listing is then empty.
    pub fn read(&mut self, dir: BorrowedFd<'_>) -> Result<(), Errno> {
        self.records.read(dir).inspect_err(|_| self.clear())?;
        self.sort_records(dir)
    }

    /// Makes sorted entries of the records.
    pub(super) fn sort_records(&mut self, dir: BorrowedFd<'_>) -> Result<(), Errno> {
        self.collect(dir).inspect_err(|_| self.clear())?;
        order::sort(&mut self.slots, self.records.bytes(), &mut self.scratch);
        Ok(())
    }

    fn clear(&mut self) {
        self.slots.clear();
        self.records.clear();
    }

    fn collect(&mut self, dir: BorrowedFd<'_>) -> Result<(), Errno> {
        // A local variable, so that its fields can be in registers.
        let mut slots = std::mem::take(&mut self.slots);
        slots.clear();
        slots.reserve_exact(self.records.len_max());
        let mut unknown = false;
        for record in self.records.iter() {
            let record = record?;
            let slot = Slot::new(record);
            if record.name_len <= 2 && matches!(slot.prefix(), EMPTY | DOT | DOT_DOT) {
                continue;
            }
            unknown |= record.d_type == libc::DT_UNKNOWN;
            slots.push(slot);
        }
        self.slots = slots;
        if unknown {
            self.look_at_unknown(dir)?;
        }
        if self.records.len_max() <= KEPT_SLOTS && self.slots.capacity() > KEPT_SLOTS {
            self.slots.shrink_to(KEPT_SLOTS);
            self.scratch = Scratch::default();
        }
        Ok(())
    }

    /// Looks up the types that the file system did not report.
    #[cold]
    fn look_at_unknown(&mut self, dir: BorrowedFd<'_>) -> Result<(), Errno> {
        let bytes = self.records.bytes();
        let mut result = Ok(());
        self.slots.retain_mut(|slot| {
            if slot.d_type() != libc::DT_UNKNOWN {
                return true;
            }
            match stat_at(dir, name_of(bytes, *slot)) {
                Ok(stat) => slot.set_d_type(d_type_of(&stat)),
                Err(Errno::NOENT) => return false,
                Err(error) => result = Err(error),
            }
            true
        });
        result
    }

    /// The entries in byte order.
    #[inline]
    pub fn entries(
        &self,
    ) -> impl ExactSizeIterator<Item = Entry<'_>> + DoubleEndedIterator + Clone {
        self.slots.iter().map(|slot| self.entry(*slot))
    }

    /// The entry at `position` in byte order, from zero.
    #[inline]
    pub fn get(&self, position: usize) -> Option<Entry<'_>> {
        self.slots.get(position).map(|slot| self.entry(*slot))
    }

    /// The entry with this name, by binary search.
    pub fn find(&self, name: &[u8]) -> Option<Entry<'_>> {
        let bytes = self.records.bytes();
        let found = self
            .slots
            .binary_search_by(|slot| name_of(bytes, *slot).to_bytes().cmp(name));
        self.get(found.ok()?)
    }

    /// The number of entries.
    #[inline]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there are no entries.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The memory held, in bytes.
    #[cfg(test)]
    pub(super) fn memory_bytes(&self) -> usize {
        let slots = self.slots.capacity() + self.scratch.slots_max();
        self.records.bytes().len() + slots * size_of::<Slot>()
    }

    #[inline]
    fn entry(&self, slot: Slot) -> Entry<'_> {
        Entry {
            name: name_of(self.records.bytes(), slot),
            kind: EntryKind::from_d_type(slot.d_type()),
        }
    }
}

/// The prefixes of `.`, of `..`, and of the empty name, which no file system may return.
const EMPTY: u64 = 0;
const DOT: u64 = u64::from_be_bytes(*b".\0\0\0\0\0\0\0");
const DOT_DOT: u64 = u64::from_be_bytes(*b"..\0\0\0\0\0\0");

/// The `d_type` of a file with this status.
fn d_type_of(stat: &Stat) -> u8 {
    if stat.is_file() {
        libc::DT_REG
    } else if stat.is_dir() {
        libc::DT_DIR
    } else if stat.is_symlink() {
        libc::DT_LNK
    } else {
        libc::DT_CHR
    }
}

/// The name of `slot`.
#[inline]
fn name_of(bytes: &[u8], slot: Slot) -> &CStr {
    let end = slot.name_at() + slot.name_len() + 1;
    match bytes.get(slot.name_at()..end) {
        // SAFETY: a slot is made from a record, whose name has no NUL within it and one after it, and the
        // records are not written to while slots made from them exist.
        Some(name) => unsafe { CStr::from_bytes_with_nul_unchecked(name) },
        None => c"",
    }
}
