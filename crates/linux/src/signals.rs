//! Signals that end this process only after a child has ended.

use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use rustix::io::Errno;

use crate::errno;

/// The signals by which a terminal or its user ends what runs there.
const ENDING: [libc::c_int; 4] = [libc::SIGINT, libc::SIGHUP, libc::SIGTERM, libc::SIGQUIT];

/// The child that is waited for.
static CHILD: AtomicI32 = AtomicI32::new(0);
/// An open file that takes what is written meanwhile.
static SINK: AtomicI32 = AtomicI32::new(-1);
/// Whether the child reads standard error, too.
static READS_ERRORS: AtomicBool = AtomicBool::new(false);

/// From now on, a signal that would end this process first lets go of standard output (and, if the child
/// `reads_errors`, of standard error), waits for the child `child`, and then ends the process. A signal that is ignored
/// stays so.
///
/// What other threads write meanwhile goes to `sink`: were the streams closed, a file that is opened next would get their
/// numbers. To be called once; `sink` stays open.
///
/// # Errors
/// The system refuses a handler.
#[allow(unsafe_code, reason = "signal handlers have no safe wrapper")]
pub fn outlive(child: i32, sink: OwnedFd, reads_errors: bool) -> Result<(), Errno> {
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

/// Calls only what a signal handler may call (signal-safety(7)).
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
        // Its disposition is the default again; it comes once the handler returns.
        libc::raise(signal);
    }
}
