//! Inflating, with what git says when it fails.

use std::fmt;

use flate2::{Decompress, DecompressError, FlushDecompress, Status};
use libdeflater::Decompressor;

/// Room behind what is expected: with less, the last part is inflated byte by byte, and small objects are nothing but a
/// last part.
pub(super) const SLACK: usize = 320;

/// What is set aside at once, in bytes. A size may be a lie; more only comes as contents do.
pub(super) const RESERVE_MAX: usize = 64 << 20;

/// What is inflated of a stream to learn what it holds, in bytes: the header of a loose object must not be longer.
pub(super) const HEAD_LEN: usize = 32;

/// What is inflated of a delta to learn the size of what it makes, in bytes.
pub(super) const DELTA_HEAD_LEN: usize = 20;

/// The largest part of a window that is given at once; the library counts in 32 bits.
const INPUT_MAX: usize = 1 << 30;

/// What comes before the first block (RFC 1950), in bytes.
const ZLIB_HEADER_LEN: usize = 2;

/// The bits of a block's first byte that tell its type, and the type with the codes that RFC 1951 sets.
const BLOCK_TYPE: u8 = 0b110;
const FIXED_CODES: u8 = 0b010;

/// What the library says of a stream where its fast part found something wrong: it asks itself once more, and has forgotten.
const FORGOTTEN: &str = "repeated call with bad state";

/// With so little room, in bytes, the library takes its slow part, which does not forget.
const SLOW_ROOM: usize = 200;

/// Inflates one stream after the other.
pub(super) struct Inflater {
    /// For streams that are in memory as a whole and whose size is known. It does not say what is wrong with one.
    whole: Decompressor,
    /// The same for streams that begin with a block of the fixed codes, as short deltas do: it keeps the tables for them
    /// while no other block comes. Made when it is needed: it takes memory, all of which is cleared.
    fixed: Option<Decompressor>,
    /// For all others.
    zlib: Decompress,
    head: Vec<u8>,
}

/// Why a stream gave no contents.
#[derive(Debug)]
pub(super) enum Failed {
    /// It makes no sense, or holds more or less than it should. What git says of it was said.
    Damaged,
    /// It goes on behind the end of the file.
    Ended,
}

/// How far one call came.
pub(super) struct Step {
    /// Bytes of input that were used.
    pub(super) used: usize,
    /// Whether this was the end of the stream.
    pub(super) is_end: bool,
    /// Whether nothing at all could be done.
    pub(super) is_stuck: bool,
}

/// Room for the window and the tables of one stream, in bytes.
const ZLIB_LEN: usize = 64 << 10;

/// The same of one that inflates whole streams at once.
const DECOMPRESSOR_LEN: usize = 32 << 10;

/// A decompressor. Where there is no memory for it, the process ends as for any other want of memory, and does not panic.
fn new_zlib() -> Decompress {
    ask_for_room(ZLIB_LEN);
    Decompress::new(true)
}

