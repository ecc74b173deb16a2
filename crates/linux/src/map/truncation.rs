//! Files that are truncated while they are mapped. Reading the missing part ends a process by a signal (`SIGBUS` in
//! mmap(2)), unless the part is replaced by zeros, and the truncation noted.
//!
//! A reader finds out afterwards, and then nothing that it read counts. A file may also be truncated within a page, and then
//! the rest of that page reads as zeros without a signal. So a nonzero byte near the end of each mapping is remembered: if
//! the file was truncated there, it is zero.

#![allow(
    unsafe_code,
    reason = "a signal handler has nothing but addresses, and may take no lock"
)]

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous};

use crate::memory::page_len;

/// The maximum number of mappings: at least the system's default limit for a process (`vm.max_map_count`).
const SLOTS_MAX: usize = 1 << 16;

/// The `si_code` for an address without anything behind it, such as a page that a file does not have (sigaction(2)).
const BUS_ADRERR: c_int = 2;

/// A mapping, as the signal handler sees it.
struct Slot {
    /// The address where it begins, or 0 if this slot is free.
    start: AtomicUsize,
    len: AtomicUsize,
    /// The offset of the byte that shows whether the file is whole.
    witness: AtomicUsize,
    /// The value of that byte.
    witness_byte: AtomicU8,
    is_truncated: AtomicBool,
    /// The mapping is a copy in memory, without the file.
    is_copy: AtomicBool,
}

static SLOTS: [Slot; SLOTS_MAX] = [const {
    Slot {
        start: AtomicUsize::new(0),
        len: AtomicUsize::new(0),
        witness: AtomicUsize::new(0),
        witness_byte: AtomicU8::new(0),
        is_truncated: AtomicBool::new(false),
        is_copy: AtomicBool::new(false),
    }
}; SLOTS_MAX];

/// The number of slots that were ever taken.
static USED: AtomicUsize = AtomicUsize::new(0);

/// The number of mappings found to be truncated.
static TRUNCATIONS: AtomicUsize = AtomicUsize::new(0);

/// The size of a page, for the signal handler; 0 until the handler is installed.
static PAGE: AtomicUsize = AtomicUsize::new(0);

/// Slots that were used and are free again. The lock is needed to unregister a mapping, which comes before its removal.
static FREE: Mutex<Vec<usize>> = Mutex::new(Vec::new());

fn free() -> MutexGuard<'static, Vec<usize>> {
    FREE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on, missing parts of a mapped file ([`Map`](super::Map)) read as zeros, and that is noted
/// ([`truncation_count`]). Any other `SIGBUS` ends the process as before.
pub fn install_truncation_handler() {
    static DONE: Once = Once::new();
    DONE.call_once(|| {
        PAGE.store(page_len(), Ordering::Relaxed);
        // SAFETY: an all-zero `sigaction` is one without a handler; the handler has the type that `SA_SIGINFO` asks for, and
        // does nothing that is not async-signal-safe (signal-safety(7)).
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = on_bus_error;
            action.sa_sigaction = handler as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
            libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut());
        }
    });
}

/// The number of mappings found to be truncated since the process began. Checks every current mapping. If the number is the
/// same as before a mapping was made, everything read from that mapping was as in its file.
pub fn truncation_count() -> usize {
    // No registered mapping is removed while this is held.
    let _free = free();
    let used = USED.load(Ordering::Relaxed);
    for slot in SLOTS.iter().take(used) {
        if slot.start.load(Ordering::Relaxed) != 0 {
            slot.look();
        }
    }
    TRUNCATIONS.load(Ordering::Relaxed)
}

/// Releases the pages of all mappings, as [`Map::release`](super::Map::release) does. They stay in the page cache as long as
/// there is room, and count for this process only when they are read again.
pub fn release_all() {
    // No registered mapping is removed while this is held.
    let _free = free();
    let used = USED.load(Ordering::Relaxed);
    for slot in SLOTS.iter().take(used) {
        let start = slot.start.load(Ordering::Acquire);
        let len = slot.len.load(Ordering::Relaxed);
        if start != 0 && !slot.is_copy.load(Ordering::Relaxed) {
            let start = std::ptr::with_exposed_provenance_mut(start);
            // SAFETY: the range is that of an existing mapping. It maps a file and was never written, so the pages come back
            // with the same bytes.
            let _ = unsafe { madvise(start, len, Advice::LinuxDontNeed) };
        }
    }
}

/// A registered mapping, by its slot.
#[derive(Debug)]
pub(super) struct Registration(usize);

