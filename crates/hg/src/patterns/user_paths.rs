//! Converts paths between the form that a user sees, relative to the working directory, and paths from the top.

use std::borrow::Cow;
use std::collections::HashSet;
use std::path::Path;
use std::sync::{PoisonError, RwLock};

use bstr::{BStr, BString, ByteSlice};
use vigil_linux::Errno;
use vigil_linux::stat::{lstat_path, stat_path};

use crate::abort::{Abort, Kind};
use crate::bytes::{bytes, join, normal_path, python_repr};
use crate::subrepositories::Subrepositories;
use vigil_model::path::{PATH_LEN_MAX, directories_above};
use vigil_stamp::paths::{bytes_of, path_of};

/// Returns the path from `root` of `name`, which is relative to the directory `cwd`.
///
/// # Errors
/// The path is outside of `root`, or one that [`outside_of_reach`] refuses.
pub fn canonical(root: &Path, cwd: &Path, name: &[u8]) -> Result<BString, Abort> {
    canonical_with(root, cwd, name, &Subrepositories::default())
}

/// Like [`canonical`], but the path may lead into one of these subrepositories.
///
/// # Errors
/// As for [`canonical`].
pub(super) fn canonical_with(
    root: &Path,
    cwd: &Path,
    name: &[u8],
    subrepositories: &Subrepositories,
) -> Result<BString, Abort> {
    let below = below(root, cwd, name)?;
    let path = below.as_bstr();
    let behind = || behind(root, path, directories_above(path), subrepositories);
    match wrong_name(path).or_else(behind) {
        Some(error) => Err(error),
        None => Ok(below),
    }
}

/// Like [`canonical`], but accepts any path below `root`.
///
/// # Errors
/// The path is outside of `root`.
pub fn from_top(root: &Path, cwd: &Path, name: &[u8]) -> Result<BString, Abort> {
    below(root, cwd, name)
}

/// Like [`canonical`], but checks only the path's text, not what is in the working copy.
///
/// # Errors
/// The path is outside of `root`, or in Mercurial's own folder.
pub(super) fn canonical_by_name(root: &Path, cwd: &Path, name: &[u8]) -> Result<BString, Abort> {
    let below = below(root, cwd, name)?;
    match wrong_name(below.as_bstr()) {
        Some(error) => Err(error),
        None => Ok(below),
    }
}

fn below(root: &Path, cwd: &Path, name: &[u8]) -> Result<BString, Abort> {
    let top = bytes_of(root).as_bytes();
    let whole = match name.starts_with(b"/") {
        true => normal_path(name),
        false => normal_path(bytes_of(&cwd.join(path_of(name)))),
    };
    let below = match whole.strip_prefix(top) {
        Some(b"") => Some(BString::default()),
        Some(rest) if top.ends_with(b"/") => Some(rest.into()),
        Some(rest) => rest.strip_prefix(b"/").map(BString::from),
        None => None,
    };
    let below = below.or_else(|| by_identity(root, &whole));
    below.ok_or_else(|| {
        let message = bytes!(name, " not under root '", top, "'");
        let error = Abort::plain(message);
        // Perhaps the user meant it relative to the top.
        let exists = cwd != root && canonical(root, root, name).is_ok();
        match exists {
            true => {
                let top = bytes!(top, "/");
                let shown = shown_from(bytes_of(cwd), top.as_bstr());
                let shown = shown.strip_suffix(b"/").unwrap_or(&shown);
                error.with_hint(bytes!("consider using '--cwd ", shown, "'"))
            }
            false => error,
        }
    })
}

/// Returns the path from `root` if a directory on the way is `root` by another name (the same device and inode).
fn by_identity(root: &Path, whole: &BString) -> Option<BString> {
    let top = stat_path(root).ok()?;
    let mut path = path_of(whole).to_owned();
    let mut below: Vec<BString> = Vec::new();
    loop {
        // What is longer has no directory.
        let may_be_there = bytes_of(&path).len() <= PATH_LEN_MAX;
        let is_top =
            || stat_path(&path).is_ok_and(|stat| (stat.dev, stat.ino) == (top.dev, top.ino));
        if may_be_there && is_top() {
            below.reverse();
            let parts = below.iter().map(|part| part.as_slice());
            return Some(join(parts, b"/"));
        }
        let name = path.file_name()?;
        below.push(bytes_of(Path::new(name)).into());
        path.pop();
    }
}

