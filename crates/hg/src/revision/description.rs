//! The descriptions of changesets, and how they are compared.

use bstr::ByteSlice;

/// Returns the text after the first empty line of a changeset.
pub(super) fn description(text: &[u8]) -> &[u8] {
    text.split_once_str("\n\n")
        .map_or(b"", |(_, description)| description)
}

/// Converts to lower case; in a text that is not UTF-8, only ASCII letters.
pub(super) fn lower(text: &[u8]) -> Vec<u8> {
    match text.to_str() {
        Ok(text) => text.to_lowercase().into_bytes(),
        Err(_) => text.to_ascii_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_what_is_after_the_names_of_files() {
        for (text, want) in [
            ("0\nme\n0 0\na\nb\n\nfirst\n\nand more", "first\n\nand more"),
            ("0\nme\n0 0\n\nnone", "none"),
            ("0\nme", ""),
        ] {
            assert_eq!(description(text.as_bytes()), want.as_bytes());
        }
        assert_eq!(lower("\u{212a}A\u{c9}".as_bytes()), "ka\u{e9}".as_bytes());
        assert_eq!(lower(b"A\xff"), b"a\xff");
    }
}
