//! The blocks of a published state, as the tree of tracked files and the memory of scans read them.

use vigil_model::tracked::{Blocks, Damaged, DirNumber};

use vigil_scan::SeenBlocks;
use vigil_store::{Snapshot, StateTable};

/// How many more directory numbers there may be than the file has room for: removed directories leave their numbers behind.
const NUMBERS_SPARE: u64 = 65_536;

/// Whether `state` has room for as many directories and blocks of files as it claims: memory is allocated for each number.
pub(super) fn has_plausible_counts(state: &Snapshot) -> bool {
    let room = (state.used_len() / 8).saturating_add(NUMBERS_SPARE);
    let tables = [StateTable::Tracked, StateTable::Files];
    tables
        .iter()
        .all(|&table| u64::from(state.keys(table)) <= room)
}

/// A published state.
pub(super) struct PublishedBlocks(pub(super) Snapshot);

impl PublishedBlocks {
    fn block(&self, table: StateTable, key: u32) -> Result<&[u8], Damaged> {
        let block = self.0.block(table, key);
        block.ok().flatten().ok_or(Damaged { key })
    }
}

impl Blocks for PublishedBlocks {
    fn directory(&self, number: DirNumber) -> Result<&[u8], Damaged> {
        self.block(StateTable::Tracked, number)
    }

    fn files(&self, key: u32) -> Result<&[u8], Damaged> {
        self.block(StateTable::Files, key)
    }

    fn directory_number_end(&self) -> u32 {
        self.0.keys(StateTable::Tracked)
    }

    fn are_whole(&self) -> bool {
        self.0.is_whole()
    }

    fn files_key_end(&self) -> u32 {
        self.0.keys(StateTable::Files)
    }

    fn untrusted_len(&self) -> Option<u64> {
        Some(self.0.used_len())
    }
}

impl SeenBlocks for PublishedBlocks {
    fn seen(&self, number: DirNumber) -> Option<&[u8]> {
        self.0.block(StateTable::Seen, number).ok().flatten()
    }

    fn len_in_all(&self) -> u64 {
        self.0.used_len()
    }
}
