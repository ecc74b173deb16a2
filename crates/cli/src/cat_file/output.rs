//! Output in as few writes as possible without making a waiting client wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};

use rustix::event::PollFlags;
use rustix::io::IoSlice;
use rustix::pipe::{fcntl_getpipe_size, fcntl_setpipe_size};
use vigil_linux::blocking::until_ready;
use vigil_linux::map;

use super::failure::Failure;

/// How much output is held back at most, in bytes, while there is more to come.
const BUFFER_LEN_MAX: usize = 256 << 10;

/// The size to which a pipe on standard output is widened, in bytes: the most that any user may have by default. The pipe is
/// then seldom full when more output is ready, and seldom empty when the reader wants more.
const PIPE_LEN: usize = 1 << 20;

/// Widens the pipe on standard output for large amounts of output, so that reader and writer wait half as often
/// (`F_SETPIPE_SZ` in fcntl(2)). A file, or a pipe that may not grow, stays as it is.
pub(super) fn widen_pipe() {
    let stdout = rustix::stdio::stdout();
    if fcntl_getpipe_size(stdout).is_ok_and(|len| len < PIPE_LEN) {
        let _ = fcntl_setpipe_size(stdout, PIPE_LEN);
    }
}

/// Tracks whether the mapped files are still whole, and whether any output made from them was written.
#[derive(Clone)]
pub(super) struct CutGuard {
    cuts: usize,
    has_written: Arc<AtomicBool>,
}

impl CutGuard {
    /// A guard of files that are opened from now on.
    pub(super) fn new() -> Self {
        Self {
            cuts: map::truncation_count(),
            has_written: Arc::default(),
        }
    }

    /// Starts a new answer: nothing of it has been written.
    pub(super) fn begin(&self) {
        self.has_written.store(false, Ordering::Relaxed);
    }

    /// Returns whether any part of that answer was written.
    pub(super) fn has_written(&self) -> bool {
        self.has_written.load(Ordering::Relaxed)
    }

    /// # Errors
    /// A mapped file was cut, so output made from it must not be written.
    pub(super) fn check(&self) -> Result<(), Failure> {
        if map::truncation_count() == self.cuts {
            return Ok(());
        }
        Err(match self.has_written() {
            true => Failure::cut_for_good(),
            false => Failure::Cut,
        })
    }

    /// Writes all `parts` to standard output, in a single call if the other end accepts that much.
    ///
    /// # Errors
    /// As for [`Self::check`], or standard output cannot be written.
    pub(super) fn write_all(&self, parts: &mut [IoSlice<'_>]) -> Result<(), Failure> {
        self.check()?;
        self.has_written.store(true, Ordering::Relaxed);
        write_all(parts)
    }
}

/// The destination of answers.
pub(super) enum Sink {
    Stdout,
    /// The thread that writes.
    Thread {
        to: SyncSender<Piece>,
        /// Written buffers, for reuse.
        empty: Receiver<Vec<u8>>,
    },
}

/// A message to the thread that writes.
pub(super) enum Piece {
    Filled(Filled),
    /// A failure, and how many bytes of the unfinished answer were already sent.
    Failed(Failure, usize),
}

/// A run of answers.
#[derive(Default)]
pub(super) struct Filled {
    pub(super) bytes: Vec<u8>,
    /// The end of each object's answer. What follows the last end belongs to an unfinished answer.
    pub(super) ends: Vec<usize>,
}

/// Answers that wait to be written.
pub(super) struct Output {
    pub(super) buf: Vec<u8>,
    /// The end of each answer, if they go to another thread.
    ends: Vec<usize>,
    sink: Sink,
    /// How many bytes of the unfinished answer were already sent to another thread.
    pub(super) sent_of_partial: usize,
    /// How many bytes other threads have already written. They are dropped here.
    pub(super) already_written: usize,
    pub(super) cut_guard: CutGuard,
}

impl Output {
    pub(super) fn new(sink: Sink, cut_guard: &CutGuard) -> Self {
        Self {
            buf: Vec::with_capacity(BUFFER_LEN_MAX),
            ends: Vec::new(),
            sink,
            sent_of_partial: 0,
            already_written: 0,
            cut_guard: cut_guard.clone(),
        }
    }

    /// Marks the end of an object's answer.
    pub(super) fn end_object(&mut self) {
        if matches!(self.sink, Sink::Thread { .. }) {
            self.ends.push(self.buf.len());
        }
    }

    /// Drops the buffered part of an unfinished answer.
    pub(super) fn drop_part(&mut self) {
        self.buf
            .truncate(self.ends.last().copied().unwrap_or_default());
    }

    /// Writes the buffer if it is full. Returns whether it was.
    ///
    /// # Errors
    /// As [`Self::flush`].
    pub(super) fn flush_if_full(&mut self) -> Result<bool, Failure> {
        let is_full = self.buf.len() >= BUFFER_LEN_MAX;
        if is_full {
            self.flush()?;
        }
        Ok(is_full)
    }

    /// Writes the buffer.
    ///
    /// # Errors
    /// Standard output cannot be written, nobody reads it any more, or a file it was made from was cut ([`CutGuard::check`]).
    pub(super) fn flush(&mut self) -> Result<(), Failure> {
        if self.buf.is_empty() && self.ends.is_empty() {
            return Ok(());
        }
        match &self.sink {
            Sink::Stdout => {
                let wanted = skip_written(&mut self.already_written, &self.buf);
                let written = self.cut_guard.write_all(&mut [IoSlice::new(wanted)]);
                self.buf.clear();
                // Do not keep a large buffer after a single large object.
                self.buf.shrink_to(BUFFER_LEN_MAX.saturating_mul(8));
                written
            }
            Sink::Thread { to, empty } => {
                let is_usable = |buf: &Vec<u8>| buf.capacity() <= BUFFER_LEN_MAX.saturating_mul(4);
                let next = empty.try_recv().ok().filter(is_usable);
                let next =
                    next.unwrap_or_else(|| Vec::with_capacity(BUFFER_LEN_MAX + BUFFER_LEN_MAX / 4));
                self.sent_of_partial = match self.ends.last() {
                    Some(end) => self.buf.len() - end,
                    None => self.sent_of_partial + self.buf.len(),
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

    /// Writes the buffer, then `piece`.
    ///
    /// # Errors
    /// As [`Self::flush`].
    pub(super) fn flush_with(&mut self, piece: &[u8]) -> Result<(), Failure> {
        match &self.sink {
            Sink::Stdout => {
                let wanted = skip_written(&mut self.already_written, &self.buf);
                let piece = skip_written(&mut self.already_written, piece);
                let mut parts = [IoSlice::new(wanted), IoSlice::new(piece)];
                let written = self.cut_guard.write_all(&mut parts);
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

/// Returns `bytes` without the first `already_written` ones, and subtracts from `already_written` as many as were dropped.
fn skip_written<'a>(already_written: &mut usize, bytes: &'a [u8]) -> &'a [u8] {
    let (dropped, wanted) = bytes.split_at(bytes.len().min(*already_written));
    *already_written -= dropped.len();
    wanted
}

fn write_all(parts: &mut [IoSlice<'_>]) -> Result<(), Failure> {
    let mut parts = parts;
    IoSlice::advance_slices(&mut parts, 0);
    while !parts.is_empty() {
        let stdout = rustix::stdio::stdout();
        let written = until_ready(stdout, PollFlags::OUT, || match &*parts {
            [only] => rustix::io::write(stdout, only),
            parts => rustix::io::writev(stdout, parts),
        })?;
        IoSlice::advance_slices(&mut parts, written);
    }
    Ok(())
}
