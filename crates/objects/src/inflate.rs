//! Inflates streams, with git's messages on failure.

use std::collections::TryReserveError;
use std::fmt;

use flate2::{Decompress, DecompressError, FlushDecompress, Status};
use libdeflater::Decompressor;

/// Extra room after the expected contents, in bytes. With less, the library inflates the last part byte by byte, and a
/// small object is nothing but a last part.
pub(super) const SLACK: usize = 320;

/// The most bytes that are reserved at once. A size may be wrong; more is allocated only as contents arrive.
pub(super) const RESERVE_MAX: usize = 64 << 20;

/// The number of bytes that are inflated to read a loose object's header, which must not be longer.
pub(super) const HEAD_LEN: usize = 32;

/// The number of bytes that are inflated of a delta to read the size of its result.
pub(super) const DELTA_HEAD_LEN: usize = 20;

/// The most bytes of input that are passed at once; the library counts in 32 bits.
const INPUT_MAX: usize = 1 << 30;

/// The length of the header before the first block (RFC 1950), in bytes.
const ZLIB_HEADER_LEN: usize = 2;

/// The bits of a block's first byte that hold its type, and the type with fixed Huffman codes (RFC 1951).
const BLOCK_TYPE: u8 = 0b110;
const FIXED_CODES: u8 = 0b010;

/// The library's message about a stream in which its fast loop found an error: it calls itself again, and has lost the
/// reason.
const LOST_REASON: &str = "repeated call with bad state";

/// With so little room, in bytes, the library uses its slow loop, which keeps the reason.
const SLOW_ROOM: usize = 200;

/// Inflates one stream after the other.
pub(super) struct Inflater {
    /// For streams that are in memory as a whole and whose size is known. It does not report what is wrong with a
    /// stream.
    whole: Decompressor,
    /// The same for streams that begin with a block of fixed codes, as short deltas do: it keeps the tables for them as
    /// long as no other block comes. Created on first use, because it allocates memory and clears all of it.
    fixed: Option<Decompressor>,
    /// For all other streams.
    zlib: Decompress,
    head: Vec<u8>,
}

/// Why a stream could not be inflated.
#[derive(Debug)]
pub(super) enum InflateError {
    /// It is invalid, or its contents are longer or shorter than expected. git's message was added.
    Damaged,
    /// It goes on after the end of the file.
    Truncated,
    /// There is too little memory for contents of this many bytes.
    NoMemory(usize),
}

/// Makes room for `more` bytes in `out`, which is to have `left` bytes more in the end: a multiple of what is there, so that it is
/// not moved too often, but no more than that.
pub(super) fn make_room(
    out: &mut Vec<u8>,
    more: usize,
    left: usize,
) -> Result<(), TryReserveError> {
    if out.capacity() - out.len() >= more {
        return Ok(());
    }
    out.try_reserve_exact(more.max(left.min(out.len())))
}

/// The progress of one call.
pub(super) struct Step {
    /// Bytes of input that were used.
    pub(super) used: usize,
    /// Whether this was the end of the stream.
    pub(super) is_end: bool,
    /// Whether no progress was made.
    pub(super) is_stuck: bool,
}

/// The memory for the window and the tables of one stream, in bytes.
const ZLIB_LEN: usize = 64 << 10;

/// The memory for a decompressor of whole streams, in bytes.
const DECOMPRESSOR_LEN: usize = 32 << 10;

/// Creates a decompressor of streams. If there is no memory, the process ends as on any failed allocation, instead of
/// panicking.
fn new_zlib() -> Decompress {
    ask_for_room(ZLIB_LEN);
    Decompress::new(true)
}

/// Creates a decompressor of whole streams, in the same way.
fn new_decompressor() -> Decompressor {
    ask_for_room(DECOMPRESSOR_LEN);
    Decompressor::new()
}

fn ask_for_room(len: usize) {
    drop(std::hint::black_box(Vec::<u8>::with_capacity(len)));
}

impl fmt::Debug for Inflater {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inflater").finish_non_exhaustive()
    }
}

