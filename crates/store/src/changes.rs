//! What is to be published.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::rc::Rc;

use vigil_model::state_layout::checksum;
use vigil_model::state_layout::table::{Slot, Table};

use super::plan::NoPlan;
use super::snapshot::Snapshot;

/// Blocks that are to be set and removed; the last word on a key counts.
#[derive(Clone, Debug, Default)]
pub struct Changes<'a> {
    /// In the order of [`Table::WRITTEN`].
    tables: [BTreeMap<u32, Option<Cow<'a, [u8]>>>; Table::COUNT],
    /// What some of the blocks may be from.
    source: Option<Rc<dyn BlockSource + 'a>>,
}

/// Where blocks that are to be set may lie.
pub trait BlockSource: Debug {
    /// Whether they are as they were when they were looked at.
    fn is_whole(&self) -> bool;
}

/// A change that makes a difference.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edit<'a> {
    pub(super) key: u32,
    /// What was published.
    pub(super) old: Slot,
    /// What is to be, with its checksum.
    pub(super) new: Option<(&'a [u8], u64)>,
}

/// The changes that make a difference, by table in the order of [`Table::WRITTEN`], and by key.
pub(super) type Edits<'a> = [Vec<Edit<'a>>; Table::COUNT];

impl<'a> Changes<'a> {
    /// No changes.
    pub fn new() -> Self {
        Self::default()
    }

    /// The block of `key` is to be `block`.
    pub fn set(&mut self, table: Table, key: u32, block: impl Into<Cow<'a, [u8]>>) {
        self.table(table).insert(key, Some(block.into()));
    }

    /// There is to be no block for `key`.
    pub fn remove(&mut self, table: Table, key: u32) {
        self.table(table).insert(key, None);
    }

    /// Some of the blocks may lie in `source`: if that turns out not to be whole, nothing is published.
    pub fn rest_on(&mut self, source: impl BlockSource + 'a) {
        self.source = Some(Rc::new(source));
    }

    /// Whether what the blocks lie in is whole.
    pub(super) fn are_whole(&self) -> bool {
        self.source.as_ref().is_none_or(|source| source.is_whole())
    }

    /// Whether nothing was set or removed.
    pub fn is_empty(&self) -> bool {
        self.tables.iter().all(BTreeMap::is_empty)
    }

    fn table(&mut self, table: Table) -> &mut BTreeMap<u32, Option<Cow<'a, [u8]>>> {
        let [tracked, seen, files, general] = &mut self.tables;
        match table {
            Table::Tracked => tracked,
            Table::Seen => seen,
            Table::Files => files,
            Table::General => general,
        }
    }

    /// What is different from `base`. A published block that is damaged is different from any other.
    pub(super) fn edits(&self, base: Option<&Snapshot>) -> Result<Edits<'_>, NoPlan> {
        let mut edits = Edits::default();
        for ((changes, edits), table) in self.tables.iter().zip(&mut edits).zip(Table::WRITTEN) {
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
