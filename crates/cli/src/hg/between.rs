//! Compares changesets with each other, or with the working copy.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use bstr::{BStr, BString, ByteSlice};
use vigil_engine::hg_status::kinds::Lists;
use vigil_hg::abort::Abort;
use vigil_hg::line_endings::LineEndings;
use vigil_hg::node::Node;
use vigil_hg::patterns::Matcher;
use vigil_hg::stored::{Flag, Manifest, Store};
use vigil_hg::working_file;
use vigil_linux::stat::lstat_path;
use vigil_stamp::paths::path_of;

/// For files of at least this many bytes, stored lengths are looked up first: they may show that nothing need be read.
const LONG_LEN: u64 = 1 << 20;

/// The working copy.
pub(super) struct Working<'w> {
    pub(super) root: &'w Path,
    pub(super) store: &'w Store,
    /// How it differs from its first parent.
    pub(super) lists: &'w Lists,
    /// How its files are converted before they are compared.
    pub(super) line_endings: Option<&'w LineEndings>,
}

/// The two sides of a comparison.
pub(super) struct Sides<'s> {
    /// The files of the side that comes first, or if that is the working copy, of its first parent.
    pub(super) base: &'s Manifest,
    pub(super) base_is_working_copy: bool,
    /// The files of the second side, likewise.
    pub(super) other: &'s Manifest,
    pub(super) other_is_working_copy: bool,
    pub(super) working: &'s Working<'s>,
    /// Which files are asked for.
    pub(super) matcher: &'s Matcher,
    /// Whether files that are the same on both sides are asked for.
    pub(super) clean: bool,
}

/// What a file contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    /// A stored version.
    Version(Node),
    /// The contents in the working copy, which differ from the first parent.
    Modified,
    /// The contents in the working copy, of a file that the first parent does not have.
    Added,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct File {
    held: Held,
    flag: Flag,
}

/// The files of one side, in the order of their paths.
struct Files<'f>(Vec<(&'f BStr, File)>);

/// Compares the sides. The kinds that only a working copy has are taken from its status.
pub(super) fn compare(sides: &Sides<'_>) -> Result<Lists, Abort> {
    let working = sides.working;
    let is_match = |path: &BStr| sides.matcher.is_match(path);
    let has_directories = sides.base.has_directories() || sides.other.has_directories();
    if has_directories && sides.clean && !sides.matcher.is_everything() {
        // Which directories Mercurial skips then depends on how it splits the patterns.
        let said = "clean files by patterns between changesets with manifests of directories";
        return Err(Abort::unsupported(said));
    }
    let has_working_copy = sides.base_is_working_copy || sides.other_is_working_copy;
    let touched = match has_directories && has_working_copy {
        true => working.touched_directories(),
        false => BTreeSet::new(),
    };
    let is_passed_over = |path: &BStr| {
        directories_of(path).any(|directory| {
            let node = |manifest: &Manifest| manifest.directory(directory);
            let has_same = node(sides.base).is_some() && node(sides.base) == node(sides.other);
            has_same && !touched.contains(directory)
        })
    };
    let files = |manifest, is_working_copy| match is_working_copy {
        true => working.files(manifest),
        false => files_of(manifest),
    };
    let base = files(sides.base, sides.base_is_working_copy);
    let other = files(sides.other, sides.other_is_working_copy);
    let in_working_copy = working.lists;
    let deleted: BTreeSet<&BStr> = in_working_copy.deleted.iter().map(AsRef::as_ref).collect();
    let is_deleted = |path: &BStr| deleted.contains(path);
    let mut lists = Lists::default();
    let Lists {
        modified,
        added,
        removed,
        deleted: gone,
        unknown,
        ignored,
        clean,
    } = &mut lists;
    for (path, before, after) in base.beside(&other) {
        if after == before && !sides.clean || !is_match(path) || is_deleted(path) {
            continue;
        }
        let list = match (before, after) {
            (_, None) => &mut *removed,
            (None, Some(_)) => &mut *added,
            (Some(before), Some(after)) if after == before && is_passed_over(path) => continue,
            (Some(before), Some(after)) if after == before => &mut *clean,
            (Some(before), Some(after)) if after.flag != before.flag => &mut *modified,
            (Some(before), Some(after)) => match (after.held, before.held) {
                (Held::Modified | Held::Added, Held::Version(node)) => {
                    match working.is_same(path, &node)? {
                        true if !sides.clean => continue,
                        true => &mut *clean,
                        false => &mut *modified,
                    }
                }
                _ => &mut *modified,
            },
        };
        list.push(path.to_owned());
    }
    let is_of_base = |path: &&BString| base.get(AsRef::<BStr>::as_ref(*path)).is_some();
    let others = |paths: &[BString]| -> Vec<BString> {
        let paths = paths.iter();
        match removed.is_empty() {
            true => paths.cloned().collect(),
            // Files of the base are already listed as removed.
            false => paths.filter(|path| !is_of_base(path)).cloned().collect(),
        }
    };
    *unknown = others(&in_working_copy.unknown);
    *ignored = others(&in_working_copy.ignored);
    gone.clone_from(&in_working_copy.deleted);
    Ok(lists)
}

