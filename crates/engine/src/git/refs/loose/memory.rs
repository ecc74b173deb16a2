//! What loose references held when they were last read, kept on disk (docs/state-file.md): where there are thousands, to
//! see that each is as it was takes a third of the time to read them.
//!
//! It saves work and is never needed. A record counts while the stamp of its file is the one recorded
//! ([`vigil_stamp::trust`]); that of a folder tells nothing of files in it, which may be written in place.

use std::ops::Range;
use std::path::Path;

use bstr::{BStr, BString, ByteSlice};
use gix_hash::{Kind, ObjectId, oid};
use vigil_linux::clock::boot_id;
use vigil_linux::stat::{Stat, stat_path};
use vigil_model::clock::{ClockMark, distrusted_from};
use vigil_model::path::join;
use vigil_model::timestamp::Timestamp;

use super::best::{self, BestTag};
use crate::git::repository::Repository;
use crate::state::{refs_folder, refs_store};
use vigil_model::bytes::{Reader, Writer};
use vigil_stamp::trust::{self, FileSystem};
use vigil_stamp::{Stamp, now};
use vigil_store::{Snapshot, Table};

/// The block that holds all.
pub(super) const KEY: u32 = 0;

/// The record has a stamp, and the id that the reference holds.
const HAS_VALUE: u32 = 1;
/// And another id, to which that one leads through tags.
const IS_TAG: u32 = 2;
/// The id is known to be of no tag.
const IS_PLAIN: u32 = 4;

/// What is remembered of loose references, and what is needed to remember more.
#[derive(Debug)]
pub(crate) struct Memory {
    hash: Kind,
    /// Where the references are.
    file_system: Option<FileSystem>,
    /// Nothing was looked at before.
    mark: ClockMark,
    before: Timestamp,
    pub(super) snapshot: Option<Snapshot>,
    /// From when on recorded stamps prove nothing.
    distrusted_from: Option<Timestamp>,
    /// The folders, as the block has them.
    folders: Vec<Folder>,
    /// Which of many tags are the best.
    pub(super) best: Vec<BestTag>,
}

/// A folder with many references.
#[derive(Debug)]
struct Folder {
    /// Its name, without a slash at the end.
    name: BString,
    /// Its stamp, if that proves which names are in it.
    stamp: Option<Stamp>,
    /// The full names of the folders in it.
    folders: Vec<BString>,
    /// Where the record of each file starts in the block, in byte order of their names.
    records: Vec<u32>,
    /// Where all of it is in the block.
    place: Range<usize>,
}

/// What is remembered of a file.
#[derive(Debug)]
pub(super) struct Record<'m> {
    /// Its name, without its folder.
    pub(super) name: &'m BStr,
    /// What it holds while it has this stamp.
    pub(super) value: Option<(Stamp, &'m oid)>,
    /// What that leads to through tags, where that is known.
    pub(super) peeled: Option<&'m oid>,
}

/// The full names in a folder: of the folders in it, and of the files, each with the place of its record.
pub(super) type Names = (Vec<BString>, Vec<(BString, Option<u32>)>);

impl Memory {
    /// What is remembered for `repository`. To be opened before any of its references is looked at.
    pub(crate) fn open(repository: &Repository) -> Self {
        let mut memory = Self {
            hash: repository.hash,
            file_system: None,
            mark: trust::mark_of_run([0; 16]),
            before: now(),
            snapshot: None,
            distrusted_from: None,
            folders: Vec::new(),
            best: Vec::new(),
        };
        // Most repositories have none, and are spared the questions.
        if stat_path(&refs_folder(repository)).is_err() {
            return memory;
        }
        memory.mark.boot = boot_id().unwrap_or_default();
        memory.file_system = FileSystem::of_folder(&repository.common_dir);
        memory.snapshot = refs_store(repository).and_then(|store| store.open().ok());
        memory.read();
        memory
    }

    fn read(&mut self) {
        let Some(snapshot) = &self.snapshot else {
            return;
        };
        let recorded = ClockMark::from_bytes(snapshot.clock());
        self.distrusted_from = distrusted_from(&recorded, &self.mark);
        let block = snapshot.block(Table::General, KEY).ok().flatten();
        self.folders = block
            .and_then(|block| folders_of(block, self.hash))
            .unwrap_or_default();
        let block = snapshot.block(Table::General, best::KEY).ok().flatten();
        self.best = best::read(block.unwrap_or_default(), self.hash);
    }

