//! A part of the working tree, for a scan that need not look at all of it.

use std::collections::BTreeMap;

use bstr::{BStr, BString, ByteSlice};
use vigil_model::tracked::{DirNumber, ROOT, Tracked};

/// Directories, and of each the places of the files to look at. The directories above are in too: ignore rules come from
/// there.
#[derive(Debug, Default)]
pub struct Focus {
    dirs: BTreeMap<DirNumber, Vec<usize>>,
}

impl Focus {
    /// The part in which the tracked files `tracked` are, and the directories that hold the paths `untracked`.
    /// Paths that are not tracked (any more) are left out of the former.
    pub fn new(files: &Tracked, tracked: &[BString], untracked: &[BString]) -> Self {
        let mut focus = Self::default();
        for path in tracked {
            let (dir, places) = focus.add(files, path.as_bstr());
            let name_start = vigil_model::path::directory_len(path.as_bstr());
            let name = path.get(name_start..).unwrap_or_default();
            let directory = files.directory(dir);
            let at = directory.position(name);
            if directory.file(at).is_some_and(|file| file.name() == name) {
                places.push(at);
            }
        }
        for path in untracked {
            focus.add(files, path.as_bstr());
        }
        for places in focus.dirs.values_mut() {
            places.sort_unstable();
            places.dedup();
        }
        focus
    }

    /// Takes in the innermost tracked directory that holds `path`, and returns it and the places of its files.
    fn add(&mut self, files: &Tracked, path: &BStr) -> (DirNumber, &mut Vec<usize>) {
        let mut dir = ROOT;
        self.dirs.entry(dir).or_default();
        for name in path.split_str("/") {
            match files.directory(dir).find_subdir(name) {
                Some(sub) => dir = sub.number,
                None => break,
            }
            self.dirs.entry(dir).or_default();
        }
        (dir, self.dirs.entry(dir).or_default())
    }

    /// Whether the directory `number` is in.
    pub(super) fn has(&self, number: DirNumber) -> bool {
        self.dirs.contains_key(&number)
    }

    /// The places of the files directly in the directory `number` to look at, in order.
    pub(super) fn files(&self, number: DirNumber) -> &[usize] {
        self.dirs
            .get(&number)
            .map(Vec::as_slice)
            .unwrap_or_default()
    }
}
