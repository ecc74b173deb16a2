//! Paths as bytes, and the real path of a file by git's rules.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};
use vigil_linux::stat::lstat_path;
use vigil_linux::{Errno, errno};
use vigil_model::raw_text::{raw, raw_path};

/// How many symbolic links git follows in one path.
const SYMLINKS_MAX: usize = 32;

/// Returns the bytes as a path.
pub fn path_of(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

/// Returns the path as bytes.
pub fn bytes_of(path: &Path) -> &BStr {
    path.as_os_str().as_bytes().as_bstr()
}

/// Whether this error of a stat call means that there is no such file.
pub fn is_missing(errno: Errno) -> bool {
    matches!(errno, Errno::NOENT | Errno::NOTDIR)
}

/// Returns the path without symbolic links and superfluous slashes; only its last component may be missing.
///
/// `directory` is the absolute folder that a relative path starts from. The error is git's text, without "fatal: ".
///
/// # Errors
/// It is empty, a component other than the last cannot be looked at, or there are too many symbolic links.
pub fn real_path(directory: &Path, path: &[u8]) -> Result<PathBuf, String> {
    if path.is_empty() {
        return Err("The empty string is not a valid path".into());
    }
    let joined = directory.join(path_of(path));
    if let Ok(real) = std::fs::canonicalize(&joined) {
        return Ok(real);
    }
    walk(&joined, path)
}

/// Resolves one component at a time: for paths that do not exist in full, and for the error's text.
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
                    raw_path(&resolved),
                    errno::text(errno)
                ));
            }
            Ok(stat) if stat.is_symlink() => {
                symlinks += 1;
                if symlinks > SYMLINKS_MAX + 1 {
                    return Err(format!(
                        "More than {SYMLINKS_MAX} nested symlinks on path '{}'",
                        raw(original)
                    ));
                }
                let target = std::fs::read_link(&resolved)
                    .map_err(|_| format!("Invalid symlink '{}'", raw_path(&resolved)))?;
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
        assert!(real_path(&root, b"x/").is_err());
        std::os::unix::fs::symlink(root.join("b/d"), root.join("b/absolute")).unwrap();
        assert_eq!(real_path(&root, b"b/absolute").unwrap(), root.join("b/d"));
        std::os::unix::fs::symlink("loop", root.join("loop")).unwrap();
        assert!(
            real_path(&root, b"loop")
                .unwrap_err()
                .starts_with("More than 32 nested symlinks on path 'loop'")
        );
    }

    #[test]
    fn as_many_links_are_followed_as_by_git() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for number in 1..=34 {
            let target = format!("link{}", number - 1);
            std::os::unix::fs::symlink(target, root.join(format!("link{number}"))).unwrap();
        }
        assert_eq!(real_path(&root, b"link33").unwrap(), root.join("link0"));
        assert!(real_path(&root, b"link34").is_err());
    }
}
