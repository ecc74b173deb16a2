//! Remembering what was read of loose references, once the answer is out.

use std::collections::HashMap;
use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd};

use bstr::{BStr, ByteSlice};
use gix_hash::{ObjectId, oid};
use vigil_linux::stat::{Stat, stat_at, stat_path};
use vigil_model::path::{file_name, parent};

use super::best::{self, BestTag};
use super::memory::{KEY, Memory, write_folder, write_record};
use super::reader::{LooseRef, LooseRefs};
use super::{Folder, Raw, is_per_worktree};
use crate::git::refs::{condensed, tables};
use crate::git::repository::Repository;
use crate::state::{make_way, refs_store};
use vigil_model::bytes::Writer;
use vigil_objects::parallel::on_all_cores;
use vigil_stamp::Stamp;
use vigil_stamp::file::open_folder;
use vigil_stamp::trust::FileSystem;
use vigil_store::{Changes, NoSteps, Table};

/// The blocks that are believed because of stamps in them.
const STAMPED: [u32; 4] = [KEY, tables::KEY, condensed::KEYS[0].1, condensed::KEYS[1].1];

/// From how many references in a folder on it is worth to remember them.
const MANY: usize = 256;

/// Finds where an object leads through tags; `None` where that cannot be told.
pub(in crate::git::refs) type Peel<'a> = dyn Fn(&oid) -> Option<ObjectId> + Sync + 'a;

impl LooseRefs {
    /// The block to be remembered, if there is more to remember than is, and it is worth it.
    pub(in crate::git::refs) fn block(
        &self,
        memory: &Memory,
        repository: &Repository,
        peel: &Peel<'_>,
    ) -> Option<Block> {
        let many = self.with_many_files();
        if many.iter().all(|many| many.is_known(memory)) {
            return None;
        }
        let file_system = memory.file_system(repository)?;
        let look = Look {
            memory,
            file_system,
            peel,
        };
        let names: Vec<&BStr> = many.iter().map(|many| many.folder.name.as_ref()).collect();
        let others: Vec<&[u8]> = memory.other_folders(&names).collect();
        let mut out = Writer::default();
        out.u32(u32::try_from(many.len() + others.len()).unwrap_or(u32::MAX));
        for many in &many {
            look.write(many, &mut out);
        }
        out.0.extend(others.into_iter().flatten());
        (out.0 != memory.general(KEY)).then_some((KEY, out.0))
    }

    fn with_many_files(&self) -> Vec<Many<'_>> {
        let mut by_folder: HashMap<&BStr, Vec<&LooseRef>> = HashMap::new();
        if self.folders.iter().any(|(_, count)| *count >= MANY) {
            for run in self
                .all
                .chunk_by(|one, next| parent(one.name.as_ref()) == parent(next.name.as_ref()))
            {
                if let Some(first) = run.first() {
                    let folder = parent(first.name.as_ref());
                    by_folder.entry(folder).or_default().extend(run);
                }
            }
        }
        let folders = self.folders.iter().filter_map(|(folder, count)| {
            let refs = by_folder.remove(folder.name.as_bstr())?;
            let is_shared = refs.iter().all(|found| !is_per_worktree(&found.name));
            let is_whole = refs.len() == *count && !folder.is_uncertain;
            (refs.len() >= MANY && is_shared).then_some(Many {
                folder,
                refs,
                is_whole,
            })
        });
        folders.collect()
    }
}

/// A block of General, by its key.
pub(in crate::git::refs) type Block = (u32, Vec<u8>);

/// Publishes `blocks` and what was found out of tags that were compared, in place of what `memory` was read from. Only later
/// questions would have gained by it: nothing is said where it fails.
pub(in crate::git::refs) fn publish(
    memory: &Memory,
    repository: &Repository,
    blocks: Vec<Block>,
    compared: &[BestTag],
) {
    let Some(store) = refs_store(repository).filter(|_| make_way(repository)) else {
        return;
    };
    let mut changes = Changes::new();
    // Where the clock has stepped back, stamps in the others would prove something again under a newer mark.
    let kept = STAMPED.iter().filter(|_| !memory.is_distrusted());
    let kept = kept.map(|key| (*key, memory.general(*key).to_vec()));
    for (key, block) in kept.filter(|(_, block)| !block.is_empty()).chain(blocks) {
        changes.set(Table::General, key, block);
    }
    let best = best::write(compared, &memory.best);
    if !best.is_empty() {
        changes.set(Table::General, best::KEY, best);
    }
    let mark = memory.whole_mark().to_bytes();
    let _ = match &memory.snapshot {
        Some(base) => store.replace(base, changes, mark, &NoSteps),
        None => store.publish(None, changes, mark, &NoSteps),
    };
}

/// A folder with many references.
struct Many<'r> {
    folder: &'r Folder,
    /// In byte order.
    refs: Vec<&'r LooseRef>,
    /// There is nothing else in it that could become a reference.
    is_whole: bool,
}

impl Many<'_> {
    /// Whether all of it is remembered, and still holds.
    fn is_known(&self, memory: &Memory) -> bool {
        let is_known = |found: &&LooseRef| found.record.is_some() && found.peeled.is_some();
        self.refs.iter().all(is_known) && memory.has_all(&self.folder.name, self.refs.len())
    }
}

/// A look at references that were read.
struct Look<'a> {
    memory: &'a Memory,
    file_system: FileSystem,
    peel: &'a Peel<'a>,
}

impl Look<'_> {
    fn write(&self, many: &Many<'_>, out: &mut Writer) {
        let path = &many.folder.path;
        let stamp = stat_path(path).ok().filter(|_| many.is_whole);
        let stamp = stamp.and_then(|stat| self.trusted(&stat));
        let stamp = stamp.filter(|stamp| self.file_system.trust_in(stamp).directories);
        let folders = &many.folder.folders;
        write_folder(out, &many.folder.name, stamp, folders, many.refs.len());
        let opened = open_folder(path).ok();
        let opened = opened.as_ref().map(AsFd::as_fd);
        let records = on_all_cores(&many.refs, |refs| self.records(refs, opened));
        out.0.extend(records);
    }

    /// The records of `refs`, which are in `folder`.
    fn records(&self, refs: &[&LooseRef], folder: Option<BorrowedFd<'_>>) -> Vec<u8> {
        let mut out = Writer::default();
        for found in refs {
            let file = file_name(found.name.as_ref());
            let value = match &found.raw {
                Raw::Direct(id) => self.stamp_of(found, file, folder).map(|stamp| (stamp, id)),
                Raw::Symbolic(_) | Raw::Missing | Raw::Broken => None,
            };
            let peeled = value.and_then(|(_, id)| found.peeled.or_else(|| (self.peel)(id)));
            let value = value.map(|(stamp, id)| (stamp, id.as_ref()));
            write_record(&mut out, file, value, peeled);
        }
        out.0
    }

    /// The stamp that proves, as long as it stays, that the reference holds what was read.
    fn stamp_of(
        &self,
        found: &LooseRef,
        file: &[u8],
        folder: Option<BorrowedFd<'_>>,
    ) -> Option<Stamp> {
        if let Some(at) = found.record {
            return Some(self.memory.records().get(at)?.value?.0);
        }
        let stat = stat_at(folder?, &CString::new(file).ok()?).ok()?;
        // What a link leads to changes without it.
        self.trusted(&stat).filter(|_| stat.is_file())
    }

    /// The stamp, if whatever was read since the look began can have no other contents under it.
    fn trusted(&self, stat: &Stat) -> Option<Stamp> {
        self.memory.trusted(stat, self.file_system)
    }
}
