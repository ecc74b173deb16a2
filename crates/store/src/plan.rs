//! What a publication writes: the place of each block, and the nodes that lead to it.

use vigil_model::state_layout::table::{
    FANOUT, Root, Slot, StateTable, TableRoot, levels, node, place,
};
use vigil_model::state_layout::{DATA_LEN_MAX, DataHeader, UNIT, checksum, stored_len};
use zerocopy::IntoBytes;

use super::changes::{Edit, Edits};
use super::snapshot::{Damaged, Snapshot};

/// The most dead bytes that are tolerated in a data file before it may be rewritten, however small the file is.
const DEAD_LEN_MAX_OF_SMALL: u64 = 256 << 10;

/// What is to be written, and the resulting state.
#[derive(Debug)]
pub(super) struct WritePlan<'a> {
    /// The offset in the data file of the first byte to be written.
    pub(super) start: u64,
    /// The blocks to write. Each is padded to whole units when it is written.
    pub(super) blocks: Vec<&'a [u8]>,
    /// What follows the blocks: nodes and the root block.
    pub(super) nodes: Vec<u8>,
    /// The resulting used length of the data file, in bytes.
    pub(super) used: u64,
    /// How much of that is dead, in bytes.
    pub(super) dead: u64,
    /// The slot of the root block.
    pub(super) root: Slot,
}

/// Why there is no plan.
#[derive(Debug)]
pub(super) enum NoPlan {
    TooLarge,
    Damaged(Damaged),
}

impl From<Damaged> for NoPlan {
    fn from(damaged: Damaged) -> Self {
        Self::Damaged(damaged)
    }
}

/// A change of a table: the key, and its new slot.
type Placed = (u32, Slot);

impl<'a> WritePlan<'a> {
    /// Plans to write `edits` behind the used part of `base`.
    pub(super) fn append(base: &Snapshot, edits: &Edits<'a>) -> Result<Self, NoPlan> {
        let mut planner = Planner::new(base.used_len(), Some(base));
        let mut placed = Vec::with_capacity(StateTable::COUNT);
        for edits in edits {
            let slots = edits.iter().map(|edit| {
                planner.dead = planner.dead.saturating_add(edit.old.stored_len());
                Ok((edit.key, planner.edit(edit)?))
            });
            placed.push(slots.collect::<Result<Vec<Placed>, NoPlan>>()?);
        }
        planner.finish(&placed)
    }

    /// Plans to write a new data file: what `edits` leave of `base`, and what they set.
    pub(super) fn rewrite(base: Option<&'a Snapshot>, edits: &Edits<'a>) -> Result<Self, NoPlan> {
        let mut planner = Planner::new(DataHeader::LEN, None);
        let mut placed = Vec::with_capacity(StateTable::COUNT);
        for (edits, table) in edits.iter().zip(StateTable::WRITTEN) {
            let mut slots = Vec::new();
            let mut edits = edits.iter().peekable();
            let mut kept = base.map(|base| base.slots(table)).into_iter().flatten();
            loop {
                let next = kept.next().transpose()?;
                let bound = next.map_or(u32::MAX, |(key, _)| key);
                while let Some(edit) = edits.next_if(|edit| edit.key < bound) {
                    planner.put(edit, &mut slots)?;
                }
                let (Some(base), Some((key, old))) = (base, next) else {
                    break;
                };
                match edits.next_if(|edit| edit.key == key) {
                    Some(edit) => planner.put(edit, &mut slots)?,
                    // Keeps the old checksum, so that damage stays detectable: the reader of the block finds it.
                    None => {
                        slots.push((key, planner.block(base.bytes(&old)?, old.checksum.get())?))
                    }
                }
            }
            placed.push(slots);
        }
        planner.finish(&placed)
    }

    /// Whether too much of the data file would be dead.
    pub(super) fn is_wasteful(&self) -> bool {
        self.dead > DEAD_LEN_MAX_OF_SMALL && self.dead > self.used / 2
    }
}

struct Planner<'a, 'b> {
    base: Option<&'b Snapshot>,
    start: u64,
    end: u64,
    dead: u64,
    blocks: Vec<&'a [u8]>,
    nodes_start: u64,
    nodes: Vec<u8>,
}

impl<'a, 'b> Planner<'a, 'b> {
    fn new(start: u64, base: Option<&'b Snapshot>) -> Self {
        Self {
            base,
            start,
            end: start,
            dead: base.map_or(0, Snapshot::dead_len),
            blocks: Vec::new(),
            nodes_start: 0,
            nodes: Vec::new(),
        }
    }

