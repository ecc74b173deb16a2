//! A part of the working tree, for a scan that need not look at all of it.

use std::collections::{BTreeMap, BTreeSet};

use bstr::{BStr, BString, ByteSlice};
use vigil_model::path::{directory_len, has_impossible_component};
use vigil_model::tracked::{DirNumber, Directory, ROOT, Tracked};

/// The directories to look at, and what to look at in each. Their parents are included: ignore rules come from there.
#[derive(Debug, Default)]
pub struct Focus {
    dirs: BTreeMap<DirNumber, DirFocus>,
    /// Directories that are included with everything below.
    whole: BTreeSet<DirNumber>,
}

/// What to look at in one directory.
#[derive(Debug, Default)]
struct DirFocus {
    /// The positions of files.
    files: Vec<usize>,
    /// Whether to look for what is not tracked, too, here or further down.
    wants_non_tracked: bool,
}

impl Focus {
    /// Creates the focus on the tracked files `tracked`, and on the directories that hold the paths `untracked`. Paths in
    /// `tracked` that are not tracked (any more) add only their directory.
    pub fn new(files: &Tracked, tracked: &[BString], untracked: &[BString]) -> Self {
        let mut builder = FocusBuilder::new(files);
        for path in tracked {
            builder.add_tracked_file(path.as_bstr());
        }
        for path in untracked {
            builder.add_folder(path.as_bstr());
        }
        builder.finish()
    }

    fn add_whole(&mut self, number: DirNumber) {
        self.dirs.entry(number).or_default();
        self.whole.insert(number);
    }

    /// Whether there is nothing to look at.
    pub(super) fn is_empty(&self) -> bool {
        self.dirs.is_empty()
    }

    /// About how many directories and tracked files there are to look at.
    pub(super) fn size(&self, files: &Tracked) -> usize {
        let lens = self.dirs.values().map(|dir_focus| dir_focus.files.len());
        let whole = self.whole.iter();
        let whole = whole.map(|number| files.directory(*number).sums().entries as usize);
        lens.chain(whole)
            .fold(self.dirs.len(), usize::saturating_add)
    }

    /// Whether the whole directory `number`, with everything below, is included.
    pub(super) fn has_whole(&self, number: DirNumber) -> bool {
        self.whole.contains(&number)
    }

    /// Tells of paths, best in order, whether untracked files are looked for in the innermost tracked directory that holds the
    /// path, or that is at the path itself.
    pub(super) fn wants_non_tracked_of(&self, files: &Tracked) -> impl FnMut(&BStr) -> bool {
        let mut prefix_of = self.tracked_prefixes(files);
        move |path| {
            let path = path.strip_suffix(b"/").unwrap_or(path);
            let (above, name) = path.rsplit_once_str("/").unwrap_or((b"", path));
            let (prefix, is_whole) = prefix_of(above.as_bstr());
            let sub = match prefix.is_tracked {
                true => files.subdir_called(prefix.dir, name.as_bstr()),
                false => None,
            };
            let dir = sub.map_or(prefix.dir, |sub| sub.number);
            is_whole || self.has_whole(dir) || self.wants_non_tracked(dir)
        }
    }

