//! Texts as Mercurial writes them in JSON.

use bstr::BStr;

/// How letters beyond ASCII are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Letters {
    /// As they are.
    AsTheyAre,
    /// Escaped, as are `<` and `>`, so that the string may stand in a page.
    Escaped,
}

/// Returns a text as a JSON string. A byte that is not UTF-8 is written as if it were a character of the surrogate range, which no
/// valid text has.
pub(super) fn string(text: &BStr, letters: Letters) -> Vec<u8> {
    let is_escaped = letters == Letters::Escaped;
    let mut out = b"\"".to_vec();
    let mut rest: &[u8] = text;
    while let Some((first, after)) = rest.split_first() {
        let point = match bstr::decode_utf8(rest) {
            (Some(letter), len) => {
                rest = rest.get(len..).unwrap_or_default();
                u32::from(letter)
            }
            (None, _) => {
                let surrogate = surrogate(rest);
                rest = match surrogate {
                    Some(_) => rest.get(SURROGATE_LEN..).unwrap_or_default(),
                    None => after,
                };
                surrogate.unwrap_or(BYTES_START | u32::from(*first))
            }
        };
        match char::from_u32(point) {
            Some('"') => out.extend_from_slice(b"\\\""),
            Some('\\') => out.extend_from_slice(b"\\\\"),
            Some('\n') => out.extend_from_slice(b"\\n"),
            Some('\r') => out.extend_from_slice(b"\\r"),
            Some('\t') => out.extend_from_slice(b"\\t"),
            Some('\u{8}') => out.extend_from_slice(b"\\b"),
            Some('\u{c}') => out.extend_from_slice(b"\\f"),
            Some(letter) if is_special(letter, is_escaped) => {
                for unit in letter.encode_utf16(&mut [0; 2]) {
                    out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
                }
            }
            Some(letter) => out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes()),
            None if is_escaped => out.extend_from_slice(format!("\\u{point:04x}").as_bytes()),
            None => {
                let low = |bits: u32| 0x80 | u8::try_from(bits & 0x3f).unwrap_or_default();
                out.extend([0xed, low(point >> 6), low(point)]);
            }
        }
    }
    out.push(b'"');
    out
}

/// What is added to a byte that is not UTF-8.
const BYTES_START: u32 = 0xdc00;

/// The length in bytes of a surrogate, in the form of UTF-8.
const SURROGATE_LEN: usize = 3;

/// Returns the surrogate that a text begins with, which Mercurial leaves as it is, unless it could be mistaken for a byte.
fn surrogate(text: &[u8]) -> Option<u32> {
    let [0xed, high @ 0xa0..=0xbf, low @ 0x80..=0xbf, ..] = text else {
        return None;
    };
    let point = 0xd000 | u32::from(high & 0x3f) << 6 | u32::from(low & 0x3f);
    (point & !0xff != BYTES_START).then_some(point)
}

fn is_special(letter: char, is_escaped: bool) -> bool {
    letter.is_ascii_control() || is_escaped && (matches!(letter, '<' | '>') || !letter.is_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_is_written_like_text() {
        for (text, plain, escaped) in [
            (
                &b"a<\x7f\"\\\x01"[..],
                &b"a<\\u007f\\\"\\\\\\u0001"[..],
                "a\\u003c\\u007f\\\"\\\\\\u0001",
            ),
            (
                "\u{e9}\u{1f600}".as_bytes(),
                "\u{e9}\u{1f600}".as_bytes(),
                "\\u00e9\\ud83d\\ude00",
            ),
            (b"\xff\xc3", b"\xed\xb3\xbf\xed\xb3\x83", "\\udcff\\udcc3"),
            (
                b"\xed\xa0\x80\xed\xb4\x80",
                b"\xed\xa0\x80\xed\xb4\x80",
                "\\ud800\\udd00",
            ),
            (
                b"\xed\xb0\x80",
                b"\xed\xb3\xad\xed\xb2\xb0\xed\xb2\x80",
                "\\udced\\udcb0\\udc80",
            ),
            (b"\xed\xa0", b"\xed\xb3\xad\xed\xb2\xa0", "\\udced\\udca0"),
        ] {
            let string = |letters| string(text.into(), letters);
            assert_eq!(string(Letters::AsTheyAre), [b"\"", plain, b"\""].concat());
            assert_eq!(
                string(Letters::Escaped),
                format!("\"{escaped}\"").into_bytes()
            );
        }
    }
}
