//! Memory for what lives longer than a function: small pieces out of a heap, large ones of their own.

use std::alloc::{GlobalAlloc, Layout};
use std::ptr::null_mut;
use std::sync::{Mutex, PoisonError};

use dlmalloc::Dlmalloc;
use rustix::mm::{
    Advice, MapFlags, MremapFlags, ProtFlags, madvise, mmap_anonymous, mremap, munmap,
};

/// What is at least as large is mapped, so that it goes back to the system at once, is zero without a look, and moves
/// without a copy.
const LARGE: usize = 2 << 20;

/// What any mapping begins at a multiple of.
const PAGE: usize = 4096;

/// What the heap asks the system for at once, in bytes.
const STEP: usize = 256 << 10;

/// How much of that it will surely use: these pages come with one call, not with a fault each.
const FIRST: usize = 64 << 10;

/// The allocator of the program.
pub(super) struct Heap {
    small: Mutex<Dlmalloc<Steps>>,
}

/// What the heap has from the system.
struct Steps;

// SAFETY: what is mapped is nobody else's, writable and zero, and stays until it is given back.
unsafe impl dlmalloc::Allocator for Steps {
    fn alloc(&self, size: usize) -> (*mut u8, usize, u32) {
        let start = map(size);
        if !start.is_null() {
            // SAFETY: the range lies within what was mapped just now, which is zero and stays so.
            let _ = unsafe { madvise(start.cast(), size.min(FIRST), Advice::LinuxPopulateWrite) };
        }
        (start, size, 0)
    }

    fn remap(&self, start: *mut u8, size: usize, new_size: usize, may_move: bool) -> *mut u8 {
        let flags = match may_move {
            true => MremapFlags::MAYMOVE,
            false => MremapFlags::empty(),
        };
        // SAFETY: the heap owns what it hands over, and uses only the address that is returned.
        let moved = unsafe { mremap(start.cast(), size, new_size, flags) };
        moved.map_or(null_mut(), |start| start.cast())
    }

    fn free_part(&self, start: *mut u8, size: usize, new_size: usize) -> bool {
        // SAFETY: the heap owns all `size` bytes, and gives up those behind the first `new_size`.
        unsafe { munmap(start.add(new_size).cast(), size.wrapping_sub(new_size)) }.is_ok()
    }

    fn free(&self, start: *mut u8, size: usize) -> bool {
        // SAFETY: the heap owns these bytes, and gives them up.
        unsafe { munmap(start.cast(), size) }.is_ok()
    }

    fn can_release_part(&self, _flags: u32) -> bool {
        true
    }

    fn allocates_zeros(&self) -> bool {
        true
    }

    fn page_size(&self) -> usize {
        PAGE
    }
}

impl Heap {
    /// One that has no memory yet.
    pub(super) const fn new() -> Self {
        let mut small = Dlmalloc::new_with_allocator(Steps);
        small.set_granularity(STEP);
        Self {
            small: Mutex::new(small),
        }
    }

    /// Calls `operation` with the heap, which nobody else uses meanwhile.
    fn with_small<T>(&self, operation: impl FnOnce(&mut Dlmalloc<Steps>) -> T) -> T {
        operation(&mut self.small.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Whether `size` bytes of this alignment are mapped. Each piece of memory is of one kind from its beginning to its end, so
/// both ask this.
fn is_large(size: usize, align: usize) -> bool {
    size >= LARGE && align <= PAGE
}

/// Maps `size` bytes; null if the system has none.
fn map(size: usize) -> *mut u8 {
    // SAFETY: without an address of ours the kernel chooses one where nothing is mapped.
    let mapped = unsafe {
        mmap_anonymous(
            null_mut(),
            size,
            ProtFlags::READ | ProtFlags::WRITE,
            MapFlags::PRIVATE,
        )
    };
    mapped.map_or(null_mut(), |start| start.cast())
}

// SAFETY: dlmalloc and mmap(2) give memory that nobody else has, aligned as asked; which of them gave a piece is told by
// its layout, which the caller hands back.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match is_large(layout.size(), layout.align()) {
            true => map(layout.size()),
            // SAFETY: any size and alignment may be asked for.
            false => self.with_small(|heap| unsafe { heap.malloc(layout.size(), layout.align()) }),
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match is_large(layout.size(), layout.align()) {
            true => map(layout.size()),
            // SAFETY: any size and alignment may be asked for.
            false => self.with_small(|heap| unsafe { heap.calloc(layout.size(), layout.align()) }),
        }
    }

    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        match is_large(layout.size(), layout.align()) {
            true => {
                // SAFETY: the piece was mapped with this size, and its owner gives it up.
                let _ = unsafe { munmap(piece.cast(), layout.size()) };
            }
            // SAFETY: the piece is the heap's, of this layout, and its owner gives it up.
            false => self.with_small(|heap| unsafe {
                heap.free(piece, layout.size(), layout.align());
            }),
        }
    }