/// Returns why nothing is reported for `path`, or `None` if it can be: it leads into Mercurial's own folder, through a
/// link, or into another repository.
pub fn outside_of_reach(root: &Path, path: &BStr) -> Option<Abort> {
    let behind = || {
        behind(
            root,
            path,
            directories_above(path),
            &Subrepositories::default(),
        )
    };
    wrong_name(path).or_else(behind)
}

/// Directories that are known to be within reach, for questions about many files at one time.
#[derive(Debug, Default)]
pub struct DirectoriesInReach(RwLock<HashSet<BString>>);

impl DirectoriesInReach {
    /// Does the same as [`outside_of_reach`], but looks at no directory twice unless it leads out of reach.
    pub fn outside_of_reach(&self, root: &Path, path: &BStr) -> Option<Abort> {
        if let Some(error) = wrong_name(path) {
            return Some(error);
        }
        let new: Vec<&BStr> = {
            let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
            let above = path.rfind_iter("/").filter_map(|slash| path.get(..slash));
            let above = above.map(BStr::new);
            above.take_while(|above| !known.contains(*above)).collect()
        };
        let from_top = new.iter().rev().copied();
        let outside = behind(root, path, from_top, &Subrepositories::default());
        if outside.is_none() && !new.is_empty() {
            let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
            known.extend(new.into_iter().map(BStr::to_owned));
        }
        outside
    }
}

/// Returns what is wrong with a path, judged by its text alone.
fn wrong_name(path: &BStr) -> Option<Abort> {
    if path.is_empty() {
        return None;
    }
    let input = |message: BString| Some(Abort::of(Kind::Input, message));
    let parts: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
    let illegal = || input(bytes!("path contains illegal component: ", path));
    let plain: Vec<BString> = parts.iter().map(|part| as_of_any_system(part)).collect();
    let is_own = |name: &BString| name == ".hg" || name == ".hg.";
    let (first, rest) = plain.split_first()?;
    if is_own(first) || parts.iter().any(|part| matches!(*part, b".." | b".")) {
        return illegal();
    }
    if parts.iter().any(|part| is_short_for_own(part)) {
        return illegal();
    }
    for name in [".hg", ".hg."] {
        if let Some(at) = rest.iter().position(|part| part == name) {
            let above = join(parts.iter().take(at.saturating_add(1)).copied(), b"/");
            return input(bytes!(
                "path '",
                path,
                "' is inside nested repo ",
                python_repr(&above)
            ));
        }
    }
    None
}

/// The name as file systems may see it that ignore case and drop invisible characters (HFS+, Apple's Technote 1150).
fn as_of_any_system(name: &[u8]) -> BString {
    const UNSEEN: [char; 16] = [
        '\u{200c}', '\u{200d}', '\u{200e}', '\u{200f}', '\u{202a}', '\u{202b}', '\u{202c}',
        '\u{202d}', '\u{202e}', '\u{206a}', '\u{206b}', '\u{206c}', '\u{206d}', '\u{206e}',
        '\u{206f}', '\u{feff}',
    ];
    let mut name = name.to_ascii_lowercase();
    if !name.is_ascii() {
        for letter in UNSEEN {
            name = name.replace(letter.encode_utf8(&mut [0; 4]), "");
        }
    }
    name.into()
}

/// Returns whether a name may be a short name of Mercurial's own folder on Windows, where long names have short ones.
fn is_short_for_own(name: &[u8]) -> bool {
    name.split_once_str("~").is_some_and(|(stem, number)| {
        let stem = stem.to_ascii_uppercase();
        let is_own = matches!(stem.as_slice(), b"HG" | b"HG8B6C");
        is_own && !number.is_empty() && number.iter().all(u8::is_ascii_digit)
    })
}

