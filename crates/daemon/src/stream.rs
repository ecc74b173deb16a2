//! Frames over a socket, with a time limit.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::protocol::{Frames, ProtocolError};

/// Why a connection cannot be used any more.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Broken {
    /// The other side closed it.
    #[error("the connection was closed")]
    Closed,
    /// It took too long.
    #[error("no answer in time")]
    Late,
    /// A system call failed.
    #[error(transparent)]
    System(#[from] Errno),
    /// What came is not a valid message.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
}

/// One end of a connection, non-blocking.
#[derive(Debug)]
pub(crate) struct Stream {
    socket: OwnedFd,
    frames: Frames,
}

impl Stream {
    /// Creates a stream that accepts frames of at most `len_max` bytes.
    pub(crate) fn new(socket: OwnedFd, len_max: usize) -> Self {
        Self {
            socket,
            frames: Frames::new(len_max),
        }
    }

    /// The socket, to poll for input.
    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Reads the next frame, which must arrive before `end`.
    pub(crate) fn read(&mut self, end: Instant) -> Result<(u8, Vec<u8>), Broken> {
        let mut buffer = [0; 64 * 1024];
        loop {
            if let Some(frame) = self.frames.take()? {
                return Ok(frame);
            }
            match recv(&self.socket, &mut buffer[..], RecvFlags::empty()) {
                Ok((_, 0)) => return Err(Broken::Closed),
                Ok((_, len)) => self.frames.feed(buffer.get(..len).unwrap_or_default()),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => self.wait(PollFlags::IN, end)?,
                Err(Errno::CONNRESET) => return Err(Broken::Closed),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Writes `bytes`, which must be done before `end`.
    pub(crate) fn write(&self, mut bytes: &[u8], end: Instant) -> Result<(), Broken> {
        while !bytes.is_empty() {
            match send(&self.socket, bytes, SendFlags::NOSIGNAL) {
                Ok(len) => bytes = bytes.get(len..).unwrap_or_default(),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => self.wait(PollFlags::OUT, end)?,
                Err(Errno::PIPE | Errno::CONNRESET) => return Err(Broken::Closed),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn wait(&self, flags: PollFlags, end: Instant) -> Result<(), Broken> {
        let rest = end.saturating_duration_since(Instant::now());
        if rest.is_zero() {
            return Err(Broken::Late);
        }
        let socket = self.socket.as_fd();
        match poll(&mut [PollFd::new(&socket, flags)], Some(&timespec(rest))) {
            Ok(0) => Err(Broken::Late),
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// `time` as poll(2) takes it, in nanoseconds, so that it is not rounded down to nothing.
pub(crate) fn timespec(time: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(time.subsec_nanos()),
    }
}

#[cfg(test)]
mod tests {
    use rustix::net::{AddressFamily, Shutdown, SocketFlags, SocketType, shutdown, socketpair};

    use super::*;
    use crate::protocol::frame;

    fn pair() -> (Stream, OwnedFd) {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (one, other) =
            socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None).unwrap();
        (Stream::new(one, 1024), other)
    }

    /// Closes a socket, even if a process that another test is starting has it open for a moment.
    fn close(socket: OwnedFd) {
        shutdown(socket, Shutdown::Both).unwrap();
    }

    #[test]
    fn a_frame_that_stays_incomplete_is_late() {
        let (mut stream, other) = pair();
        let bytes = frame(1, b"body");
        send(&other, &bytes[..6], SendFlags::empty()).unwrap();
        assert!(matches!(stream.read(Instant::now()), Err(Broken::Late)));
        send(&other, &bytes[6..], SendFlags::empty()).unwrap();
        assert_eq!(stream.read(Instant::now()).unwrap(), (1, b"body".to_vec()));
        close(other);
        assert!(matches!(stream.read(Instant::now()), Err(Broken::Closed)));
    }

    #[test]
    fn a_peer_that_never_reads_is_not_waited_for() {
        let (stream, other) = pair();
        let much = vec![0; 16 << 20];
        assert!(matches!(
            stream.write(&much, Instant::now()),
            Err(Broken::Late)
        ));
        close(other);
        assert!(matches!(
            stream.write(&much, Instant::now()),
            Err(Broken::Closed)
        ));
    }
}