    /// The one of `tags` that was the best name of `object` when these were last compared.
    pub(crate) fn best_tag<'i>(
        &self,
        object: &oid,
        tags: impl IntoIterator<Item = &'i ObjectId>,
    ) -> Option<ObjectId> {
        best::find(&self.best, object, tags)
    }

    /// Where the references of `repository` are.
    pub(in crate::git::refs) fn file_system(&self, repository: &Repository) -> Option<FileSystem> {
        let known = self.file_system;
        known.or_else(|| FileSystem::of_folder(&repository.common_dir))
    }

    /// The mark under which more can be remembered.
    pub(super) fn whole_mark(&self) -> ClockMark {
        let mut mark = self.mark;
        if mark.boot == [0; 16] {
            mark.boot = boot_id().unwrap_or_default();
        }
        mark
    }

    /// Whether just `count` files of the folder `name` are remembered, and its stamp.
    pub(super) fn has_all(&self, name: &[u8], count: usize) -> bool {
        let folder = self.folder(name);
        folder.is_some_and(|folder| folder.records.len() == count && folder.stamp.is_some())
    }

    /// A block of General, which is verified when it is read first; empty if there is none.
    pub(in crate::git::refs) fn general(&self, key: u32) -> &[u8] {
        let snapshot = self.snapshot.as_ref();
        let block = snapshot.and_then(|snapshot| snapshot.block(Table::General, key).ok());
        block.flatten().unwrap_or_default()
    }

    /// Whether some of the recorded stamps prove nothing, since the clock has stepped back.
    pub(super) fn is_distrusted(&self) -> bool {
        self.distrusted_from.is_some()
    }

    /// The stamp of `stat`, on `file_system`, if whatever was read since the look began can have no other contents under it.
    pub(in crate::git::refs) fn trusted(
        &self,
        stat: &Stat,
        file_system: FileSystem,
    ) -> Option<Stamp> {
        let trust = file_system.trust_in(&Stamp::from(stat));
        let stamp = Stamp::trusted_at(stat, self.before, trust.granularity);
        stamp.filter(|_| trust.contents)
    }

    /// The kind of the ids.
    pub(in crate::git::refs) fn hash(&self) -> Kind {
        self.hash
    }

    fn folder(&self, name: &[u8]) -> Option<&Folder> {
        self.folders.iter().find(|folder| folder.name == name)
    }

    /// Whether a file that has the recorded stamp `stamp` is as it was.
    pub(in crate::git::refs) fn believes(&self, stamp: &Stamp) -> bool {
        let file_system = self.file_system;
        file_system.is_some_and(|found| found.believes(stamp, self.distrusted_from))
    }

    /// The names in the folder `name`, which is at `path`, if they are known to be the same.
    pub(super) fn names(&self, name: &[u8], path: &Path) -> Option<Names> {
        let folder = self.folder(name)?;
        let stamp = folder.stamp.filter(|stamp| self.believes(stamp))?;
        let trust = self.file_system?.trust_in(&stamp);
        if !trust.directories || Stamp::of(path) != Ok(Some(stamp)) {
            return None;
        }
        let records = self.records();
        let files = folder.records.iter().map(|at| {
            let file = records.get(*at)?;
            Some((join(name.as_bstr(), file.name), Some(*at)))
        });
        Some((folder.folders.clone(), files.collect::<Option<Vec<_>>>()?))
    }

    /// The records, by where they are.
    pub(super) fn records(&self) -> Records<'_> {
        Records {
            memory: self,
            block: self.general(KEY),
        }
    }

    /// The bytes of the folders that are not among `others`, if all of them may be kept under a newer mark.
    pub(super) fn other_folders(&self, others: &[&BStr]) -> impl Iterator<Item = &[u8]> {
        let block = self.general(KEY);
        let kept = self
            .folders
            .iter()
            .filter(|_| self.distrusted_from.is_none());
        let kept = kept.filter(move |folder| !others.contains(&folder.name.as_bstr()));
        kept.filter_map(|folder| block.get(folder.place.clone()))
    }
}

/// The records of a memory, to be read one by one.
#[derive(Clone, Copy)]
pub(super) struct Records<'m> {
    memory: &'m Memory,
    block: &'m [u8],
}

