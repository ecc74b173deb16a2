//! Who is at the other end of a Unix socket.

use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsFd, AsRawFd};

use rustix::io::Errno;

/// The process at the other end of a Unix socket, as it was when it connected or began to listen (unix(7)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its id. `None` if it is in a pid name space whose processes this one cannot see.
    pub pid: Option<i32>,
    /// Its user.
    pub uid: u32,
}

/// Returns the process at the other end of `socket`.
///
/// # Errors
/// getsockopt(2) failed: this is not a connected Unix socket.
pub fn peer(socket: impl AsFd) -> Result<Peer, Errno> {
    let mut credentials = MaybeUninit::<libc::ucred>::zeroed();
    let size = size_of::<libc::ucred>();
    let mut len = libc::socklen_t::try_from(size).map_err(|_| Errno::INVAL)?;
    // SAFETY: the buffer is as long as said, and the kernel writes at most that much; zeros are a value of this type, too.
    #[allow(unsafe_code, reason = "rustix's own takes the id 0 for an error")]
    let (failed, credentials) = unsafe {
        let failed = libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            credentials.as_mut_ptr().cast(),
            &raw mut len,
        );
        (failed, credentials.assume_init())
    };
    if failed != 0 {
        let error = std::io::Error::last_os_error();
        return Err(Errno::from_io_error(&error).unwrap_or(Errno::INVAL));
    }
    Ok(Peer {
        pid: Some(credentials.pid).filter(|pid| *pid > 0),
        uid: credentials.uid,
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn the_peer_of_a_pair_is_this_process() {
        let (one, _other) = UnixStream::pair().unwrap();
        let found = peer(&one).unwrap();
        assert_eq!(found.pid, i32::try_from(std::process::id()).ok());
        assert_eq!(found.uid, rustix::process::geteuid().as_raw());
        let file = std::fs::File::open("/dev/null").unwrap();
        assert_eq!(peer(&file), Err(Errno::NOTSOCK));
    }
}
