//! Stored chunks: uncompressed, or compressed with zlib or Zstandard.

use std::borrow::Cow;
use std::io::Read;

use bstr::{BStr, BString};
use flate2::{Decompress, FlushDecompress, Status};
use ruzstd::decoding::StreamingDecoder;

use crate::abort::{Abort, Kind};
use crate::bytes::bytes;

/// The maximum window size in bytes that a Zstandard frame may ask for.
const WINDOW_LEN_MAX: usize = 128 << 20;
const BUFFER_LEN: usize = 64 * 1024;

/// How to find out how a chunk is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// It is not compressed.
    Plain,
    /// It is in the revlog's default compression.
    Default,
    /// Its first byte tells.
    Marked,
    /// Unknown.
    Unknown,
}

impl Mode {
    /// The mode in the low two bits of a record's byte.
    pub(super) fn of_bits(bits: u8) -> Self {
        match bits & 3 {
            0 => Self::Plain,
            1 => Self::Default,
            2 => Self::Marked,
            _ => Self::Unknown,
        }
    }
}

/// Why a chunk cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChunkError {
    /// Its first byte names no compression.
    UnknownMark(u8),
    /// Its compression is known, but it does not decompress.
    Undecodable(&'static str),
    Damaged(&'static str),
}

impl ChunkError {
    /// Returns Mercurial's error for a chunk of `name`.
    pub(super) fn abort(self, name: &BStr) -> Abort {
        let message: BString = match self {
            Self::UnknownMark(mark) => format!("unknown compression type {mark:02x}").into(),
            // The reason that Mercurial gives is in the words of a library.
            Self::Undecodable(what) => {
                return Abort::unsupported(bytes!("what is damaged in '", name, "': ", what));
            }
            Self::Damaged(what) => bytes!("damaged revision in '", name, "': ", what),
        };
        Abort::of(Kind::Storage, message)
    }
}

/// Decompresses chunks, one after the other.
pub(super) struct Decompressor {
    /// The first byte of chunks in the default compression.
    default: Option<u8>,
    zlib: Option<Decompress>,
}

impl Decompressor {
    /// Makes a decompressor; `default` is the first byte of chunks in the default compression.
    pub(super) fn new(default: Option<u8>) -> Self {
        Self {
            default,
            zlib: None,
        }
    }

    /// Returns the contents of a chunk, which may have at most `len_max` bytes.
    pub(super) fn read<'c>(
        &mut self,
        stored: &'c [u8],
        mode: Mode,
        len_max: usize,
    ) -> Result<Cow<'c, [u8]>, ChunkError> {
        let mark = match mode {
            _ if stored.is_empty() => return Ok(Cow::Borrowed(stored)),
            Mode::Plain => Some(0),
            // The mark of uncompressed chunks is not a compression.
            Mode::Default => self.default.filter(|mark| *mark != b'u'),
            Mode::Marked => stored.first().copied(),
            Mode::Unknown => None,
        };
        match mark {
            Some(0) => Ok(Cow::Borrowed(stored)),
            Some(b'u') => Ok(Cow::Borrowed(stored.get(1..).unwrap_or_default())),
            Some(b'x') => self.zlib(stored, len_max).map(Cow::Owned),
            Some(b'(') => zstd(stored, len_max).map(Cow::Owned),
            Some(mark) if mode == Mode::Marked => Err(ChunkError::UnknownMark(mark)),
            _ => Err(ChunkError::Damaged("it is compressed in an unknown way")),
        }
    }

    fn zlib(&mut self, stored: &[u8], len_max: usize) -> Result<Vec<u8>, ChunkError> {
        let damaged = ChunkError::Undecodable("it is no zlib stream");
        let zlib = self.zlib.get_or_insert_with(|| Decompress::new(true));
        zlib.reset(true);
        let mut out = Vec::with_capacity(stored.len().saturating_mul(4).min(len_max));
        loop {
            let read = usize::try_from(zlib.total_in()).unwrap_or(usize::MAX);
            let input = stored.get(read..).unwrap_or_default();
            let before = out.len();
            let status = zlib.decompress_vec(input, &mut out, FlushDecompress::Finish);
            match status.map_err(|_| damaged)? {
                _ if out.len() > len_max => {
                    return Err(ChunkError::Damaged("it is longer than it may be"));
                }
                Status::StreamEnd => return Ok(out),
                // The decompressor writes to all of the capacity, so there is no more than may be used.
                _ if out.len() == out.capacity() => {
                    let room = len_max.saturating_add(1).saturating_sub(out.len());
                    out.reserve_exact(out.len().max(BUFFER_LEN).min(room));
                }
                _ if out.len() == before => return Err(damaged),
                _ => {}
            }
        }
    }
}

fn zstd(stored: &[u8], len_max: usize) -> Result<Vec<u8>, ChunkError> {
    let damaged = ChunkError::Undecodable("it is no Zstandard frame");
    if window_len(stored).ok_or(damaged)? > WINDOW_LEN_MAX {
        return Err(ChunkError::Damaged("it asks for too much memory"));
    }
    let decoder = StreamingDecoder::new(stored).map_err(|_| damaged)?;
    let mut out = Vec::with_capacity(stored.len().saturating_mul(4).min(len_max));
    let limit = u64::try_from(len_max).unwrap_or(u64::MAX).saturating_add(1);
    let read = decoder.take(limit).read_to_end(&mut out);
    read.map_err(|_| damaged)?;
    match out.len() > len_max {
        true => Err(ChunkError::Damaged("it is longer than it may be")),
        false => Ok(out),
    }
}

/// Returns the window size in bytes that a frame requires (RFC 8878, "Frame Header").
fn window_len(frame: &[u8]) -> Option<usize> {
    let descriptor = *frame.get(4)?;
    let is_single = descriptor & 0x20 != 0;
    if !is_single {
        let window = *frame.get(5)?;
        let base = 1usize.checked_shl(10 + u32::from(window >> 3))?;
        return base.checked_add((base / 8).checked_mul(usize::from(window & 7))?);
    }
    let id_len = match descriptor & 3 {
        3 => 4,
        len => usize::from(len),
    };
    let at = 5usize.checked_add(id_len)?;
    let field = |len: usize| frame.get(at..at.checked_add(len)?);
    let number = |bytes: &[u8]| {
        let little = bytes.iter().rev();
        little.fold(0u64, |sum, byte| sum << 8 | u64::from(*byte))
    };
    let len = match descriptor >> 6 {
        0 => number(field(1)?),
        1 => number(field(2)?).checked_add(256)?,
        2 => number(field(4)?),
        _ => number(field(8)?),
    };
    usize::try_from(len).ok()
}
