//! The blocks of a published state, as the tree of tracked files and the memory of scans want them.

use vigil_model::tracked::{Blocks, Damaged, DirNumber};

use crate::scan::SeenBlocks;
use vigil_store::{Snapshot, Table};

/// A published state.
pub(super) struct Published(pub(super) Snapshot);

impl Published {
    fn block(&self, table: Table, key: u32) -> Result<&[u8], Damaged> {
        let block = self.0.block(table, key);
        block.ok().flatten().ok_or(Damaged { key })
    }
}

impl Blocks for Published {
    fn directory(&self, number: DirNumber) -> Result<&[u8], Damaged> {
        self.block(Table::Tracked, number)
    }

    fn files(&self, key: u32) -> Result<&[u8], Damaged> {
        self.block(Table::Files, key)
    }

    fn directories(&self) -> u32 {
        self.0.keys(Table::Tracked)
    }

    fn files_keys(&self) -> u32 {
        self.0.keys(Table::Files)
    }
}

impl SeenBlocks for Published {
    fn seen(&self, number: DirNumber) -> Option<&[u8]> {
        self.0.block(Table::Seen, number).ok().flatten()
    }
}
