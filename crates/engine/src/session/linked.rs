//! Files with more than one hard link. A write through one of the links causes an event only where that link is. A tracked file
//! that is known to have several is therefore looked at for each question. This module is about files that get another link
//! later, and about files written through a descriptor whose name is gone: the event carries that name, and does not tell what
//! other name the file has.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use bstr::{BStr, BString};
use vigil_linux::Errno;
use vigil_linux::stat::lstat_path;
use vigil_model::path::parent;
use vigil_model::timestamp::Timestamp;
use vigil_stamp::Stamp;
use vigil_watch::Changes;

use super::looks::Looks;

/// The maximum number of files remembered. Beyond it, all are in doubt again.
const LINKED_MAX: usize = 100_000;

/// This many entries of changed folders are looked at in any case.
const ENTRIES_MIN: usize = 20_000;

/// The files with several links that are known: any tracked ones among them are looked at for each question.
#[derive(Debug, Default)]
pub(super) struct Linked {
    known: Links,
}

/// Files by device and inode, each with one of its paths.
type Links = HashMap<(u64, u64), PathBuf>;

impl Linked {
    /// Whether `changes` below `top` may be of files that are tracked by other links, which are not known yet. Everything must
    /// then be looked at. The inode does not tell which file is tracked: another file may have replaced it since. Paths in
    /// `below_folders` that are gone are skipped: what came in their place is searched with its folder.
    pub(super) fn has_unknown_links(
        &mut self,
        top: &Path,
        changes: &Changes,
        below_folders: &Changes,
    ) -> bool {
        let mut fresh = Links::new();
        let mut any_nameless = false;
        let mut looks = Looks::new(top);
        if !below_folders.gone.is_empty() {
            self.known.clear();
        }
        let not_gone = below_folders.paths.difference(&below_folders.gone);
        for path in changes.paths.iter().chain(not_gone) {
            match looks.lstat(path.as_ref()) {
                Ok(stat) if stat.is_file() && stat.nlink > 1 => {
                    let id = (stat.dev, stat.ino);
                    if !self.known.contains_key(&id) {
                        fresh.insert(id, below(top, path.as_ref()));
                    }
                }
                Err(Errno::NOENT) => {
                    // It may have been one of two links, and the other one may get another.
                    self.known.clear();
                    any_nameless = any_nameless || is_of_nameless(&mut looks, changes, path);
                }
                _ => {}
            }
        }
        self.remember(fresh) || any_nameless
    }

    /// The same for what came with one of the changed `folders`, which nobody watched when it was written. Call this once they
    /// are watched. If they have more entries than there are `tracked` files, returns true: looking at everything takes no
    /// longer.
    pub(super) fn has_unknown_links_in(
        &mut self,
        top: &Path,
        folders: &BTreeSet<BString>,
        tracked: usize,
    ) -> bool {
        let mut fresh = Links::new();
        let mut pending: Vec<PathBuf> = folders
            .iter()
            .map(|path| below(top, path.as_ref()))
            .collect();
        let mut entries_left = tracked.max(ENTRIES_MIN);
        while let Some(folder) = pending.pop() {
            let entries = match fs::read_dir(&folder) {
                Ok(entries) => entries,
                Err(error) => match error.kind() {
                    ErrorKind::NotFound | ErrorKind::NotADirectory => continue,
                    _ => return true,
                },
            };
            for entry in entries {
                let (Ok(entry), Some(left)) = (entry, entries_left.checked_sub(1)) else {
                    return true;
                };
                entries_left = left;
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => pending.push(entry.path()),
                    Ok(kind) if kind.is_file() => {
                        let facts = entry.metadata().ok().filter(|facts| facts.nlink() > 1);
                        let id = facts.map(|facts| (facts.dev(), facts.ino()));
                        let id = id.filter(|id| !self.known.contains_key(id));
                        fresh.extend(id.map(|id| (id, entry.path())));
                    }
                    _ => {}
                }
            }
        }
        self.remember(fresh)
    }

    /// Remembers the `fresh` files, and returns whether there are any.
    fn remember(&mut self, fresh: Links) -> bool {
        if self.known.len().saturating_add(fresh.len()) > LINKED_MAX {
            self.known.clear();
        }
        let is_any = !fresh.is_empty();
        self.known.extend(fresh);
        is_any
    }

    /// Forgets the files of which a look that began at `began_at` may have seen only one link: their other links may have gone
    /// where nobody watches. They were then not found to need a look for each question, and are in doubt when they get another
    /// link.
    pub(super) fn forget_former(&mut self, began_at: Timestamp) {
        self.known.retain(|id, path| {
            // A link that comes or goes changes the stamp.
            lstat_path(path).is_ok_and(|stat| {
                let is_still_linked = (stat.dev, stat.ino) == *id && stat.nlink > 1;
                is_still_linked && Stamp::trusted(&stat, began_at).is_some()
            })
        });
    }
}

