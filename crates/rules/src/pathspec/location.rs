//! Makes a path as given relative to the top of the working tree.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};

/// Why a path as given is not in the working tree.
pub(super) enum Failure {
    /// It leads out of the working tree.
    Outside,
    /// A directory on the way cannot be examined.
    Invalid(PathBuf, io::Error),
}

/// Returns `path`, as given by a caller in the directory `prefix`, relative to the top of the working tree, and how
/// many of its bytes still come from `prefix`. A trailing slash is kept.
pub(super) fn locate(
    path: &BStr,
    prefix: &BStr,
    work_tree: Option<&Path>,
) -> Result<(BString, usize), Failure> {
    if let Some(absolute) = path.strip_prefix(b"/") {
        let (mut normalized, _) = normalize(absolute, 0).ok_or(Failure::Outside)?;
        normalized.insert(0, b'/');
        let relative = part_inside(&normalized, work_tree.ok_or(Failure::Outside)?)?;
        return Ok((relative, 0));
    }
    let joined = [prefix.as_bytes(), path.as_bytes()].concat();
    normalize(&joined, prefix.len()).ok_or(Failure::Outside)
}

/// Removes `.`, `..` and doubled slashes from `path`. Also returns how much of its first `prefix_len` bytes is
/// left; `None` if the path leads out of the place where it starts.
fn normalize(path: &[u8], mut prefix_len: usize) -> Option<(BString, usize)> {
    let mut normalized = BString::default();
    let mut components = path.split(|&byte| byte == b'/').peekable();
    while let Some(component) = components.next() {
        match component {
            b"" | b"." => {}
            b".." => {
                let above = normalized.strip_suffix(b"/")?;
                let len = above.rfind_byte(b'/').map_or(0, |slash| slash + 1);
                normalized.truncate(len);
                prefix_len = prefix_len.min(len);
            }
            name => {
                normalized.extend_from_slice(name);
                if components.peek().is_some() {
                    normalized.push(b'/');
                }
            }
        }
    }
    Some((normalized, prefix_len))
}

/// Returns the part of the normalized absolute `path` that is inside `work_tree`, which it may reach by symbolic
/// links.
fn part_inside(path: &[u8], work_tree: &Path) -> Result<BString, Failure> {
    let top = work_tree.as_os_str().as_bytes();
    match path.strip_prefix(top) {
        Some([]) => return Ok(BString::default()),
        Some([b'/', rest @ ..]) => return Ok(rest.into()),
        Some(rest) if top.ends_with(b"/") => return Ok(rest.into()),
        _ => {}
    }
    let slashes = path.find_iter(b"/").filter(|&slash| slash > 0);
    for end in slashes.chain([path.len()]) {
        let (above, rest) = path.split_at_checked(end).ok_or(Failure::Outside)?;
        if real_path(Path::new(OsStr::from_bytes(above)))? == work_tree {
            return Ok(rest.strip_prefix(b"/").unwrap_or(rest).into());
        }
    }
    Err(Failure::Outside)
}

/// `path` without symbolic links; its last component need not exist.
fn real_path(path: &Path) -> Result<PathBuf, Failure> {
    let error = match path.canonicalize() {
        Ok(real) => return Ok(real),
        Err(error) => error,
    };
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(Failure::Invalid(path.to_owned(), error));
    };
    match (parent.canonicalize(), error.kind()) {
        (Ok(real), io::ErrorKind::NotFound) => Ok(real.join(name)),
        (Ok(real), _) => Err(Failure::Invalid(real.join(name), error)),
        (Err(_), _) => real_path(parent).and_then(|real| Err(Failure::Invalid(real, error))),
    }
}
