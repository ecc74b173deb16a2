//! A published state, read in place.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use vigil_linux::map::Map;
use vigil_model::state_layout::docket::Docket;
use vigil_model::state_layout::table::{Root, Slot, StateTable, node, place};
use vigil_model::state_layout::{DataHeader, checksum};
use zerocopy::{FromBytes, FromZeros};

/// Bytes that are not as they were written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} is damaged: {what}", path.display())]
pub struct Damaged {
    /// The docket or the data file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub what: &'static str,
}

impl Damaged {
    pub(super) fn new(path: &Path, what: &'static str) -> Self {
        let path = path.to_owned();
        Self { path, what }
    }
}

/// A state as it was published, whatever is published later. It keeps the data file mapped; clones share the mapping.
#[derive(Clone, Debug)]
pub struct Snapshot(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    docket: Docket,
    root: Root,
    data: Data,
    verified: Verified,
}

/// The used part of a data file.
#[derive(Debug)]
enum Data {
    Mapped(Map),
    /// In memory, aligned to 8: the length is exactly that of these words.
    #[cfg(any(test, feature = "fuzzing"))]
    Held(Box<[u64]>),
}

impl Data {
    fn is_in_memory(&self) -> bool {
        match self {
            Self::Mapped(map) => map.is_in_memory(),
            #[cfg(any(test, feature = "fuzzing"))]
            Self::Held(_) => true,
        }
    }

    fn read_ahead(&self) {
        match self {
            Self::Mapped(map) => map.read_ahead(),
            #[cfg(any(test, feature = "fuzzing"))]
            Self::Held(_) => {}
        }
    }

    fn copy_to_memory(&self) {
        match self {
            // Without a copy, the mapping stays; nothing depends on the copy.
            Self::Mapped(map) => drop(map.copy_to_memory()),
            #[cfg(any(test, feature = "fuzzing"))]
            Self::Held(_) => {}
        }
    }

    fn is_truncated(&self) -> bool {
        match self {
            Self::Mapped(map) => map.is_truncated(),
            #[cfg(any(test, feature = "fuzzing"))]
            Self::Held(_) => false,
        }
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            #[cfg(any(test, feature = "fuzzing"))]
            Self::Held(words) => zerocopy::IntoBytes::as_bytes(&**words),
        }
    }
}

/// Which blocks are known to match their checksums: one bit for each 8 bytes, since blocks begin at multiples of 8.
#[derive(Debug)]
struct Verified {
    /// Empty if memory is short: blocks are then verified each time. Pages that are not touched cost no memory.
    bits: Box<[AtomicU64]>,
    /// Whether all bytes pass, so that a fuzzer reaches what lies behind the checksums.
    #[cfg(any(test, feature = "fuzzing"))]
    all: bool,
}

impl Verified {
    fn new(data_len: usize) -> Self {
        let words = data_len.div_ceil(8 * 64);
        Self {
            bits: <[AtomicU64]>::new_box_zeroed_with_elems(words).unwrap_or_default(),
            #[cfg(any(test, feature = "fuzzing"))]
            all: false,
        }
    }

    /// Whether `bytes`, which `slot` refers to, match its checksum.
    #[inline]
    fn verify(&self, slot: &Slot, bytes: &[u8]) -> bool {
        #[cfg(any(test, feature = "fuzzing"))]
        if self.all {
            return true;
        }
        let unit = slot.offset.get();
        let bit = 1 << (unit % 64);
        let word = self.bits.get(unit as usize / 64);
        // Relaxed suffices: the bits order nothing, since the bytes that they vouch for do not change.
        if word.is_some_and(|word| word.load(Ordering::Relaxed) & bit != 0) {
            return true;
        }
        let is_whole = checksum(bytes) == slot.checksum.get();
        if let (true, Some(word)) = (is_whole, word) {
            word.fetch_or(bit, Ordering::Relaxed);
        }
        is_whole
    }
}

impl Snapshot {
    /// Returns the state that `docket` describes in `map`, the data file `path`.
    pub(super) fn mapped(path: PathBuf, docket: Docket, map: Map) -> Result<Self, Damaged> {
        let verified = Verified::new(map.len());
        Self::new(path, docket, Data::Mapped(map), verified)
    }