    /// Tells of the paths of tracked files, best in order, whether the file is included.
    pub(super) fn has_entries_of<'t>(&self, files: &'t Tracked) -> impl FnMut(&BStr) -> bool {
        let mut prefix_of = self.tracked_prefixes(files);
        let mut directories = LastDirectory::new(files);
        move |path| {
            let (prefix, is_whole) = prefix_of(above(path));
            is_whole || !prefix.is_tracked || {
                let at = directories.open(prefix.dir).position(name_of(path));
                self.files(prefix.dir).binary_search(&at).is_ok()
            }
        }
    }

    /// Tells of folders, best in order, how far they are tracked, and whether a directory on the way is included with everything
    /// below. Many files are often in one folder.
    fn tracked_prefixes(&self, files: &Tracked) -> impl FnMut(&BStr) -> (TrackedPrefix, bool) {
        let mut last: Option<(BString, (TrackedPrefix, bool))> = None;
        move |folder| {
            let same = last.take().filter(|(known, _)| known == folder);
            let of_folder = || {
                let mut is_whole = false;
                let prefix =
                    TrackedPrefix::of(files, folder, |dir| is_whole |= self.has_whole(dir));
                (folder.to_owned(), (prefix, is_whole))
            };
            last.insert(same.unwrap_or_else(of_folder)).1
        }
    }

    /// Whether the directory `number` is included.
    pub(super) fn has(&self, number: DirNumber) -> bool {
        self.dirs.contains_key(&number)
    }

    /// Whether to look for what is not tracked in the directory `number`, there or further down.
    pub(super) fn wants_non_tracked(&self, number: DirNumber) -> bool {
        self.dirs
            .get(&number)
            .is_some_and(|dir_focus| dir_focus.wants_non_tracked)
    }

    /// The positions of the files directly in the directory `number` to look at, in order.
    pub(super) fn files(&self, number: DirNumber) -> &[usize] {
        let dir_focus = self.dirs.get(&number);
        dir_focus
            .map(|dir_focus| dir_focus.files.as_slice())
            .unwrap_or_default()
    }
}

/// A focus on tracked files as they are added, best in the order of their paths.
pub(super) struct FocusBuilder<'t> {
    files: &'t Tracked,
    directories: LastDirectory<'t>,
    /// The folder that was added last, whether what is not tracked is wanted there, and how far it is tracked.
    last_folder: Option<(BString, bool, TrackedPrefix)>,
    focus: Focus,
}

impl<'t> FocusBuilder<'t> {
    /// Begins with nothing to look at among `files`.
    pub(super) fn new(files: &'t Tracked) -> Self {
        Self {
            files,
            directories: LastDirectory::new(files),
            last_folder: None,
            focus: Focus::default(),
        }
    }

    /// Adds the tracked directories on the way to `folder`; if `wants_non_tracked`, including what is not tracked.
    fn add(&mut self, folder: &BStr, wants_non_tracked: bool) -> TrackedPrefix {
        if let Some((known, is_wanted, prefix)) = &self.last_folder
            && known == folder
            && (*is_wanted || !wants_non_tracked)
        {
            return *prefix;
        }
        let dirs = &mut self.focus.dirs;
        let prefix = TrackedPrefix::of(self.files, folder, |dir| {
            dirs.entry(dir).or_default().wants_non_tracked |= wants_non_tracked;
        });
        self.last_folder = Some((folder.to_owned(), wants_non_tracked, prefix));
        prefix
    }

    /// What to look at in the directory `dir`.
    fn in_directory(&mut self, dir: DirNumber) -> &mut DirFocus {
        self.focus.dirs.entry(dir).or_default()
    }

    /// Adds the tracked file at `path`, if there is one, and whatever else is in its directory.
    fn add_tracked_file(&mut self, path: &BStr) {
        let dir = self.add(path, true).dir;
        let name = name_of(path);
        let directory = self.directories.open(dir);
        let at = directory.position(name);
        if directory.file(at).is_some_and(|file| file.name() == name) {
            self.in_directory(dir).files.push(at);
        }
    }

    /// Adds whatever may be at `path`: a tracked file, with all its sides, or anything else.
    pub(super) fn add_entry(&mut self, path: &BStr) {
        let dir = self.add(above(path), true).dir;
        let name = name_of(path);
        let directory = self.directories.open(dir);
        let places = places_of(directory, name);
        if let Some(sub) = directory.find_subdir(name) {
            self.focus.add_whole(sub.number);
        }
        self.in_directory(dir).files.extend(places);
    }

    /// Like [`Self::add_entry`], if there neither was nor is a folder at `path`: for a tracked file, nothing else in its
    /// directory has to be looked at.
    pub(super) fn add_file(&mut self, path: &BStr) {
        let prefix = self.add(above(path), false);
        let directory = self.directories.open(prefix.dir);
        let name = name_of(path);
        let places = places_of(directory, name);
        let is_plain = |place: &usize| {
            let file = directory.file(*place);
            file.is_some_and(|file| !file.is_nested() && !has_impossible_component(file.name()))
        };
        let is_tracked = prefix.is_tracked && !places.is_empty() && places.iter().all(is_plain);
        if !is_tracked || directory.find_subdir(name).is_some() {
            self.add_entry(path);
            return;
        }
        self.in_directory(prefix.dir).files.extend(places);
    }

