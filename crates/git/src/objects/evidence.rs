//! The files that decide how an object is read, so that a later process can tell that it would read the same.

use std::path::{Path, PathBuf};

use gix_hash::ObjectId;
use vigil_linux::Errno;
use vigil_linux::stat::{lstat_path, stat_path};
use vigil_model::timestamp::Timestamp;

use super::Objects;
use crate::index_file::SeenFile;

/// With more pack files than this, looking at each costs more than reading an object.
const PACK_FILES_MAX: usize = 8;

/// Files beside packs that have no part in looking up an object.
const WITHOUT_OBJECTS: [&str; 5] = ["bitmap", "keep", "mtimes", "promisor", "rev"];

impl Objects {
    /// Returns the files that decide how the objects `ids` are read, if all of those were read since `before` and none of
    /// the files has changed since. `None` proves nothing: it is returned if anything is unusual, such as a damaged copy.
    pub fn evidence(&self, ids: &[ObjectId], before: Timestamp) -> Option<Vec<SeenFile>> {
        if !self.has_single_source() || self.had_messages() {
            return None;
        }
        let [alternates, packs] = self.fixed_files();
        let loose = ids.iter().filter_map(|id| self.loose_file(id));
        let mut files = pack_files(&packs)?;
        files.extend(loose.filter(|path| stat_path(path) != Err(Errno::NOENT)));
        if stat_path(&alternates) != Err(Errno::NOENT) {
            return None;
        }
        let present = [packs].into_iter().chain(files);
        let present = present.map(|path| SeenFile::at_rest(path, before));
        let absent = SeenFile::absent(alternates);
        [Some(absent)].into_iter().chain(present).collect()
    }

    /// Whether the objects for which `files` are the [evidence](Self::evidence) would be read as they were then.
    pub fn would_read_the_same(&self, files: &[SeenFile]) -> bool {
        let fixed = self.fixed_files();
        let known = files.iter().map(|file| file.path.as_path());
        self.has_single_source()
            && fixed.iter().map(PathBuf::as_path).eq(known.take(2))
            && files.iter().all(SeenFile::is_same)
    }

    /// Returns the files of those of the objects `ids` that are loose; the others are in packs. All of them were just read. `None`
    /// if some objects may come from elsewhere.
    pub fn loose_files(&self, ids: &[ObjectId]) -> Option<Vec<PathBuf>> {
        if !self.has_single_source() {
            return None;
        }
        let files = ids.iter().filter_map(|id| self.loose_file(id));
        Some(files.filter(|path| lstat_path(path).is_ok()).collect())
    }

    /// Whether all objects come from one directory, as they are recorded there.
    fn has_single_source(&self) -> bool {
        self.folders().alternates.is_empty()
            && !self.history.has_replacements()
            && self.history.check().is_ok()
    }

    fn fixed_files(&self) -> [PathBuf; 2] {
        ["info/alternates", "pack"].map(|name| self.folders().folder.join(name))
    }

    fn loose_file(&self, id: &ObjectId) -> Option<PathBuf> {
        let hex = id.to_string();
        let (fan, rest) = hex.split_at_checked(2)?;
        Some(self.folders().folder.join(fan).join(rest))
    }
}

/// Returns the packs in `folder` and their indexes, if they are few and there is nothing unknown beside them.
fn pack_files(folder: &Path) -> Option<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).ok()? {
        let path = entry.ok()?.path();
        match path.extension()?.to_str()? {
            "pack" | "idx" => files.push(path),
            other if WITHOUT_OBJECTS.contains(&other) => {}
            _ => return None,
        }
    }
    (files.len() <= PACK_FILES_MAX).then_some(files)
}