/// Returns the directories above a file, from the top on; all but the top end with a slash. Mercurial skips a directory if both
/// sides have the same manifest for it, and then does not even list the clean files in it.
fn directories_of(path: &BStr) -> impl Iterator<Item = &BStr> {
    let ends = path.find_iter(b"/").map(|slash| slash.saturating_add(1));
    let below = ends.filter_map(|end| path.get(..end));
    std::iter::once(&b""[..]).chain(below).map(BStr::new)
}

fn files_of(manifest: &Manifest) -> Files<'_> {
    let file = |node, flag| File {
        held: Held::Version(node),
        flag,
    };
    let files = manifest.iter();
    Files(
        files
            .map(|(path, entry)| (path, file(entry.node, entry.flag)))
            .collect(),
    )
}

impl<'f> Files<'f> {
    fn get(&self, path: &BStr) -> Option<File> {
        let at = self.0.binary_search_by(|(known, _)| (*known).cmp(path));
        at.ok().and_then(|at| self.0.get(at)).map(|(_, file)| *file)
    }

    /// Iterates over the paths of both sides in order, with the file that each side has there.
    fn beside<'s>(
        &'s self,
        other: &'s Self,
    ) -> impl Iterator<Item = (&'f BStr, Option<File>, Option<File>)> {
        let (mut own, mut others) = (self.0.iter().peekable(), other.0.iter().peekable());
        std::iter::from_fn(move || {
            let next = match (own.peek(), others.peek()) {
                (Some((own, _)), Some((other, _))) => own.min(other),
                (Some((path, _)), None) | (None, Some((path, _))) => path,
                (None, None) => return None,
            };
            let next: &'f BStr = next;
            let is_there = |(path, _): &&(&BStr, File)| *path == next;
            let (before, after) = (own.next_if(is_there), others.next_if(is_there));
            let file = |found: Option<&(&BStr, File)>| found.map(|(_, file)| *file);
            Some((next, file(before), file(after)))
        })
    }
}

impl<'w> Working<'w> {
    /// Returns the files of the working copy, whose first parent has the files of `parent`.
    fn files<'f>(&'f self, parent: &'f Manifest) -> Files<'f> {
        let Files(known) = files_of(parent);
        let mut files: BTreeMap<&BStr, File> = known.into_iter().collect();
        let lists = self.lists;
        let added = lists.added.iter().map(|path| (path, Held::Added));
        let modified = lists.modified.iter().map(|path| (path, Held::Modified));
        for (path, held) in added.chain(modified) {
            let path: &BStr = path.as_ref();
            let known = files.get(path).map(|file| file.flag).unwrap_or_default();
            let seen = lstat_path(&self.root.join(path_of(path)));
            let flag = seen.map_or(known, |seen| Flag::of_mode(seen.mode));
            files.insert(path, File { held, flag });
        }
        for path in lists.deleted.iter().chain(&lists.removed) {
            let path: &BStr = path.as_ref();
            files.remove(path);
        }
        Files(files.into_iter().collect())
    }

    /// Returns the directories in which something differs from the first parent.
    fn touched_directories(&self) -> BTreeSet<&BStr> {
        let lists = self.lists;
        let lists = [
            &lists.added,
            &lists.modified,
            &lists.deleted,
            &lists.removed,
        ];
        let files = lists.into_iter().flatten();
        files
            .flat_map(|path| directories_of(path.as_ref()))
            .collect()
    }

    /// Whether the file on disk has the contents of this version.
    fn is_same(&self, path: &BStr, version: &Node) -> Result<bool, Abort> {
        let there = self.root.join(path_of(path));
        let len = lstat_path(&there).map_or(0, |seen| seen.size);
        if self.line_endings.is_none()
            && len >= LONG_LEN
            && self.store.is_shorter_than(path, version, len)
        {
            return Ok(false);
        }
        let contents = working_file::read(&there, u64::MAX);
        let contents = match contents {
            // Mercurial reads a file only if its length may be right.
            Err(_)
                if self.line_endings.is_none() && self.store.has_other_len(path, version, len) =>
            {
                return Ok(false);
            }
            contents => contents.map_err(|error| Abort::io(&there, &error))?,
        };
        let contents = match self.line_endings {
            Some(line_endings) => line_endings.committed(path, contents),
            None => contents,
        };
        self.store.has_contents(path, version, &contents)
    }
}