    /// Returns the state that a docket and a data file with these bytes hold; checksums are skipped if `unverified`.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(super) fn in_memory(
        docket: Docket,
        data: &[u8],
        unverified: bool,
    ) -> Result<Self, Damaged> {
        let damaged = |what| Damaged::new(Path::new("data"), what);
        let used = usize::try_from(docket.used_len.get()).unwrap_or(usize::MAX);
        let data = data.get(..used).ok_or_else(|| damaged("it is cut off"))?;
        let words: Box<[u64]> = data
            .as_chunks()
            .0
            .iter()
            .map(|word| u64::from_ne_bytes(*word))
            .collect();
        let verified = Verified {
            all: unverified,
            ..Verified::new(used)
        };
        Self::new("data".into(), docket, Data::Held(words), verified)
    }

    fn new(path: PathBuf, docket: Docket, data: Data, verified: Verified) -> Result<Self, Damaged> {
        let root = {
            let bytes = data.bytes();
            let header = DataHeader::ref_from_prefix(bytes).ok();
            if header.is_none_or(|(header, _)| *header != DataHeader::new(docket.data_id.get())) {
                return Err(Damaged::new(&path, "it does not begin as it should"));
            }
            let block = docket.root.bytes(bytes);
            let block = block.filter(|block| verified.verify(&docket.root, block));
            block
                .and_then(Root::parse)
                .ok_or_else(|| Damaged::new(&path, "its root block is wrong"))?
        };
        Ok(Self(Arc::new(Inner {
            path,
            docket,
            root,
            data,
            verified,
        })))
    }

    /// Reads the data file ahead in another thread, unless it is in memory: all of it will be needed soon, and it would otherwise
    /// be read page by page.
    pub fn read_ahead(&self) {
        if !self.0.data.is_in_memory() {
            let data = self.clone();
            // Without a thread, pages are read when they are needed.
            let _ = std::thread::Builder::new().spawn(move || data.0.data.read_ahead());
        }
    }

    /// Replaces the mapping of the data file with a copy in memory, if there is room: its file system can then be unmounted.
    pub fn copy_to_memory(&self) {
        self.0.data.copy_to_memory();
    }

    /// Whether the data file is still as long as when it was mapped. Otherwise, bytes read from it may have been zeros, even in
    /// blocks that were verified earlier.
    pub fn is_whole(&self) -> bool {
        !self.0.data.is_truncated()
    }

    pub(super) fn check_whole(&self) -> Result<(), Damaged> {
        match self.is_whole() {
            true => Ok(()),
            false => Err(self.damaged("it was cut off")),
        }
    }

    /// Returns the block of `key`, aligned to 8 in memory; `None` if there is none.
    ///
    /// # Errors
    /// The block, or a node on the way to it, is damaged.
    #[inline]
    pub fn block(&self, table: StateTable, key: u32) -> Result<Option<&[u8]>, Damaged> {
        let slot = self.slot(table, key)?;
        if slot.is_absent() {
            return Ok(None);
        }
        self.verified(&slot).map(Some)
    }

    /// One more than the greatest key that has a block.
    pub fn keys(&self, table: StateTable) -> u32 {
        self.0.root.table(table).keys.get()
    }

    /// The clock mark from when the contents were true, as the writer stored it.
    pub fn clock(&self) -> &[u8; 48] {
        &self.0.docket.clock
    }

    /// How many data files there have been, including this one.
    pub fn generation(&self) -> u64 {
        self.0.docket.generation.get()
    }

    /// How many bytes of the data file are in use.
    pub fn used_len(&self) -> u64 {
        self.0.docket.used_len.get()
    }

    /// How many of the used bytes nothing refers to any more.
    pub fn dead_len(&self) -> u64 {
        self.0.docket.dead_len.get()
    }

    /// The path of the data file, which may be gone by now.
    pub fn data_path(&self) -> &Path {
        &self.0.path
    }

    /// Iterates over the keys that have blocks, ascending, with the blocks' lengths in bytes. Does not read the blocks. Ends
    /// after the first error.
    pub fn blocks(&self, table: StateTable) -> impl Iterator<Item = Result<(u32, u32), Damaged>> {
        let slots = self.slots(table);
        slots.map(|found| found.map(|(key, slot)| (key, slot.len.get())))
    }

    /// Reads and verifies everything once.
    ///
    /// # Errors
    /// The first damage found.
    pub fn verify_all(&self) -> Result<(), Damaged> {
        let mut live = DataHeader::LEN.saturating_add(self.0.docket.root.stored_len());
        for table in StateTable::WRITTEN {
            let mut slots = self.slots(table);
            let mut end = 0;
            for found in &mut slots {
                let (key, slot) = found?;
                self.verified(&slot)?;
                end = key.saturating_add(1);
            }
            if end != self.keys(table) {
                return Err(self.damaged("a table has fewer keys than it says"));
            }
            live = live.saturating_add(slots.taken);
        }
        match live.checked_add(self.dead_len()) {
            Some(all) if all == self.used_len() => Ok(()),
            _ => Err(self.damaged("its dead bytes are miscounted")),
        }
    }

    /// The used part of the data file.
    #[cfg(feature = "fuzzing")]
    pub(super) fn data(&self) -> &[u8] {
        self.0.data.bytes()
    }

    /// Whether checksums are ignored.
    #[cfg(feature = "fuzzing")]
    pub(super) fn is_unverified(&self) -> bool {
        self.0.verified.all
    }

    pub(super) fn docket(&self) -> &Docket {
        &self.0.docket
    }

    pub(super) fn root(&self) -> &Root {
        &self.0.root
    }

    fn damaged(&self, what: &'static str) -> Damaged {
        Damaged::new(&self.0.path, what)
    }

    /// Returns the bytes that `slot` refers to, without verifying them.
    #[inline]
    pub(super) fn bytes(&self, slot: &Slot) -> Result<&[u8], Damaged> {
        let bytes = slot.bytes(self.0.data.bytes());
        bytes.ok_or_else(|| self.damaged("a block lies outside"))
    }

    #[inline]
    fn verified(&self, slot: &Slot) -> Result<&[u8], Damaged> {
        let bytes = self.bytes(slot)?;
        match self.0.verified.verify(slot, bytes) {
            true => Ok(bytes),
            false => Err(self.damaged("a block's checksum is wrong")),
        }
    }

    /// Returns the slots of the node that `slot` refers to.
    pub(super) fn node(&self, slot: &Slot) -> Result<&[Slot], Damaged> {
        node(self.verified(slot)?).ok_or_else(|| self.damaged("a node is wrong"))
    }

    /// Looks up the slot of `key`.
    pub(super) fn slot(&self, table: StateTable, key: u32) -> Result<Slot, Damaged> {
        let root = self.0.root.table(table);
        if key >= root.keys.get() {
            return Ok(Slot::ABSENT);
        }
        let mut slot = root.top;
        for level in (1..=root.levels.get()).rev() {
            if slot.is_absent() {
                break;
            }
            slot = *self
                .node(&slot)?
                .get(place(key, level))
                .unwrap_or(&Slot::ABSENT);
        }
        Ok(slot)
    }

    /// Iterates over the keys that have blocks, ascending, with their slots. Ends after the first error.
    pub(super) fn slots(&self, table: StateTable) -> Slots<'_> {
        let root = self.0.root.table(table);
        Slots {
            snapshot: self,
            keys: root.keys.get(),
            next: (!root.top.is_absent()).then_some((root.top, root.levels.get(), 0)),
            open: Vec::new(),
            taken: 0,
        }
    }
}

