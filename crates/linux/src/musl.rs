//! What is done otherwise than by musl, whose C library starts in a fraction of the time of others, but is slow where a
//! program works: memory, and what goes through it.

#![allow(
    unsafe_code,
    reason = "these are the functions that all memory is handled with"
)]

/// Not without optimisation: there what is written here calls the functions that it stands for.
#[cfg(all(
    target_arch = "x86_64",
    any(test, all(target_env = "musl", not(debug_assertions)))
))]
mod copy;
mod heap;

/// The program's memory.
#[cfg(target_env = "musl")]
#[global_allocator]
static HEAP: heap::Heap = heap::Heap::new();

/// The C library's functions.
#[cfg(all(target_env = "musl", target_arch = "x86_64", not(debug_assertions)))]
mod exported {
    use std::ffi::{c_int, c_void};

    use super::copy::{compare, copy, fill};

    /// memcpy(3).
    #[unsafe(no_mangle)]
    unsafe extern "C" fn memcpy(to: *mut c_void, from: *const c_void, len: usize) -> *mut c_void {
        // SAFETY: the caller vouches for both ranges.
        unsafe { copy(to.cast(), from.cast(), len) };
        to
    }

    /// memmove(3).
    #[unsafe(no_mangle)]
    unsafe extern "C" fn memmove(to: *mut c_void, from: *const c_void, len: usize) -> *mut c_void {
        // SAFETY: the caller vouches for both ranges.
        unsafe { copy(to.cast(), from.cast(), len) };
        to
    }

    /// memset(3).
    #[unsafe(no_mangle)]
    unsafe extern "C" fn memset(to: *mut c_void, byte: c_int, len: usize) -> *mut c_void {
        // SAFETY: the caller vouches for the range.
        unsafe { fill(to.cast(), byte as u8, len) };
        to
    }

    /// memcmp(3).
    #[unsafe(no_mangle)]
    unsafe extern "C" fn memcmp(one: *const c_void, other: *const c_void, len: usize) -> c_int {
        // SAFETY: the caller vouches for both ranges.
        unsafe { compare(one.cast(), other.cast(), len) }
    }

    /// bcmp(3).
    #[unsafe(no_mangle)]
    unsafe extern "C" fn bcmp(one: *const c_void, other: *const c_void, len: usize) -> c_int {
        // SAFETY: the caller vouches for both ranges.
        unsafe { compare(one.cast(), other.cast(), len) }
    }
}