impl Inflater {
    pub(super) fn new() -> Self {
        Self {
            whole: new_decompressor(),
            fixed: None,
            zlib: new_zlib(),
            head: Vec::with_capacity(HEAD_LEN),
        }
    }

    /// Prepares for a new stream.
    pub(super) fn restart(&mut self) {
        self.zlib.reset(true);
    }

    /// Inflates the next at most `room` bytes and appends them to `out`.
    pub(super) fn step(
        &mut self,
        input: &[u8],
        room: usize,
        out: &mut Vec<u8>,
        messages: &mut Vec<String>,
    ) -> Result<Step, InflateError> {
        self.step_with(input, room, out, FlushDecompress::None, messages)
    }

    fn step_with(
        &mut self,
        input: &[u8],
        room: usize,
        out: &mut Vec<u8>,
        flush: FlushDecompress,
        messages: &mut Vec<String>,
    ) -> Result<Step, InflateError> {
        let (part, _) = input.split_at_checked(INPUT_MAX).unwrap_or((input, &[]));
        let (in_before, out_before) = (self.zlib.total_in(), self.zlib.total_out());
        let start = out.len();
        make_room(out, room, 0).map_err(|_| InflateError::NoMemory(room))?;
        // The library would clear the whole capacity of a vector, not only the part that is needed.
        out.resize(start + room, 0);
        let space = out.get_mut(start..).unwrap_or_default();
        let status = self.zlib.decompress(part, space, flush);
        let added = usize::try_from(self.zlib.total_out() - out_before).unwrap_or(room);
        out.truncate(start + added);
        let status = status.map_err(|error| fail(&error, messages))?;
        let used = usize::try_from(self.zlib.total_in() - in_before).unwrap_or(part.len());
        Ok(Step {
            used,
            is_end: status == Status::StreamEnd,
            is_stuck: used == 0 && added == 0 && status != Status::StreamEnd,
        })
    }

    /// Inflates the stream that `input` begins with and appends it to `out`. It must have exactly `size` bytes. On an
    /// error, `out` is unchanged.
    pub(super) fn whole(
        &mut self,
        input: &[u8],
        size: usize,
        out: &mut Vec<u8>,
        messages: &mut Vec<String>,
    ) -> Result<(), InflateError> {
        let start = out.len();
        if self.whole_at_once(input, size, out) {
            return Ok(());
        }
        self.restart();
        let message_count = messages.len();
        let result = self.whole_onto(input, size, out, messages);
        if result.is_err() {
            let is_by_one = out.len() - start == size + 1;
            out.truncate(start);
            if is_by_one || has_lost_reason(messages) {
                // git gives the library room for only one byte more, and so does not see all errors after it.
                messages.truncate(message_count);
                self.find_reason_in(input, size as u64 + 1, messages);
            }
        }
        result
    }

    /// Tries that in one call, and returns whether it succeeded; if not, `out` is unchanged.
    fn whole_at_once(&mut self, input: &[u8], size: usize, out: &mut Vec<u8>) -> bool {
        if size > RESERVE_MAX || make_room(out, size, 0).is_err() {
            return false;
        }
        let start = out.len();
        out.resize(start + size, 0);
        let space = out.get_mut(start..).unwrap_or_default();
        let decompressor = match input.get(ZLIB_HEADER_LEN) {
            Some(byte) if byte & BLOCK_TYPE == FIXED_CODES => {
                self.fixed.get_or_insert_with(new_decompressor)
            }
            _ => &mut self.whole,
        };
        let is_whole = decompressor.zlib_decompress(input, space) == Ok(size);
        if !is_whole {
            out.truncate(start);
        }
        is_whole
    }

    /// Adds the message about what is wrong within the first `len` bytes of a stream, by inflating it again. `step`
    /// does the same as [`Self::step`] from the start of the stream on, and returns whether the end was reached, or
    /// `None` if it cannot go on.
    pub(super) fn find_reason(
        &mut self,
        len: u64,
        messages: &mut Vec<String>,
        mut step: impl FnMut(&mut Self, usize, &mut Vec<u8>, &mut Vec<String>) -> Option<bool>,
    ) {
        self.restart();
        let mut left = len;
        let mut piece = Vec::with_capacity(SLOW_ROOM);
        while left > 0 {
            piece.clear();
            let room = usize::try_from(left).unwrap_or(SLOW_ROOM).min(SLOW_ROOM);
            if step(self, room, &mut piece, messages) != Some(false) {
                break;
            }
            left = left.saturating_sub(piece.len() as u64);
        }
    }

