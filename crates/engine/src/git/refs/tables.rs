//! The references of reftables, and what is remembered of tables that do not say of each where it leads
//! (docs/state-file.md): else each object would have to be looked at.
//!
//! It saves work and is never needed. It counts while the stamp of the table's file is the one recorded
//! ([`vigil_stamp::trust`]); a table never changes once it is written.

use std::cmp::Ordering;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bstr::{BStr, BString, ByteSlice};
use gix_hash::{Kind, ObjectId, oid};
use vigil_linux::stat::stat_path;

use super::Error;
use super::loose::{Block, Memory, Peel};
use crate::git::reftable::{Merged, Record};
use crate::git::repository::Repository;
use vigil_model::bytes::{Reader, Writer};
use vigil_objects::parallel::on_all_cores;
use vigil_stamp::Stamp;
use vigil_stamp::trust::FileSystem;

/// The block that holds all.
pub(super) const KEY: u32 = 2;

/// From how many references on of which a table does not say where they lead it is worth to remember that.
const MANY: usize = 256;

/// The tables, and what is remembered.
#[derive(Debug)]
pub(super) struct TableRefs {
    tables: Merged,
    /// Of each table.
    known: Vec<Option<Known>>,
    pub(super) memory: Option<Box<Memory>>,
}

/// What is remembered of a table.
#[derive(Clone, Debug)]
struct Known {
    /// Of references whose names begin so.
    prefix: BString,
    stamp: Stamp,
    /// Where the block has the objects that are tags, and where they lead.
    tags: Range<usize>,
}

impl TableRefs {
    /// The references of `tables`, with what `memory` has of them.
    pub(super) fn new(tables: Merged, memory: Option<Memory>) -> Self {
        let block = memory.as_ref().map(known_block_of).unwrap_or_default();
        let all = memory
            .as_ref()
            .and_then(|memory| known_in(block, memory.hash()))
            .unwrap_or_default();
        let is_current = |path: &Path, known: &Known| {
            memory
                .as_ref()
                .is_some_and(|memory| memory.believes(&known.stamp))
                && Stamp::of(path) == Ok(Some(known.stamp))
        };
        let known = tables.paths().map(|path| {
            let name = path.as_os_str().as_bytes();
            let found = all.iter().find(|(known, _)| *known == name);
            let found = found.filter(|(_, known)| is_current(path, known));
            found.map(|(_, known)| known.clone())
        });
        Self {
            known: known.collect(),
            tables,
            memory: memory.map(Box::new),
        }
    }

    /// The files of the tables.
    pub(super) fn paths(&self) -> Vec<&Path> {
        self.tables.paths().collect()
    }

    /// The block that is remembered.
    fn known_block(&self) -> &[u8] {
        let memory = self.memory.as_deref();
        memory.map(known_block_of).unwrap_or_default()
    }

