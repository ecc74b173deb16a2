//! Accepting connections.

use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with};
use rustix::process::geteuid;
use vigil_linux::socket::peer;

/// Accepts a connection that waits at `listener`, and makes it non-blocking. `None` if the client did not wait, or is of another
/// user.
///
/// # Errors
/// accept(2) failed for lack of resources.
pub(crate) fn accept_own(listener: BorrowedFd<'_>) -> Result<Option<OwnedFd>, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let connection = match accept_with(listener, flags) {
        Ok(connection) => connection,
        Err(error @ (Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOBUFS)) => {
            return Err(error);
        }
        Err(_) => return Ok(None),
    };
    let is_ours = peer(&connection).is_ok_and(|peer| peer.uid == geteuid().as_raw());
    Ok(is_ours.then_some(connection))
}