impl Registration {
    /// Registers the mapping of `len` bytes at `start`, which must not be removed before this value is dropped. `None` if
    /// there are too many.
    pub(super) fn new(start: NonNull<u8>, len: usize) -> Option<Self> {
        let mut free = free();
        let used = USED.load(Ordering::Relaxed);
        let at = free.pop().unwrap_or(used);
        let slot = SLOTS.get(at)?;
        if at == used {
            USED.store(used.saturating_add(1), Ordering::Relaxed);
        }
        slot.is_truncated.store(false, Ordering::Relaxed);
        slot.is_copy.store(false, Ordering::Relaxed);
        slot.witness.store(0, Ordering::Relaxed);
        slot.len.store(len, Ordering::Relaxed);
        // The handler must see the length before the start.
        slot.start
            .store(start.as_ptr().expose_provenance(), Ordering::Release);
        let page = page_len();
        let last = len.saturating_sub(1) / page * page;
        // SAFETY: the range is within the mapping, which is readable and exists.
        let bytes = unsafe {
            std::slice::from_raw_parts(start.as_ptr().add(last), len.saturating_sub(last))
        };
        let witness = bytes.iter().rposition(|byte| *byte != 0).unwrap_or(0);
        let witness_byte = bytes.get(witness).copied().unwrap_or_default();
        slot.witness_byte.store(witness_byte, Ordering::Relaxed);
        let witness = last.saturating_add(witness);
        slot.witness.store(witness, Ordering::Relaxed);
        Some(Self(at))
    }

    /// Whether the bytes are a copy in this process's memory.
    pub(super) fn is_copy(&self) -> bool {
        let slot = SLOTS.get(self.0);
        slot.is_some_and(|slot| slot.is_copy.load(Ordering::Relaxed))
    }

    /// Calls `replace` to put a copy in the place of the file. No pages are released in the meantime.
    pub(super) fn replace_by_copy(
        &self,
        replace: impl FnOnce() -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        let _free = free();
        let slot = SLOTS.get(self.0).ok_or(Errno::NOMEM)?;
        // Another thread may already have done it.
        if slot.is_copy.load(Ordering::Relaxed) {
            return Err(Errno::ALREADY);
        }
        replace()?;
        slot.is_copy.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Calls `release` unless the bytes are a copy in this process's memory, which would not come back.
    pub(super) fn unless_copy(&self, release: impl FnOnce()) {
        let _free = free();
        if !self.is_copy() {
            release();
        }
    }

    /// Whether part of the file was missing at this check or at an earlier one.
    pub(super) fn is_truncated(&self) -> bool {
        SLOTS.get(self.0).is_none_or(Slot::look)
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut free = free();
        if let Some(slot) = SLOTS.get(self.0) {
            // A reader may call `truncation_count` only later.
            slot.look();
            slot.start.store(0, Ordering::Relaxed);
            free.push(self.0);
        }
    }
}

impl Slot {
    /// Whether part of the file is missing. The caller must ensure that the mapping is not removed in the meantime.
    fn look(&self) -> bool {
        let start = self.start.load(Ordering::Relaxed);
        let witness = self.witness.load(Ordering::Relaxed);
        let at = std::ptr::with_exposed_provenance::<u8>(start.wrapping_add(witness));
        // SAFETY: the byte is within the mapping, which is readable and exists. If its page is gone, the signal handler
        // replaces the page before the byte is read.
        let now = unsafe { at.read_volatile() };
        if now != self.witness_byte.load(Ordering::Relaxed) {
            self.note();
        }
        self.is_truncated.load(Ordering::Relaxed)
    }

