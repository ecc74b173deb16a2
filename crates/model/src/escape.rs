//! Text for people, so that nothing in it controls their terminal.

use bstr::{BString, ByteSlice};

use crate::quote::{QuoteRule, append_quoted};

/// Appends `text` so that it affects only its own line: white space becomes a space, and other characters that a terminal may
/// obey are escaped byte by byte, as in git's quotes.
pub fn append_escaped(out: &mut Vec<u8>, text: &[u8]) {
    for (start, end, character) in text.char_indices() {
        let bytes = text.get(start..end).unwrap_or_default();
        let is_broken = character == '\u{fffd}' && bytes != "\u{fffd}".as_bytes();
        match character {
            '\n' | '\t' => out.push(b' '),
            _ if is_broken || character.is_control() || turns_text(character) => {
                for byte in bytes {
                    out.extend_from_slice(format!("\\{byte:03o}").as_bytes());
                }
            }
            _ => out.extend_from_slice(bytes),
        }
    }
}

/// Returns `text` so that it is safe on a terminal: as it is, or quoted as git quotes paths if quotes or control characters are
/// in it, and escaped as by [`append_escaped`].
pub fn quoted(text: &[u8]) -> BString {
    let rule = QuoteRule {
        high_bytes: false,
        spaces: false,
    };
    let mut quoted = Vec::new();
    append_quoted(&mut quoted, text.as_bstr(), rule);
    let mut out = Vec::new();
    append_escaped(&mut out, &quoted);
    out.into()
}

/// Returns whether a character is invisible and moves what follows it (Unicode's bidirectional controls and separators).
fn turns_text(character: char) -> bool {
    matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use bstr::BString;

    use super::*;

    #[test]
    fn nothing_that_a_terminal_obeys_is_printed() {
        let hostile = b"a\x1b[2J\r\nb\x9b1m\xc2\x9b\xff \xe2\x80\xae\x7f\xc3\xbc \xef\xbf\xbd";
        let mut out = Vec::new();
        append_escaped(&mut out, hostile);
        let expected = "a\\033[2J\\015 b\\2331m\\302\\233\\377 \\342\\200\\256\\177ü \u{fffd}";
        assert_eq!(BString::from(out), expected);
    }
}
