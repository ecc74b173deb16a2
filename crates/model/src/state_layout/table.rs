//! Tables: they map keys to blocks by a tree of nodes with up to 256 slots each.

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{DataHeader, UNIT};

/// The tables of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StateTable {
    /// Single blocks, of which a state has one each.
    General,
    /// By tracked directory: what the index says.
    Tracked,
    /// By tracked directory: what the last scan saw.
    Seen,
    /// The files of large directories, in segments.
    Files,
}

impl StateTable {
    /// The number of tables.
    pub const COUNT: usize = 4;

    /// All tables, in the order in which their blocks are written: what a walk reads comes first.
    pub const WRITTEN: [Self; Self::COUNT] =
        [Self::Tracked, Self::Seen, Self::Files, Self::General];
}

/// The number of key bits that select a slot in a node.
const BITS: u32 = 8;

/// The greatest number of slots in a node.
pub const FANOUT: usize = 1 << BITS;

/// A reference to a block: where it is, and its checksum.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    FromBytes,
    IntoBytes,
    Immutable,
    KnownLayout,
    Unaligned,
)]
#[repr(C)]
pub struct Slot {
    /// The offset in the data file, in units of 8 bytes; 0 where there is no block.
    pub offset: U32,
    /// The length of the block, in bytes.
    pub len: U32,
    /// The block's checksum.
    pub checksum: U64,
}

const _: () = assert!(size_of::<Slot>() == 16);

impl Slot {
    /// A reference to no block.
    pub const ABSENT: Self = Self {
        offset: U32::ZERO,
        len: U32::ZERO,
        checksum: U64::ZERO,
    };

    /// Whether there is no block.
    pub fn is_absent(&self) -> bool {
        self.offset == U32::ZERO
    }

    /// The number of bytes that the block takes in the data file; 0 if there is no block.
    pub fn stored_len(&self) -> u64 {
        match self.is_absent() {
            true => 0,
            false => super::stored_len(self.len.get()),
        }
    }

    /// The block's bytes in `data`, the used part of a data file. `None` if they are not within it, or if there is no
    /// block.
    pub fn bytes<'a>(&self, data: &'a [u8]) -> Option<&'a [u8]> {
        let start = u64::from(self.offset.get()).checked_mul(UNIT)?;
        if start < DataHeader::LEN {
            return None;
        }
        let (_, rest) = data.split_at_checked(usize::try_from(start).ok()?)?;
        rest.get(..usize::try_from(self.len.get()).ok()?)
    }
}

/// The slots of a node. The last of them refers to a block; slots beyond it are absent. `None` if `block` is not a
/// node.
pub fn node(block: &[u8]) -> Option<&[Slot]> {
    let slots = <[Slot]>::ref_from_bytes(block).ok()?;
    (slots.len() <= FANOUT && slots.last().is_some_and(|last| !last.is_absent())).then_some(slots)
}

/// The slot for `key` in a node of `level`. Level 1 is the lowest, whose slots refer to the table's own blocks.
pub fn place(key: u32, level: u32) -> usize {
    let shifted = key.checked_shr(level.saturating_sub(1).saturating_mul(BITS));
    shifted.unwrap_or(0) as usize % FANOUT
}

/// The number of levels of nodes in a table of `keys` keys: 0 to 4.
pub fn levels(keys: u32) -> u32 {
    match keys.checked_sub(1) {
        None => 0,
        Some(greatest) => (u32::BITS.saturating_sub(greatest.leading_zeros()))
            .div_ceil(BITS)
            .max(1),
    }
}

/// The reference to a table in the root block.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    FromBytes,
    IntoBytes,
    Immutable,
    KnownLayout,
    Unaligned,
)]
#[repr(C)]
pub struct TableRoot {
    /// One more than the greatest key that has a block.
    pub keys: U32,
    /// The number of levels of nodes.
    pub levels: U32,
    /// The node of the highest level.
    pub top: Slot,
}

/// The root block.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    FromBytes,
    IntoBytes,
    Immutable,
    KnownLayout,
    Unaligned,
)]
#[repr(C)]
pub struct Root {
    /// [`StateTable::General`].
    pub general: TableRoot,
    /// [`StateTable::Tracked`].
    pub tracked: TableRoot,
    /// [`StateTable::Seen`].
    pub seen: TableRoot,
    /// [`StateTable::Files`].
    pub files: TableRoot,
}

const _: () = assert!(size_of::<TableRoot>() == 24 && size_of::<Root>() == 96);

