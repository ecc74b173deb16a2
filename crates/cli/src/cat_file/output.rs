//! What is answered: in as few writes as whoever waits for it allows.

use std::sync::mpsc::SyncSender;

use rustix::io::IoSlice;

use super::failure::Failure;

/// How much is kept back at most, in bytes, while there is more to answer.
const KEPT_MAX: usize = 256 << 10;

/// Where answers go.
pub(super) enum Sink {
    Stdout,
    /// To the thread that writes.
    Thread(SyncSender<Vec<u8>>),
}

/// Answers that are to be written.
pub(super) struct Output {
    pub(super) buf: Vec<u8>,
    sink: Sink,
}

impl Output {
    pub(super) fn new(sink: Sink) -> Self {
        Self {
            buf: Vec::with_capacity(KEPT_MAX),
            sink,
        }
    }

    /// Writes what is there, if it is much.
    ///
    /// # Errors
    /// As [`Self::flush`].
    pub(super) fn flush_if_full(&mut self) -> Result<(), Failure> {
        match self.buf.len() >= KEPT_MAX {
            true => self.flush(),
            false => Ok(()),
        }
    }

    /// Writes what is there.
    ///
    /// # Errors
    /// Standard output cannot be written, or nobody takes it any more.
    pub(super) fn flush(&mut self) -> Result<(), Failure> {
        if self.buf.is_empty() {
            return Ok(());
        }
        match &self.sink {
            Sink::Stdout => {
                let written = write_all(&self.buf, b"");
                self.buf.clear();
                // One large object leaves no large buffer behind.
                self.buf.shrink_to(KEPT_MAX.saturating_mul(8));
                written
            }
            Sink::Thread(sender) => {
                let next = Vec::with_capacity(KEPT_MAX.saturating_add(KEPT_MAX / 4));
                let full = std::mem::replace(&mut self.buf, next);
                sender.send(full).map_err(|_| Failure::Unwanted)
            }
        }
    }

    /// Writes what is there, and `piece` behind it.
    ///
    /// # Errors
    /// As [`Self::flush`].
    pub(super) fn flush_with(&mut self, piece: &[u8]) -> Result<(), Failure> {
        match &self.sink {
            Sink::Stdout => {
                let written = write_all(&self.buf, piece);
                self.buf.clear();
                written
            }
            Sink::Thread(_) => {
                self.buf.extend_from_slice(piece);
                self.flush()
            }
        }
    }
}

/// Writes `first` and `second`, in one call if the other end takes as much.
///
/// # Errors
/// Standard output cannot be written.
pub(super) fn write_all(mut first: &[u8], mut second: &[u8]) -> Result<(), Failure> {
    while !first.is_empty() || !second.is_empty() {
        let pieces = [IoSlice::new(first), IoSlice::new(second)];
        let written = rustix::io::retry_on_intr(|| match second.is_empty() {
            true => rustix::io::write(rustix::stdio::stdout(), first),
            false => rustix::io::writev(rustix::stdio::stdout(), &pieces),
        })?;
        let of_first = written.min(first.len());
        first = first.get(of_first..).unwrap_or_default();
        second = second
            .get(written.saturating_sub(of_first)..)
            .unwrap_or_default();
    }
    Ok(())
}
