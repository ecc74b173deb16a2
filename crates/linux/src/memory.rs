//! Hints to the kernel and to the allocator about memory.

use std::mem::MaybeUninit;

use rustix::mm::{Advice, madvise};

/// The usual length of a page, in bytes.
const USUAL_PAGE_LEN: usize = 4 << 10;

/// Returns the length of a page, in bytes (sysconf(3)). The C library knows it from the start of the process. rustix asks the
/// kernel, and panics before Linux 6.4 if /proc is not mounted.
pub(crate) fn page_len() -> usize {
    #[allow(unsafe_code, reason = "sysconf is the C library's")]
    // SAFETY: it only returns a number.
    let len = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(len).unwrap_or(USUAL_PAGE_LEN)
}

/// Asks the kernel to allocate pages for `memory`, which is about to be filled, in one call instead of one fault per page
/// (madvise(2), `MADV_POPULATE_WRITE`). A hint: kernels before 5.14 do nothing. Only whole pages are allocated.
#[allow(unsafe_code, reason = "madvise takes addresses")]
pub fn populate(memory: &mut [MaybeUninit<u8>]) {
    let page_len = page_len();
    let start = memory.as_mut_ptr().addr();
    let end = start.saturating_add(memory.len());
    let first = start.next_multiple_of(page_len);
    let len = end.saturating_sub(first) / page_len * page_len;
    if len == 0 {
        return;
    }
    let address = memory
        .as_mut_ptr()
        .wrapping_add(first.saturating_sub(start));
    // SAFETY: the range lies within `memory`, and this advice changes no contents.
    let _ = unsafe { madvise(address.cast(), len, Advice::LinuxPopulateWrite) };
}

/// Allocations from this length on, in bytes, are mapped separately and return to the kernel as soon as they are freed.
#[cfg(target_env = "gnu")]
const OWN_MAPPING_MIN: i32 = 256 << 10;

/// The number of allocator arenas, and so of threads that can allocate without waiting for each other.
#[cfg(target_env = "gnu")]
const ARENAS_MAX: i32 = 2;

/// Configures a long-lived process to return the memory it frees to the system, instead of keeping it for later
/// (mallopt(3)). Call this before other threads exist. A hint: it has no effect with other C libraries.
pub fn return_freed_memory() {
    #[cfg(target_env = "gnu")]
    #[allow(unsafe_code, reason = "mallopt is the C library's")]
    // SAFETY: these are settings of the allocator, which may be set at any time.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, ARENAS_MAX);
        libc::mallopt(libc::M_MMAP_THRESHOLD, OWN_MAPPING_MIN);
    }
}

/// Returns free memory to the system (malloc_trim(3)). Takes about a millisecond.
pub fn trim() {
    #[cfg(target_env = "gnu")]
    #[allow(unsafe_code, reason = "malloc_trim is the C library's")]
    // SAFETY: it touches only what is free.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// The resident memory of this process, in bytes (proc_pid_statm(5)). `None` if it cannot be read.
pub fn resident() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
    let page_len = u64::try_from(page_len()).ok()?;
    Some(pages.saturating_mul(page_len))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_something_in_memory() {
        assert!(resident().unwrap() >= 4 * USUAL_PAGE_LEN as u64);
    }

    #[test]
    fn what_is_freed_in_between_goes_back() {
        return_freed_memory();
        let pieces: Vec<Vec<u8>> = (0..20_000).map(|_| vec![1; 4 * USUAL_PAGE_LEN]).collect();
        let full = resident().unwrap();
        // The pieces that stay keep the allocator from returning the rest by itself.
        let kept: Vec<_> = pieces.into_iter().step_by(64).collect();
        trim();
        let left = resident().unwrap();
        assert!(left < full / 2, "{full} {left} {}", kept.len());
    }

    #[test]
    fn memory_that_was_set_aside_keeps_what_is_in_it() {
        for len in [0, 1, USUAL_PAGE_LEN, 64 * USUAL_PAGE_LEN + 7] {
            let mut memory = vec![7; len];
            memory.reserve(len * 2);
            populate(memory.spare_capacity_mut());
            memory.resize(len * 2, 7);
            assert!(memory.iter().all(|byte| *byte == 7));
        }
    }
}