/// An iterator over the slots of a table.
#[derive(Debug)]
pub(super) struct Slots<'a> {
    snapshot: &'a Snapshot,
    keys: u32,
    /// The node to enter next, its level, and its first key.
    next: Option<(Slot, u32, u64)>,
    /// The rest of each node that was entered: its remaining slots, their level, and the key of the first slot.
    open: Vec<(&'a [Slot], u32, u64)>,
    /// The total length of the nodes and blocks met so far. Since nothing is referred to twice, it stays below the data's length;
    /// without this limit a few damaged nodes could stand for billions of blocks.
    taken: u64,
}

impl Slots<'_> {
    fn take(&mut self, slot: &Slot) -> Result<(), Damaged> {
        self.taken = self.taken.saturating_add(slot.stored_len());
        match self.taken <= self.snapshot.used_len() {
            true => Ok(()),
            false => Err(self.snapshot.damaged("a block is referred to twice")),
        }
    }

    fn step(&mut self) -> Result<Option<(u32, Slot)>, Damaged> {
        loop {
            if let Some((slot, level, first)) = self.next.take() {
                self.take(&slot)?;
                self.open.push((self.snapshot.node(&slot)?, level, first));
            }
            let Some((slots, level, key)) = self.open.last_mut() else {
                return Ok(None);
            };
            let Some((slot, rest)) = slots.split_first() else {
                self.open.pop();
                continue;
            };
            let (level, first) = (*level, *key);
            *slots = rest;
            *key = first.saturating_add(1 << (8 * level.saturating_sub(1)));
            if slot.is_absent() {
                continue;
            }
            let slot = *slot;
            if level > 1 {
                self.next = Some((slot, level.saturating_sub(1), first));
                continue;
            }
            self.take(&slot)?;
            return match u32::try_from(first) {
                Ok(key) if key < self.keys => Ok(Some((key, slot))),
                _ => Err(self.snapshot.damaged("a table has more keys than it says")),
            };
        }
    }
}

impl Iterator for Slots<'_> {
    type Item = Result<(u32, Slot), Damaged>;

    fn next(&mut self) -> Option<Self::Item> {
        let step = self.step();
        if step.is_err() {
            self.next = None;
            self.open.clear();
        }
        step.transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_verified_until_it_is_found_whole() {
        let slot = |offset: u32| Slot {
            offset: offset.into(),
            len: 3.into(),
            checksum: checksum(b"abc").into(),
        };
        let verified = Verified::new(1024);
        assert!(!verified.verify(&slot(64), b"abd"));
        assert!(verified.verify(&slot(64), b"abc"));
        assert!(verified.verify(&slot(64), b"abd"), "it was looked at again");
        assert!(!verified.verify(&slot(65), b"abd"));
        assert!(!verified.verify(&slot(63), b"abd"));
    }

    #[test]
    fn without_room_for_what_was_verified_blocks_are_verified_each_time() {
        let slot = Slot {
            offset: 64.into(),
            len: 3.into(),
            checksum: checksum(b"abc").into(),
        };
        let verified = Verified {
            bits: Box::default(),
            all: false,
        };
        assert!(verified.verify(&slot, b"abc") && !verified.verify(&slot, b"abd"));
    }
}