    /// Does the same for the stream that `input` begins with.
    pub(super) fn find_reason_in(&mut self, input: &[u8], len: u64, messages: &mut Vec<String>) {
        let mut rest = input;
        self.find_reason(len, messages, |inflater, room, out, messages| {
            let step = inflater.step(rest, room, out, messages).ok()?;
            rest = rest.get(step.used..)?;
            (!step.is_stuck).then_some(step.is_end)
        });
    }

    fn whole_onto(
        &mut self,
        mut input: &[u8],
        size: usize,
        out: &mut Vec<u8>,
        messages: &mut Vec<String>,
    ) -> Result<(), InflateError> {
        let start = out.len();
        loop {
            let left = size - (out.len() - start);
            let room = left.min(RESERVE_MAX) + SLACK;
            // If it knows that this is all of the output, the library keeps no window of its own.
            let flush = if left <= RESERVE_MAX && input.len() <= INPUT_MAX {
                FlushDecompress::Finish
            } else {
                FlushDecompress::None
            };
            let message_count = messages.len();
            make_room(out, room, left + SLACK).map_err(|_| InflateError::NoMemory(size))?;
            let step = self.step_with(input, room, out, flush, messages);
            let len = out.len() - start;
            if len > size + 1 {
                // git gives room for only one byte more, and does not see errors after it.
                messages.truncate(message_count);
            }
            let step = step?;
            if len > size || step.is_end && len < size {
                return Err(InflateError::Damaged);
            }
            if step.is_end {
                return Ok(());
            }
            input = input.get(step.used..).unwrap_or_default();
            if step.is_stuck || input.is_empty() {
                return Err(InflateError::Truncated);
            }
        }
    }

    /// Returns the first [`DELTA_HEAD_LEN`] bytes of the stream that `input` begins with. A shorter one is padded with
    /// zeros: git reads on where it has written nothing, and mostly finds zeros there.
    pub(super) fn head(
        &mut self,
        mut input: &[u8],
        messages: &mut Vec<String>,
    ) -> Result<&[u8], InflateError> {
        self.restart();
        let mut head = std::mem::take(&mut self.head);
        head.clear();
        let result = loop {
            match self.step(input, DELTA_HEAD_LEN - head.len(), &mut head, messages) {
                // An error right after these bytes is reported, but git has what it needs.
                _ if head.len() >= DELTA_HEAD_LEN => break Ok(()),
                Err(failed) => break Err(failed),
                Ok(step) if step.is_end => break Ok(()),
                Ok(step) if step.is_stuck => break Err(InflateError::Truncated),
                Ok(step) => input = input.get(step.used..).unwrap_or_default(),
            }
        };
        head.resize(DELTA_HEAD_LEN, 0);
        self.head = head;
        result.map(|()| self.head.as_slice())
    }

    /// Takes the buffer for a head, which is returned by [`Self::give_head`].
    pub(super) fn take_head(&mut self) -> Vec<u8> {
        let mut head = std::mem::take(&mut self.head);
        head.clear();
        head
    }

    pub(super) fn give_head(&mut self, head: Vec<u8>) {
        self.head = head;
    }
}

/// Whether the latest message does not say what is wrong with a stream, so that [`Inflater::find_reason`] must find
/// out.
pub(super) fn has_lost_reason(messages: &[String]) -> bool {
    messages
        .last()
        .is_some_and(|line| line.contains(LOST_REASON))
}

fn fail(error: &DecompressError, messages: &mut Vec<String>) -> InflateError {
    let reason = if error.needs_dictionary().is_some() {
        "needs dictionary"
    } else {
        "data stream error"
    };
    let text = error.message().unwrap_or("no message");
    messages.push(format!("error: inflate: {reason} ({text})"));
    InflateError::Damaged
}
