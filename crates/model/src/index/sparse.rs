//! Sparse indexes: a single entry for a directory outside the sparse checkout (extension `sdir`).

use bstr::{BStr, BString};
use gix_hash::{ObjectId, oid};

use super::entries::Index;
use super::entry::{Entry, EntryFlags};
use crate::facts::RecordedStat;
use crate::mode::FileMode;

/// A file of a tree, with its full path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlatEntry {
    /// The path from the top of the working tree.
    pub path: BString,
    /// The mode; never that of a directory.
    pub mode: FileMode,
    /// The blob, or the commit of a submodule.
    pub id: ObjectId,
}

impl Index {
    /// Replaces sparse directories by the files that `contents` returns for them. It is called with the
    /// directory's path, which ends in `/`, and its tree. Directories for which it returns `None` stay as they
    /// are.
    ///
    /// The new entries are marked `skip-worktree` and have no stat data, as git creates them. An index without
    /// sparse directories is returned unchanged.
    ///
    /// # Errors
    /// Those of `contents`.
    pub fn expand_sparse_directories<E>(
        mut self,
        mut contents: impl FnMut(&BStr, &oid) -> Result<Option<Vec<FlatEntry>>, E>,
    ) -> Result<Self, E> {
        if !self.entries.iter().any(Entry::is_sparse_directory) {
            return Ok(self);
        }
        let mut entries = Vec::with_capacity(self.entries.len());
        let mut new_paths = Vec::new();
        let old_paths_len = self.paths.len();
        let mut cache_tree = self.cache_tree.take();
        for entry in &self.entries {
            let files = if entry.is_sparse_directory() {
                contents(self.path(entry), entry.id())?
            } else {
                None
            };
            let Some(files) = files else {
                entries.push(*entry);
                continue;
            };
            if let Some(tree) = &mut cache_tree {
                tree.count_expanded(
                    self.path(entry),
                    u32::try_from(files.len()).unwrap_or(u32::MAX),
                );
            }
            for file in files {
                let path_start = old_paths_len.saturating_add(new_paths.len());
                new_paths.extend_from_slice(&file.path);
                new_paths.push(0);
                entries.push(Entry {
                    stat: RecordedStat::default(),
                    mode: file.mode,
                    id: file.id,
                    flags: EntryFlags(EntryFlags::SKIP_WORKTREE | EntryFlags::EXTENDED),
                    path_start: u32::try_from(path_start).unwrap_or(u32::MAX),
                    path_len: u32::try_from(file.path.len()).unwrap_or(u32::MAX),
                });
            }
        }
        let mut paths = self.paths;
        paths.append(&mut new_paths);
        Ok(Self {
            is_sparse: entries.iter().any(Entry::is_sparse_directory),
            is_expanded: true,
            entries,
            paths,
            cache_tree,
            ..self
        })
    }
}
