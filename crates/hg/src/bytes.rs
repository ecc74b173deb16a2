//! Byte strings that need not be UTF-8.

use bstr::BString;

/// Concatenates anything that can be seen as bytes.
#[macro_export]
macro_rules! bytes {
    ($($part:expr),+ $(,)?) => {
        ::bstr::BString::from([$(AsRef::<[u8]>::as_ref(&$part)),+].concat())
    };
}
pub use crate::bytes;

/// Returns whether Python's `bytes.strip` takes this byte for white space.
pub fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

/// Removes white space at the end.
pub fn trim_end(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|byte| !is_space(*byte));
    bytes
        .get(..end.map_or(0, |end| end.saturating_add(1)))
        .unwrap_or_default()
}

/// Removes white space at both ends.
pub fn trim(bytes: &[u8]) -> &[u8] {
    let start = bytes.iter().position(|byte| !is_space(*byte));
    trim_end(
        bytes
            .get(start.unwrap_or(bytes.len())..)
            .unwrap_or_default(),
    )
}

/// Splits into lines like Python's `bytes.splitlines(True)`: a line ends with a line feed, a carriage return, or both,
/// and keeps its end.
pub(crate) fn lines_with_ends(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
        let len = match end {
            None => rest.len(),
            Some(end) => {
                let is_both = rest.get(end..end.saturating_add(2)) == Some(b"\r\n");
                end.saturating_add(1).saturating_add(usize::from(is_both))
            }
        };
        let (line, after) = rest.split_at_checked(len)?;
        rest = after;
        Some(line)
    })
}

/// Joins parts with a separator, like Python's `join`.
pub fn join<'p>(parts: impl IntoIterator<Item = &'p [u8]>, with: &[u8]) -> BString {
    let mut all = BString::default();
    for (at, part) in parts.into_iter().enumerate() {
        if at > 0 {
            all.extend_from_slice(with);
        }
        all.extend_from_slice(part);
    }
    all
}

/// Returns the text as Python's `repr` shows bytes, with quotes but without the `b`.
pub(crate) fn python_repr(text: &[u8]) -> BString {
    let has = |byte: u8| text.contains(&byte);
    let quote = if has(b'\'') && !has(b'"') {
        b'"'
    } else {
        b'\''
    };
    let mut out = BString::from([quote].as_slice());
    for byte in text {
        match byte {
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            same if *same == quote => out.extend([b'\\', quote]),
            b' '..=b'~' => out.push(*byte),
            other => out.extend_from_slice(format!("\\x{other:02x}").as_bytes()),
        }
    }
    out.push(quote);
    out
}

/// Removes `.`, `..` and doubled slashes from a path, by its text alone, as Python's `posixpath.normpath` does.
pub(crate) fn normal_path(path: &[u8]) -> BString {
    if path.is_empty() {
        return BString::from(".");
    }
    let leading: &[u8] = match path {
        [b'/', b'/', b'/', ..] => b"/",
        [b'/', b'/', ..] => b"//",
        [b'/', ..] => b"/",
        _ => b"",
    };
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in path.split(|byte| *byte == b'/') {
        if part.is_empty() || part == b"." {
            continue;
        }
        let climbs = part == b"..";
        let may_stay = leading.is_empty() && parts.last().is_none_or(|last| *last == b"..");
        if !climbs || may_stay {
            parts.push(part);
        } else {
            parts.pop();
        }
    }
    let mut normal = BString::from(leading);
    normal.extend_from_slice(&join(parts, b"/"));
    match normal.is_empty() {
        true => BString::from("."),
        false => normal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_made_normal_by_their_text() {
        for (path, normal) in [
            ("", "."),
            ("a/./b//c/", "a/b/c"),
            ("a/../b", "b"),
            ("../a", "../a"),
            ("/../a", "/a"),
            ("a/..", "."),
            ("//a", "//a"),
            ("///a", "/a"),
        ] {
            assert_eq!(normal_path(path.as_bytes()), normal, "{path}");
        }
    }

    #[test]
    fn bytes_are_shown_with_escapes() {
        for (text, expected) in [
            (&b"a"[..], "'a'"),
            (b"it's", "\"it's\""),
            (b"'\"", "'\\'\"'"),
            (b"\xc3\n\\", "'\\xc3\\n\\\\'"),
        ] {
            assert_eq!(python_repr(text), expected);
        }
    }

    #[test]
    fn lines_keep_their_ends() {
        let lines: Vec<_> = lines_with_ends(b"a\nb\r\n\rc").collect();
        assert_eq!(lines, [&b"a\n"[..], b"b\r\n", b"\r", b"c"]);
    }
}
