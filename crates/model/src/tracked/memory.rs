//! Blocks in memory.

use bstr::BStr;

use super::{Blocks, Damaged, DirNumber, Put};

/// How much memory is asked for at a time, unless one block needs more.
const CHUNK_LEN: usize = 4 << 20;

/// Blocks in memory, numbered as they come.
#[derive(Debug, Default)]
pub struct InMemory {
    chunks: Vec<Vec<u8>>,
    directories: Vec<Place>,
    files: Vec<Place>,
}

/// Where a block lies.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    chunk: u32,
    start: u32,
    len: u32,
}

impl InMemory {
    fn store(&mut self, block: &[u8]) -> Place {
        let has_room =
            |chunk: &Vec<u8>| chunk.capacity().saturating_sub(chunk.len()) >= block.len();
        if !self.chunks.last().is_some_and(has_room) {
            self.chunks
                .push(Vec::with_capacity(CHUNK_LEN.max(block.len())));
        }
        let chunk = self.chunks.len().saturating_sub(1);
        let Some(last) = self.chunks.last_mut() else {
            return Place::default();
        };
        let start = last.len();
        last.extend_from_slice(block);
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Place {
            chunk: number(chunk),
            start: number(start),
            len: number(block.len()),
        }
    }

    fn get(&self, places: &[Place], key: u32) -> Result<&[u8], Damaged> {
        let place = places.get(key as usize).ok_or(Damaged { key })?;
        let start = place.start as usize;
        self.chunks
            .get(place.chunk as usize)
            .and_then(|chunk| chunk.get(start..start.saturating_add(place.len as usize)))
            .ok_or(Damaged { key })
    }
}

impl Blocks for InMemory {
    fn directory(&self, number: DirNumber) -> Result<&[u8], Damaged> {
        self.get(&self.directories, number)
    }

    fn files(&self, key: u32) -> Result<&[u8], Damaged> {
        self.get(&self.files, key)
    }

    fn directories(&self) -> u32 {
        u32::try_from(self.directories.len()).unwrap_or(u32::MAX)
    }
}

impl Put for InMemory {
    fn number(&mut self, _parent: DirNumber, _name: &BStr) -> DirNumber {
        if self.directories.is_empty() {
            self.directories.push(Place::default());
        }
        let number = self.directories();
        self.directories.push(Place::default());
        number
    }

    fn directory(&mut self, number: DirNumber, block: &[u8]) {
        let place = self.store(block);
        let wanted = (number as usize).saturating_add(1);
        if self.directories.len() < wanted {
            self.directories.resize(wanted, Place::default());
        }
        if let Some(slot) = self.directories.get_mut(number as usize) {
            *slot = place;
        }
    }

    fn files(&mut self, _of: DirNumber, block: &[u8]) -> u32 {
        let place = self.store(block);
        self.files.push(place);
        u32::try_from(self.files.len().saturating_sub(1)).unwrap_or(u32::MAX)
    }
}
