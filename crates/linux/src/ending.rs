//! Signals that ask this process to end, as an event to wait for; and a clean start for a background process.

use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};
use std::sync::atomic::{AtomicI32, Ordering};

use rustix::io::Errno;

use crate::errno;

/// The signals by which the system or a user ends a long-running process.
const ENDING: [libc::c_int; 3] = [libc::SIGTERM, libc::SIGINT, libc::SIGHUP];

/// The eventfd that the handler writes to.
static EVENT: AtomicI32 = AtomicI32::new(-1);

/// From now on, a signal that would end this process makes `event`, an eventfd(2), readable instead. Call this
/// once. `event` stays open.
///
/// # Errors
/// A handler could not be installed.
#[allow(unsafe_code, reason = "signal handlers have no safe wrapper")]
pub fn redirect_signals_to(event: OwnedFd) -> Result<(), Errno> {
    EVENT.store(event.as_raw_fd(), Ordering::Relaxed);
    let _ = event.into_raw_fd();
    for signal in ENDING {
        // SAFETY: all-zero bytes are a valid `sigaction`, the pointers are to such or null, and the handler takes one
        // integer.
        let set = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            let handler: extern "C" fn(libc::c_int) = note;
            action.sa_sigaction = handler as usize;
            action.sa_flags = libc::SA_RESTART;
            libc::sigaction(signal, &raw const action, std::ptr::null_mut())
        };
        if set != 0 {
            return Err(errno::last());
        }
    }
    Ok(())
}

/// Calls only async-signal-safe functions (signal-safety(7)), and preserves `errno`.
#[allow(unsafe_code, reason = "signal handlers have no safe wrapper")]
extern "C" fn note(_: libc::c_int) {
    let one = 1u64.to_ne_bytes();
    // SAFETY: the pointer is to eight bytes that live through the call, and `errno` is this thread's own.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        libc::write(
            EVENT.load(Ordering::Relaxed),
            one.as_ptr().cast(),
            one.len(),
        );
        *errno = before;
    }
}

/// Closes all descriptors except the standard streams, which the parent process may have left open. Call this
/// before this process opens anything.
#[allow(unsafe_code, reason = "descriptors of nobody have no safe wrapper")]
pub fn close_inherited() {
    const FIRST: libc::c_uint = 3;
    // SAFETY: the call takes plain integers, and the caller guarantees that nothing in this process owns what is
    // closed.
    let closed = unsafe { libc::syscall(libc::SYS_close_range, FIRST, libc::c_uint::MAX, 0) };
    if closed == 0 {
        return;
    }
    // Before Linux 5.9. The listing's own descriptor is among these, and already closed by then.
    let Ok(listing) = std::fs::read_dir("/proc/self/fd") else {
        return;
    };
    let open: Vec<libc::c_int> = listing
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|fd| *fd > libc::STDERR_FILENO)
        .collect();
    for fd in open {
        // SAFETY: as above. Closing a descriptor that is already closed is an error without effect.
        unsafe { libc::close(fd) };
    }
}
