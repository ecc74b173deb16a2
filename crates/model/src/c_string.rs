//! Texts as programs in C see them: up to the first NUL.

use bstr::ByteSlice;

/// `text` up to its first NUL, which git takes for its end.
#[inline]
pub fn until_nul(text: &[u8]) -> &[u8] {
    let len = text.find_byte(0).unwrap_or(text.len());
    text.get(..len).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_ends_at_its_first_nul() {
        assert_eq!(until_nul(b"a\0b\0"), b"a");
        assert_eq!(until_nul(b"ab"), b"ab");
        assert_eq!(until_nul(b"\0"), b"");
        assert_eq!(until_nul(b""), b"");
    }
}
