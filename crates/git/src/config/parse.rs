//! The grammar of a configuration file, as git's own parser has it.
//!
//! Not gix-config: for a damaged file git names the line at which its parser stopped, it has its own way of
//! counting continuation lines and carriage returns, and entries before the damage still count. A parser that does
//! not keep the text for later edits is also faster.

use bstr::{BString, ByteSlice};

use vigil_linux::Errno;
use vigil_model::white_space::is_space;

use super::recorded_file::FILE_LEN_MAX;

/// One `name = value` line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// `section.subsection.name`, section and name in lower case.
    pub(crate) key: BString,
    /// The value, `None` if there was no `=`.
    pub(crate) value: Option<BString>,
    /// The number of the (last) line, from 1.
    pub(crate) number: usize,
}

/// The contents of a file.
#[derive(Debug, Default)]
pub(crate) struct Text {
    /// The entries in order, up to the damage if there is any.
    pub(crate) lines: Vec<Line>,
    /// The number of the first invalid line.
    pub(crate) bad_line: Option<usize>,
}

struct Damaged;

/// The most bytes that the keys of a file of `len` bytes may have in total. The limit is needed because each key
/// repeats the name of its section, which a file may write once and use a million times.
fn keys_len_max(len: usize) -> usize {
    len.saturating_mul(64).max(1 << 20)
}

/// The state of parsing one file.
struct ConfigParser<'a> {
    bytes: &'a [u8],
    at: usize,
    line: usize,
    at_end: bool,
}

/// Parses what was read of a file, which is no more than [`FILE_LEN_MAX`] bytes. A file that may have more, and of which that
/// much is valid, is too long (`EFBIG`): its rest could say anything.
pub(crate) fn parse_beginning(bytes: &[u8]) -> Result<Text, Errno> {
    let text = parse(bytes);
    match text.bad_line {
        None if bytes.len() as u64 >= FILE_LEN_MAX => Err(Errno::FBIG),
        _ => Ok(text),
    }
}

pub(crate) fn parse(bytes: &[u8]) -> Text {
    let mut text = Text::default();
    let mut parser = ConfigParser {
        bytes,
        at: 0,
        line: 1,
        at_end: false,
    };
    if parser.read(&mut text.lines).is_err() {
        text.bad_line = Some(parser.line);
    }
    text
}

pub(super) fn is_key_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

/// Truncates at the first NUL, as a C string ends there.
fn until_nul(mut bytes: Vec<u8>) -> BString {
    if let Some(at) = bytes.find_byte(0) {
        bytes.truncate(at);
    }
    bytes.into()
}

