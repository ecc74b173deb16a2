//! A part of the working tree, for a scan that need not look at all of it.

use std::collections::{BTreeMap, BTreeSet};

use bstr::{BStr, BString, ByteSlice};
use vigil_model::path::is_odd;
use vigil_model::tracked::{DirNumber, Directory, ROOT, Tracked};

/// Directories, and what of each is to be looked at. The directories above are in too: ignore rules come from there.
#[derive(Debug, Default)]
pub struct Focus {
    dirs: BTreeMap<DirNumber, Part>,
    /// Directories that are in with all below.
    whole: BTreeSet<DirNumber>,
}

/// What of a directory is to be looked at.
#[derive(Debug, Default)]
struct Part {
    /// The places of files.
    files: Vec<usize>,
    /// What is beside its tracked files, too, here or further down.
    has_others: bool,
}

impl Focus {
    /// The part in which the tracked files `tracked` are, and the directories that hold the paths `untracked`.
    /// Paths that are not tracked (any more) are left out of the former.
    pub fn new(files: &Tracked, tracked: &[BString], untracked: &[BString]) -> Self {
        let mut focus = Self::default();
        for path in tracked {
            let (dir, part) = focus.add(files, path.as_bstr(), true);
            let name_start = vigil_model::path::directory_len(path.as_bstr());
            let name = path.get(name_start..).unwrap_or_default();
            let directory = files.directory(dir);
            let at = directory.position(name);
            if directory.file(at).is_some_and(|file| file.name() == name) {
                part.files.push(at);
            }
        }
        for path in untracked {
            focus.add(files, path.as_bstr(), true);
        }
        focus.finish();
        focus
    }

    /// Takes in what may be at `path`: a tracked file, with all its sides, or something beside them.
    pub(super) fn add_entry(&mut self, files: &Tracked, path: &BStr) {
        let (dir, _) = self.add(files, above(path), true);
        let name = vigil_model::path::file_name(path);
        let directory = files.directory(dir);
        if let Some(sub) = directory.find_subdir(name) {
            self.add_whole(sub.number);
        }
        let places = places_of(&directory, name);
        self.dirs.entry(dir).or_default().files.extend(places);
    }

    /// As [`Self::add_entry`], where there neither was nor is a folder at `path`: beside a tracked file nothing else is then to
    /// be looked at in its directory.
    pub(super) fn add_file(&mut self, files: &Tracked, path: &BStr) {
        let way = self.way(files, above(path));
        let directory = files.directory(way.dir);
        let name = vigil_model::path::file_name(path);
        let places = places_of(&directory, name);
        let is_plain = |place: &usize| {
            let file = directory.file(*place);
            file.is_some_and(|file| !file.is_nested() && !is_odd(file.name()))
        };
        let is_tracked = way.is_tracked && !places.is_empty() && places.iter().all(is_plain);
        if !is_tracked || directory.find_subdir(name).is_some() {
            self.add_entry(files, path);
            return;
        }
        let (_, part) = self.add(files, above(path), false);
        part.files.extend(places);
    }

    /// Takes in the folder at `path` with all below, and the entry that it is.
    pub(super) fn add_tree(&mut self, files: &Tracked, path: &BStr) {
        match path.is_empty() {
            true => self.add_whole(ROOT),
            false => self.add_entry(files, path),
        }
    }

    /// Takes in what is in the folder at `path` beside its tracked files, or that it is no more.
    pub(super) fn add_folder(&mut self, files: &Tracked, path: &BStr) {
        self.add(files, path, true);
    }

    /// Takes in the directory at `path` with its own files, and what is beside them.
    pub(super) fn add_files_of(&mut self, files: &Tracked, path: &BStr) {
        let (dir, part) = self.add(files, path, true);
        part.files.extend(0..files.directory(dir).files_len());
    }

    fn add_whole(&mut self, number: DirNumber) {
        self.dirs.entry(number).or_default();
        self.whole.insert(number);
    }

