//! The changes of a publication.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::rc::Rc;

use vigil_model::state_layout::checksum;
use vigil_model::state_layout::table::{Slot, StateTable};

use super::plan::NoPlan;
use super::snapshot::Snapshot;

/// Blocks to be set and removed. The last call for a key counts.
#[derive(Clone, Debug, Default)]
pub struct Changes<'a> {
    /// In the order of [`StateTable::WRITTEN`].
    tables: [BTreeMap<u32, Option<Cow<'a, [u8]>>>; StateTable::COUNT],
    /// The memory that some of the blocks may borrow from.
    source: Option<Rc<dyn BlockSource + 'a>>,
}

/// Memory that blocks may borrow from, and that may become invalid.
pub trait BlockSource: Debug {
    /// Whether the bytes are still those that were read.
    fn is_whole(&self) -> bool;
}

/// A change that makes a difference.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edit<'a> {
    pub(super) key: u32,
    /// The published slot.
    pub(super) old: Slot,
    /// The new block and its checksum; `None` if the key is removed.
    pub(super) new: Option<(&'a [u8], u64)>,
}

/// The changes that make a difference, by table in the order of [`StateTable::WRITTEN`], and by key.
pub(super) type Edits<'a> = [Vec<Edit<'a>>; StateTable::COUNT];

impl<'a> Changes<'a> {
    /// No changes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the block of `key`.
    pub fn set(&mut self, table: StateTable, key: u32, block: impl Into<Cow<'a, [u8]>>) {
        self.table(table).insert(key, Some(block.into()));
    }

    /// Removes the block of `key`.
    pub fn remove(&mut self, table: StateTable, key: u32) {
        self.table(table).insert(key, None);
    }

    /// Names the source that some of the blocks borrow from, in place of any earlier one. If it turns out not to be whole,
    /// nothing is published.
    pub fn set_source(&mut self, source: impl BlockSource + 'a) {
        self.source = Some(Rc::new(source));
    }

    /// Whether the source of the blocks, if there is one, is whole.
    pub(super) fn source_is_intact(&self) -> bool {
        self.source.as_ref().is_none_or(|source| source.is_whole())
    }

    fn table(&mut self, table: StateTable) -> &mut BTreeMap<u32, Option<Cow<'a, [u8]>>> {
        let [tracked, seen, files, general] = &mut self.tables;
        match table {
            StateTable::Tracked => tracked,
            StateTable::Seen => seen,
            StateTable::Files => files,
            StateTable::General => general,
        }
    }

    /// Returns the changes that differ from `base`. A published block that is damaged differs from any
    /// other.
    pub(super) fn edits(&self, base: Option<&Snapshot>) -> Result<Edits<'_>, NoPlan> {
        let mut edits = Edits::default();
        for ((changes, edits), table) in self.tables.iter().zip(&mut edits).zip(StateTable::WRITTEN)
        {
            for (&key, block) in changes {
                let len = block.as_deref().map_or(0, <[u8]>::len);
                if u32::try_from(len).is_err() || (key == u32::MAX && block.is_some()) {
                    return Err(NoPlan::TooLarge);
                }
                let old = match base {
                    Some(base) => base.slot(table, key)?,
                    None => Slot::ABSENT,
                };
                let new = block.as_deref().map(|block| (block, checksum(block)));
                let is_same = match new {
                    None => old.is_absent(),
                    Some((block, checksum)) => {
                        old.checksum == checksum
                            && base.is_some_and(|base| {
                                base.bytes(&old).is_ok_and(|bytes| bytes == block)
                            })
                    }
                };
                if !is_same {
                    edits.push(Edit { key, old, new });
                }
            }
        }
        Ok(edits)
    }
}
