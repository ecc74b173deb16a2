//! The table of contents of files that consist of chunks (gitformat-chunk(5)): multi-pack-indexes and commit-graphs.

use std::ops::Range;

use gix_hash::Kind;

use super::table::{number, wide_number};

/// The length of an entry of the table, in bytes.
pub(super) const CHUNK_LEN: usize = 12;

/// What differs between the formats.
pub(super) struct ChunkFormat {
    /// Where the table begins.
    pub(super) header_len: usize,
    /// Each chunk begins at a multiple of this.
    pub(super) alignment: u64,
    /// What is said if the file ends within the table.
    pub(super) cut_off: &'static str,
}

/// The ids of chunks and their ranges.
pub(super) struct Chunks(Vec<(u32, Range<usize>)>);

impl Chunks {
    /// Parses the table, which has `count` chunks. They end before the checksum. The error is git's text, without "error: ".
    pub(super) fn parse(
        format: &ChunkFormat,
        bytes: &[u8],
        count: u8,
        hash: Kind,
    ) -> Result<Self, String> {
        let end_max = bytes.len().saturating_sub(hash.len_in_bytes()) as u64;
        let cut_off = || format.cut_off.to_owned();
        let alignment = format.alignment;
        let mut chunks: Vec<(u32, Range<usize>)> = Vec::with_capacity(count.into());
        let mut at = format.header_len;
        for _ in 0..count {
            let id = number(bytes, at).ok_or_else(cut_off)?;
            let start = wide_number(bytes, at + 4).ok_or_else(cut_off)?;
            at += CHUNK_LEN;
            let end = wide_number(bytes, at + 4).ok_or_else(cut_off)?;
            if id == 0 {
                return Err("terminating chunk id appears earlier than expected".into());
            }
            if start % alignment != 0 {
                return Err(format!("chunk id {id:x} not {alignment}-byte aligned"));
            }
            if end < start || end > end_max {
                return Err(format!("improper chunk offset(s) {start:x} and {end:x}"));
            }
            if chunks.iter().any(|(other, _)| *other == id) {
                return Err(format!("duplicate chunk ID {id:x} found"));
            }
            // Both are within the file, as was just checked.
            chunks.push((id, start as usize..end as usize));
        }
        match number(bytes, at) {
            Some(0) => Ok(Self(chunks)),
            Some(id) => Err(format!("final chunk has non-zero id {id:x}")),
            None => Err(cut_off()),
        }
    }

    /// The range of the chunk `id`, if there is one.
    pub(super) fn find(&self, id: u32) -> Option<Range<usize>> {
        let found = self.0.iter().find(|(other, _)| *other == id);
        found.map(|(_, range)| range.clone())
    }
}