    unsafe fn realloc(&self, piece: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        let (size, align) = (layout.size(), layout.align());
        match (is_large(size, align), is_large(new_size, align)) {
            (false, false) => {
                // SAFETY: the piece is the heap's, of this layout.
                self.with_small(|heap| unsafe { heap.realloc(piece, size, align, new_size) })
            }
            (true, true) => {
                // SAFETY: the piece was mapped with this size; its owner uses only the address that is returned, or the old
                // one if there is none.
                let moved = unsafe { mremap(piece.cast(), size, new_size, MremapFlags::MAYMOVE) };
                moved.map_or(null_mut(), |start| start.cast())
            }
            (false, true) | (true, false) => {
                // SAFETY: the caller vouches for the new size with this alignment; what is copied lies within both pieces,
                // which do not overlap.
                unsafe {
                    let new = self.alloc(Layout::from_size_align_unchecked(new_size, align));
                    if !new.is_null() {
                        new.copy_from_nonoverlapping(piece, size.min(new_size));
                        self.dealloc(piece, layout);
                    }
                    new
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes on both sides of what is large.
    const SIZES: [usize; 8] = [1, 24, 4096, LARGE - 1, LARGE, LARGE + 1, 3 * LARGE, 100];

    /// A piece of `size` bytes with the alignment 8.
    fn layout(size: usize) -> Layout {
        Layout::from_size_align(size, 8).unwrap()
    }

    /// Byte `at` of a pattern.
    fn pattern(at: usize) -> u8 {
        (at % 251) as u8
    }

    /// Fills the `range` of a piece with the pattern.
    fn fill(piece: *mut u8, range: std::ops::Range<usize>) {
        for at in range {
            // SAFETY: callers name what they have.
            unsafe { *piece.add(at) = pattern(at) };
        }
    }

    /// Whether the first `len` bytes of a piece have the pattern.
    fn is_filled(piece: *const u8, len: usize) -> bool {
        // SAFETY: callers name what they have, and have written.
        let bytes = unsafe { std::slice::from_raw_parts(piece, len) };
        bytes
            .iter()
            .enumerate()
            .all(|(at, byte)| *byte == pattern(at))
    }

    #[test]
    fn what_grows_and_shrinks_keeps_its_contents() {
        let heap = Heap::new();
        for first in SIZES {
            // SAFETY: each piece is used as long and as wide as its layout says.
            unsafe {
                let mut size = first;
                let mut piece = heap.alloc(layout(size));
                fill(piece, 0..size);
                for next in SIZES {
                    piece = heap.realloc(piece, layout(size), next);
                    assert!(is_filled(piece, size.min(next)), "{size} to {next}");
                    fill(piece, 0..next);
                    size = next;
                }
                heap.dealloc(piece, layout(size));
            }
        }
    }

    #[test]
    fn zeroed_memory_is_zero_where_something_else_was() {
        let heap = Heap::new();
        for size in SIZES {
            // SAFETY: each piece is used as long and as wide as its layout says.
            unsafe {
                let used = heap.alloc(layout(size));
                fill(used, 0..size);
                heap.dealloc(used, layout(size));
                let zeroed = heap.alloc_zeroed(layout(size));
                let bytes = std::slice::from_raw_parts(zeroed, size);
                assert!(bytes.iter().all(|byte| *byte == 0), "{size}");
                heap.dealloc(zeroed, layout(size));
            }
        }
    }

    #[test]
    fn pieces_are_aligned_as_asked() {
        let heap = Heap::new();
        for (size, align) in [(1, 16), (100, 64), (5000, 4096), (3 * LARGE, 1 << 16)] {
            let layout = Layout::from_size_align(size, align).unwrap();
            // SAFETY: the layout is not of size 0, and the piece is given back with it.
            unsafe {
                let piece = heap.alloc(layout);
                assert_eq!(piece.addr() % align, 0, "{size} bytes to {align}");
                fill(piece, 0..size);
                heap.dealloc(piece, layout);
            }
        }
    }
}