    /// Allots the next free space to a block.
    fn allot(&mut self, len: usize, checksum: u64) -> Result<Slot, NoPlan> {
        let len = u32::try_from(len).map_err(|_| NoPlan::TooLarge)?;
        let offset = u32::try_from(self.end / UNIT).map_err(|_| NoPlan::TooLarge)?;
        self.end = self.end.saturating_add(stored_len(len));
        if self.end > DATA_LEN_MAX {
            return Err(NoPlan::TooLarge);
        }
        Ok(Slot {
            offset: offset.into(),
            len: len.into(),
            checksum: checksum.into(),
        })
    }

    fn block(&mut self, block: &'a [u8], checksum: u64) -> Result<Slot, NoPlan> {
        let slot = self.allot(block.len(), checksum)?;
        self.blocks.push(block);
        Ok(slot)
    }

    fn edit(&mut self, edit: &Edit<'a>) -> Result<Slot, NoPlan> {
        match edit.new {
            Some((block, checksum)) => self.block(block, checksum),
            None => Ok(Slot::ABSENT),
        }
    }

    /// Adds the block that the edit sets to a new table, and nothing for a removal: the removed key may lie beyond the
    /// range of the new table, where it would be taken for another key.
    fn put(&mut self, edit: &Edit<'a>, slots: &mut Vec<Placed>) -> Result<(), NoPlan> {
        if let Some((block, checksum)) = edit.new {
            slots.push((edit.key, self.block(block, checksum)?));
        }
        Ok(())
    }

    fn node(&mut self, bytes: &[u8]) -> Result<Slot, NoPlan> {
        let slot = self.allot(bytes.len(), checksum(bytes))?;
        self.nodes.extend_from_slice(bytes);
        Ok(slot)
    }

    /// Plans the nodes, once all blocks have their places.
    fn finish(mut self, placed: &[Vec<Placed>]) -> Result<WritePlan<'a>, NoPlan> {
        self.nodes_start = self.end;
        let root = match self.base {
            Some(base) if placed.iter().all(Vec::is_empty) => base.docket().root,
            _ => self.tables(placed)?,
        };
        Ok(WritePlan {
            start: self.start,
            blocks: self.blocks,
            nodes: self.nodes,
            used: self.end,
            dead: self.dead,
            root,
        })
    }

    fn tables(&mut self, placed: &[Vec<Placed>]) -> Result<Slot, NoPlan> {
        let mut root = self.base.map_or_else(Root::default, |base| *base.root());
        for (placed, table) in placed.iter().zip(StateTable::WRITTEN) {
            if !placed.is_empty() {
                let old = *root.table(table);
                *root.table_mut(table) = self.table(table, old, placed)?;
            }
        }
        self.discard(self.base.map_or(Slot::ABSENT, |base| base.docket().root));
        self.node(root.as_bytes())
    }

    fn discard(&mut self, slot: Slot) {
        self.dead = self.dead.saturating_add(slot.stored_len());
    }

    fn table(
        &mut self,
        table: StateTable,
        old: TableRoot,
        placed: &[Placed],
    ) -> Result<TableRoot, NoPlan> {
        let set = placed.iter().rev().find(|(_, slot)| !slot.is_absent());
        let set = set.map(|(key, _)| *key);
        let kept = match self.base {
            Some(base) => greatest_kept(base, table, placed)?,
            None => None,
        };
        let keys = set.max(kept).map_or(0, |key| key.saturating_add(1));
        let (old_level, level) = (old.levels.get(), levels(keys));
        let built_level = level.max(old_level);
        let mut top = self.build(built_level, Subtree::new(old.top, old_level), placed)?;
        // Drop the levels that are no longer needed: their nodes lead only to the one below.
        for _ in level..built_level {
            if top.is_absent() {
                break;
            }
            self.discard(top);
            top = self.first(&top)?;
        }
        Ok(TableRoot {
            keys: keys.into(),
            levels: level.into(),
            top,
        })
    }

    /// Returns the first slot of a planned or published node.
    fn first(&self, slot: &Slot) -> Result<Slot, NoPlan> {
        let start = u64::from(slot.offset.get()).saturating_mul(UNIT);
        let planned = start.checked_sub(self.nodes_start);
        let slots = match (planned, self.base) {
            (Some(start), _) => {
                let rest = usize::try_from(start)
                    .ok()
                    .and_then(|start| self.nodes.get(start..));
                let block = rest.and_then(|rest| rest.get(..slot.len.get() as usize));
                block.and_then(node)
            }
            (None, Some(base)) => Some(base.node(slot)?),
            (None, None) => None,
        };
        Ok(slots
            .and_then(|slots| slots.first())
            .copied()
            .unwrap_or(Slot::ABSENT))
    }

    /// Plans a node of `level`, and those below it: the contents of `old`, changed by `placed`.
    fn build(&mut self, level: u32, old: Subtree, placed: &[Placed]) -> Result<Slot, NoPlan> {
        let mut slots = [Slot::ABSENT; FANOUT];
        let below = level.saturating_sub(1);
        let mut placed = placed;
        if let Some(old) = old.0 {
            if old.level == level {
                self.discard(old.top);
                if let Some(base) = self.base {
                    slots
                        .iter_mut()
                        .zip(base.node(&old.top)?)
                        .for_each(|(new, old)| *new = *old);
                }
            } else {
                // The table has grown: all that it held is now below the first slot.
                let split = placed.partition_point(|(key, _)| place(*key, level) == 0);
                let (in_first, others) = placed.split_at_checked(split).unwrap_or_default();
                placed = others;
                let first = match old.level == below && in_first.is_empty() {
                    true => old.top,
                    false => self.build(below, Subtree(Some(old)), in_first)?,
                };
                slots.iter_mut().take(1).for_each(|slot| *slot = first);
            }
        }
        for group in placed.chunk_by(|one, two| place(one.0, level) == place(two.0, level)) {
            let Some((key, new)) = group.first() else {
                continue;
            };
            if let Some(slot) = slots.get_mut(place(*key, level)) {
                *slot = match below {
                    0 => *new,
                    _ => self.build(below, Subtree::new(*slot, below), group)?,
                };
            }
        }
        let len = slots.iter().rposition(|slot| !slot.is_absent());
        match len.and_then(|last| slots.get(..=last)) {
            Some(slots) => self.node(slots.as_bytes()),
            None => Ok(Slot::ABSENT),
        }
    }
}