    /// Calls `found` with each reference whose name begins with `prefix`, and where it leads if that is remembered.
    pub(super) fn for_each<E: From<crate::git::reftable::Error>>(
        &self,
        prefix: &BStr,
        mut found: impl FnMut(&BStr, Record<'_>, Option<ObjectId>) -> Result<(), E>,
    ) -> Result<(), E> {
        let memory = self.known.iter().map(|known| {
            let known = known.as_ref()?;
            let tags = self.known_block().get(known.tags.clone())?;
            let rest = known.prefix.strip_prefix(prefix.as_bytes());
            // As a rule the names that are known are those that are asked for.
            let only = rest.is_some_and(|rest| !rest.is_empty());
            (only || prefix.starts_with(&known.prefix)).then_some(Remembered {
                prefix: only.then_some(known.prefix.as_ref()),
                tags,
            })
        });
        let memory: Vec<Option<Remembered<'_>>> = memory.collect();
        self.tables.for_each(prefix, |name, record, at| {
            let remembered = match record {
                Record::Direct(id) => memory
                    .get(at)
                    .and_then(Option::as_ref)
                    .and_then(|memory| memory.find(name, id)),
                Record::Deleted | Record::Peeled(..) | Record::Symbolic(_) => None,
            };
            found(name, record, remembered)
        })
    }

    /// Whether it is remembered of the table number `at` where all its references lead whose names begin with `prefix`.
    fn is_known(&self, at: usize, prefix: &BStr) -> bool {
        let known = self.known.get(at).and_then(Option::as_ref);
        known.is_some_and(|known| prefix.starts_with(&known.prefix))
    }

    /// What the references whose names begin with `prefix` point to of which nobody tells where it leads, in the tables that
    /// are not known: also of those that another table overrides.
    pub(super) fn unpeeled(&self, prefix: &BStr) -> Result<Vec<ObjectId>, Error> {
        let mut ids = Vec::new();
        for at in 0..self.known.len() {
            if !self.is_known(at, prefix) {
                ids.append(&mut self.tables.ids_of(at, prefix)?);
            }
        }
        Ok(ids)
    }

    /// Whether there is enough under `prefix` that is not known to be worth to be remembered.
    pub(super) fn may_learn(&self, prefix: &BStr) -> bool {
        self.unpeeled(prefix).is_ok_and(|ids| ids.len() >= MANY)
    }

    /// As [`LooseRefs::block`](super::loose::LooseRefs::block).
    pub(super) fn block(
        &self,
        prefix: &BStr,
        repository: &Repository,
        peel: &Peel<'_>,
    ) -> Option<Block> {
        let memory = self.memory.as_ref()?;
        if !self.may_learn(prefix) {
            return None;
        }
        let file_system = memory.file_system(repository)?;
        let mut tables = Vec::new();
        for (at, path) in self.tables.paths().enumerate() {
            let old = self.known.get(at).and_then(Option::as_ref);
            let learns = !self.is_known(at, prefix);
            let new = learns.then(|| self.learn(at, path, prefix, (memory, file_system), peel));
            let table = new.flatten().or_else(|| {
                let old = old?;
                let tags = self.known_block().get(old.tags.clone())?.to_vec();
                Some((old.prefix.clone(), old.stamp, tags))
            });
            tables.extend(table.map(|table| (path, table)));
        }
        let mut out = Writer::default();
        out.u32(u32::try_from(tables.len()).unwrap_or(u32::MAX));
        for (path, (prefix, stamp, tags)) in tables {
            out.bytes(path.as_os_str().as_bytes());
            out.bytes(&prefix);
            out.array(&stamp.to_bytes());
            out.bytes(&tags);
        }
        Some((KEY, out.0))
    }

    /// Where the references of the table number `at` lead; nothing if that cannot be told of all.
    fn learn(
        &self,
        at: usize,
        path: &Path,
        prefix: &BStr,
        (memory, file_system): (&Memory, FileSystem),
        peel: &Peel<'_>,
    ) -> Option<(BString, Stamp, Vec<u8>)> {
        let stat = stat_path(path).ok()?;
        let stamp = memory.trusted(&stat, file_system)?;
        let mut ids = self.tables.ids_of(at, prefix).ok()?;
        ids.sort_unstable();
        ids.dedup();
        let peeled = on_all_cores(&ids, |ids| {
            ids.iter().map(|id| peel(id)).collect::<Vec<_>>()
        });
        let mut tags = Vec::new();
        for (id, peeled) in ids.iter().zip(peeled) {
            if let Some(peeled) = Some(peeled?).filter(|peeled| peeled != id) {
                tags.extend_from_slice(id.as_bytes());
                tags.extend_from_slice(peeled.as_bytes());
            }
        }
        Some((prefix.to_owned(), stamp, tags))
    }
}

fn known_block_of(memory: &Memory) -> &[u8] {
    memory.general(KEY)
}

/// What is remembered of a table, as far as it is asked for.
struct Remembered<'m> {
    /// Only of references whose names begin so.
    prefix: Option<&'m BStr>,
    /// The objects that are tags, ascending, and where each leads.
    tags: &'m [u8],
}

impl Remembered<'_> {
    /// Where the reference `name` to `id` leads.
    fn find(&self, name: &BStr, id: &oid) -> Option<ObjectId> {
        if self.prefix.is_some_and(|prefix| !name.starts_with(prefix)) {
            return None;
        }
        let len = id.as_bytes().len();
        let (mut least, mut end) = (0, self.tags.len() / (2 * len));
        while least < end {
            let middle = least.midpoint(end);
            let pair = self.tags.get(middle * 2 * len..)?.get(..2 * len)?;
            let (tag, target) = pair.split_at_checked(len)?;
            match tag.cmp(id.as_bytes()) {
                Ordering::Less => least = middle + 1,
                Ordering::Equal => return ObjectId::try_from(target).ok(),
                Ordering::Greater => end = middle,
            }
        }
        Some(id.to_owned())
    }
}

/// The tables that `block` tells of, by their paths, if it has the format.
fn known_in(block: &[u8], hash: Kind) -> Option<Vec<(&[u8], Known)>> {
    let mut bytes = Reader(block);
    let count = bytes.u32()?;
    let mut all = Vec::new();
    for _ in 0..count {
        let path = bytes.slice()?;
        let prefix = bytes.bytes()?;
        let stamp = Stamp::from_bytes(&bytes.array()?);
        let tags = bytes.slice()?;
        let end = block.len().checked_sub(bytes.0.len())?;
        let tags = end.checked_sub(tags.len())?..end;
        let known = Known {
            prefix,
            stamp,
            tags: Some(tags).filter(|tags| tags.len().is_multiple_of(2 * hash.len_in_bytes()))?,
        };
        all.push((path, known));
    }
    bytes.0.is_empty().then_some(all)
}

/// How many tables `block` tells of, if it has the format.
#[cfg(feature = "fuzzing")]
pub(crate) fn tables_in(block: &[u8], hash: Kind) -> Option<usize> {
    known_in(block, hash).map(|known| known.len())
}
