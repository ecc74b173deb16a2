//! A socket that the parent process opened for this process (sd_listen_fds(3)).

use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::net::sockopt::{socket_acceptconn, socket_domain, socket_type};
use rustix::net::{AddressFamily, SocketType};

/// The number of the first descriptor that is passed.
const FIRST: i32 = 3;

/// The environment variables that announce the descriptors.
const VARIABLES: [&str; 4] = [
    "LISTEN_PID",
    "LISTEN_PIDFDID",
    "LISTEN_FDS",
    "LISTEN_FDNAMES",
];

/// Removes these variables from this process's environment, since they are not meant for the processes that it starts. To be
/// called while there is only one thread.
#[allow(unsafe_code, reason = "other threads may read the environment")]
pub fn clear_variables() {
    for name in VARIABLES {
        // SAFETY: the caller guarantees that there is no other thread.
        unsafe { std::env::remove_var(name) };
    }
}

/// Takes over the first descriptor that was passed, and makes it non-blocking and close-on-exec. Call this once.
///
/// # Errors
/// `EBADF` if it is not open, `ENOTSOCK` if it is not a socket, `EINVAL` if it is not a listening Unix stream socket, and any
/// other error of the system calls.
#[allow(unsafe_code, reason = "a descriptor by its number has no owner")]
pub fn listener() -> Result<OwnedFd, Errno> {
    // SAFETY: the number is not -1, and the first call reports a descriptor that is not open.
    let given = unsafe { BorrowedFd::borrow_raw(FIRST) };
    fcntl_setfd(given, FdFlags::CLOEXEC)?;
    let is_listener = socket_domain(given)? == AddressFamily::UNIX
        && socket_type(given)? == SocketType::STREAM
        && socket_acceptconn(given)?;
    if !is_listener {
        return Err(Errno::INVAL);
    }
    // SAFETY: nothing else in this process listens, so a listening socket was passed to it, and this is called once.
    let given = unsafe { OwnedFd::from_raw_fd(FIRST) };
    fcntl_setfl(given.as_fd(), fcntl_getfl(&given)? | OFlags::NONBLOCK)?;
    Ok(given)
}
