//! What the commits of long walks said, kept on disk (docs/state-file.md): where there is no commit-graph, to read a commit
//! from its object takes fifty times as long.
//!
//! It saves work and is never needed. What a commit says never changes; that it is there, and whole, is believed while the
//! packs that held it have their stamps ([`vigil_stamp::trust`]).

use std::cmp::Ordering;

use gix_hash::{Kind, ObjectId, oid};
use vigil_linux::clock::boot_id;
use vigil_model::clock::{ClockMark, distrusted_from};

use super::{GENERATION_UNKNOWN, first_bytes};
use crate::git::index_file::SeenFile;
use crate::git::repository::Repository;
use crate::state::origin::{read_seen, write_seen};
use crate::state::{commits_folder, commits_store};
use vigil_model::bytes::{Reader, Writer};
use vigil_stamp::Stamp;
use vigil_stamp::trust::{self, FileSystem};
use vigil_store::{Snapshot, Table};

/// The block of what the others rest on, and how many there are.
pub(super) const HEAD: u32 = 0;
/// The block of the commits.
pub(super) const COMMITS: u32 = 1;

/// In place of a number of parents: no more is known than the id.
const UNREAD: u32 = u32::MAX;

/// The bytes of a record without the tree's id: time, start and number of parents.
const FIXED_LEN: usize = 16;

/// A memory of which the commits have not been looked at.
#[derive(Debug)]
pub(super) struct ClosedMemory {
    snapshot: Snapshot,
    hash: Kind,
    count: u32,
}

impl ClosedMemory {
    /// What is remembered for `repository`, if that is to be believed.
    pub(super) fn find(repository: &Repository) -> Option<Self> {
        // Most repositories have none, and are spared the rest.
        if !commits_folder(repository).exists() {
            return None;
        }
        let snapshot = commits_store(repository)?.open().ok()?;
        let head = snapshot.block(Table::General, HEAD).ok()??;
        let (count, packs) = read_head(head)?;
        let recorded = ClockMark::from_bytes(snapshot.clock());
        let now = trust::mark_of_run(boot_id().unwrap_or_default());
        let distrusted_from = distrusted_from(&recorded, &now);
        let file_system = FileSystem::of_folder(&repository.common_dir)?;
        let holds = |pack: &SeenFile| {
            let stamp = pack.stamp;
            stamp.is_some_and(|stamp| file_system.believes(&stamp, distrusted_from))
                && Stamp::of(&pack.path) == Ok(stamp)
        };
        packs.iter().all(holds).then_some(Self {
            hash: repository.hash,
            snapshot,
            count,
        })
    }

    /// How many commits it has.
    pub(super) fn count(&self) -> usize {
        self.count as usize
    }

    /// Looks at the commits: each byte once.
    pub(super) fn open(self) -> Option<CommitMemory> {
        let block = self.snapshot.block(Table::General, COMMITS).ok()??;
        Block::new(block, self.count, self.hash)?;
        Some(CommitMemory(self))
    }
}

/// What is remembered.
#[derive(Debug)]
pub(super) struct CommitMemory(ClosedMemory);

impl CommitMemory {
    /// The block, which was verified when it was read first.
    pub(super) fn block(&self) -> Option<Block<'_>> {
        let Self(memory) = self;
        let block = memory.snapshot.block(Table::General, COMMITS).ok()??;
        Block::new(block, memory.count, memory.hash)
    }

    pub(super) fn count(&self) -> u32 {
        self.0.count
    }

    pub(super) fn position_of(&self, id: &oid) -> Option<u32> {
        self.block()?.position_of(id)
    }

    pub(super) fn id_at(&self, position: u32) -> Option<ObjectId> {
        self.block()?.id_at(position).map(ToOwned::to_owned)
    }

    pub(super) fn tree_at(&self, position: u32) -> Option<ObjectId> {
        let tree = self.block()?.record_at(position)?.tree;
        Some(tree.to_owned())
    }

    pub(super) fn read(&self, position: u32, parents: &mut Vec<u32>) -> Option<Facts> {
        let block = self.block()?;
        let record = block.record_at(position)?;
        for parent in record.parents.as_chunks::<4>().0 {
            let parent = u32::from_le_bytes(*parent);
            parents.push(Some(parent).filter(|parent| *parent < block.count)?);
        }
        Some(Facts {
            time_s: record.time_s,
            // git has none here, and what it answers may depend on that.
            generation: GENERATION_UNKNOWN,
            first: first_bytes(block.id_at(position)?),
        })
    }
}

/// What is recorded of a commit beside its parents.
pub(super) struct Facts {
    pub(super) time_s: u64,
    pub(super) generation: u32,
    /// The first bytes of its id.
    pub(super) first: u32,
}

/// The block of the commits, in place.
#[derive(Clone, Copy)]
pub(super) struct Block<'b> {
    count: u32,
    hash: Kind,
    ids: &'b [u8],
    records: &'b [u8],
    parents: &'b [u8],
}

/// What is remembered of a commit.
pub(super) struct Record<'b> {
    pub(super) time_s: u64,
    pub(super) tree: &'b oid,
    /// The positions of the parents, 4 bytes each.
    pub(super) parents: &'b [u8],
}

