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
