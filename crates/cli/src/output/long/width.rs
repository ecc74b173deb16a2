//! The width of text on a terminal.

use unicode_width::UnicodeWidthChar;

/// The width of `text` in cells. Colour sequences take none. Text that is not UTF-8 counts one cell per byte.
pub(super) fn of(text: &[u8]) -> usize {
    let Ok(decoded) = std::str::from_utf8(text) else {
        return text.len();
    };
    let mut width: usize = 0;
    let mut rest = decoded;
    loop {
        rest = rest.get(escape_length(rest)..).unwrap_or_default();
        let mut characters = rest.chars();
        let Some(character) = characters.next() else {
            return width;
        };
        width = width.saturating_add(character.width().unwrap_or(0));
        rest = characters.as_str();
    }
}

/// The length of the colour sequences at the start of `text`.
fn escape_length(text: &str) -> usize {
    let mut length = 0;
    while let Some(body) = text
        .get(length..)
        .and_then(|rest| rest.strip_prefix("\x1b["))
    {
        let end = body
            .bytes()
            .position(|byte| !byte.is_ascii_digit() && byte != b';');
        match end.map(|end| (end, body.as_bytes().get(end))) {
            Some((end, Some(b'm'))) => length += end + 3,
            _ => break,
        }
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_and_combining_characters() {
        for (text, width) in [
            ("", 0),
            ("abc", 3),
            ("\u{4e2d}a", 3),
            ("a\u{301}", 1),
            ("\x1b[1;31mab\x1b[m", 2),
            ("\x1b[3x", 3),
        ] {
            assert_eq!(of(text.as_bytes()), width, "{text:?}");
        }
        assert_eq!(of(b"a\xff"), 2);
    }
}
