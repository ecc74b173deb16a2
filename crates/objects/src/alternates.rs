//! The folders of objects: the repository's own, those from the environment, and those that `info/alternates`
//! names, recursively (gitrepository-layout(5)).

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{ErrorKind, Read};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bstr::{BString, ByteSlice};
use gix_hash::Kind as HashKind;
use vigil_linux::errno;
use vigil_linux::stat::{stat_fd, stat_path};
use vigil_model::quote::unquote;
use vigil_model::raw_text::raw_path;

use super::object_dir::{ALTERNATES, ObjectDir};
use super::promisor::FetchMissing;
use vigil_model::c_string::until_nul;
use vigil_stamp::file;
use vigil_stamp::paths::{bytes_of, path_of, real_path};
use vigil_stamp::{Observation, now};

/// The most bytes of a list of alternates that are read.
const LIST_LEN_MAX: u64 = 1 << 24;

/// How deep alternates of alternates may be nested.
const DEPTH_MAX: usize = 5;

/// The folders of a repository's objects, and how they are used.
#[derive(Clone, Debug)]
pub struct ObjectFolders {
    /// The hash function of the ids.
    pub hash: HashKind,
    /// The repository's own folder of objects.
    pub folder: PathBuf,
    /// The name of that folder in messages, which depends on how the repository was found.
    pub shown: String,
    /// More folders, separated by colons (`GIT_ALTERNATE_OBJECT_DIRECTORIES`).
    pub alternates: BString,
    /// The directory that relative paths in `alternates` start from.
    pub working_directory: PathBuf,
    /// Messages name the files of other folders relative to this directory, if they are below it.
    pub work_tree: Option<PathBuf>,
    /// Whether multi-pack-indexes are used (`core.multiPackIndex`).
    pub uses_multi_pack_index: bool,
    /// Fetches objects that are nowhere.
    pub promisor: Option<Arc<dyn FetchMissing>>,
}

/// A folder that is named as an alternate.
struct Named {
    /// Its path, without symbolic links.
    folder: PathBuf,
    /// Its path as it is named, from where it starts.
    path: PathBuf,
}

/// Where an alternate was found, by the path that was looked up.
#[derive(Debug)]
pub(super) struct Place {
    path: PathBuf,
    /// Its device and inode.
    id: (u64, u64),
}

impl Place {
    /// Whether nothing or another folder is there by now. The list that names it does not change by that: a disk may be away, or a
    /// symbolic link on the way may lead elsewhere.
    pub(super) fn is_another(&self) -> bool {
        !stat_path(&self.path).is_ok_and(|stat| (stat.dev, stat.ino) == self.id)
    }
}

/// Returns the folders in the order in which they are searched, and where the alternates were found.
pub(super) fn dirs(
    object_folders: &ObjectFolders,
    messages: &mut Vec<String>,
) -> (Vec<ObjectDir>, Vec<Place>) {
    let mut first: Vec<Named> = paths(&object_folders.alternates, b':')
        .filter_map(|path| {
            // In messages, git leaves these paths as they are.
            let shown = path_of(path.as_bstr());
            resolved(&object_folders.working_directory, &path, shown, messages)
        })
        .collect();
    let (seen, own) = alternates(&object_folders.folder, &object_folders.shown, messages);
    first.extend(own);
    let mut folders = Folders {
        own: match first.as_slice() {
            [] => None,
            _ => real_path(
                &object_folders.working_directory,
                bytes_of(&object_folders.folder),
            )
            .ok(),
        },
        known: HashSet::from([object_folders.folder.clone()]),
        folders: vec![(object_folders.folder.clone(), seen)],
        places: HashMap::new(),
    };
    for named in first {
        folders.add(named, 0, messages);
    }
    let shown = |folder: &Path| {
        let below = object_folders
            .work_tree
            .as_deref()
            .and_then(|top| folder.strip_prefix(top).ok());
        raw_path(below.unwrap_or(folder)).to_string()
    };
    let uses_midx = object_folders.uses_multi_pack_index;
    let mut own = Some(object_folders.shown.clone());
    let dirs = folders.folders.into_iter().map(|(folder, seen)| {
        // The repository's own is the first.
        let shown = own.take().unwrap_or_else(|| shown(&folder));
        ObjectDir::new(folder, seen, shown, object_folders.hash, uses_midx)
    });
    let places = folders.places.into_iter();
    let places = places.map(|(path, id)| Place { path, id });
    (dirs.collect(), places.collect())
}