/// Returns how one of the directories `above` the `path` leads out of reach.
fn behind<'p>(
    root: &Path,
    path: &BStr,
    above: impl Iterator<Item = &'p BStr>,
    subrepositories: &Subrepositories,
) -> Option<Abort> {
    let mut is_within = false;
    for above in above {
        let message = match way_out(root, above) {
            // What is below cannot be looked at either, and the text may go on without end.
            Err(_) => return None,
            Ok(None) => continue,
            Ok(Some(WayOut::Link)) => {
                let (path, above) = (python_repr(path), python_repr(above));
                bytes!("path ", path, " traverses symbolic link ", above)
            }
            Ok(Some(WayOut::Repository)) if subrepositories.has(above) => {
                is_within = true;
                continue;
            }
            // The outer repository's list of subrepositories decides.
            Ok(Some(WayOut::Repository)) if is_within => {
                let message = bytes!("the path '", path, "' in repositories in a subrepository");
                return Some(Abort::unsupported(message));
            }
            Ok(Some(WayOut::Repository)) => {
                bytes!(
                    "path '",
                    path,
                    "' is inside nested repo ",
                    python_repr(above)
                )
            }
        };
        return Some(Abort::plain(message));
    }
    None
}

/// Returns whether everything below `directory` is out of reach: it is a link, or the top of another repository.
pub fn leads_out_of_reach(root: &Path, directory: &BStr) -> bool {
    matches!(way_out(root, directory), Ok(Some(_)))
}

/// How a directory leads out of reach.
enum WayOut {
    Link,
    Repository,
}

fn way_out(root: &Path, directory: &BStr) -> Result<Option<WayOut>, Errno> {
    let there = root.join(path_of(directory));
    let stat = lstat_path(&there)?;
    if stat.is_symlink() {
        return Ok(Some(WayOut::Link));
    }
    let is_repository =
        stat.is_dir() && stat_path(&there.join(".hg")).is_ok_and(|stat| stat.is_dir());
    Ok(is_repository.then_some(WayOut::Repository))
}

/// Returns `path`, which is from the top, as seen from the directory `cwd`, which is from the top, too.
pub fn shown_from<'p>(cwd: &BStr, path: &'p BStr) -> Cow<'p, BStr> {
    if cwd.is_empty() {
        return Cow::Borrowed(path);
    }
    let from: Vec<&[u8]> = cwd.split(|byte| *byte == b'/').collect();
    // A trailing slash is kept, and the top has one.
    let to: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
    let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = from.iter().skip(common).map(|_| b"..".as_slice());
    let shown = join(up.chain(to.iter().skip(common).copied()), b"/");
    Cow::Owned(match shown.is_empty() {
        true => BString::from("."),
        false => shown,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_very_many_parts_is_judged_soon() {
        let top = tempfile::tempdir().unwrap();
        let root = top.path();
        let deep = "d/".repeat(1 << 18);
        let of = |start: &str| canonical(root, root, format!("{start}{deep}f").as_bytes());
        assert_eq!(of("").unwrap().len(), deep.len() + 1);
        assert!(of("/nowhere/").is_err());
        std::fs::create_dir_all(root.join("d/d/.hg")).unwrap();
        let message = of("").unwrap_err().message;
        assert!(message.ends_with(b"is inside nested repo 'd/d'"));
    }

    #[test]
    fn the_top_as_seen_from_below_ends_with_a_slash() {
        for (cwd, path, shown) in [
            ("", "", ""),
            ("d", "", "../"),
            ("d/e", "", "../../"),
            ("d/e", "d/f", "../f"),
            ("d", "d/", "."),
            ("d", "e/", "../e/"),
        ] {
            let seen = shown_from(cwd.into(), path.into());
            assert_eq!(seen.as_ref(), shown, "{cwd} {path}");
        }
    }
}
