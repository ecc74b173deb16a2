//! Signals that end this process, but only after a child has ended.

use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use rustix::io::Errno;

use crate::errno;

/// The signals by which a terminal or its user ends the programs in it.
const ENDING: [libc::c_int; 4] = [libc::SIGINT, libc::SIGHUP, libc::SIGTERM, libc::SIGQUIT];

/// The child to wait for.
static CHILD: AtomicI32 = AtomicI32::new(0);
/// An open file that receives the output written in the meantime.
static SINK: AtomicI32 = AtomicI32::new(-1);
/// Whether the child also reads standard error.
static READS_ERRORS: AtomicBool = AtomicBool::new(false);

/// From now on, a signal that would end this process first releases standard output (and standard error, if the child
/// `reads_errors`), waits for the child `child`, and then ends the process. An ignored signal stays ignored.
///
/// What other threads write in the meantime goes to `sink`: if the streams were closed instead, the next file to be
/// opened would get their numbers. Call this once. `sink` stays open.
///
/// # Errors
/// A handler could not be installed.
#[allow(unsafe_code, reason = "signal handlers have no safe wrapper")]
pub fn wait_for_child_on_signal(
    child: i32,
    sink: OwnedFd,
    reads_errors: bool,
) -> Result<(), Errno> {
    CHILD.store(child, Ordering::Relaxed);
    SINK.store(sink.as_raw_fd(), Ordering::Relaxed);
    READS_ERRORS.store(reads_errors, Ordering::Relaxed);
    let _ = sink.into_raw_fd();
    for signal in ENDING {
        // SAFETY: all-zero bytes are a valid `sigaction`, the pointers are to such, and the handler takes one integer.
        unsafe {
            let mut before: libc::sigaction = std::mem::zeroed();
            if libc::sigaction(signal, std::ptr::null(), &raw mut before) != 0 {
                return Err(errno::last());
            }
            if before.sa_sigaction == libc::SIG_IGN {
                continue;
            }
            let mut action: libc::sigaction = std::mem::zeroed();
            let handler: extern "C" fn(libc::c_int) = end_after_child;
            action.sa_sigaction = handler as usize;
            action.sa_flags = libc::SA_RESETHAND;
            if libc::sigaction(signal, &raw const action, std::ptr::null_mut()) != 0 {
                return Err(errno::last());
            }
        }
    }
    Ok(())
}

/// Calls only async-signal-safe functions (signal-safety(7)).
#[allow(unsafe_code, reason = "signal handlers have no safe wrapper")]
extern "C" fn end_after_child(signal: libc::c_int) {
    let sink = SINK.load(Ordering::Relaxed);
    // SAFETY: all of these take plain integers, and a null pointer is allowed where waitpid(2) has a status.
    unsafe {
        libc::dup2(sink, libc::STDOUT_FILENO);
        if READS_ERRORS.load(Ordering::Relaxed) {
            libc::dup2(sink, libc::STDERR_FILENO);
        }
        let child = CHILD.load(Ordering::Relaxed);
        while libc::waitpid(child, std::ptr::null_mut(), 0) < 0 && errno::last() == Errno::INTR {}
        // The signal has its default action again; it is delivered once the handler returns.
        libc::raise(signal);
    }
}
