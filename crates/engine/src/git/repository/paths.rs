//! Paths as bytes, and the real path of a file by git's rules.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};
use vigil_linux::stat::{lstat_path, stat_path};
use vigil_linux::{Errno, errno};

use crate::environment::Environment;

/// How many symbolic links one path may go through, in git.
const SYMLINKS_MAX: usize = 32;

/// Bytes as a path.
pub(crate) fn path_of(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

/// A path as bytes.
pub(crate) fn bytes_of(path: &Path) -> &BStr {
    path.as_os_str().as_bytes().as_bstr()
}

/// Whether a failed look at a file means that there is none.
pub(crate) fn is_missing(errno: Errno) -> bool {
    matches!(errno, Errno::NOENT | Errno::NOTDIR)
}

/// The path without symbolic links and superfluous slashes; only its last component may be missing.
///
/// `directory` is the absolute folder to which a relative path relates. The error is git's text, without "fatal: ".
pub(crate) fn real_path(directory: &Path, path: &[u8]) -> Result<PathBuf, String> {
    if path.is_empty() {
        return Err("The empty string is not a valid path".into());
    }
    let joined = directory.join(path_of(path));
    if let Ok(real) = std::fs::canonicalize(&joined) {
        return Ok(real);
    }
    walk(&joined, path)
}

/// Resolves component by component, for the paths that are not there in whole and for the error's text.
fn walk(joined: &Path, original: &[u8]) -> Result<PathBuf, String> {
    let mut resolved = PathBuf::from("/");
    let mut remaining: Vec<BString> = components(bytes_of(joined)).collect();
    remaining.reverse();
    let mut symlinks = 0;
    while let Some(component) = remaining.pop() {
        if component == ".." {
            resolved.pop();
            continue;
        }
        resolved.push(path_of(&component));
        match lstat_path(&resolved) {
            Err(Errno::NOENT) if remaining.is_empty() && !original.ends_with(b"/") => {}
            Err(errno) => {
                return Err(format!(
                    "Invalid path '{}': {}",
                    resolved.display(),
                    errno::text(errno)
                ));
            }
            Ok(stat) if stat.is_symlink() => {
                symlinks += 1;
                if symlinks > SYMLINKS_MAX + 1 {
                    return Err(format!(
                        "More than {SYMLINKS_MAX} nested symlinks on path '{}'",
                        original.as_bstr()
                    ));
                }
                let target = std::fs::read_link(&resolved)
                    .map_err(|_| format!("Invalid symlink '{}'", resolved.display()))?;
                if target.is_absolute() {
                    resolved = PathBuf::from("/");
                } else {
                    resolved.pop();
                }
                let mut inner: Vec<BString> = components(bytes_of(&target)).collect();
                inner.reverse();
                remaining.extend(inner);
            }
            Ok(_) => {}
        }
    }
    Ok(resolved)
}

fn components(path: &BStr) -> impl Iterator<Item = BString> {
    path.split(|byte| *byte == b'/')
        .filter(|part| !part.is_empty() && *part != b".")
        .map(BString::from)
}

/// The path made absolute without resolving links: by `$PWD` where that names `directory`, as a shell which walked
/// through a symbolic link says.
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

/// What is left of `path` below `directory`: empty for the directory itself, `None` for what is not in it.
pub(crate) fn part_inside<'a>(path: &'a Path, directory: &Path) -> Option<&'a BStr> {
    path.strip_prefix(directory).ok().map(bytes_of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_component_may_be_missing() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::os::unix::fs::symlink("b/c", root.join("a")).unwrap();
        std::fs::create_dir(root.join("b")).unwrap();
        assert_eq!(real_path(&root, b"a").unwrap(), root.join("b/c"));
        assert_eq!(real_path(&root, b".//b/../b/x").unwrap(), root.join("b/x"));
        assert_eq!(
            real_path(&root, b"x/y").unwrap_err(),
            format!(
                "Invalid path '{}/x': No such file or directory",
                root.display()
            )
        );
        std::os::unix::fs::symlink("loop", root.join("loop")).unwrap();
        assert!(
            real_path(&root, b"loop")
                .unwrap_err()
                .starts_with("More than 32 nested symlinks on path 'loop'")
        );
    }

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
