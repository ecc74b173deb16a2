//! Values that are lists of words (`hg help config`, "Syntax"): with spaces or commas between, and perhaps in quotes.

use bstr::{BString, ByteSlice};

use crate::bytes::{bytes, is_space};

/// The number of times that what follows a quote without an end is read once more.
const DEPTH_MAX: usize = 64;

/// Returns the words of a value.
pub(super) fn words_of(value: &[u8]) -> Vec<BString> {
    let value = value.trim_start_with(|letter| matches!(letter, ' ' | ',' | '\n'));
    words(value, DEPTH_MAX)
}

fn is_separator(byte: u8) -> bool {
    byte == b',' || is_space(byte)
}

fn without_first(text: &[u8], is_skipped: impl Fn(u8) -> bool) -> &[u8] {
    let len = text.iter().take_while(|byte| is_skipped(**byte)).count();
    text.get(len..).unwrap_or_default()
}

fn words(text: &[u8], depth_left: usize) -> Vec<BString> {
    let mut rest = text.trim_end_with(|letter| matches!(letter, ' ' | ','));
    let mut all = Vec::new();
    if rest.is_empty() {
        return all;
    }
    let mut word = BString::default();
    loop {
        let after = without_first(rest, is_separator);
        if after.len() < rest.len() && !after.is_empty() {
            all.push(std::mem::take(&mut word));
        }
        rest = match after {
            [] => break,
            // Two quotes are an empty word.
            [b'"', b'"', after @ ..] if word.is_empty() => {
                all.push(BString::default());
                without_first(after, is_separator)
            }
            [b'"', after @ ..] if word.is_empty() => {
                let (quoted, after) = quoted(after);
                word = quoted;
                let Some(after) = after else {
                    all.extend(as_unquoted(word, depth_left));
                    return all;
                };
                let after = without_first(after, |byte| matches!(byte, b' ' | b','));
                match after {
                    [] => break,
                    [b'"'] => {
                        word.push(b'"');
                        break;
                    }
                    _ => all.push(std::mem::take(&mut word)),
                }
                after
            }
            [b'"', after @ ..] if word.ends_with(b"\\") => {
                word.pop();
                word.push(b'"');
                after
            }
            [byte, after @ ..] => {
                word.push(*byte);
                after
            }
        };
    }
    all.push(word);
    all
}

/// Reads what follows a quote. Returns it, and what follows its end, if there is one.
fn quoted(text: &[u8]) -> (BString, Option<&[u8]>) {
    let mut inside = BString::default();
    let mut rest = text;
    loop {
        rest = match rest {
            [] => return (inside, None),
            [b'"', after @ ..] => return (inside, Some(after)),
            [b'\\', b'"', after @ ..] => {
                inside.push(b'"');
                after
            }
            [byte, after @ ..] => {
                inside.push(*byte);
                after
            }
        };
    }
}

/// Returns the words of `text`, which follows a quote without an end: the quote is part of the first word.
fn as_unquoted(text: BString, depth_left: usize) -> Vec<BString> {
    let mut all = match depth_left.checked_sub(1) {
        Some(depth_left) => words(&text, depth_left),
        None => vec![text],
    };
    match all.first_mut() {
        Some(first) => *first = bytes!("\"", first),
        None => all.push("\"".into()),
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_mercurial() {
        for (value, expected) in [
            ("", &[][..]),
            (" , \n", &[]),
            ("a", &["a"]),
            (",a , b\tc\nd,, ", &["a", "b", "c", "d"]),
            ("\ta", &["", "a"]),
            ("a \"b, c\" d", &["a", "b, c", "d"]),
            ("a\"b\"", &["a\"b\""]),
            ("a\\\"b", &["a\"b"]),
            ("\"a\\\"b\"", &["a\"b"]),
            ("\"\"", &["", ""]),
            ("\"\" a", &["", "a"]),
            ("\"a\"b", &["a", "b"]),
            ("\"a\"\"", &["a\""]),
            ("\"a\", \"", &["a\""]),
            ("a \"nobody", &["a", "\"nobody"]),
            ("a \"nobody b", &["a", "\"nobody", "b"]),
            ("\"", &["\""]),
            ("a \"", &["a", "\""]),
            ("\" , a", &["\"", "a"]),
            ("\" \\\"a", &["\"", "\"a"]),
            ("a\t", &["a"]),
        ] {
            let words = words_of(value.as_bytes());
            assert_eq!(words, expected, "{value:?}");
        }
    }

    #[test]
    fn quotes_without_end_do_not_nest_without_end() {
        let nested: String = (0..200)
            .map(|depth| format!(" {}\"", "\\".repeat(depth)))
            .collect();
        assert!(!words_of(nested.as_bytes()).is_empty());
    }
}
