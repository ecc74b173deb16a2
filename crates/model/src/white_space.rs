//! What git considers white space: unlike in C and Rust, neither vertical tab nor form feed.

use bstr::ByteSlice;

/// Whether `byte` is white space.
pub fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// `text` without white space at its start.
pub fn trim_start(text: &[u8]) -> &[u8] {
    text.trim_start_with(|c| u8::try_from(c).is_ok_and(is_space))
}

/// `text` without white space at its end.
pub fn trim_end(text: &[u8]) -> &[u8] {
    text.trim_end_with(|c| u8::try_from(c).is_ok_and(is_space))
}

/// `text` without white space at either end.
pub fn trim(text: &[u8]) -> &[u8] {
    trim_start(trim_end(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn form_feeds_vertical_tabs_and_spaces_of_unicode_stay() {
        assert_eq!(trim(b" \t\x0ca\x0b\r\n"), b"\x0ca\x0b");
        assert_eq!(
            trim("\u{a0}a\u{2003}".as_bytes()),
            "\u{a0}a\u{2003}".as_bytes()
        );
        assert_eq!(trim(b" \n"), b"");
    }
}
