//! Paths as git names them.

use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};
use vigil_linux::stat::stat_path;
use vigil_stamp::paths::{bytes_of, path_of};

use crate::environment::Environment;

/// Makes the path absolute without resolving links: relative to `$PWD` if that is `directory`, since a shell keeps there the
/// path with the symbolic links that it went through.
pub(crate) fn absolute_path(environment: &Environment, directory: &Path, path: &[u8]) -> PathBuf {
    if path.first() == Some(&b'/') {
        return path_of(path).to_owned();
    }
    let base = environment
        .get("PWD")
        .map(|pwd| path_of(pwd))
        .filter(|pwd| pwd.is_absolute() && is_same_file(pwd, directory));
    base.unwrap_or(directory).join(path_of(path))
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    match (stat_path(one), stat_path(other)) {
        (Ok(one), Ok(other)) => one.dev == other.dev && one.ino == other.ino,
        _ => false,
    }
}

/// Returns the part of `path` below `directory`: empty for the directory itself, `None` for paths outside.
pub(crate) fn part_inside<'a>(path: &'a Path, directory: &Path) -> Option<&'a BStr> {
    path.strip_prefix(directory).ok().map(bytes_of)
}

/// Returns git's name for `path` when git's working directory is `directory`.
pub(super) fn name_from(path: &Path, directory: &Path) -> BString {
    match part_inside(path, directory) {
        Some(inside) if !inside.is_empty() => inside.to_owned(),
        _ => bytes_of(path).to_owned(),
    }
}

/// Joins `directory` and `name`, without `.` components; a path with `..` is resolved if it exists. Empty if `name` is empty.
pub(super) fn absolute(directory: &Path, name: &BStr) -> PathBuf {
    if name.is_empty() {
        return PathBuf::new();
    }
    let path = directory.join(path_of(name));
    let has_parent = path
        .components()
        .any(|component| component == std::path::Component::ParentDir);
    has_parent
        .then(|| std::fs::canonicalize(&path).ok())
        .flatten()
        .unwrap_or_else(|| path.components().collect())
}

/// Joins git's names of a directory and of something in it.
pub(super) fn join(folder: &BStr, name: &str) -> BString {
    [folder.as_bytes(), b"/", name.as_bytes()].concat().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shells_name_of_the_directory_is_kept_where_it_is_true() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("real")).unwrap();
        std::os::unix::fs::symlink("real", root.join("link")).unwrap();
        let mut environment = Environment::new([], root.join("real"));
        let path = |environment: &Environment| absolute_path(environment, &root.join("real"), b"x");
        assert_eq!(path(&environment), root.join("real/x"));
        environment.set("PWD", bytes_of(&root.join("link")));
        assert_eq!(path(&environment), root.join("link/x"));
        environment.set("PWD", bytes_of(&root));
        assert_eq!(path(&environment), root.join("real/x"));
    }
}
