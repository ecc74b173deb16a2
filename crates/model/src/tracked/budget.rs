//! A limit on what a walk through a tree may come across. Blocks that another process wrote may lead in circles, or refer
//! to the same block again and again, so that a few blocks stand for billions of files.

use std::sync::atomic::{AtomicU64, Ordering};

use super::blocks::{Damaged, DirNumber};
use super::layout::{DirectoryBlock, FileRecord, Files, FilesBlock, Header};
use super::tree::{Directory, Tracked};
use crate::path::PATH_LEN_MAX;

/// What a walk through the tree of a [`Tracked`] may still come across. The initial values are limited both by what the
/// tree says it has and by what its blocks have room for. Several threads may share it.
#[derive(Debug)]
pub struct Budget {
    directories: AtomicU64,
    entries: AtomicU64,
    path_len_max: usize,
    is_untrusted: bool,
}

impl Budget {
    fn spend(left: &AtomicU64, count: usize) -> Option<()> {
        let fewer = |left: u64| left.checked_sub(count as u64);
        let taken = left.try_update(Ordering::Relaxed, Ordering::Relaxed, fewer);
        taken.ok().map(drop)
    }

    /// Accounts for the subdirectories and files of a directory. `files` yields the files block by block.
    fn charge<'b>(
        &self,
        block: &DirectoryBlock<'b>,
        id_len: usize,
        files: impl Iterator<Item = Option<Files<'b>>>,
    ) -> Option<Vec<Files<'b>>> {
        Self::spend(&self.directories, block.subdirs().len())?;
        if self.is_untrusted && !block.names_are_unshared() {
            return None;
        }
        let mut all = Vec::new();
        for files in files {
            let files = files?;
            // Count at least one, or blocks without files could follow each other forever.
            Self::spend(&self.entries, files.len().max(1))?;
            if self.is_untrusted && !files.is_well_formed(id_len) {
                return None;
            }
            all.push(files);
        }
        Some(all)
    }
}

impl Tracked {
    /// The budget for one walk.
    pub fn budget(&self) -> Budget {
        let directories = u64::from(self.directory_number_end().saturating_sub(1));
        let entries = u64::from(self.sums().entries);
        let untrusted_len = self.blocks().untrusted_len();
        let room = |len: usize| untrusted_len.map_or(u64::MAX, |all| all / len as u64);
        Budget {
            directories: directories.min(room(size_of::<Header>())).into(),
            entries: entries.min(room(size_of::<FileRecord>())).into(),
            path_len_max: self.path_len_max(),
            is_untrusted: untrusted_len.is_some(),
        }
    }

    /// The greatest length of a directory path, in bytes. From blocks that another process wrote, none is accepted that is longer
    /// than the system takes.
    pub(super) fn path_len_max(&self) -> usize {
        let untrusted_len = self.blocks().untrusted_len();
        untrusted_len.map_or(usize::MAX, |_| PATH_LEN_MAX)
    }

    /// The directory with number `number`, whose path takes `path_len` bytes. Use this in a walk that visits each
    /// directory once, from the top, by its subdirectories. If the budget is exceeded, the directory counts as damaged.
    pub fn visit_within(
        &self,
        number: DirNumber,
        path_len: usize,
        budget: &Budget,
    ) -> Directory<'_> {
        let block = self.blocks().directory(number).map(DirectoryBlock::parse);
        let block = self.record_damage(number, block);
        let visited = block.and_then(|block| {
            (path_len <= budget.path_len_max).then_some(())?;
            let keys = block.segments().iter().map(|segment| segment.key.get());
            let segments = keys.map(|key| {
                let files = self.blocks().files(key).map(FilesBlock::parse);
                self.record_damage(key, files)
            });
            let id_len = self.hash_kind().len_in_bytes();
            let own = Some(block.files()).filter(|files| !files.is_empty());
            match block.segments().is_empty() {
                true => budget
                    .charge(&block, id_len, own.into_iter().map(Some))
                    .map(|_| Vec::new()),
                false => budget.charge(&block, id_len, segments),
            }
        });
        let segments = self.record_damage(number, visited.map(Some).ok_or(Damaged { key: number }));
        Directory::new(
            block.filter(|_| segments.is_some()),
            segments.unwrap_or_default(),
        )
    }
}