impl<'m> Records<'m> {
    /// The record at `at`, if its stamp proves anything.
    pub(super) fn get(&self, at: u32) -> Option<Record<'m>> {
        let mut record = record(self.block, at, self.memory.hash)?;
        record.value = record
            .value
            .filter(|(stamp, _)| self.memory.believes(stamp));
        Some(record)
    }

    /// Where the record of the file `name` in the folder `folder` is.
    pub(super) fn find(&self, folder: &[u8], name: &[u8]) -> Option<u32> {
        let folder = self.memory.folder(folder)?;
        let name_at = |at: u32| Some(record(self.block, at, self.memory.hash)?.name);
        let compare = |at: &u32| name_at(*at).cmp(&Some(name.as_bstr()));
        let found = folder.records.binary_search_by(compare).ok()?;
        folder.records.get(found).copied()
    }
}

/// The folders in `block`, if all of it has the format.
fn folders_of(block: &[u8], hash: Kind) -> Option<Vec<Folder>> {
    let mut bytes = Reader(block);
    let at = |bytes: &Reader<'_>| block.len().checked_sub(bytes.0.len());
    let count = bytes.u32()?;
    let mut folders = Vec::new();
    for _ in 0..count {
        let start = at(&bytes)?;
        let name = bytes.bytes()?;
        let stamp = bytes.optional(|bytes| Some(Stamp::from_bytes(&bytes.array()?)))?;
        let inner = bytes.u32()?;
        let inner = (0..inner).map(|_| bytes.bytes());
        let inner = inner.collect::<Option<Vec<_>>>()?;
        let mut records = Vec::new();
        for _ in 0..bytes.u32()? {
            records.push(u32::try_from(at(&bytes)?).ok()?);
            read_record(&mut bytes, hash)?;
        }
        folders.push(Folder {
            name,
            stamp,
            folders: inner,
            records,
            place: start..at(&bytes)?,
        });
    }
    bytes.0.is_empty().then_some(folders)
}

/// How many files `block` tells of, if it has the format.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn references_in(block: &[u8], hash: Kind) -> Option<usize> {
    let folders = folders_of(block, hash)?;
    Some(folders.iter().map(|folder| folder.records.len()).sum())
}

fn record(block: &[u8], at: u32, hash: Kind) -> Option<Record<'_>> {
    read_record(&mut Reader(block.get(at as usize..)?), hash)
}

fn read_record<'b>(bytes: &mut Reader<'b>, hash: Kind) -> Option<Record<'b>> {
    let flags = bytes.u32()?;
    let name = bytes.slice()?.as_bstr();
    if flags & HAS_VALUE == 0 {
        return Some(Record {
            name,
            value: None,
            peeled: None,
        });
    }
    let stamp = Stamp::from_bytes(&bytes.array()?);
    let mut id = || oid::try_from_bytes(bytes.take(hash.len_in_bytes())?).ok();
    let value = id()?;
    let peeled = match flags & (IS_TAG | IS_PLAIN) {
        0 => None,
        IS_PLAIN => Some(value),
        _ => Some(id()?),
    };
    Some(Record {
        name,
        value: Some((stamp, value)),
        peeled,
    })
}

/// Writes the record of the file `name`: what it holds under which stamp, and what that leads to through tags.
pub(super) fn write_record(
    out: &mut Writer,
    name: &[u8],
    value: Option<(Stamp, &oid)>,
    peeled: Option<ObjectId>,
) {
    let Some((stamp, id)) = value else {
        out.u32(0);
        out.bytes(name);
        return;
    };
    let kind = match &peeled {
        None => 0,
        Some(peeled) if **peeled == *id => IS_PLAIN,
        Some(_) => IS_TAG,
    };
    out.u32(HAS_VALUE | kind);
    out.bytes(name);
    out.array(&stamp.to_bytes());
    out.0.extend_from_slice(id.as_bytes());
    if let Some(peeled) = peeled.filter(|peeled| **peeled != *id) {
        out.0.extend_from_slice(peeled.as_bytes());
    }
}

/// Writes what comes before the records of the folder `name`.
pub(super) fn write_folder(
    out: &mut Writer,
    name: &[u8],
    stamp: Option<Stamp>,
    folders: &[BString],
    records: usize,
) {
    out.bytes(name);
    out.optional(stamp, |out, stamp| out.array(&stamp.to_bytes()));
    out.u32(u32::try_from(folders.len()).unwrap_or(u32::MAX));
    for folder in folders {
        out.bytes(folder);
    }
    out.u32(u32::try_from(records).unwrap_or(u32::MAX));
}