/// A published subtree, if there is one.
#[derive(Clone, Copy)]
struct Subtree(Option<Top>);

#[derive(Clone, Copy)]
struct Top {
    top: Slot,
    level: u32,
}

impl Subtree {
    fn new(top: Slot, level: u32) -> Self {
        Self((!top.is_absent()).then_some(Top { top, level }))
    }
}

/// Returns the greatest key of `base` that `placed` does not change.
fn greatest_kept(
    base: &Snapshot,
    table: StateTable,
    placed: &[Placed],
) -> Result<Option<u32>, Damaged> {
    let root = *base.root().table(table);
    let mut bound = root.keys.get();
    while let Some(max) = bound.checked_sub(1) {
        let Some(key) = greatest(base, &root.top, root.levels.get(), max)? else {
            break;
        };
        if placed.binary_search_by_key(&key, |(key, _)| *key).is_err() {
            return Ok(Some(key));
        }
        bound = key;
    }
    Ok(None)
}

/// Returns the greatest key in a node of `level` that is not above the lower bits of `max`.
fn greatest(base: &Snapshot, top: &Slot, level: u32, max: u32) -> Result<Option<u32>, Damaged> {
    let bound = place(max, level);
    let below = level.saturating_sub(1);
    let slots = base
        .node(top)?
        .iter()
        .enumerate()
        .take(bound.saturating_add(1));
    for (number, slot) in slots.rev() {
        if slot.is_absent() {
            continue;
        }
        // The number of a slot in a node: below 256.
        let high = (number as u32) << (8 * below);
        if below == 0 {
            return Ok(Some(high));
        }
        let max = if number == bound { max } else { u32::MAX };
        if let Some(low) = greatest(base, slot, below, max)? {
            return Ok(Some(high | low));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_data_file_is_filled_to_its_last_unit_and_no_further() {
        let mut planner = Planner::new(DATA_LEN_MAX - 16, None);
        let slot = planner.block(b"123456789", 0).unwrap();
        assert_eq!(
            (slot.offset.get(), planner.end),
            (u32::MAX - 1, DATA_LEN_MAX)
        );
        assert!(matches!(planner.block(b"", 0), Err(NoPlan::TooLarge)));
        let mut planner = Planner::new(DATA_LEN_MAX - 8, None);
        assert!(matches!(
            planner.block(b"123456789", 0),
            Err(NoPlan::TooLarge)
        ));
    }
}