    /// To be called once all is taken in.
    pub(super) fn finish(&mut self) {
        for part in self.dirs.values_mut() {
            part.files.sort_unstable();
            part.files.dedup();
        }
    }

    /// Whether nothing is to be looked at.
    pub(super) fn is_empty(&self) -> bool {
        self.dirs.is_empty()
    }

    /// Whether all of the directory `number`, and below, is to be looked at.
    pub(super) fn has_whole(&self, number: DirNumber) -> bool {
        self.whole.contains(&number)
    }

    /// Whether what is beside the tracked files is looked at in the innermost tracked directory that holds `path`, or that is
    /// there itself.
    pub(super) fn has_others_of(&self, files: &Tracked, path: &BStr) -> bool {
        let path = path.strip_suffix(b"/").unwrap_or(path);
        let way = self.way(files, path.as_bstr());
        way.is_whole || self.has_others(way.dir)
    }

    /// Whether the tracked file at `path` is to be looked at.
    pub(super) fn has_entry(&self, files: &Tracked, path: &BStr) -> bool {
        let way = self.way(files, above(path));
        let name = vigil_model::path::file_name(path);
        let at = files.directory(way.dir).position(name);
        way.is_whole || !way.is_tracked || self.files(way.dir).binary_search(&at).is_ok()
    }

    /// The way to the folder `path`, as far as directories are tracked.
    fn way(&self, files: &Tracked, path: &BStr) -> Way {
        let mut way = Way {
            dir: ROOT,
            is_tracked: true,
            is_whole: self.has_whole(ROOT),
        };
        for name in path.split_str("/").filter(|name| !name.is_empty()) {
            match files.directory(way.dir).find_subdir(name) {
                Some(sub) => way.dir = sub.number,
                None => {
                    way.is_tracked = false;
                    break;
                }
            }
            way.is_whole |= self.has_whole(way.dir);
        }
        way
    }

    /// Takes in the innermost tracked directory that holds `path`, with what is beside its tracked files if `has_others`, and
    /// returns it and what of it is in.
    fn add(&mut self, files: &Tracked, path: &BStr, has_others: bool) -> (DirNumber, &mut Part) {
        let mut dir = ROOT;
        self.dirs.entry(dir).or_default().has_others |= has_others;
        for name in path.split_str("/") {
            match files.directory(dir).find_subdir(name) {
                Some(sub) => dir = sub.number,
                None => break,
            }
            self.dirs.entry(dir).or_default().has_others |= has_others;
        }
        (dir, self.dirs.entry(dir).or_default())
    }

    /// Whether the directory `number` is in.
    pub(super) fn has(&self, number: DirNumber) -> bool {
        self.dirs.contains_key(&number)
    }

    /// Whether what is beside the tracked files of the directory `number` is to be looked at, there or further down.
    pub(super) fn has_others(&self, number: DirNumber) -> bool {
        self.dirs.get(&number).is_some_and(|part| part.has_others)
    }

    /// The places of the files directly in the directory `number` to look at, in order.
    pub(super) fn files(&self, number: DirNumber) -> &[usize] {
        let part = self.dirs.get(&number);
        part.map(|part| part.files.as_slice()).unwrap_or_default()
    }
}

/// How a path goes down the tracked directories.
struct Way {
    /// The last of them.
    dir: DirNumber,
    /// Whether that is the end of the path.
    is_tracked: bool,
    /// Whether one of them is in with all below.
    is_whole: bool,
}

/// The places of the records called `name`.
fn places_of(directory: &Directory<'_>, name: &BStr) -> Vec<usize> {
    let sides = directory.files_from(directory.position(name));
    let places = sides.take_while(|(_, file)| file.name() == name);
    places.map(|(place, _)| place).collect()
}

/// The folder in which `path` is, without a slash at its end.
fn above(path: &BStr) -> &BStr {
    let len = vigil_model::path::directory_len(path).saturating_sub(1);
    path.get(..len).unwrap_or_default().into()
}