    fn note(&self) {
        if !self.is_truncated.swap(true, Ordering::Relaxed) {
            TRUNCATIONS.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn has(&self, address: usize) -> bool {
        let start = self.start.load(Ordering::Acquire);
        let len = self.len.load(Ordering::Relaxed);
        start != 0 && start <= address && address.wrapping_sub(start) < len
    }
}

/// Handles `SIGBUS` instead of letting it end the process.
extern "C" fn on_bus_error(signal: c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
    // SAFETY: the kernel passes valid information about the signal.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr().addr()) };
    if code == BUS_ADRERR && map_zero_page(address).is_ok() {
        return;
    }
    // SAFETY: both take plain integers, and are async-signal-safe. The signal is blocked until the handler returns.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

/// Puts a page of zeros over the one at `address`, if that belongs to a registered mapping.
fn map_zero_page(address: usize) -> Result<(), Errno> {
    let used = USED.load(Ordering::Relaxed);
    let mut is_known = false;
    // The thread that reads holds the mapping, so its slot does not change. Other slots may, and if one of them seems to
    // match as well, that only costs a needless check.
    for slot in SLOTS.iter().take(used).filter(|slot| slot.has(address)) {
        slot.note();
        is_known = true;
    }
    if !is_known {
        return Err(Errno::FAULT);
    }
    let page = PAGE.load(Ordering::Relaxed).max(1);
    let start = std::ptr::with_exposed_provenance_mut(address / page * page);
    let flags = MapFlags::PRIVATE | MapFlags::FIXED;
    // SAFETY: the page belongs to one of our file mappings and has nothing behind it: nobody has read any other bytes there
    // since the file was truncated.
    unsafe { mmap_anonymous(start, page, ProtFlags::READ, flags) }.map(|_| ())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::process::ExitStatusExt;
    use std::path::Path;
    use std::process::Command;

    use rustix::mm::mmap;

    use super::super::Map;
    use super::*;

    /// Writes a file of `len` bytes, with zeros only from `zeros_from` on.
    fn write(path: &Path, len: usize, zeros_from: usize) {
        let byte = |at| if at < zeros_from { b'a' } else { 0 };
        fs::write(path, (0..len).map(byte).collect::<Vec<u8>>()).unwrap();
    }

    fn cut(path: &Path, len: usize) {
        let file = File::options().write(true).open(path).unwrap();
        file.set_len(len as u64).unwrap();
    }

    #[test]
    fn what_is_cut_off_is_zeros_and_is_told() {
        install_truncation_handler();
        let page = page_len();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for len in [1, page - 1, page, page + 1, 5 * page, 5 * page + 7] {
            for left in [0, 1, page - 1, page, page + 1, 3 * page, len - 1] {
                if left >= len {
                    continue;
                }
                write(&path, len, usize::MAX);
                let whole = Map::read_only(File::open(&path).unwrap(), len).unwrap();
                assert!(!whole.is_truncated() && whole.iter().all(|byte| *byte == b'a'));
                let before = truncation_count();
                cut(&path, left);
                // Whether or not it is read first.
                if left % 2 == 0 {
                    let is_as_it_was = |(at, byte)| byte == if at < left { b'a' } else { 0 };
                    let mut bytes = whole.iter().copied().enumerate();
                    assert!(bytes.all(is_as_it_was), "{len} {left}");
                }
                assert!(whole.is_truncated(), "{len} {left}");
                assert!(truncation_count() > before && whole.is_truncated());
            }
        }
    }

    #[test]
    fn an_unnoticed_cut_is_counted_when_the_mapping_is_dropped() {
        install_truncation_handler();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        write(&path, 100, usize::MAX);
        let map = Map::read_only(File::open(&path).unwrap(), 100).unwrap();
        let before = TRUNCATIONS.load(Ordering::Relaxed);
        cut(&path, 50);
        drop(map);
        assert!(TRUNCATIONS.load(Ordering::Relaxed) > before);
    }

    #[test]
    fn zeros_that_were_cut_off_are_the_truth() {
        install_truncation_handler();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        write(&path, 300, 200);
        let map = Map::read_only(File::open(&path).unwrap(), 300).unwrap();
        cut(&path, 200);
        assert!(!map.is_truncated());
        cut(&path, 199);
        assert!(map.is_truncated());
    }

    #[test]
    fn a_place_is_used_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        write(&path, 10, usize::MAX);
        // Other tests map files at the same time, but never as many.
        for _ in 0..SLOTS_MAX + 100 {
            let map = Map::read_only(File::open(&path).unwrap(), 10).unwrap();
            assert!(!map.is_truncated());
        }
        assert!(USED.load(Ordering::Relaxed) < SLOTS_MAX);
    }

    /// The variable that is set in a child process, which reads the missing part of a file mapped by other means.
    const CHILD: &str = "READS_WHAT_IS_GONE";

    #[test]
    fn any_other_bus_error_ends_the_process() {
        if let Some(path) = std::env::var_os(CHILD) {
            install_truncation_handler();
            let file = File::open(&path).unwrap();
            let (flags, protection) = (MapFlags::PRIVATE, ProtFlags::READ);
            let nowhere = std::ptr::null_mut();
            // SAFETY: the kernel chooses the address.
            let start = unsafe { mmap(nowhere, 10, protection, flags, &file, 0) }.unwrap();
            cut(Path::new(&path), 0);
            // SAFETY: the byte is mapped, but has nothing behind it: the process ends.
            let _ = unsafe { start.cast::<u8>().read_volatile() };
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        write(&path, 10, usize::MAX);
        let name = "map::truncation::tests::any_other_bus_error_ends_the_process";
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", name]).env(CHILD, &path);
        let output = child.output().unwrap();
        assert_eq!(output.status.signal(), Some(libc::SIGBUS), "{output:?}");
    }
}
