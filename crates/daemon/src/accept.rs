//! Accepting connections.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with};
use rustix::process::geteuid;
use vigil_linux::socket::peer;

/// Accepts a connection that waits at `listener`, and makes it non-blocking. `None` if the client did not wait.
///
/// # Errors
/// accept(2) failed, for lack of resources or as long as something forbids it. The connection still waits.
pub(crate) fn accept_any(listener: BorrowedFd<'_>) -> Result<Option<OwnedFd>, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    match accept_with(listener, flags) {
        Ok(connection) => Ok(Some(connection)),
        Err(Errno::AGAIN | Errno::CONNABORTED | Errno::INTR) => Ok(None),
        Err(error) => Err(error),
    }
}

/// As [`accept_any`], but a client of another user is turned away: then `None`, too.
///
/// # Errors
/// As for [`accept_any`].
pub(crate) fn accept_own(listener: BorrowedFd<'_>) -> Result<Option<OwnedFd>, Errno> {
    Ok(accept_any(listener)?.filter(|connection| is_own(connection)))
}

/// Whether the process at the other end of `connection` is of this process's user.
pub(crate) fn is_own(connection: impl AsFd) -> bool {
    peer(connection).is_ok_and(|peer| peer.uid == geteuid().as_raw())
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::{UnixListener, UnixStream};

    use super::*;

    #[test]
    fn only_what_no_longer_waits_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        listener.set_nonblocking(true).unwrap();
        assert!(accept_own(listener.as_fd()).unwrap().is_none());
        let client = UnixStream::connect(&path).unwrap();
        assert!(accept_own(listener.as_fd()).unwrap().is_some());
        // This fails for ever, as if something forbade it.
        assert!(accept_own(client.as_fd()).is_err());
    }
}
