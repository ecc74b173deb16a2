//! The directories that are one entry of a sparse index: which of them the working tree has, and which are expanded to their
//! files.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::path::Path;

use bstr::{BStr, BString, ByteSlice};
use vigil_git::objects::Objects;
use vigil_git::staged;
use vigil_linux::Errno;
use vigil_linux::stat::lstat_path;
use vigil_model::index::{Entry, Index};
use vigil_model::tracked::Tracked;

use super::error::SessionError;

/// An index that was written as a sparse one.
#[derive(Default)]
pub(super) struct WrittenSparse {
    /// Whether a directory that is one entry exists in the working tree: git then works with all entries.
    pub(super) has_present_directory: bool,
    /// Whether all directories that still are one entry were absent when that was last checked.
    pub(super) are_absent: bool,
    /// Directories that are one entry on disk but expanded to their files in memory, with a trailing `/`.
    pub(super) expanded: Vec<BString>,
}

/// Expands the sparse directories of `index` that git expands, because they are present in the working tree or because it
/// needs all entries.
pub(super) fn expand(
    index: Index,
    top: &Path,
    ignore_case: bool,
    objects: &Objects,
) -> Result<(Index, WrittenSparse), SessionError> {
    let mut has_present_directory = false;
    let mut are_absent = true;
    let mut expanded = Vec::new();
    let crowded = crowded(&index);
    // git then works with all entries, and if it ignores case, a name may match an entry of any directory.
    let is_there = |entry: &Entry| {
        entry.is_sparse_directory() && presence(top, index.path(entry)) == Presence::Present
    };
    let needs_all = ignore_case && index.entries().iter().any(is_there);
    let index = staged::expand_sparse_directories(index, objects, |path| {
        let presence = presence(top, path);
        let is_present = presence == Presence::Present;
        has_present_directory |= is_present;
        are_absent &= presence != Presence::Unknown;
        let is_expanded = is_present || needs_all || crowded.iter().any(|other| other == path);
        expanded.extend(is_expanded.then(|| path.to_owned()));
        is_expanded
    })?;
    let written_sparse = WrittenSparse {
        has_present_directory,
        are_absent,
        expanded,
    };
    Ok((index, written_sparse))
}

/// Whether a directory is in the working tree.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    Absent,
    /// It was not found, for a reason that does not mean that it is absent.
    Unknown,
    Present,
}

/// Looks for the directory `path`, with a trailing `/`, in the working tree at `top`.
fn presence(top: &Path, path: &BStr) -> Presence {
    let looked = path.to_path().map(|path| lstat_path(&top.join(path)));
    match looked {
        Ok(Ok(_)) => Presence::Present,
        Ok(Err(Errno::NOENT | Errno::NOTDIR)) => Presence::Absent,
        _ => Presence::Unknown,
    }
}

/// Looks for the directories that are one entry of a sparse index: `Absent` if all are, `Present` if any is.
pub(super) fn presence_of_any(tracked: &Tracked, top: Option<&Path>) -> Presence {
    let Some(top) = top else {
        return Presence::Unknown;
    };
    let is_unknown = Cell::new(false);
    let is_present = any(tracked, |path| {
        let presence = presence(top, path);
        is_unknown.set(is_unknown.get() || presence == Presence::Unknown);
        presence == Presence::Present
    });
    match (is_present, is_unknown.get()) {
        (true, _) => Presence::Present,
        (false, true) => Presence::Unknown,
        (false, false) => Presence::Absent,
    }
}

/// Whether the index has entries of its own below any sparse directory, as [`crowded`] finds them.
pub(super) fn has_crowded(tracked: &Tracked) -> bool {
    any(tracked, |path| {
        let name = path.strip_suffix(b"/").unwrap_or(path).as_bstr();
        let number = tracked.find_directory(name);
        number.is_none_or(|number| tracked.directory(number).sums().entries > 1)
    })
}

/// Whether any directory that is one entry is `wanted`, by its path with a trailing `/`.
fn any(tracked: &Tracked, wanted: impl Fn(&BStr) -> bool) -> bool {
    let visited = tracked.visit(
        |sums| sums.sparse_directories > 0,
        |_, path, file| match file.mode().is_tree() && wanted(path) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        },
    );
    visited.is_break()
}

/// Returns the sparse directories below which the index has entries of their own, as a conflict leaves them.
fn crowded(index: &Index) -> Vec<BString> {
    let mut entries = index.entries().iter().peekable();
    let mut crowded = Vec::new();
    while let Some(entry) = entries.next() {
        let path: &BStr = index.path(entry);
        let is_below = |other: &&Entry| index.path(other).starts_with(path);
        if entry.is_sparse_directory() && entries.peek().is_some_and(is_below) {
            crowded.push(path.to_owned());
        }
    }
    crowded
}
