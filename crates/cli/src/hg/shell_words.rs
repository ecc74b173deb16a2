//! Words in the configuration, split and quoted as a POSIX shell does, by Python's rules.

use bstr::BString;

/// Why a text has no words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unfinished {
    /// A quote is not closed.
    Quote,
    /// Nothing follows a backslash.
    Escape,
}

impl Unfinished {
    /// What Python says of it.
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::Quote => "No closing quotation",
            Self::Escape => "No escaped character",
        }
    }
}

/// Splits a text into words.
///
/// # Errors
/// The text ends too early.
pub(super) fn split(text: &[u8]) -> Result<Vec<BString>, Unfinished> {
    let mut words = Vec::new();
    let mut word: Option<BString> = None;
    let mut quote = None;
    let mut rest = text.iter();
    while let Some(byte) = rest.next() {
        match (*byte, quote) {
            (byte, Some(open)) if byte == open => quote = None,
            (b'\\', Some(b'"')) => {
                let escaped = *rest.next().ok_or(Unfinished::Escape)?;
                let word = word.get_or_insert_default();
                if !matches!(escaped, b'"' | b'\\') {
                    word.push(b'\\');
                }
                word.push(escaped);
            }
            (byte, Some(_)) => word.get_or_insert_default().push(byte),
            (b'\\', None) => {
                let escaped = *rest.next().ok_or(Unfinished::Escape)?;
                word.get_or_insert_default().push(escaped);
            }
            (byte @ (b'\'' | b'"'), None) => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            (b' ' | b'\t' | b'\r' | b'\n', None) => words.extend(word.take()),
            (byte, None) => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word);
    match quote {
        Some(_) => Err(Unfinished::Quote),
        None => Ok(words),
    }
}

/// Quotes a word, if it needs that.
pub(super) fn quoted(word: &[u8]) -> BString {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"._/+-".contains(byte);
    if !word.is_empty() && word.iter().all(is_plain) {
        return word.into();
    }
    let mut quoted = BString::from("'");
    for byte in word {
        match byte {
            b'\'' => quoted.extend_from_slice(b"'\\''"),
            byte => quoted.push(*byte),
        }
    }
    quoted.push(b'\'');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_a_shell() {
        let read = |text: &str| split(text.as_bytes());
        let all = |words: &[&str]| Ok(words.iter().map(|word| BString::from(*word)).collect());
        assert_eq!(read(" -X 'a b'\"c\"  '' "), all(&["-X", "a bc", ""]));
        assert_eq!(read(""), all(&[]));
        assert_eq!(read("a\\ b \\'"), all(&["a b", "'"]));
        assert_eq!(read("'a\\b' \"a\\b\\\"\\\\\""), all(&["a\\b", "a\\b\"\\"]));
        assert_eq!(read("a\u{b}b"), all(&["a\u{b}b"]));
        assert_eq!(read("'a"), Err(Unfinished::Quote));
        assert_eq!(read("\"a\\\""), Err(Unfinished::Quote));
        assert_eq!(read("a\\"), Err(Unfinished::Escape));
    }

    #[test]
    fn what_is_quoted_is_split_into_the_same_words() {
        for word in ["", "a b", "it's", "$1", "a\\b", "-x/y.z+1", "'"] {
            assert_eq!(split(&quoted(word.as_bytes())), Ok(vec![word.into()]));
        }
        assert_eq!(quoted(b"a-b"), "a-b");
        assert_eq!(quoted(b"$1"), "'$1'");
    }
}
