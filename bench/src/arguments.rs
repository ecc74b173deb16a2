//! The arguments of the command line.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::PathBuf;

use crate::Done;

/// The remaining arguments. Options may be anywhere among them.
#[derive(Clone, Debug)]
pub(crate) struct Arguments {
    left: VecDeque<OsString>,
}

impl Arguments {
    pub(crate) fn new(words: impl IntoIterator<Item = OsString>) -> Self {
        Self {
            left: words.into_iter().collect(),
        }
    }

    /// The next word, if it is UTF-8.
    pub(crate) fn next_word(&mut self) -> Option<String> {
        self.left.pop_front()?.into_string().ok()
    }

    /// The next word as a path.
    pub(crate) fn path(&mut self, name: &str) -> Done<PathBuf> {
        let word = self.left.pop_front();
        Ok(word.ok_or_else(|| format!("{name} is missing"))?.into())
    }

    /// The next word as a number.
    pub(crate) fn number(&mut self, name: &str) -> Done<usize> {
        let word = self.next_word();
        word.as_deref()
            .and_then(parse_count)
            .ok_or_else(|| format!("{name} must be a number").into())
    }

    /// Removes the flag, and returns whether it was there.
    pub(crate) fn flag(&mut self, flag: &str) -> bool {
        let before = self.left.len();
        self.left.retain(|word| word != flag);
        self.left.len() < before
    }

    /// Removes the option and the word after it, and returns that word, if the option was there.
    pub(crate) fn option(&mut self, option: &str) -> Done<Option<String>> {
        let Some(at) = self.left.iter().position(|word| word == option) else {
            return Ok(None);
        };
        self.left.remove(at);
        let value = self
            .left
            .remove(at)
            .and_then(|word| word.into_string().ok());
        Ok(Some(
            value.ok_or_else(|| format!("{option} needs a value"))?,
        ))
    }

    /// The value of the option as a number, or the default.
    pub(crate) fn option_number(&mut self, option: &str, default: usize) -> Done<usize> {
        match self.option(option)? {
            None => Ok(default),
            Some(text) => {
                parse_count(&text).ok_or_else(|| format!("{option}: not a number: {text}").into())
            }
        }
    }

    /// Returns an error if any argument was not used.
    pub(crate) fn end(&self) -> Done<()> {
        match self.left.front() {
            None => Ok(()),
            Some(word) => Err(format!("not understood: {}", word.display()).into()),
        }
    }
}

/// Parses a number, with `k` for thousands and `m` for millions.
pub(crate) fn parse_count(text: &str) -> Option<usize> {
    let (digits, unit) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1_000),
        None => match text.strip_suffix(['m', 'M']) {
            Some(digits) => (digits, 1_000_000),
            None => (text, 1),
        },
    };
    digits.parse::<usize>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts() {
        assert_eq!(parse_count("1k"), Some(1_000));
        assert_eq!(parse_count("2m"), Some(2_000_000));
        assert_eq!(parse_count("17"), Some(17));
        assert_eq!(parse_count("k"), None);
        assert_eq!(parse_count("1g"), None);
    }

    #[test]
    fn options_stand_anywhere() {
        let words = ["scan", "--rounds", "3", "dir", "--cold"].map(OsString::from);
        let mut arguments = Arguments::new(words);
        assert_eq!(arguments.next_word().as_deref(), Some("scan"));
        assert!(arguments.flag("--cold"));
        assert!(!arguments.flag("--cold"));
        assert_eq!(arguments.option_number("--rounds", 7).unwrap(), 3);
        assert_eq!(arguments.option_number("--rounds", 7).unwrap(), 7);
        assert!(arguments.end().is_err());
        assert_eq!(arguments.path("DIR").unwrap(), PathBuf::from("dir"));
        assert!(arguments.end().is_ok());
    }
}
