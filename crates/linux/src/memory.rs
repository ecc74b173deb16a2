//! Hints about memory.

use std::mem::MaybeUninit;

use rustix::mm::{Advice, madvise};

/// A page that there is one fault for.
const PAGE: usize = 4 << 10;

/// Has the system set aside pages for `memory`, which is about to be filled: with one call, not a fault for each page
/// (madvise(2), `MADV_POPULATE_WRITE`). A hint: a kernel before 5.14 does nothing. Only whole pages are set aside.
#[allow(unsafe_code, reason = "madvise takes addresses")]
pub fn populate(memory: &mut [MaybeUninit<u8>]) {
    let start = memory.as_mut_ptr().addr();
    let end = start.saturating_add(memory.len());
    let first = start.next_multiple_of(PAGE);
    let len = end.saturating_sub(first) / PAGE * PAGE;
    if len == 0 {
        return;
    }
    let address = memory
        .as_mut_ptr()
        .wrapping_add(first.saturating_sub(start));
    // SAFETY: the range lies within `memory`, and this advice changes no contents.
    let _ = unsafe { madvise(address.cast(), len, Advice::LinuxPopulateWrite) };
}

/// From this length on a piece of memory is the kernel's own, and goes back to it when it is freed, in bytes.
#[cfg(target_env = "gnu")]
const OWN_MAPPING_MIN: i32 = 256 << 10;

/// How many threads at a time need not wait for each other when they ask for memory.
#[cfg(target_env = "gnu")]
const ARENAS_MAX: i32 = 2;

/// For a process that lives long: what it frees goes back to the system rather than be kept for later (mallopt(3)). To be
/// called before there are other threads. A hint: other C libraries do as they do.
pub fn free_for_others() {
    #[cfg(target_env = "gnu")]
    #[allow(unsafe_code, reason = "mallopt is the C library's")]
    // SAFETY: these are settings of the allocator, which may be set at any time.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, ARENAS_MAX);
        libc::mallopt(libc::M_MMAP_THRESHOLD, OWN_MAPPING_MIN);
    }
}

/// Gives back to the system what is free in between (malloc_trim(3)). It takes about a millisecond.
pub fn give_back() {
    #[cfg(target_env = "gnu")]
    #[allow(unsafe_code, reason = "malloc_trim is the C library's")]
    // SAFETY: it touches only what is free.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// How many bytes of this process are in memory (proc_pid_statm(5)); `None` where that cannot be read.
pub fn resident() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
    let page_len = u64::try_from(rustix::param::page_size()).ok()?;
    Some(pages.saturating_mul(page_len))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_something_in_memory() {
        assert!(resident().unwrap() >= 4 * PAGE as u64);
    }

    #[test]
    fn what_is_freed_in_between_goes_back() {
        free_for_others();
        let pieces: Vec<Vec<u8>> = (0..20_000).map(|_| vec![1; 4 * PAGE]).collect();
        let full = resident().unwrap();
        // Those that stay hold the rest in place.
        let kept: Vec<_> = pieces.into_iter().step_by(64).collect();
        give_back();
        let left = resident().unwrap();
        assert!(left < full / 2, "{full} {left} {}", kept.len());
    }

    #[test]
    fn memory_that_was_set_aside_keeps_what_is_in_it() {
        for len in [0, 1, PAGE, 64 * PAGE + 7] {
            let mut memory = vec![7; len];
            memory.reserve(len * 2);
            populate(memory.spare_capacity_mut());
            memory.resize(len * 2, 7);
            assert!(memory.iter().all(|byte| *byte == 7));
        }
    }
}
