//! Directories with recorded files that are other repositories.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use bstr::{BStr, BString, ByteSlice};
use vigil_hg::verdict::Verdict;
use vigil_linux::stat::{lstat_path, stat_path};
use vigil_model::path::{PATH_LEN_MAX, directories_above, parent};
use vigil_model::path_set::PathSet;

use super::builder::{RecordedFile, StatusBuilder};

/// The directories of a working copy that are other repositories.
#[derive(Default)]
pub(super) struct OtherRepositories {
    /// Those that Mercurial's walk does not enter.
    pub(super) nested: PathSet<BString>,
    /// Those that only a link called `.hg` makes repositories. The walk enters them, but no file is read there.
    linked: PathSet<BString>,
}

/// What makes a directory a repository.
#[derive(PartialEq, Eq)]
enum MadeBy {
    Directory,
    Link,
}

impl OtherRepositories {
    /// Returns those that the scan found, and those among the directories that it found `ignored`, and so did not list.
    pub(super) fn of(builder: &StatusBuilder<'_>, ignored: Vec<BString>) -> Self {
        let mut nested = builder.system.nested_repositories();
        let mut linked = builder.system.linked_repositories();
        linked.retain(|path| made_by(builder, path) == Some(MadeBy::Link));
        let linked_above = PathSet::new(linked.clone());
        let is_entered = builder.walk.enters_ignored();
        for directory in ignored_directories(builder, ignored) {
            match made_by(builder, &directory) {
                Some(MadeBy::Link) if is_entered => linked.push(directory),
                Some(_) => nested.push(directory),
                // Files that the walk does not come to are missing if they could not be read.
                None if !is_entered && linked_above.has_above(&directory) => nested.push(directory),
                None => {}
            }
        }
        Self {
            nested: PathSet::new(nested),
            linked: PathSet::new(linked),
        }
    }

    /// Fails if a file in a linked repository would have to be read.
    pub(super) fn refuse_to_read(&self, builder: &StatusBuilder<'_>) {
        let dirstate = builder.dirstate;
        for directory in self.linked.as_slice() {
            for (path, _) in dirstate.below(directory.as_bstr()) {
                let number = dirstate.position(path);
                let file = number.and_then(|number| RecordedFile::numbered(dirstate, number));
                let seen = builder.look_at(path).ok().filter(|seen| seen.is_file());
                let (Some(file), Some(seen)) = (file, seen) else {
                    continue;
                };
                if builder.matcher.is_match(path)
                    && !self.nested.has_above(path)
                    && !is_behind_link(builder, path)
                    && file.verdict(Some(&seen), builder.now) == Verdict::Unsure
                {
                    builder.system.refuse_to_read(path, &seen);
                }
            }
        }
    }
}

/// Returns the directories that were found to be `ignored`, and those below with recorded files.
fn ignored_directories(builder: &StatusBuilder<'_>, ignored: Vec<BString>) -> Vec<BString> {
    if let Some(known) = &builder.system.inputs.ignored_directories {
        return known.to_vec();
    }
    let mut all = Vec::new();
    for directory in ignored {
        let mut previous = BStr::new("");
        for (path, _) in builder.dirstate.below(directory.as_bstr()) {
            let above = parent(path);
            if above == previous {
                continue;
            }
            previous = above;
            let ends = above.find_iter("/").chain([above.len()]);
            // A longer path has no directory, and a short dirstate may have many long ones.
            let ends = ends.filter(|end| (directory.len()..=PATH_LEN_MAX).contains(end));
            all.extend(ends.filter_map(|end| above.get(..end).map(BString::from)));
        }
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// What makes the directory at `path` a repository; `None` if it is none.
fn made_by(builder: &StatusBuilder<'_>, path: &BString) -> Option<MadeBy> {
    let folder = builder.system.inputs.top.join(OsStr::from_bytes(path));
    let folder = folder.join(".hg");
    let seen = lstat_path(&folder).ok()?;
    match seen.is_symlink() {
        true => stat_path(&folder)
            .is_ok_and(|stat| stat.is_dir())
            .then_some(MadeBy::Link),
        false => seen.is_dir().then_some(MadeBy::Directory),
    }
}

/// Whether a directory above `path` is a link.
fn is_behind_link(builder: &StatusBuilder<'_>, path: &BStr) -> bool {
    directories_above(path).any(|above| {
        let seen = builder.look_at(above);
        seen.is_ok_and(|seen| seen.is_symlink())
    })
}
