//! Hints about memory.

use std::mem::MaybeUninit;

use rustix::mm::{Advice, madvise};

/// A huge page on the processors that matter; only whole ones are asked for.
const HUGE_PAGE: usize = 2 << 20;

/// A page that there is one fault for.
const PAGE: usize = 4 << 10;

/// Asks for huge pages below `memory`, which is about to be filled: one fault for 2 MiB instead of one for 4 KiB
/// (madvise(2), `MADV_HUGEPAGE`). A hint: where there are none, nothing happens.
pub fn prefer_huge_pages<T>(memory: &mut [MaybeUninit<T>]) {
    advise(memory, HUGE_PAGE, Advice::LinuxHugepage);
}

/// Has the system set aside pages for `memory`, which is about to be filled: with one call, not a fault for each page
/// (madvise(2), `MADV_POPULATE_WRITE`). A hint: a kernel before 5.14 does nothing.
pub fn populate(memory: &mut [MaybeUninit<u8>]) {
    advise(memory, PAGE, Advice::LinuxPopulateWrite);
}

/// Gives an advice that changes no contents about the pages of `page` bytes that lie within `memory` as a whole.
#[allow(unsafe_code, reason = "madvise takes addresses")]
fn advise<T>(memory: &mut [MaybeUninit<T>], page: usize, advice: Advice) {
    let start = memory.as_mut_ptr().addr();
    let end = start.saturating_add(size_of_val(memory));
    let first = start.next_multiple_of(page);
    let len = end.saturating_sub(first) / page * page;
    if len == 0 {
        return;
    }
    let address = memory
        .as_mut_ptr()
        .cast::<u8>()
        .wrapping_add(first.saturating_sub(start));
    // SAFETY: the range lies within `memory`, and neither of the two advices given here changes contents.
    let _ = unsafe { madvise(address.cast(), len, advice) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_stays_usable_whatever_its_size() {
        for len in [0, 1, HUGE_PAGE, 5 * HUGE_PAGE + 7] {
            let mut memory: Vec<u8> = Vec::with_capacity(len);
            prefer_huge_pages(memory.spare_capacity_mut());
            memory.resize(len, 7);
            assert!(memory.iter().all(|byte| *byte == 7));
        }
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