/// Whether one of `changes` below `top` is of a file that was written by a name that it no longer has. Its other name may be
/// anywhere.
pub(super) fn has_nameless(top: &Path, changes: &Changes) -> bool {
    let mut paths = changes.paths.iter();
    let mut looks = Looks::new(top);
    paths.any(|path| {
        let stat = looks.lstat(path.as_ref());
        stat.is_err_and(|error| error == Errno::NOENT) && is_of_nameless(&mut looks, changes, path)
    })
}

/// Whether `path`, where nothing is, was written after it was removed, in a folder that still exists.
fn is_of_nameless(looks: &mut Looks<'_>, changes: &Changes, path: &BString) -> bool {
    let mut folder = || looks.lstat(parent(path.as_ref()));
    !changes.gone.contains(path) && folder().is_ok_and(|stat| stat.is_dir())
}

fn below(top: &Path, path: &BStr) -> PathBuf {
    top.join(OsStr::from_bytes(path))
}

#[cfg(test)]
mod tests {
    use vigil_testkit::clock::wait_for_tick;

    use super::*;

    #[test]
    fn a_changed_folder_is_gone_through_unless_all_that_is_tracked_is_less() {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir_all(top.path().join("many/below")).unwrap();
        for number in 0..=ENTRIES_MIN {
            fs::write(top.path().join(format!("many/below/{number}")), "").unwrap();
        }
        let folders = BTreeSet::from([BString::from("many"), BString::from("gone")]);
        let has_unknown_links = |linked: &mut Linked, tracked| {
            linked.has_unknown_links_in(top.path(), &folders, tracked)
        };
        let mut linked = Linked::default();
        assert!(has_unknown_links(&mut linked, ENTRIES_MIN));
        assert!(!has_unknown_links(&mut linked, 2 * ENTRIES_MIN));
        // A file with another link is still found, but only once.
        fs::hard_link(top.path().join("many/below/7"), top.path().join("other")).unwrap();
        assert!(has_unknown_links(&mut linked, 2 * ENTRIES_MIN));
        assert!(!has_unknown_links(&mut linked, 2 * ENTRIES_MIN));
    }

    #[test]
    fn only_a_file_that_was_written_without_a_name_has_everything_looked_at() {
        let top = tempfile::tempdir().unwrap();
        let nothing = Changes::default();
        let of = |path: &str| Changes {
            paths: BTreeSet::from([path.into()]),
            ..Changes::default()
        };
        let removed = Changes {
            gone: BTreeSet::from(["file".into()]),
            ..of("file")
        };
        for (changes, is_doubted) in [
            (removed, false),
            (of("removed-folder/file"), false),
            (of("file"), true),
        ] {
            let mut linked = Linked::default();
            let found = linked.has_unknown_links(top.path(), &changes, &nothing);
            assert_eq!(found, is_doubted, "{changes:?}");
            assert_eq!(has_nameless(top.path(), &changes), is_doubted);
        }
    }

    #[test]
    fn a_file_is_known_as_long_as_it_surely_keeps_its_links() {
        let top = tempfile::tempdir().unwrap();
        let (file, link) = (top.path().join("file"), top.path().join("link"));
        fs::write(&file, "").unwrap();
        fs::hard_link(&file, &link).unwrap();
        wait_for_tick();
        let changes = Changes {
            paths: BTreeSet::from(["file".into()]),
            ..Changes::default()
        };
        let nothing = Changes::default();
        let mut linked = Linked::default();
        let is_unknown =
            |linked: &mut Linked| linked.has_unknown_links(top.path(), &changes, &nothing);
        assert!(is_unknown(&mut linked));
        linked.forget_former(vigil_stamp::now());
        assert!(!is_unknown(&mut linked));
        fs::remove_file(&link).unwrap();
        linked.forget_former(vigil_stamp::now());
        fs::hard_link(&file, &link).unwrap();
        assert!(is_unknown(&mut linked));
    }
}
