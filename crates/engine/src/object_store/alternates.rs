//! The folders with objects: the repository's own, those that the environment names, and those that
//! `info/alternates` names, from folder to folder (gitrepository-layout(5)).

use std::fs;
use std::path::{Path, PathBuf};

use bstr::ByteSlice;
use vigil_linux::stat::stat_path;

use super::Places;
use super::source::Source;
use crate::git::repository::paths::{bytes_of, path_of, real_path};

/// How far alternates of alternates are followed.
const DEPTH_MAX: usize = 5;

/// The folders in the order in which they are asked.
pub(super) fn sources(places: &Places, said: &mut Vec<String>) -> Vec<Source> {
    let mut folders = Folders {
        own: real_path(&places.working_directory, bytes_of(&places.folder)).ok(),
        folders: vec![places.folder.clone()],
    };
    let listed = places.alternates.split(|byte| *byte == b':');
    let listed = listed.filter(|path| !path.is_empty() && !path.starts_with(b"#"));
    let mut first: Vec<PathBuf> = listed
        .filter_map(|path| resolved(&places.working_directory, path, said))
        .collect();
    first.extend(alternates(&places.folder, said));
    for folder in first {
        folders.add(folder, 0, said);
    }
    let shown = |folder: &Path| {
        let below = places
            .work_tree
            .as_deref()
            .and_then(|top| folder.strip_prefix(top).ok());
        below.unwrap_or(folder).display().to_string()
    };
    let folders = folders.folders.into_iter().map(|folder| {
        let shown = shown(&folder);
        Source::new(folder, shown, places.hash, places.uses_multi_pack_index)
    });
    folders.collect()
}

struct Folders {
    /// The repository's own, without symbolic links.
    own: Option<PathBuf>,
    folders: Vec<PathBuf>,
}

impl Folders {
    fn add(&mut self, folder: PathBuf, depth: usize, said: &mut Vec<String>) {
        if !stat_path(&folder).is_ok_and(|stat| stat.is_dir()) {
            said.push(format!(
                "error: object directory {} does not exist; check .git/objects/info/alternates",
                folder.display()
            ));
            return;
        }
        if self.own.as_ref() == Some(&folder) || self.folders.contains(&folder) {
            return;
        }
        self.folders.push(folder.clone());
        let below = alternates(&folder, said);
        if !below.is_empty() && depth + 1 > DEPTH_MAX {
            said.push(format!(
                "error: {}: ignoring alternate object stores, nesting too deep",
                folder.display()
            ));
            return;
        }
        for folder in below {
            self.add(folder, depth + 1, said);
        }
    }
}

/// What the file of alternates in `folder` names.
fn alternates(folder: &Path, said: &mut Vec<String>) -> Vec<PathBuf> {
    let Ok(list) = fs::read(folder.join("info/alternates")) else {
        return Vec::new();
    };
    // Paths are bytes here, and nothing else makes it fail.
    let paths = gix_odb::alternate::parse(&list).unwrap_or_default();
    paths
        .iter()
        .filter_map(|path| {
            if path.is_absolute() {
                return resolved(folder, bytes_of(path), said);
            }
            let base = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
            resolved(&base, bytes_of(path), said)
        })
        .collect()
}

fn resolved(base: &Path, path: &[u8], said: &mut Vec<String>) -> Option<PathBuf> {
    match real_path(base, path) {
        Ok(path) => Some(path),
        Err(_) => {
            let path = base.join(path_of(path.as_bstr()));
            said.push(format!(
                "error: unable to normalize alternate object path: {}",
                path.display()
            ));
            None
        }
    }
}
