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
/// accept(2) failed, for lack of resources or as long as something forbids it. The connection still waits.
pub(crate) fn accept_own(listener: BorrowedFd<'_>) -> Result<Option<OwnedFd>, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let connection = match accept_with(listener, flags) {
        Ok(connection) => connection,
        Err(Errno::AGAIN | Errno::CONNABORTED | Errno::INTR) => return Ok(None),
        Err(error) => return Err(error),
    };
    let is_ours = peer(&connection).is_ok_and(|peer| peer.uid == geteuid().as_raw());
    Ok(is_ours.then_some(connection))
}

/// Whether accept(2) failed for lack of resources, of which each connection takes some.
pub(crate) fn is_shortage(error: Errno) -> bool {
    matches!(
        error,
        Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOBUFS
    )
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
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
