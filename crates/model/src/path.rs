//! Paths inside a repository: bytes separated by `/`, without a leading `/`, never assumed to be UTF-8.

use bstr::{BStr, BString, ByteSlice};

/// The greatest length of a path that the system takes, in bytes (`PATH_MAX`, without the NUL; path_resolution(7)).
pub const PATH_LEN_MAX: usize = 4095;

/// The part of `path` before its last `/`, or the empty path.
pub fn parent(path: &BStr) -> &BStr {
    match path.rfind_byte(b'/') {
        Some(at) => path.get(..at).unwrap_or_default().as_bstr(),
        None => BStr::new(b""),
    }
}

/// The directories above `path`, from the outermost on, without slashes at their ends and without the top.
pub fn directories_above(path: &BStr) -> impl Iterator<Item = &BStr> {
    let ends = path.find_iter("/");
    ends.filter_map(|end| path.get(..end)).map(BStr::new)
}

/// The part of `path` after its last `/`.
pub fn file_name(path: &BStr) -> &BStr {
    path.get(name_start(path)..).unwrap_or_default().as_bstr()
}

/// Where the file name begins in `path`: after its last `/`.
#[inline]
pub fn name_start(path: &[u8]) -> usize {
    path.rfind_byte(b'/')
        .map_or(0, |slash| slash.saturating_add(1))
}

/// Whether a directory of the working tree can have this name. An empty name, `.` and `..` would mean another directory, and
/// `.git` does not belong to the working tree. git never writes an index in which a directory has such a name, but it reads
/// one without complaint.
pub(crate) fn is_directory_name(name: &[u8]) -> bool {
    !matches!(name, b"" | b"." | b".." | b".git")
}

/// The length of the directory part of `path` as the tracked files divide it, with its trailing `/`. From the first name that
/// no directory can have (empty, `.`, `..` and `.git`) on, the rest is a file name: `/b` in `a/` for `a//b`.
pub fn directory_len(path: &BStr) -> usize {
    let mut len = 0usize;
    let mut rest = path.as_bytes();
    while let Some((name, after)) = rest.split_once_str("/")
        && is_directory_name(name)
    {
        len = path.len().saturating_sub(after.len());
        rest = after;
    }
    len
}

/// Whether the file name `name` is empty or begins with a component that no directory can have; see [`directory_len`].
#[inline]
pub fn has_impossible_component(name: &BStr) -> bool {
    matches!(name.first(), None | Some(b'/' | b'.')) && (name.is_empty() || name.contains(&b'/'))
}

/// Whether `path` is `above` or below it. `above` has no trailing slash.
pub fn is_at_or_below(path: &[u8], above: &[u8]) -> bool {
    let rest = path.strip_prefix(above);
    rest.is_some_and(|rest| rest.first().is_none_or(|first| *first == b'/'))
}

/// Joins the directory `dir`, which is empty for the top, and `name`.
pub fn join(dir: &BStr, name: &BStr) -> BString {
    let mut path = BString::new(Vec::with_capacity(
        dir.len().saturating_add(1).saturating_add(name.len()),
    ));
    path.extend_from_slice(dir);
    if !dir.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(name);
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_splits_at_its_last_slash() {
        assert_eq!(parent("a/b/c".into()), "a/b");
        assert_eq!(file_name("a/b/c".into()), "c");
        assert_eq!(parent("a".into()), "");
        assert_eq!(file_name("a".into()), "a");
    }

    #[test]
    fn the_outermost_directory_comes_first() {
        let above = |path: &'static str| directories_above(path.into()).collect::<Vec<_>>();
        assert_eq!(above("a/b/c"), ["a", "a/b"]);
        assert!(above("a").is_empty());
    }

    #[test]
    fn a_directory_has_a_name() {
        for (path, directory) in [
            ("", ""),
            ("a", ""),
            ("a/", "a/"),
            ("a/b", "a/"),
            ("a/b/c", "a/b/"),
            ("/", ""),
            ("/a/b", ""),
            ("a//", "a/"),
            ("a//b/c", "a/"),
            ("a/b//c//d", "a/b/"),
            ("./a", ""),
            ("a/../b/c", "a/"),
            (".git/config", ""),
            ("a/b/.git/c", "a/b/"),
            (".gitignore/..a/.a/b", ".gitignore/..a/.a/"),
        ] {
            assert_eq!(directory_len(path.into()), directory.len(), "{path}");
        }
    }
}
