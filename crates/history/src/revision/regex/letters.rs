//! Characters in UTF-8, and the classes that those from 0x80 on belong to. The C library's tables differ in details.

/// A class of letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LetterClass {
    Any,
    Word,
    Alphabetic,
    Uppercase,
    Lowercase,
    Space,
    Blank,
    Punctuation,
    Printed,
    Graphic,
    Control,
}

impl LetterClass {
    /// The class `[:name:]`, unless it is one of ASCII alone.
    pub(super) fn of(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"alpha" | b"alnum" => Self::Alphabetic,
            b"upper" => Self::Uppercase,
            b"lower" => Self::Lowercase,
            b"space" => Self::Space,
            b"blank" => Self::Blank,
            b"punct" => Self::Punctuation,
            b"print" => Self::Printed,
            b"graph" => Self::Graphic,
            b"cntrl" => Self::Control,
            _ => return None,
        })
    }

    pub(super) fn has(self, letter: char) -> bool {
        match self {
            Self::Any => true,
            Self::Word => letter.is_alphanumeric() || letter == '_',
            // Digits of other scripts, too.
            Self::Alphabetic => letter.is_alphanumeric(),
            Self::Uppercase => letter.is_uppercase(),
            Self::Lowercase => letter.is_lowercase(),
            // Those that no line is broken at do not separate words.
            Self::Space => {
                letter.is_whitespace()
                    && !matches!(letter, '\u{85}' | '\u{a0}' | '\u{2007}' | '\u{202f}')
            }
            Self::Blank => Self::Space.has(letter) && !matches!(letter, '\u{2028}' | '\u{2029}'),
            Self::Punctuation => Self::Graphic.has(letter) && !letter.is_alphanumeric(),
            Self::Printed => !Self::Control.has(letter),
            Self::Graphic => Self::Printed.has(letter) && !Self::Space.has(letter),
            Self::Control => letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}'),
        }
    }
}

/// The character that begins at `at`.
pub(super) fn char_at(text: &[u8], at: usize) -> Option<char> {
    let rest = text.get(at..)?;
    let (letter, len) = bstr::decode_utf8(rest);
    letter.filter(|_| len > 0)
}

/// The character that ends at `at`.
pub(super) fn char_before(text: &[u8], at: usize) -> Option<char> {
    let (letter, len) = bstr::decode_last_utf8(text.get(..at)?);
    letter.filter(|_| len > 0)
}