/// The same of one that inflates whole streams at once.
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

    /// Begins a new stream.
    pub(super) fn restart(&mut self) {
        self.zlib.reset(true);
    }

    /// Adds at most `room` bytes to `out`.
    pub(super) fn step(
        &mut self,
        input: &[u8],
        room: usize,
        out: &mut Vec<u8>,
        said: &mut Vec<String>,
    ) -> Result<Step, Failed> {
        self.step_with(input, room, out, FlushDecompress::None, said)
    }

    fn step_with(
        &mut self,
        input: &[u8],
        room: usize,
        out: &mut Vec<u8>,
        flush: FlushDecompress,
        said: &mut Vec<String>,
    ) -> Result<Step, Failed> {
        let (part, _) = input.split_at_checked(INPUT_MAX).unwrap_or((input, &[]));
        let (in_before, out_before) = (self.zlib.total_in(), self.zlib.total_out());
        let start = out.len();
        // The library would clear all the room that a vector has, not only what is needed of it.
        out.resize(start + room, 0);
        let space = out.get_mut(start..).unwrap_or_default();
        let status = self.zlib.decompress(part, space, flush);
        let added = usize::try_from(self.zlib.total_out() - out_before).unwrap_or(room);
        out.truncate(start + added);
        let status = status.map_err(|error| fail(&error, said))?;
        let used = usize::try_from(self.zlib.total_in() - in_before).unwrap_or(part.len());
        Ok(Step {
            used,
            is_end: status == Status::StreamEnd,
            is_stuck: used == 0 && added == 0 && status != Status::StreamEnd,
        })
    }

    /// Adds the whole of the stream that `input` begins with to `out`: exactly `size` bytes, or else an error, with `out`
    /// as it was.
    pub(super) fn whole(
        &mut self,
        input: &[u8],
        size: usize,
        out: &mut Vec<u8>,
        said: &mut Vec<String>,
    ) -> Result<(), Failed> {
        let start = out.len();
        if self.whole_at_once(input, size, out) {
            return Ok(());
        }
        self.restart();
        let told = said.len();
        let result = self.whole_onto(input, size, out, said);
        if result.is_err() {
            let is_by_one = out.len() - start == size + 1;
            out.truncate(start);
            if is_by_one || is_forgotten(said) {
                // git gives room for one byte more, and does not see all that is wrong behind it.
                said.truncate(told);
                self.find_reason_in(input, size as u64 + 1, said);
            }
        }
        result
    }

    /// Whether that went well; if it did not, `out` is as it was.
    fn whole_at_once(&mut self, input: &[u8], size: usize, out: &mut Vec<u8>) -> bool {
        if size > RESERVE_MAX {
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

    /// Says what is wrong with a stream within its first `len` bytes: it is inflated again by `step`, which does what
    /// [`Self::step`] does with the stream from its start on and tells whether its end was reached; `None` where it cannot
    /// be inflated further.
    pub(super) fn find_reason(
        &mut self,
        len: u64,
        said: &mut Vec<String>,
        mut step: impl FnMut(&mut Self, usize, &mut Vec<u8>, &mut Vec<String>) -> Option<bool>,
    ) {
        self.restart();
        let mut left = len;
        let mut piece = Vec::with_capacity(SLOW_ROOM);
        while left > 0 {
            piece.clear();
            let room = usize::try_from(left).unwrap_or(SLOW_ROOM).min(SLOW_ROOM);
            if step(self, room, &mut piece, said) != Some(false) {
                break;
            }
            left = left.saturating_sub(piece.len() as u64);
        }
    }

    /// The same for the stream that `input` begins with.
    pub(super) fn find_reason_in(&mut self, input: &[u8], len: u64, said: &mut Vec<String>) {
        let mut rest = input;
        self.find_reason(len, said, |inflater, room, out, said| {
            let step = inflater.step(rest, room, out, said).ok()?;
            rest = rest.get(step.used..)?;
            (!step.is_stuck).then_some(step.is_end)
        });
    }

    fn whole_onto(
        &mut self,
        mut input: &[u8],
        size: usize,
        out: &mut Vec<u8>,
        said: &mut Vec<String>,
    ) -> Result<(), Failed> {
        let start = out.len();
        loop {
            let left = size - (out.len() - start);
            let room = left.min(RESERVE_MAX) + SLACK;
            // Told that this is all, the library keeps no window of its own.
            let flush = if left <= RESERVE_MAX && input.len() <= INPUT_MAX {
                FlushDecompress::Finish
            } else {
                FlushDecompress::None
            };
            let told = said.len();
            let step = self.step_with(input, room, out, flush, said);
            let len = out.len() - start;
            if len > size + 1 {
                // git gives room for one more, and does not see what is wrong behind it.
                said.truncate(told);
            }
            let step = step?;
            if len > size || step.is_end && len < size {
                return Err(Failed::Damaged);
            }
            if step.is_end {
                return Ok(());
            }
            input = input.get(step.used..).unwrap_or_default();
            if step.is_stuck || input.is_empty() {
                return Err(Failed::Ended);
            }
        }
    }

    /// The first [`DELTA_HEAD_LEN`] bytes of the stream that `input` begins with. Zeros follow a shorter one: git reads on
    /// where it has written nothing, and mostly finds them there.
    pub(super) fn head(
        &mut self,
        mut input: &[u8],
        said: &mut Vec<String>,
    ) -> Result<&[u8], Failed> {
        self.restart();
        let mut head = std::mem::take(&mut self.head);
        head.clear();
        let result = loop {
            match self.step(input, DELTA_HEAD_LEN - head.len(), &mut head, said) {
                // What is wrong right behind it is said, but git has what it wants.
                _ if head.len() >= DELTA_HEAD_LEN => break Ok(()),
                Err(failed) => break Err(failed),
                Ok(step) if step.is_end => break Ok(()),
                Ok(step) if step.is_stuck => break Err(Failed::Ended),
                Ok(step) => input = input.get(step.used..).unwrap_or_default(),
            }
        };
        head.resize(DELTA_HEAD_LEN, 0);
        self.head = head;
        result.map(|()| self.head.as_slice())
    }

    /// Takes the room for a head, which is to be given back.
    pub(super) fn take_head(&mut self) -> Vec<u8> {
        let mut head = std::mem::take(&mut self.head);
        head.clear();
        head
    }

    pub(super) fn give_head(&mut self, head: Vec<u8>) {
        self.head = head;
    }
}

/// Whether the last that was said tells nothing of what is wrong with a stream. It is to be found out by
/// [`Inflater::find_reason`].
pub(super) fn is_forgotten(said: &[String]) -> bool {
    said.last().is_some_and(|line| line.contains(FORGOTTEN))
}

fn fail(error: &DecompressError, said: &mut Vec<String>) -> Failed {
    let reason = if error.needs_dictionary().is_some() {
        "needs dictionary"
    } else {
        "data stream error"
    };
    let text = error.message().unwrap_or("no message");
    said.push(format!("error: inflate: {reason} ({text})"));
    Failed::Damaged
}