impl ConfigParser<'_> {
    /// Returns the next byte. `\r\n` counts as one newline, and so does the end of the file.
    fn next(&mut self) -> u8 {
        let byte = match (self.bytes.get(self.at), self.bytes.get(self.at + 1)) {
            (Some(b'\r'), Some(b'\n')) => {
                self.at += 2;
                b'\n'
            }
            (Some(byte), _) => {
                self.at += 1;
                *byte
            }
            (None, _) => {
                self.at_end = true;
                b'\n'
            }
        };
        if byte == b'\n' {
            self.line += 1;
        }
        byte
    }

    fn read(&mut self, lines: &mut Vec<Line>) -> Result<(), Damaged> {
        self.skip_byte_order_mark()?;
        let mut stem = Vec::new();
        let mut in_comment = false;
        let mut keys_left = keys_len_max(self.bytes.len());
        loop {
            match self.next() {
                b'\n' if self.at_end => return Ok(()),
                b'\n' => in_comment = false,
                _ if in_comment => {}
                byte if is_space(byte) => {}
                b'#' | b';' => in_comment = true,
                b'[' => {
                    stem.clear();
                    self.section(&mut stem)?;
                    if stem.is_empty() {
                        return Err(Damaged);
                    }
                    stem.push(b'.');
                }
                byte if byte.is_ascii_alphabetic() => {
                    let mut key = stem.clone();
                    key.push(byte.to_ascii_lowercase());
                    let line = self.entry(key)?;
                    keys_left = keys_left.checked_sub(line.key.len()).ok_or(Damaged)?;
                    lines.push(line);
                }
                _ => return Err(Damaged),
            }
        }
    }

    fn skip_byte_order_mark(&mut self) -> Result<(), Damaged> {
        const MARK: &[u8] = b"\xef\xbb\xbf";
        if self.bytes.starts_with(MARK) {
            self.at = MARK.len();
        } else if self.bytes.first() == MARK.first() {
            // An incomplete mark is an error at the byte that breaks it.
            for expected in MARK {
                if self.next() != *expected {
                    break;
                }
            }
            return Err(Damaged);
        }
        Ok(())
    }

    fn section(&mut self, stem: &mut Vec<u8>) -> Result<(), Damaged> {
        loop {
            let byte = self.next();
            match byte {
                _ if self.at_end => return Err(Damaged),
                b']' => return Ok(()),
                _ if is_space(byte) => return self.subsection(stem, byte),
                _ if is_key_byte(byte) || byte == b'.' => stem.push(byte.to_ascii_lowercase()),
                _ => return Err(Damaged),
            }
        }
    }

    fn subsection(&mut self, stem: &mut Vec<u8>, mut byte: u8) -> Result<(), Damaged> {
        while is_space(byte) {
            self.not_newline(byte)?;
            byte = self.next();
        }
        if byte != b'"' {
            return Err(Damaged);
        }
        stem.push(b'.');
        loop {
            match self.next() {
                b'"' => break,
                b'\\' => {
                    let escaped = self.next();
                    self.not_newline(escaped)?;
                    stem.push(escaped);
                }
                byte => {
                    self.not_newline(byte)?;
                    stem.push(byte);
                }
            }
        }
        if self.next() == b']' {
            Ok(())
        } else {
            Err(Damaged)
        }
    }

    /// Refuses a newline. A line that ends too early is itself reported as the bad one, not the next.
    fn not_newline(&mut self, byte: u8) -> Result<(), Damaged> {
        if byte == b'\n' {
            self.line -= 1;
            return Err(Damaged);
        }
        Ok(())
    }

    fn entry(&mut self, mut key: Vec<u8>) -> Result<Line, Damaged> {
        let mut byte = self.next();
        while !self.at_end && is_key_byte(byte) {
            key.push(byte.to_ascii_lowercase());
            byte = self.next();
        }
        while matches!(byte, b' ' | b'\t') {
            byte = self.next();
        }
        let value = match byte {
            b'\n' => None,
            b'=' => Some(self.value()?),
            _ => return Err(Damaged),
        };
        Ok(Line {
            key: until_nul(key),
            value,
            number: self.line - 1,
        })
    }

    fn value(&mut self) -> Result<BString, Damaged> {
        let mut value = Vec::new();
        let mut in_quotes = false;
        let mut in_comment = false;
        // Where trailing white space began, which counts only if something follows it; 0 for none.
        let mut trim_to = 0;
        loop {
            let byte = self.next();
            if byte == b'\n' {
                if in_quotes {
                    self.line -= 1;
                    return Err(Damaged);
                }
                if trim_to != 0 {
                    value.truncate(trim_to);
                }
                return Ok(until_nul(value));
            }
            if in_comment {
                continue;
            }
            if is_space(byte) && !in_quotes {
                if trim_to == 0 {
                    trim_to = value.len();
                }
                if !value.is_empty() {
                    value.push(byte);
                }
                continue;
            }
            if !in_quotes && matches!(byte, b';' | b'#') {
                in_comment = true;
                continue;
            }
            trim_to = 0;
            match byte {
                b'\\' => match self.next() {
                    b'\n' => {}
                    b't' => value.push(b'\t'),
                    b'b' => value.push(8),
                    b'n' => value.push(b'\n'),
                    escaped @ (b'\\' | b'"') => value.push(escaped),
                    _ => return Err(Damaged),
                },
                b'"' => in_quotes = !in_quotes,
                _ => value.push(byte),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Vec<(String, Option<String>, usize)> {
        let text = parse(text.as_bytes());
        assert_eq!(text.bad_line, None);
        text.lines
            .into_iter()
            .map(|line| {
                (
                    line.key.to_string(),
                    line.value.map(|value| value.to_string()),
                    line.number,
                )
            })
            .collect()
    }

    fn entry(key: &str, value: Option<&str>, number: usize) -> (String, Option<String>, usize) {
        (key.into(), value.map(Into::into), number)
    }

    #[test]
    fn names_fold_and_subsections_do_not() {
        assert_eq!(
            pairs("[Core]\nFileMode\n[A.B]\nx=1\n[Remote \"Or\\\"igin\"] URL = y # z\n"),
            [
                entry("core.filemode", None, 2),
                entry("a.b.x", Some("1"), 4),
                entry("remote.Or\"igin.url", Some("y"), 5),
            ]
        );
    }

    #[test]
    fn values_keep_inner_and_lose_outer_space() {
        assert_eq!(
            pairs("\u{feff}[a]\r\nb =  x  y \t; c\r\nc = \" z \" q\\\n  r\r\nd=\"a;b\"\\t\ne ="),
            [
                entry("a.b", Some("x  y"), 2),
                entry("a.c", Some(" z  q  r"), 4),
                entry("a.d", Some("a;b\t"), 5),
                entry("a.e", Some(""), 6),
            ]
        );
    }

    #[test]
    fn keys_may_not_fill_the_memory() {
        let text = format!("[a \"{}\"]\n{}", "x".repeat(10_000), "b\n".repeat(10_000));
        let text = parse(text.as_bytes());
        assert!(text.bad_line.is_some());
        assert!((100..200).contains(&text.lines.len()));
    }

    #[test]
    fn damage_is_numbered_as_git_numbers_it() {
        for (text, bad) in [
            ("[core]\n x = \"a\n", 2),
            ("[core]\n x = \\q\n", 2),
            ("[core", 2),
            ("[core \"a\n\"]", 1),
            ("[core\n", 1),
            ("\n\n]", 3),
            ("[]", 1),
            ("[a]b c", 1),
            ("\u{ef}", 1),
        ] {
            assert_eq!(parse(text.as_bytes()).bad_line, Some(bad), "{text:?}");
        }
        assert_eq!(parse(b"\xef\xbb[a]").bad_line, Some(1));
    }
}
