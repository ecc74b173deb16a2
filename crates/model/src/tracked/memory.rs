//! Blocks in memory.

use std::collections::BTreeMap;

use bstr::BStr;

use super::blocks::{Blocks, Damaged, DirNumber};
use super::builder::BlockSink;

/// The size of the second chunk in bytes, unless one block needs more. Each later chunk is twice as
/// large,
const CHUNK_LEN: usize = 4 << 20;
/// up to this many doublings.
const DOUBLINGS_MAX: usize = 3;

/// An append-only buffer.
#[derive(Debug, Default)]
struct Arena {
    chunks: Vec<Vec<u8>>,
}

/// Where a block is in an arena.
#[derive(Clone, Copy, Debug)]
struct BlockSpan {
    chunk: u32,
    start: u32,
    len: u32,
}

impl Arena {
    fn store(&mut self, block: &[u8]) -> BlockSpan {
        let has_room =
            |chunk: &Vec<u8>| chunk.capacity().saturating_sub(chunk.len()) >= block.len();
        if !self.chunks.last().is_some_and(has_room) {
            self.add_chunk(block.len());
        }
        let chunk = self.chunks.len().saturating_sub(1);
        let start = self.chunks.last().map_or(0, Vec::len);
        if let Some(last) = self.chunks.last_mut() {
            last.extend_from_slice(block);
        }
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        BlockSpan {
            chunk: number(chunk),
            start: number(start),
            len: number(block.len()),
        }
    }

    /// Adds a chunk with room for `len` bytes.
    fn add_chunk(&mut self, len: usize) {
        // The first chunk is small, because most trees are small.
        let chunk = match self.chunks.len().checked_sub(1) {
            None => Vec::with_capacity(len),
            Some(doublings) => {
                let usual = CHUNK_LEN << doublings.min(DOUBLINGS_MAX);
                Vec::with_capacity(usual.max(len))
            }
        };
        self.chunks.push(chunk);
    }

    fn get(&self, span: BlockSpan) -> Option<&[u8]> {
        let start = span.start as usize;
        let chunk = self.chunks.get(span.chunk as usize)?;
        chunk.get(start..start.saturating_add(span.len as usize))
    }
}

/// Some blocks, by key.
#[derive(Debug, Default)]
pub(super) struct Store {
    arena: Arena,
    spans: BTreeMap<u32, BlockSpan>,
}

impl Store {
    pub(super) fn put(&mut self, key: u32, block: &[u8]) {
        let span = self.arena.store(block);
        self.spans.insert(key, span);
    }

    pub(super) fn get(&self, key: u32) -> Option<&[u8]> {
        self.spans.get(&key).and_then(|span| self.arena.get(*span))
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = u32> {
        self.spans.keys().copied()
    }
}

/// All blocks of a tree, numbered in the order of their arrival.
#[derive(Debug, Default)]
pub struct InMemory {
    arena: Arena,
    directories: Vec<Option<BlockSpan>>,
    files: Vec<Option<BlockSpan>>,
}

impl InMemory {
    pub(super) fn put_directory(&mut self, number: DirNumber, block: &[u8]) {
        let span = self.arena.store(block);
        set(&mut self.directories, number, span);
    }

    pub(super) fn put_files(&mut self, key: u32, block: &[u8]) {
        let span = self.arena.store(block);
        set(&mut self.files, key, span);
    }

    fn get(&self, spans: &[Option<BlockSpan>], key: u32) -> Result<&[u8], Damaged> {
        let span = spans.get(key as usize).copied().flatten();
        span.and_then(|span| self.arena.get(span))
            .ok_or(Damaged { key })
    }
}

fn set(spans: &mut Vec<Option<BlockSpan>>, key: u32, span: BlockSpan) {
    let wanted = (key as usize).saturating_add(1);
    if spans.len() < wanted {
        spans.resize(wanted, None);
    }
    if let Some(slot) = spans.get_mut(key as usize) {
        *slot = Some(span);
    }
}

fn keys(spans: &[Option<BlockSpan>]) -> u32 {
    u32::try_from(spans.len()).unwrap_or(u32::MAX)
}

impl Blocks for InMemory {
    fn directory(&self, number: DirNumber) -> Result<&[u8], Damaged> {
        self.get(&self.directories, number)
    }

    fn files(&self, key: u32) -> Result<&[u8], Damaged> {
        self.get(&self.files, key)
    }

    fn directory_number_end(&self) -> u32 {
        keys(&self.directories)
    }

    fn files_key_end(&self) -> u32 {
        keys(&self.files)
    }
}

impl BlockSink for InMemory {
    fn number(&mut self, _parent: DirNumber, _name: &BStr) -> DirNumber {
        let number = self.directory_number_end().max(1);
        self.directories.resize(number as usize, None);
        self.directories.push(None);
        number
    }

    fn directory(&mut self, number: DirNumber, _path: &BStr, block: &[u8]) {
        self.put_directory(number, block);
    }

    fn files(&mut self, _of: DirNumber, block: &[u8]) -> u32 {
        let key = self.files_key_end();
        self.put_files(key, block);
        key
    }
}
