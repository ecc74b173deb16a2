//! Paths inside a repository: bytes separated by `/`, without a leading one, never assumed to be UTF-8.

use bstr::{BStr, BString, ByteSlice};

/// The part of `path` before its last `/`, or the empty path.
pub fn parent(path: &BStr) -> &BStr {
    match path.rfind_byte(b'/') {
        Some(at) => path.get(..at).unwrap_or_default().as_bstr(),
        None => BStr::new(b""),
    }
}

/// The part of `path` after its last `/`.
pub fn file_name(path: &BStr) -> &BStr {
    match path.rfind_byte(b'/') {
        Some(at) => path
            .get(at.saturating_add(1)..)
            .unwrap_or_default()
            .as_bstr(),
        None => path,
    }
}

/// Whether a directory of the working tree can have this name: one that is empty, `.` or `..` would be another directory, and
/// `.git` is not of the working tree. git never writes an index in which a directory has such a name, and reads it all the
/// same.
pub fn is_directory_name(name: &[u8]) -> bool {
    !matches!(name, b"" | b"." | b".." | b".git")
}

/// How much of `path` is the directory in which the tracked files have it, with a `/` at its end. From the first name on that
/// [no directory has](is_directory_name), everything is the name of a file: `/b` in `a/` for `a//b`.
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

/// Whether `name`, of a tracked file in its directory, begins with a name that no directory has, or is empty.
#[inline]
pub fn is_odd(name: &BStr) -> bool {
    matches!(name.first(), None | Some(b'/' | b'.')) && (name.is_empty() || name.contains(&b'/'))
}

/// Whether `path` is `above`, which has no trailing slash, or below it.
pub fn is_at_or_below(path: &[u8], above: &[u8]) -> bool {
    let rest = path.strip_prefix(above);
    rest.is_some_and(|rest| rest.first().is_none_or(|first| *first == b'/'))
}

/// The path of `name` in the directory `dir`, which may be empty for the top.
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
