//! What is answered: in as few writes as whoever waits for it allows.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};

use rustix::io::IoSlice;
use rustix::pipe::{fcntl_getpipe_size, fcntl_setpipe_size};
use vigil_linux::map;

use super::failure::Failure;

/// How much is kept back at most, in bytes, while there is more to answer.
const KEPT_MAX: usize = 256 << 10;

/// How much a pipe on standard output is to take, in bytes: as much as the system lets any user have. It is then seldom
/// full when more is ready, and seldom empty when more is read.
const PIPE_LEN: usize = 1 << 20;

/// Widens a pipe on standard output, where much is written to it: what reads from it, and what writes, wait half as often
/// (`F_SETPIPE_SZ` in fcntl(2)). A pipe that may not grow, or a file, stays as it is.
pub(super) fn widen_pipe() {
    let stdout = rustix::stdio::stdout();
    if fcntl_getpipe_size(stdout).is_ok_and(|len| len < PIPE_LEN) {
        let _ = fcntl_setpipe_size(stdout, PIPE_LEN);
    }
}

/// Whether what is read is whole, and whether anything that was made of it is written.
#[derive(Clone)]
pub(super) struct Account {
    cuts: usize,
    has_written: Arc<AtomicBool>,
}

impl Account {
    /// Of what will be opened.
    pub(super) fn new() -> Self {
        Self {
            cuts: map::cuts(),
            has_written: Arc::default(),
        }
    }

    /// Nothing is written yet of what is answered from here on.
    pub(super) fn begin(&self) {
        self.has_written.store(false, Ordering::Relaxed);
    }

    /// Whether anything is written of that.
    pub(super) fn has_written(&self) -> bool {
        self.has_written.load(Ordering::Relaxed)
    }

    /// # Errors
    /// A mapped file was cut, so that what was made of it must not be written.
    pub(super) fn check(&self) -> Result<(), Failure> {
        if map::cuts() == self.cuts {
            return Ok(());
        }
        Err(match self.has_written() {
            true => Failure::cut_for_good(),
            false => Failure::Cut,
        })
    }

    /// Writes all `parts` to standard output, in one call if the other end takes as much.
    ///
    /// # Errors
    /// As for [`Self::check`], and where standard output cannot be written.
    pub(super) fn write_all(&self, parts: &mut [IoSlice<'_>]) -> Result<(), Failure> {
        self.check()?;
        self.has_written.store(true, Ordering::Relaxed);
        write_all(parts)
    }
}

/// Where answers go.
pub(super) enum Sink {
    Stdout,
    /// To the thread that writes.
    Thread {
        to: SyncSender<Piece>,
        /// Buffers that were written.
        empty: Receiver<Vec<u8>>,
    },
}

/// What goes to the thread that writes.
pub(super) enum Piece {
    Filled(Filled),
    /// With how many bytes of the answer that goes on were sent.
    Failed(Failure, usize),
}

/// Answers in a row.
#[derive(Default)]
pub(super) struct Filled {
    pub(super) bytes: Vec<u8>,
    /// Where the answer about each object ends. What is behind the last one is part of an answer that goes on.
    pub(super) ends: Vec<usize>,
}

/// Answers that are to be written.
pub(super) struct Output {
    pub(super) buf: Vec<u8>,
    /// Where the answers for another thread end.
    ends: Vec<usize>,
    sink: Sink,
    /// How many bytes of an answer that goes on were sent to another thread.
    pub(super) sent: usize,
    /// How many bytes were written before by others, and are not to be written again.
    pub(super) unwanted: usize,
    pub(super) account: Account,
}

impl Output {
    pub(super) fn new(sink: Sink, account: &Account) -> Self {
        Self {
            buf: Vec::with_capacity(KEPT_MAX),
            ends: Vec::new(),
            sink,
            sent: 0,
            unwanted: 0,
            account: account.clone(),
        }
    }

    /// Says that all was added that is told of an object.
    pub(super) fn end_object(&mut self) {
        if matches!(self.sink, Sink::Thread { .. }) {
            self.ends.push(self.buf.len());
        }
    }

    /// Drops what is there of an answer that goes on.
    pub(super) fn drop_part(&mut self) {
        self.buf
            .truncate(self.ends.last().copied().unwrap_or_default());
    }

    /// Writes what is there if it is much, and says whether it was.
    ///
    /// # Errors
    /// As [`Self::flush`].
    pub(super) fn flush_if_full(&mut self) -> Result<bool, Failure> {
        let is_full = self.buf.len() >= KEPT_MAX;
        if is_full {
            self.flush()?;
        }
        Ok(is_full)
    }

    /// Writes what is there.
    ///
    /// # Errors
    /// Standard output cannot be written, nobody takes it any more, or it was made of what is cut ([`Account::check`]).
    pub(super) fn flush(&mut self) -> Result<(), Failure> {
        if self.buf.is_empty() && self.ends.is_empty() {
            return Ok(());
        }
        match &self.sink {
            Sink::Stdout => {
                let wanted = after(&mut self.unwanted, &self.buf);
                let written = self.account.write_all(&mut [IoSlice::new(wanted)]);
                self.buf.clear();
                // One large object leaves no large buffer behind.
                self.buf.shrink_to(KEPT_MAX.saturating_mul(8));
                written
            }
            Sink::Thread { to, empty } => {
                let is_usable = |buf: &Vec<u8>| buf.capacity() <= KEPT_MAX.saturating_mul(4);
                let next = empty.try_recv().ok().filter(is_usable);
                let next = next.unwrap_or_else(|| Vec::with_capacity(KEPT_MAX + KEPT_MAX / 4));
                self.sent = match self.ends.last() {
                    Some(end) => self.buf.len() - end,
                    None => self.sent + self.buf.len(),
                };
                let filled = Filled {
                    bytes: std::mem::replace(&mut self.buf, next),
                    ends: std::mem::take(&mut self.ends),
                };
                to.send(Piece::Filled(filled))
                    .map_err(|_| Failure::Unwanted)
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
                let wanted = after(&mut self.unwanted, &self.buf);
                let piece = after(&mut self.unwanted, piece);
                let mut parts = [IoSlice::new(wanted), IoSlice::new(piece)];
                let written = self.account.write_all(&mut parts);
                self.buf.clear();
                written
            }
            Sink::Thread { .. } => {
                self.buf.extend_from_slice(piece);
                self.flush()
            }
        }
    }
}

/// What of `bytes` is behind the first `unwanted` ones, which are counted down.
fn after<'a>(unwanted: &mut usize, bytes: &'a [u8]) -> &'a [u8] {
    let (dropped, wanted) = bytes.split_at(bytes.len().min(*unwanted));
    *unwanted -= dropped.len();
    wanted
}

fn write_all(parts: &mut [IoSlice<'_>]) -> Result<(), Failure> {
    let mut parts = parts;
    IoSlice::advance_slices(&mut parts, 0);
    while !parts.is_empty() {
        let stdout = rustix::stdio::stdout();
        let written = rustix::io::retry_on_intr(|| match &*parts {
            [only] => rustix::io::write(stdout, only),
            parts => rustix::io::writev(stdout, parts),
        })?;
        IoSlice::advance_slices(&mut parts, written);
    }
    Ok(())
}
