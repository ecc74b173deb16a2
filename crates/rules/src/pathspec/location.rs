//! Makes a path as given relative to the top of the working tree.

use std::path::Path;

use bstr::{BStr, BString, ByteSlice};
use vigil_model::path::name_start;
use vigil_stamp::paths::{bytes_of, real_path};

/// Why a path as given is not in the working tree.
pub(super) enum Failure {
    /// It leads out of the working tree.
    Outside,
    /// A directory on the way cannot be examined, with git's text.
    Invalid(String),
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
                let len = name_start(above);
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
    let top = bytes_of(work_tree);
    match path.strip_prefix(top.as_bytes()) {
        Some([]) => return Ok(BString::default()),
        Some([b'/', rest @ ..]) => return Ok(rest.into()),
        Some(rest) if top.ends_with(b"/") => return Ok(rest.into()),
        _ => {}
    }
    let slashes = path.find_iter(b"/").filter(|&slash| slash > 0);
    for end in slashes.chain([path.len()]) {
        let (above, rest) = path.split_at_checked(end).ok_or(Failure::Outside)?;
        let real = real_path(Path::new("/"), above).map_err(Failure::Invalid)?;
        if real == work_tree {
            return Ok(rest.strip_prefix(b"/").unwrap_or(rest).into());
        }
    }
    Err(Failure::Outside)
}
