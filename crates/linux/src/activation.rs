//! A socket that whoever started this process has opened for it (sd_listen_fds(3)).

use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::net::sockopt::{socket_acceptconn, socket_domain, socket_type};
use rustix::net::{AddressFamily, SocketType};

/// Where the descriptors begin that are handed over.
const FIRST: i32 = 3;

/// The variables by which that is told.
const VARIABLES: [&str; 4] = [
    "LISTEN_PID",
    "LISTEN_PIDFDID",
    "LISTEN_FDS",
    "LISTEN_FDNAMES",
];

/// Removes what tells of descriptors from this process's environment: no process that it starts is meant. To be called while
/// there is one thread only.
#[allow(unsafe_code, reason = "other threads may read the environment")]
pub fn forget() {
    for name in VARIABLES {
        // SAFETY: by the caller's word there is no other thread.
        unsafe { std::env::remove_var(name) };
    }
}

/// The first descriptor that was handed over, which does not block from now on, and is not inherited. To be called once.
///
/// # Errors
/// `EBADF` where it is not open, `ENOTSOCK` where it is no socket, `EINVAL` where it is no stream socket of the Unix domain that
/// listens, and whatever else the system says.
#[allow(unsafe_code, reason = "a descriptor by its number has no owner")]
pub fn listener() -> Result<OwnedFd, Errno> {
    // SAFETY: the number is not -1, and a descriptor that is not open is told by the first call.
    let given = unsafe { BorrowedFd::borrow_raw(FIRST) };
    fcntl_setfd(given, FdFlags::CLOEXEC)?;
    let is_listener = socket_domain(given)? == AddressFamily::UNIX
        && socket_type(given)? == SocketType::STREAM
        && socket_acceptconn(given)?;
    if !is_listener {
        return Err(Errno::INVAL);
    }
    // SAFETY: nothing else in this process listens anywhere, so what does was handed over, and this is called once.
    let given = unsafe { OwnedFd::from_raw_fd(FIRST) };
    fcntl_setfl(given.as_fd(), fcntl_getfl(&given)? | OFlags::NONBLOCK)?;
    Ok(given)
}
