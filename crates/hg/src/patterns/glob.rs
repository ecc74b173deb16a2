//! Globs as regular expressions.

use bstr::BString;

/// Translates a glob into a regular expression: `*` stays within a directory, `**` does not.
pub(super) fn regular(glob: &[u8]) -> BString {
    let mut out = BString::default();
    let mut groups = 0usize;
    // Searching for the end of each of many brackets without one would take square time.
    let last_end = glob.iter().rposition(|byte| *byte == b']').unwrap_or(0);
    let may_end = |after: &[u8]| glob.len().saturating_sub(after.len()) <= last_end;
    let mut rest = glob;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match first {
            b'*' => match after {
                [b'*', b'/', after @ ..] => {
                    out.extend_from_slice(b"(?:.*/)?");
                    rest = after;
                }
                [b'*', after @ ..] => {
                    out.extend_from_slice(b".*");
                    rest = after;
                }
                _ => out.extend_from_slice(b"[^/]*"),
            },
            b'?' => out.push(b'.'),
            b'[' => match may_end(after).then(|| set(after)).flatten() {
                Some((inner, after)) => {
                    out.push(b'[');
                    push_set(&mut out, inner);
                    out.push(b']');
                    rest = after;
                }
                None => out.extend_from_slice(b"\\["),
            },
            b'{' => {
                groups = groups.saturating_add(1);
                out.extend_from_slice(b"(?:");
            }
            b'}' if groups > 0 => {
                groups = groups.saturating_sub(1);
                out.push(b')');
            }
            b',' if groups > 0 => out.push(b'|'),
            b'\\' => match after.split_first() {
                Some((escaped, after)) => {
                    push_literal(&mut out, *escaped);
                    rest = after;
                }
                None => push_literal(&mut out, b'\\'),
            },
            other => push_literal(&mut out, *other),
        }
    }
    out
}

/// Splits a bracket set, whose opening bracket is already read, into its contents and what follows it.
fn set(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let skipped = usize::from(matches!(text.first(), Some(b'!' | b']')));
    let end = text.get(skipped..)?.iter().position(|byte| *byte == b']')?;
    let end = end.checked_add(skipped)?;
    Some((text.get(..end)?, text.get(end.checked_add(1)?..)?))
}

fn push_set(out: &mut BString, inner: &[u8]) {
    let inner = match inner {
        [b'!', rest @ ..] => {
            out.push(b'^');
            rest
        }
        [b'^', ..] => {
            out.push(b'\\');
            inner
        }
        _ => inner,
    };
    for byte in inner {
        if *byte == b'\\' {
            out.push(b'\\');
        }
        out.push(*byte);
    }
}

/// Characters with a meaning in regular expressions, as Python's `re.escape` knows them.
const SPECIAL: &[u8] = b"()[]{}?*+-|^$\\.&~# \t\n\r\x0b\x0c";

pub(super) fn push_literal(out: &mut BString, byte: u8) {
    if SPECIAL.contains(&byte) {
        out.push(b'\\');
    }
    out.push(byte);
}

/// Returns the regular expression that matches `text` literally.
pub(super) fn literal(text: &[u8]) -> BString {
    let mut out = BString::default();
    for byte in text {
        push_literal(&mut out, *byte);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_become_regular_expressions() {
        for (glob, expected) in [
            ("?", "."),
            ("*", "[^/]*"),
            ("**", ".*"),
            ("**/a", "(?:.*/)?a"),
            ("a/**/b", "a/(?:.*/)?b"),
            ("[a*?!^][^b][!c]", "[a*?!^][\\^b][^c]"),
            ("{a,b},c}", "(?:a|b),c\\}"),
            (".\\*\\?", "\\.\\*\\?"),
            ("[]a]", "[]a]"),
            ("[\\a]", "[\\\\a]"),
            ("[a", "\\[a"),
            ("a,b}", "a,b\\}"),
            ("\\", "\\\\"),
        ] {
            assert_eq!(regular(glob.as_bytes()), expected, "{glob}");
        }
    }

    #[test]
    fn many_brackets_without_an_end_are_read_once() {
        let count = 1 << 20;
        let glob = regular("[".repeat(count).as_bytes());
        assert_eq!(glob, "\\[".repeat(count));
    }
}