    /// Adds the folder at `path` with everything below, and its own entry in the directory above.
    pub(super) fn add_tree(&mut self, path: &BStr) {
        match path.is_empty() {
            true => self.focus.add_whole(ROOT),
            false => self.add_entry(path),
        }
    }

    /// Adds what the folder at `path` holds besides its tracked files, or the fact that it is gone.
    pub(super) fn add_folder(&mut self, path: &BStr) {
        self.add(path, true);
    }

    /// Adds what the directory at `path`, and all below it, hold besides tracked files.
    pub(super) fn add_non_tracked_below(&mut self, path: &BStr) {
        let prefix = self.add(path, true);
        let mut pending = match prefix.is_tracked {
            true => vec![prefix.dir],
            false => Vec::new(),
        };
        while let Some(dir) = pending.pop() {
            self.in_directory(dir).wants_non_tracked = true;
            pending.extend(self.files.directory(dir).subdirs().map(|sub| sub.number));
        }
    }

    /// Adds the files directly in the directory at `path`, and whatever else is in it.
    pub(super) fn add_files_of(&mut self, path: &BStr) {
        let dir = self.add(path, true).dir;
        let files_len = self.directories.open(dir).files_len();
        self.in_directory(dir).files.extend(0..files_len);
    }

    /// The focus on all that was added.
    pub(super) fn finish(mut self) -> Focus {
        for dir_focus in self.focus.dirs.values_mut() {
            dir_focus.files.sort_unstable();
            dir_focus.files.dedup();
        }
        self.focus
    }
}

/// The directory that was opened last. Opening one takes as long as it has files, and paths next to each other are often in the
/// same one.
struct LastDirectory<'t> {
    files: &'t Tracked,
    number: DirNumber,
    directory: Directory<'t>,
}

impl<'t> LastDirectory<'t> {
    fn new(files: &'t Tracked) -> Self {
        Self {
            files,
            number: ROOT,
            directory: files.directory(ROOT),
        }
    }

    fn open(&mut self, number: DirNumber) -> &Directory<'t> {
        if self.number != number {
            self.number = number;
            self.directory = self.files.directory(number);
        }
        &self.directory
    }
}

/// How far the path of a folder goes down the tracked directories.
#[derive(Clone, Copy)]
struct TrackedPrefix {
    /// The last tracked directory on the path.
    dir: DirNumber,
    /// Whether the path ends there.
    is_tracked: bool,
}

impl TrackedPrefix {
    /// Follows the path of `folder`, and calls `visit` with each directory of `files` on it, the top first.
    fn of(files: &Tracked, folder: &BStr, mut visit: impl FnMut(DirNumber)) -> Self {
        let mut dir = ROOT;
        visit(dir);
        let mut names = folder.split_str("/").filter(|name| !name.is_empty());
        let is_tracked = names.all(|name| {
            let sub = files.subdir_called(dir, name.as_bstr());
            if let Some(sub) = &sub {
                dir = sub.number;
                visit(dir);
            }
            sub.is_some()
        });
        Self { dir, is_tracked }
    }
}

/// Returns the positions of the entries called `name`.
fn places_of(directory: &Directory<'_>, name: &BStr) -> Vec<usize> {
    let sides = directory.files_from(directory.position(name));
    let places = sides.take_while(|(_, file)| file.name() == name);
    places.map(|(place, _)| place).collect()
}

/// Returns the folder that holds `path`, without a trailing slash.
fn above(path: &BStr) -> &BStr {
    let len = directory_len(path).saturating_sub(1);
    path.get(..len).unwrap_or_default().into()
}

/// Returns the name of the file at `path` in that folder.
fn name_of(path: &BStr) -> &BStr {
    path.get(directory_len(path)..).unwrap_or_default().into()
}
