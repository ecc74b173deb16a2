//! How much a walk through a tree may meet: blocks that another process wrote may lead in circles, or be told of time and
//! again, so that a few of them stand for billions of files.

use std::sync::atomic::{AtomicU64, Ordering};

use super::blocks::{Damaged, DirNumber};
use super::layout::{DirectoryBlock, FileRecord, Files, FilesBlock, Header};
use super::tree::{Directory, Tracked};

/// The longest path of a directory that is believed of blocks which another process wrote, in bytes: the system takes no
/// longer one (`PATH_MAX`).
const PATH_LEN_MAX: usize = 4096;

/// What is left to be met in a walk through the tree of a [`Tracked`]: no tree has more than it says, nor more than its
/// blocks have room for. Several threads may share it.
#[derive(Debug)]
pub struct Budget {
    directories: AtomicU64,
    entries: AtomicU64,
    path_len_max: usize,
    is_foreign: bool,
}

impl Budget {
    fn take(left: &AtomicU64, count: usize) -> Option<()> {
        let fewer = |left: u64| left.checked_sub(count as u64);
        let taken = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer);
        taken.ok().map(drop)
    }

    /// Takes the subdirectories and files of a directory, which `files` tell one block after the other.
    fn meet<'b>(
        &self,
        block: &DirectoryBlock<'b>,
        id_len: usize,
        files: impl Iterator<Item = Option<Files<'b>>>,
    ) -> Option<Vec<Files<'b>>> {
        Self::take(&self.directories, block.subdirs().len())?;
        if self.is_foreign && !block.tells_each_subdir_its_name() {
            return None;
        }
        let mut all = Vec::new();
        for files in files {
            let files = files?;
            // One block after the other may have none.
            Self::take(&self.entries, files.len().max(1))?;
            if self.is_foreign && !files.are_told_well(id_len) {
                return None;
            }
            all.push(files);
        }
        Some(all)
    }
}

impl Tracked {
    /// What there is to meet in one walk.
    pub fn budget(&self) -> Budget {
        let directories = u64::from(self.directories().saturating_sub(1));
        let entries = u64::from(self.sums().entries);
        let foreign_len = self.blocks().foreign_len();
        let room = |len: usize| foreign_len.map_or(u64::MAX, |all| all / len as u64);
        Budget {
            directories: directories.min(room(size_of::<Header>())).into(),
            entries: entries.min(room(size_of::<FileRecord>())).into(),
            path_len_max: self.path_len_max(),
            is_foreign: foreign_len.is_some(),
        }
    }

    /// How long the path of a directory may be, in bytes.
    pub(super) fn path_len_max(&self) -> usize {
        let foreign_len = self.blocks().foreign_len();
        foreign_len.map_or(usize::MAX, |_| PATH_LEN_MAX)
    }

    /// The directory of number `number`, whose path takes `path_len` bytes, in a walk that comes to each directory once:
    /// from the top, by its subdirectories. If there is more than the walk can have to meet, the directory is damaged.
    pub fn met(&self, number: DirNumber, path_len: usize, budget: &Budget) -> Directory<'_> {
        let block = self.blocks().directory(number).map(DirectoryBlock::parse);
        let block = self.noticed(number, block);
        let met = block.and_then(|block| {
            (path_len <= budget.path_len_max).then_some(())?;
            let keys = block.segments().iter().map(|segment| segment.key.get());
            let segments = keys.map(|key| {
                let files = self.blocks().files(key).map(FilesBlock::parse);
                self.noticed(key, files)
            });
            let id_len = self.hash_kind().len_in_bytes();
            let own = Some(block.files()).filter(|files| !files.is_empty());
            match block.segments().is_empty() {
                true => budget
                    .meet(&block, id_len, own.into_iter().map(Some))
                    .map(|_| Vec::new()),
                false => budget.meet(&block, id_len, segments),
            }
        });
        let segments = self.noticed(number, met.map(Some).ok_or(Damaged { key: number }));
        Directory::new(
            block.filter(|_| segments.is_some()),
            segments.unwrap_or_default(),
        )
    }
}
