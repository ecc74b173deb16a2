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
}
