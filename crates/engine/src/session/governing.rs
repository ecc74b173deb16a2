//! Files that affect more than themselves when they change: what is ignored below, and how contents are compared.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bstr::{BStr, BString, ByteSlice};
use vigil_linux::stat::lstat_path;
use vigil_model::path::{directory_len, join};
use vigil_model::tracked::{DirNumber, Tracked, TreeDiff};
use vigil_watch::Changes;

use crate::git_ignore_files::FILE_NAME;

/// The names of these files.
const GOVERNING: [&[u8]; 2] = [FILE_NAME, b".gitattributes"];

/// Returns the files that govern the verdict on `path`.
pub(super) fn governing_files(path: &BStr) -> impl Iterator<Item = BString> {
    let folders = path.find_iter(b"/").map(|end| end.saturating_add(1));
    [0].into_iter().chain(folders).flat_map(|len| {
        let folder = path.get(..len).unwrap_or_default();
        GOVERNING.map(|name| BString::from([folder, name].concat()))
    })
}

/// Returns the governing files at `top` that have several hard links. A new link elsewhere causes no event.
pub(super) fn linked_at(top: &Path) -> impl Iterator<Item = BString> {
    let is_linked = |name: &&[u8]| {
        let stat = lstat_path(&top.join(OsStr::from_bytes(name)));
        stat.is_ok_and(|stat| stat.is_file() && stat.nlink > 1)
    };
    GOVERNING.into_iter().filter(is_linked).map(BString::from)
}

/// What to look at because of changes.
pub(super) struct ToLookAt {
    pub(super) paths: BTreeSet<BString>,
    /// Folders to look at with everything below.
    pub(super) folders: BTreeSet<BString>,
    /// Directories of tracked files whose ignore rules changed: what is not tracked there and below is to be looked for.
    pub(super) ruled: BTreeSet<BString>,
}

impl ToLookAt {
    /// Returns what to look at after `changes`, or `None` if that is everything.
    pub(super) fn after(changes: Changes, tracked: &Tracked) -> Option<Self> {
        let (paths, mut folders) = (changes.paths, changes.folders);
        let mut governed = Vec::new();
        let mut ruled = BTreeSet::new();
        // A folder may have taken the place of a governing file, or given it up.
        for path in paths.iter().chain(&folders) {
            // It governs everything below its folder.
            let (folder, name) = path.split_at_checked(directory_len(path.as_ref()))?;
            let folder = BStr::new(folder.strip_suffix(b"/").unwrap_or(folder));
            if name == FILE_NAME && tracked.find_directory(folder).is_some() {
                ruled.insert(folder.to_owned());
            } else if GOVERNING.contains(&name) {
                governed.push(folder.to_owned());
            }
        }
        folders.extend(governed);
        let is_top = folders.first().is_some_and(|folder| folder.is_empty());
        (!is_top).then_some(Self {
            paths,
            folders,
            ruled,
        })
    }
}

/// Returns the folders whose governing files differ between the index `before` and `now`, and count there because they are not
/// checked out below `top`.
pub(super) fn governed_otherwise(
    top: Option<&Path>,
    before: &Tracked,
    now: &Tracked,
    tree_diff: &TreeDiff,
) -> Vec<BString> {
    // All sides: of a file in conflict, ours counts.
    let entries = |tracked: &Tracked, number: DirNumber, name: &[u8]| -> Vec<_> {
        if number >= tracked.directory_number_end() {
            return Vec::new();
        }
        let directory = tracked.directory(number);
        let sides = directory.files_from(directory.position(name));
        let sides = sides.map(|(_, file)| file);
        let sides = sides.take_while(|file| file.name() == name);
        sides
            .map(|file| (file.id(), file.mode(), file.flags()))
            .collect()
    };
    let is_other = |number: &DirNumber| {
        let mut names = GOVERNING.iter();
        names.any(|name| entries(before, *number, name) != entries(now, *number, name))
    };
    // Governing files in folders that are gone do not matter, nor do those where no folder can be.
    let present = tree_diff.directories.iter();
    let present = present.filter_map(|(number, path)| Some((number, path.as_ref()?)));
    let others = present.filter(|(number, _)| is_other(number));
    let is_checked_out = |path: BString| {
        let on_disk = top.map(|top| top.join(path.to_path_lossy()));
        on_disk.is_some_and(|path| lstat_path(&path).is_ok_and(|stat| stat.is_file()))
    };
    let counts = |number: DirNumber, path: &BStr| {
        GOVERNING.iter().any(|name| {
            let (old, new) = (entries(before, number, name), entries(now, number, name));
            let mut recorded = old.iter().chain(&new);
            let is_left_out = recorded.any(|(_, _, flags)| flags.is_skip_worktree());
            old != new && (is_left_out || !is_checked_out(join(path, BStr::new(name))))
        })
    };
    let counting = others.filter(|(number, path)| counts(**number, path.as_bstr()));
    counting.map(|(_, path)| path.clone()).collect()
}
