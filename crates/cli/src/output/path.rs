//! Paths as seen from a directory.

use std::borrow::Cow;

use bstr::{BStr, ByteSlice};

/// Returns `path` as seen from the directory `prefix`. Both are relative to the top of the working tree, and `prefix` is empty
/// or ends in `/`. The directory itself is `./`. Paths with empty components occur only in crafted indexes; of these, the empty
/// path and those that begin with a `/` look the same from everywhere.
pub(super) fn relative<'p>(path: &'p BStr, prefix: &BStr) -> Cow<'p, [u8]> {
    let mut path: &[u8] = path;
    let mut prefix: &[u8] = prefix;
    match path.first() {
        None => return Cow::Borrowed(b"./"),
        Some(b'/') => return Cow::Borrowed(path),
        Some(_) => {}
    }
    while let (Some((ours, path_rest)), Some((theirs, prefix_rest))) =
        (first_component(path), first_component(prefix))
    {
        if ours != theirs {
            break;
        }
        path = path_rest.trim_start_with(|slash| slash == '/');
        prefix = prefix_rest;
    }
    let ups = prefix.find_iter("/").count();
    if ups == 0 && !path.is_empty() {
        return Cow::Borrowed(path);
    }
    if ups == 0 {
        return Cow::Borrowed(b"./");
    }
    Cow::Owned([b"../".repeat(ups).as_slice(), path].concat())
}

/// Splits off the part before the first `/`.
fn first_component(path: &[u8]) -> Option<(&[u8], &[u8])> {
    if path.is_empty() {
        return None;
    }
    Some(path.split_once_str("/").unwrap_or((path, b"")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_directories_are_left_out_and_others_are_climbed() {
        for (path, prefix, expected) in [
            ("a/b", "", "a/b"),
            ("a/b", "a/", "b"),
            ("b", "a/", "../b"),
            ("ab", "a/", "../ab"),
            ("a/x/y", "a/b/c/", "../../x/y"),
            ("a/b/", "a/b/", "./"),
            ("a", "a/", "./"),
            ("a/", "a/b/", "../"),
            ("a", "a/b/", "../"),
            ("a/b", "a/bc/", "../b"),
            ("", "", "./"),
            ("", "a/", "./"),
            ("/a/b", "a/", "/a/b"),
            ("a//b", "a/", "b"),
            ("a//b//c", "a/", "b//c"),
            ("a//b//c", "a/b/", "c"),
            ("a//", "a/", "./"),
            ("b//c", "a/", "../b//c"),
        ] {
            assert_eq!(
                relative(path.into(), prefix.into()).as_bstr(),
                expected,
                "{path} from {prefix}"
            );
        }
    }
}