impl<'b> Block<'b> {
    /// The block of `count` commits that `bytes` are, if they can be that.
    pub(super) fn new(bytes: &'b [u8], count: u32, hash: Kind) -> Option<Self> {
        let id_len = hash.len_in_bytes();
        let of = |len: usize| len.checked_mul(count as usize);
        let (ids, rest) = bytes.split_at_checked(of(id_len)?)?;
        let (records, parents) = rest.split_at_checked(of(FIXED_LEN + id_len)?)?;
        parents.len().is_multiple_of(4).then_some(Self {
            count,
            hash,
            ids,
            records,
            parents,
        })
    }

    /// How many commits there are.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    pub(super) fn id_at(&self, position: u32) -> Option<&'b oid> {
        let len = self.hash.len_in_bytes();
        let start = len.checked_mul(position as usize)?;
        oid::try_from_bytes(self.ids.get(start..)?.get(..len)?).ok()
    }

    pub(super) fn position_of(&self, id: &oid) -> Option<u32> {
        let (mut least, mut end) = (0, self.count);
        while least < end {
            let middle = least.midpoint(end);
            match self.id_at(middle)?.cmp(id) {
                Ordering::Less => least = middle.saturating_add(1),
                Ordering::Equal => return Some(middle),
                Ordering::Greater => end = middle,
            }
        }
        None
    }

    /// What is remembered of the commit at `position`, if it is more than the id.
    pub(super) fn record_at(&self, position: u32) -> Option<Record<'b>> {
        let id_len = self.hash.len_in_bytes();
        let start = (FIXED_LEN + id_len).checked_mul(position as usize)?;
        let mut bytes = Reader(self.records.get(start..)?);
        let time_s = u64::from_le_bytes(bytes.array()?);
        let start = bytes.u32()? as usize;
        let count = bytes.u32().filter(|count| *count != UNREAD)? as usize;
        let parents = self.parents.get(start.checked_mul(4)?..)?;
        Some(Record {
            time_s,
            tree: oid::try_from_bytes(bytes.take(id_len)?).ok()?,
            parents: parents.get(..count.checked_mul(4)?)?,
        })
    }
}

/// What a commit says, to be remembered: the time, the tree, and the positions of the parents.
pub(super) type Said<'s> = (u64, &'s oid, &'s [u32]);

/// Writes the block of the commits.
#[derive(Default)]
pub(super) struct BlockWriter {
    ids: Writer,
    records: Writer,
    parents: Writer,
}

impl BlockWriter {
    /// Adds a commit, which comes next in the order of ids; of one that is only some other's parent, nothing is `said`.
    pub(super) fn push(&mut self, id: &oid, said: Option<Said<'_>>) -> Option<()> {
        self.ids.0.extend_from_slice(id.as_bytes());
        let Some((time_s, tree, parents)) = said else {
            self.records.array(&[0; 12]);
            self.records.u32(UNREAD);
            self.records
                .0
                .resize(self.records.0.len() + id.as_bytes().len(), 0);
            return Some(());
        };
        let start = self.parents.0.len() / 4;
        self.records.array(&time_s.to_le_bytes());
        self.records.u32(u32::try_from(start).ok()?);
        self.records.u32(u32::try_from(parents.len()).ok()?);
        self.records.0.extend_from_slice(tree.as_bytes());
        for parent in parents {
            self.parents.u32(*parent);
        }
        Some(())
    }

    /// The block; `None` for more than one can hold.
    pub(super) fn finish(self) -> Option<Vec<u8>> {
        let mut out = self.ids.0;
        out.extend(self.records.0);
        out.extend(self.parents.0);
        u32::try_from(out.len()).is_ok().then_some(out)
    }
}

/// The block of what `count` commits rest on.
pub(super) fn write_head(count: u32, packs: &[SeenFile]) -> Option<Vec<u8>> {
    let mut out = Writer::default();
    out.u32(count);
    out.u32(u32::try_from(packs.len()).ok()?);
    for pack in packs {
        write_seen(pack, &mut out);
    }
    Some(out.0)
}

/// How many commits there are, and what they rest on.
pub(super) fn read_head(block: &[u8]) -> Option<(u32, Vec<SeenFile>)> {
    let mut bytes = Reader(block);
    let count = bytes.u32()?;
    let packs = bytes.u32()?;
    let packs = (0..packs).map(|_| read_seen(&mut bytes));
    let packs = packs.collect::<Option<Vec<_>>>()?;
    bytes.0.is_empty().then_some((count, packs))
}

/// Of how many commits the block of `count` says more than the id.
#[cfg(feature = "fuzzing")]
pub(crate) fn commits_in(bytes: &[u8], count: u32, hash: Kind) -> Option<usize> {
    let block = Block::new(bytes, count, hash)?;
    let known = (0..count).filter(|position| {
        let id = block.id_at(*position);
        // Ids that are not in order may not be found.
        let _ = id.and_then(|id| block.position_of(id));
        block.record_at(*position).is_some()
    });
    Some(known.count())
}

/// How many files of packs a block names.
#[cfg(feature = "fuzzing")]
pub(crate) fn packs_in(block: &[u8]) -> Option<usize> {
    read_head(block).map(|(_, packs)| packs.len())
}
