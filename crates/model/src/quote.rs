//! Text in quotes: paths on one line in git's C style (`core.quotePath` in git-config(1)), and words for a shell.

use bstr::BStr;

/// What makes git quote a path, besides control characters, `"` and `\`, which always do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuoteRule {
    /// Bytes from 0x80 on are escaped (`core.quotePath`, on unless it is turned off).
    pub high_bytes: bool,
    /// A space causes quotes, but is not escaped itself (the short format).
    pub spaces: bool,
}

/// Appends `path` to `out`: unchanged if nothing in it requires quotes, else in double quotes with escapes.
pub fn append_quoted(out: &mut Vec<u8>, path: &BStr, rule: QuoteRule) {
    let needs_quotes = path
        .iter()
        .any(|&byte| escape(byte, rule) != Escape::No || (rule.spaces && byte == b' '));
    if !needs_quotes {
        out.extend_from_slice(path);
        return;
    }
    out.push(b'"');
    for &byte in path.iter() {
        match escape(byte, rule) {
            Escape::No => out.push(byte),
            Escape::Letter(letter) => out.extend([b'\\', letter]),
            Escape::Octal => {
                let digit = |shift: u32| b'0' + ((byte >> shift) & 7);
                out.extend([b'\\', digit(6), digit(3), digit(0)]);
            }
        }
    }
    out.push(b'"');
}

/// Appends `text` in single quotes, as git quotes it for a shell.
pub fn append_shell_quoted(text: &[u8], quoted: &mut Vec<u8>) {
    quoted.push(b'\'');
    for byte in text {
        if matches!(byte, b'\'' | b'!') {
            quoted.extend_from_slice(&[b'\'', b'\\', *byte, b'\'']);
        } else {
            quoted.push(*byte);
        }
    }
    quoted.push(b'\'');
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Escape {
    No,
    Letter(u8),
    Octal,
}

fn escape(byte: u8, rule: QuoteRule) -> Escape {
    match byte {
        0x07 => Escape::Letter(b'a'),
        0x08 => Escape::Letter(b'b'),
        b'\t' => Escape::Letter(b't'),
        b'\n' => Escape::Letter(b'n'),
        0x0b => Escape::Letter(b'v'),
        0x0c => Escape::Letter(b'f'),
        b'\r' => Escape::Letter(b'r'),
        b'"' | b'\\' => Escape::Letter(byte),
        0x00..0x20 | 0x7f => Escape::Octal,
        0x80.. if rule.high_bytes => Escape::Octal,
        _ => Escape::No,
    }
}

/// Takes a C-quoted string off the start of `text`. Returns it and what follows, or `None` if there is none.
pub fn unquote(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut rest = text.strip_prefix(b"\"")?;
    let mut out = Vec::new();
    loop {
        let (&byte, after) = rest.split_first()?;
        rest = after;
        match byte {
            b'"' => return Some((out, rest)),
            b'\\' => {
                let (&escape, after) = rest.split_first()?;
                rest = after;
                out.push(match escape {
                    b'a' => 0x07,
                    b'b' => 0x08,
                    b'f' => 0x0c,
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'v' => 0x0b,
                    b'\\' | b'"' => escape,
                    b'0'..=b'3' => {
                        let (&[middle, low], after) = rest.split_first_chunk::<2>()?;
                        rest = after;
                        let digit = |byte: u8| matches!(byte, b'0'..=b'7').then(|| byte & 7);
                        (digit(escape)? << 6) | (digit(middle)? << 3) | digit(low)?
                    }
                    _ => return None,
                });
            }
            _ => out.push(byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quoted(path: &[u8], high_bytes: bool, spaces: bool) -> Vec<u8> {
        let mut out = Vec::new();
        append_quoted(&mut out, BStr::new(path), QuoteRule { high_bytes, spaces });
        out
    }

    #[test]
    fn a_plain_path_stays_as_it_is() {
        assert_eq!(quoted(b"dir/file-1.txt", true, true), b"dir/file-1.txt");
        assert_eq!(quoted(b"a b", true, false), b"a b");
    }

    #[test]
    fn special_bytes_are_escaped_by_letter_or_octal() {
        assert_eq!(
            quoted(b"\x07\x08\t\n\x0b\x0c\r\"\\\x01\x1b\x7f", true, false),
            br#""\a\b\t\n\v\f\r\"\\\001\033\177""#
        );
    }

    #[test]
    fn high_bytes_are_escaped_only_when_asked() {
        assert_eq!(quoted(b"\xc3\xa9", true, false), br#""\303\251""#);
        assert_eq!(quoted(b"\xc3\xa9", false, false), b"\xc3\xa9");
        assert_eq!(quoted(b"\xc3\xa9\t", false, false), b"\"\xc3\xa9\\t\"");
    }

    #[test]
    fn a_space_only_adds_the_quotes() {
        assert_eq!(quoted(b"a b", true, true), b"\"a b\"");
        assert_eq!(quoted(b"a b\t", true, true), b"\"a b\\t\"");
    }

    #[test]
    fn what_is_quoted_may_hold_blanks() {
        assert_eq!(
            unquote(b"\"a b\\t\\101\" rest"),
            Some((b"a b\tA".to_vec(), &b" rest"[..]))
        );
        assert_eq!(unquote(b"\"a"), None);
        assert_eq!(unquote(b"\"\\4\""), None);
    }
}
