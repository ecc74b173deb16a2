//! Reading and writing descriptors that come from elsewhere. Another process that has the same pipe or terminal open
//! may have made it non-blocking (`O_NONBLOCK` in open(2)), but it is waited for all the same.

use std::os::fd::BorrowedFd;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

/// Reads or writes `fd` by `call`, again whenever it was interrupted, and whenever `fd` was not ready for `readiness`.
///
/// # Errors
/// Those of `call`, or of poll(2).
pub fn until_ready<T>(
    fd: BorrowedFd<'_>,
    readiness: PollFlags,
    mut call: impl FnMut() -> Result<T, Errno>,
) -> Result<T, Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => match poll(&mut [PollFd::new(&fd, readiness)], None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            },
            result => return result,
        }
    }
}

/// Writes all of `bytes`.
///
/// # Errors
/// `fd` cannot be written. Some bytes may have been.
pub fn write_all(fd: BorrowedFd<'_>, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        let written = until_ready(fd, PollFlags::OUT, || rustix::io::write(fd, bytes))?;
        bytes = bytes.get(written..).unwrap_or_default();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use rustix::pipe::{PipeFlags, pipe_with};

    use super::*;

    #[test]
    fn a_full_pipe_is_waited_for() {
        let (reader, writer) = pipe_with(PipeFlags::NONBLOCK).unwrap();
        let sent = vec![b'x'; 1 << 20];
        let written = std::thread::spawn({
            let sent = sent.clone();
            move || write_all(writer.as_fd(), &sent)
        });
        let mut received = Vec::<u8>::new();
        let mut part = [0; 100];
        loop {
            let read = || rustix::io::read(reader.as_fd(), &mut part);
            match until_ready(reader.as_fd(), PollFlags::IN, read).unwrap() {
                0 => break,
                len => received.extend_from_slice(part.split_at(len).0),
            }
        }
        assert_eq!(written.join().unwrap(), Ok(()));
        assert_eq!(received, sent);
    }
}
