//! The first steps of a program that is to be short.
//!
//! Rust's own start also reads `/proc/self/maps` and sets up a stack for a signal handler, to say in words that a stack
//! has overflowed: a twentieth of a short run. Without it such a program ends by the same signal, and says nothing.

use std::ffi::{CStr, OsStr, OsString, c_char};
use std::os::unix::ffi::OsStrExt;
use std::panic::catch_unwind;
use std::process::exit;

/// What the exit code is after a panic, as in every Rust program.
const PANICKED: i32 = 101;

/// Makes a `fn(Vec<OsString>) -> u8`, which takes the command line and returns the exit code, the program. The crate needs
/// `#![no_main]`.
#[macro_export]
macro_rules! start_with {
    ($program:path) => {
        #[doc(hidden)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn main(
            _count: ::std::ffi::c_int,
            arguments: *const *const ::std::ffi::c_char,
        ) -> ::std::ffi::c_int {
            // SAFETY: this is what the C library calls `main` with.
            unsafe { $crate::start::run($program, arguments) }
        }
    };
}

/// Runs `program` with `arguments` as Rust's own start would, and ends the process with its exit code.
///
/// # Safety
/// `arguments` are the second argument of C's `main`.
#[allow(unsafe_code, reason = "C hands over addresses")]
pub unsafe fn run(program: fn(Vec<OsString>) -> u8, arguments: *const *const c_char) -> ! {
    open_standard_streams();
    ignore_broken_pipes();
    // SAFETY: the caller's.
    let arguments = unsafe { owned(arguments) };
    let code = catch_unwind(|| program(arguments));
    exit(code.map_or(PANICKED, i32::from))
}

/// The strings that `strings` points to.
///
/// # Safety
/// They are NUL-terminated, and a null pointer follows the last.
#[allow(unsafe_code, reason = "C hands over addresses")]
unsafe fn owned(mut strings: *const *const c_char) -> Vec<OsString> {
    let mut owned = Vec::new();
    // SAFETY: none behind the null pointer is looked at, and those before it are strings.
    unsafe {
        while !(*strings).is_null() {
            let bytes = CStr::from_ptr(*strings).to_bytes();
            owned.push(OsStr::from_bytes(bytes).to_owned());
            strings = strings.add(1);
        }
    }
    owned
}

/// Puts `/dev/null` where a standard stream is closed, so that no file that is opened later is taken for one.
#[allow(
    unsafe_code,
    reason = "no safe wrapper takes descriptors that may be closed"
)]
fn open_standard_streams() {
    let stream = |fd| libc::pollfd {
        fd,
        events: 0,
        revents: 0,
    };
    let mut streams = [0, 1, 2].map(stream);
    // SAFETY: the pointer and the number are those of the array.
    let polled = unsafe { libc::poll(streams.as_mut_ptr(), 3, 0) };
    let is_closed = |stream: &libc::pollfd| stream.revents & libc::POLLNVAL != 0;
    if polled <= 0 || !streams.iter().any(is_closed) {
        return;
    }
    for _ in streams.iter().filter(|stream| is_closed(stream)) {
        // SAFETY: the path ends in NUL. The lowest closed descriptor is taken, which is the next of these.
        let opened = unsafe { libc::open(c"/dev/null".as_ptr(), libc::O_RDWR, 0) };
        if opened < 0 {
            std::process::abort();
        }
    }
}

/// Lets writing to a closed pipe fail instead of ending the process.
#[allow(unsafe_code, reason = "signal dispositions have no safe wrapper")]
fn ignore_broken_pipes() {
    // SAFETY: `signal` takes plain integers, and `SIG_IGN` is a valid disposition.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
}
