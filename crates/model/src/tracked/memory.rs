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

/// The location of a block.
#[derive(Clone, Copy, Debug)]
struct Place {
    chunk: u32,
    start: u32,
    len: u32,
}

impl Arena {
    fn store(&mut self, block: &[u8]) -> Place {
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
        Place {
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

    fn get(&self, place: Place) -> Option<&[u8]> {
        let start = place.start as usize;
        let chunk = self.chunks.get(place.chunk as usize)?;
        chunk.get(start..start.saturating_add(place.len as usize))
    }
}

/// Some blocks, by key.
#[derive(Debug, Default)]
pub(super) struct Store {
    arena: Arena,
    places: BTreeMap<u32, Place>,
}

impl Store {
    pub(super) fn put(&mut self, key: u32, block: &[u8]) {
        let place = self.arena.store(block);
        self.places.insert(key, place);
    }

    pub(super) fn get(&self, key: u32) -> Option<&[u8]> {
        self.places
            .get(&key)
            .and_then(|place| self.arena.get(*place))
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = u32> {
        self.places.keys().copied()
    }
}

/// All blocks of a tree, numbered in the order of their arrival.
#[derive(Debug, Default)]
pub struct InMemory {
    arena: Arena,
    directories: Vec<Option<Place>>,
    files: Vec<Option<Place>>,
}

impl InMemory {
    pub(super) fn put_directory(&mut self, number: DirNumber, block: &[u8]) {
        let place = self.arena.store(block);
        set(&mut self.directories, number, place);
    }

    pub(super) fn put_files(&mut self, key: u32, block: &[u8]) {
        let place = self.arena.store(block);
        set(&mut self.files, key, place);
    }

    fn get(&self, places: &[Option<Place>], key: u32) -> Result<&[u8], Damaged> {
        let place = places.get(key as usize).copied().flatten();
        place
            .and_then(|place| self.arena.get(place))
            .ok_or(Damaged { key })
    }
}

fn set(places: &mut Vec<Option<Place>>, key: u32, place: Place) {
    let wanted = (key as usize).saturating_add(1);
    if places.len() < wanted {
        places.resize(wanted, None);
    }
    if let Some(slot) = places.get_mut(key as usize) {
        *slot = Some(place);
    }
}

fn keys(places: &[Option<Place>]) -> u32 {
    u32::try_from(places.len()).unwrap_or(u32::MAX)
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