struct Folders {
    /// The repository's own folder, without symbolic links.
    own: Option<PathBuf>,
    /// The paths in `folders`, of which a list may name thousands.
    known: HashSet<PathBuf>,
    /// Each folder, with an observation of its list of alternates.
    folders: Vec<(PathBuf, Observation)>,
    /// The paths of all folders that are named, with their devices and inodes.
    places: HashMap<PathBuf, (u64, u64)>,
}

impl Folders {
    fn add(&mut self, named: Named, depth: usize, messages: &mut Vec<String>) {
        let Named { folder, path } = named;
        let Some(stat) = stat_path(&folder).ok().filter(|stat| stat.is_dir()) else {
            messages.push(format!(
                "error: object directory {} does not exist; check .git/objects/info/alternates",
                raw_path(&folder)
            ));
            return;
        };
        self.places.insert(path, (stat.dev, stat.ino));
        if self.own.as_ref() == Some(&folder) || !self.known.insert(folder.clone()) {
            return;
        }
        let (seen, below) = alternates(&folder, &raw_path(&folder).to_string(), messages);
        self.folders.push((folder.clone(), seen));
        if !below.is_empty() && depth + 1 > DEPTH_MAX {
            messages.push(format!(
                "error: {}: ignoring alternate object stores, nesting too deep",
                raw_path(&folder)
            ));
            return;
        }
        for named in below {
            self.add(named, depth + 1, messages);
        }
    }
}

/// Reads the list of alternates in `folder`. Returns an observation of it from before it was read, and the
/// folders that it names.
fn alternates(folder: &Path, shown: &str, messages: &mut Vec<String>) -> (Observation, Vec<Named>) {
    let before = now();
    let opened = file::open(&folder.join(ALTERNATES));
    let stat = opened.as_ref().map(|file| stat_fd(file.as_fd()).ok());
    let stat = stat.unwrap_or_default();
    let mut list = Vec::new();
    let read = opened.and_then(|file| file.take(LIST_LEN_MAX).read_to_end(&mut list));
    if let Err(error) = read {
        list.clear();
        let is_absent = [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&error.kind());
        if !is_absent {
            let reason = errno::text_of(&error);
            messages.push(format!(
                "warning: unable to access '{shown}/{ALTERNATES}': {reason}"
            ));
        }
    }
    // git treats the list as a C string.
    let list = until_nul(&list);
    let named = paths(list, b'\n').filter_map(|path| {
        if path_of(&path).is_absolute() {
            return resolved(folder, &path, path_of(path.as_bstr()), messages);
        }
        let base = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        let shown = base.join(path_of(path.as_bstr()));
        resolved(&base, &path, &shown, messages)
    });
    let named = named.collect();
    (Observation::at(before, stat.as_ref()), named)
}

/// Returns the paths in a list, without comments. A path may be quoted; one that is quoted badly is taken
/// literally.
fn paths(list: &[u8], separator: u8) -> impl Iterator<Item = Cow<'_, [u8]>> {
    let mut rest = list;
    let each = std::iter::from_fn(move || -> Option<Cow<'_, [u8]>> {
        if rest.is_empty() {
            return None;
        }
        let (path, after) = match unquote(rest) {
            Some((path, after)) => (Cow::Owned(path), after),
            None => {
                let end = rest.find_byte(separator).unwrap_or(rest.len());
                let (path, after) = rest.split_at_checked(end)?;
                let is_comment = path.starts_with(b"#");
                let path = if is_comment { &[] } else { path };
                (Cow::Borrowed(path), after)
            }
        };
        // Skip the byte after the path, whatever it is, as git does.
        rest = after.get(1..).unwrap_or_default();
        Some(path)
    });
    each.filter(|path| !path.is_empty())
}

/// Finds the folder at `path`, which may start from `base`. A message calls it `shown`.
fn resolved(base: &Path, path: &[u8], shown: &Path, messages: &mut Vec<String>) -> Option<Named> {
    match real_path(base, path) {
        Ok(folder) => Some(Named {
            folder,
            path: base.join(path_of(path)),
        }),
        Err(_) => {
            messages.push(format!(
                "error: unable to normalize alternate object path: {}",
                raw_path(shown)
            ));
            None
        }
    }
}