impl Root {
    /// Reads a root block. `None` if `block` is not one.
    pub fn parse(block: &[u8]) -> Option<Self> {
        let root = Self::read_from_bytes(block).ok()?;
        let is_possible = |table| {
            let TableRoot {
                keys,
                levels: found,
                top,
            } = root.table(table);
            found.get() == levels(keys.get()) && top.is_absent() == (*found == U32::ZERO)
        };
        StateTable::WRITTEN
            .into_iter()
            .all(is_possible)
            .then_some(root)
    }

    /// The root of `table`.
    pub fn table(&self, table: StateTable) -> &TableRoot {
        match table {
            StateTable::General => &self.general,
            StateTable::Tracked => &self.tracked,
            StateTable::Seen => &self.seen,
            StateTable::Files => &self.files,
        }
    }

    /// The root of `table`, to be changed.
    pub fn table_mut(&mut self, table: StateTable) -> &mut TableRoot {
        match table {
            StateTable::General => &mut self.general,
            StateTable::Tracked => &mut self.tracked,
            StateTable::Seen => &mut self.seen,
            StateTable::Files => &mut self.files,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::documented::{assert_documented, fields};
    use super::*;

    fn slot(offset: u32, len: u32) -> Slot {
        Slot {
            offset: offset.into(),
            len: len.into(),
            checksum: 5.into(),
        }
    }

    #[test]
    fn slots_and_roots_are_as_documented() {
        assert_documented(
            "Slot",
            &fields!(Slot {
                offset,
                len,
                checksum
            }),
        );
        let tables = fields!(Root {
            general,
            tracked,
            seen,
            files
        });
        assert_documented("Root", &tables);
        assert_documented("Table", &fields!(TableRoot { keys, levels, top }));
    }

    #[test]
    fn a_slot_reaches_what_lies_behind_the_header_and_within_the_data() {
        let data: Vec<u8> = (0..64).collect();
        assert_eq!(slot(2, 3).bytes(&data), Some([16, 17, 18].as_slice()));
        assert_eq!(slot(7, 8).bytes(&data), Some(&data[56..]));
        assert_eq!(slot(8, 0).bytes(&data), Some([].as_slice()));
        for outside in [
            slot(0, 8),
            slot(1, 8),
            slot(7, 9),
            slot(9, 0),
            slot(u32::MAX, u32::MAX),
        ] {
            assert_eq!(outside.bytes(&data), None, "{outside:?}");
        }
    }

    #[test]
    fn levels_are_as_many_as_the_greatest_key_needs() {
        let cases = [
            (0, 0),
            (1, 1),
            (256, 1),
            (257, 2),
            (65_536, 2),
            (65_537, 3),
            (1 << 24, 3),
            ((1 << 24) + 1, 4),
            (u32::MAX, 4),
        ];
        for (keys, expected) in cases {
            assert_eq!(levels(keys), expected, "{keys}");
        }
    }

    #[test]
    fn each_level_takes_eight_bits_of_a_key() {
        let key = 0x0403_0201;
        assert_eq!([1, 2, 3, 4].map(|level| place(key, level)), [1, 2, 3, 4]);
    }

    #[test]
    fn a_node_is_whole_slots_up_to_the_last_block() {
        let full = vec![slot(2, 8); FANOUT];
        assert_eq!(node(full.as_bytes()), Some(full.as_slice()));
        let loose_end = [slot(2, 8), Slot::ABSENT];
        let bad: [&[u8]; 4] = [
            &[],
            &full.as_bytes()[..24],
            loose_end.as_bytes(),
            &[full.as_bytes(), full.as_bytes()].concat(),
        ];
        for block in bad {
            assert_eq!(node(block), None, "{} bytes", block.len());
        }
    }

    #[test]
    fn a_root_whose_levels_do_not_fit_its_keys_is_refused() {
        let mut root = Root::default();
        assert_eq!(Root::parse(root.as_bytes()), Some(root));
        *root.table_mut(StateTable::Files) = TableRoot {
            keys: 257.into(),
            levels: 2.into(),
            top: slot(2, 16),
        };
        assert_eq!(Root::parse(root.as_bytes()), Some(root));
        for (keys, levels, top) in [
            (257, 1, slot(2, 16)),
            (257, 2, Slot::ABSENT),
            (0, 0, slot(2, 16)),
        ] {
            root.table_mut(StateTable::Files).keys = keys.into();
            root.table_mut(StateTable::Files).levels = levels.into();
            root.table_mut(StateTable::Files).top = top;
            assert_eq!(Root::parse(root.as_bytes()), None, "{root:?}");
        }
    }
}
