//! A group of patterns, compiled.

use std::collections::BTreeSet;

use bstr::{BStr, BString, ByteSlice};
use regex::bytes::{Regex, RegexBuilder};

use super::kinds::{Kind, Pattern};
use super::lookaround::{LookaroundSet, NEST_MAX};
use super::regular::{NO_WORD_BOUNDARY, RegexError, branches, translate};
use crate::abort::Abort;
use crate::bytes::{bytes, join};

/// The maximum length of one expression in bytes; longer patterns are refused, as Mercurial does.
const GROUP_LEN_MAX: usize = 20_000;
/// The maximum size in bytes of the compiled expression.
const SIZE_MAX: usize = 256 << 20;
/// The maximum size in bytes of the automaton cache that each thread keeps.
const CACHE_LEN_MAX: usize = 16 << 20;
/// The maximum size in bytes of one compiled pattern with a counted repetition. Each repeat is a state of its own, so a few
/// nested ones would make a single path take milliseconds.
const COUNTED_SIZE_MAX: usize = 4 << 20;
/// The maximum size in bytes of the whole expression if it has such a pattern.
const WITH_COUNTED_SIZE_MAX: usize = 64 << 20;

/// Patterns, of which any may match.
#[derive(Clone, Debug, Default)]
pub struct Compiled {
    regex: Option<Regex>,
    /// The alternatives with lookahead or lookbehind.
    lookaround: LookaroundSet,
    /// The directories whose files all match, if every pattern is of the kind `rootfilesin`.
    directories: Option<BTreeSet<BString>>,
    /// Paths that match literally. They are kept out of the expression, whose flags must come first.
    files: BTreeSet<BString>,
    text: String,
}

impl Compiled {
    /// Compiles patterns; `suffix` is appended to globs.
    ///
    /// # Errors
    /// A pattern is invalid, or cannot be matched without Python.
    pub fn new(patterns: &[Pattern], suffix: &str) -> Result<Self, Abort> {
        if patterns.is_empty() {
            return Ok(Self::default());
        }
        if patterns
            .iter()
            .all(|pattern| pattern.kind == Kind::RootFilesIn)
        {
            let directories = patterns.iter().map(|pattern| pattern.text.clone());
            return Ok(Self {
                directories: Some(directories.collect()),
                ..Self::default()
            });
        }
        let (files, patterns): (Vec<_>, Vec<_>) = patterns
            .iter()
            .cloned()
            .partition(|pattern| pattern.kind == Kind::FilePath);
        let files: BTreeSet<BString> = files.into_iter().map(|pattern| pattern.text).collect();
        let patterns = patterns.as_slice();
        if patterns.is_empty() {
            let text = format!("{files:?}");
            return Ok(Self {
                files,
                text,
                ..Self::default()
            });
        }
        let all: Vec<BString> = patterns
            .iter()
            .map(|pattern| pattern.regular(suffix))
            .collect();
        if let Some(long) = all.iter().find(|regular| regular.len() > GROUP_LEN_MAX) {
            let message = format!("matcher pattern is too long ({} bytes)", long.len());
            return Err(Abort::plain(message));
        }
        let too_much = || Abort::unsupported("patterns that take too much memory");
        let mut size_max = SIZE_MAX;
        let mut plain: Vec<String> = Vec::new();
        let mut lookaround = Vec::new();
        for group in groups(&all) {
            let whole = join(group.iter().map(|regular| regular.as_slice()), b"|");
            let branches = branches(&whole).map_err(|wrong| abort_of(patterns, suffix, wrong))?;
            for branch in branches {
                let counts = branch.text.contains('{');
                if counts {
                    size_max = WITH_COUNTED_SIZE_MAX;
                }
                if counts && regex(&branch.text, COUNTED_SIZE_MAX).is_err() {
                    return Err(too_much());
                }
                match branch.lookarounds.is_empty() {
                    true => plain.push(branch.text),
                    false => lookaround.push(branch),
                }
            }
        }
        let text = format!("{plain:?} {lookaround:?} {files:?}");
        let regex = match plain.is_empty() {
            true => None,
            false => Some(regex(&plain.join("|"), size_max).map_err(|_| too_much())?),
        };
        let lookarounds = lookaround.iter().map(|branch| branch.text.as_str());
        let mut texts = plain.iter().map(String::as_str).chain(lookarounds);
        let depends_on_release = texts.any(|text| text.contains(NO_WORD_BOUNDARY));
        let compiled = Self {
            regex,
            lookaround: LookaroundSet::new(&lookaround).ok_or_else(too_much)?,
            directories: None,
            text,
            files,
        };
        match depends_on_release && compiled.is_match(BStr::new("")) {
            true => Err(Abort::unsupported(
                "a pattern with '\\B' that may match nothing",
            )),
            false => Ok(compiled),
        }
    }

    /// Returns whether a pattern matches `path`.
    pub fn is_match(&self, path: &BStr) -> bool {
        if let Some(directories) = &self.directories {
            let directory = match path.rfind_byte(b'/') {
                Some(at) => path.get(..at).unwrap_or_default().as_bstr(),
                None => BStr::new("."),
            };
            return directories.contains(directory);
        }
        let regex = self.regex.as_ref();
        self.files.contains(path.as_bytes().as_bstr())
            || regex.is_some_and(|regex| regex.is_match(path))
            || self.lookaround.is_match(path)
    }

    /// A text that identifies the patterns.
    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

/// Compiles `text`, anchored at the beginning, into at most `size_max` bytes.
fn regex(text: &str, size_max: usize) -> Result<Regex, regex::Error> {
    RegexBuilder::new(&format!(r"\A(?:{text})"))
        .unicode(false)
        .size_limit(size_max)
        .dfa_size_limit(CACHE_LEN_MAX)
        .nest_limit(NEST_MAX)
        .build()
}

/// Splits the expressions into groups of bounded length, as Mercurial does.
fn groups(all: &[BString]) -> Vec<&[BString]> {
    let mut groups = Vec::new();
    let (mut start, mut len) = (0, 0usize);
    for (at, regular) in all.iter().enumerate() {
        if len.saturating_add(regular.len()) > GROUP_LEN_MAX {
            groups.push(all.get(start..at).unwrap_or_default());
            start = at;
            len = 0;
        }
        len = len.saturating_add(regular.len()).saturating_add(1);
    }
    groups.push(all.get(start..).unwrap_or_default());
    groups
}

/// The error that names the first wrong pattern.
fn abort_of(patterns: &[Pattern], suffix: &str, wrong: RegexError) -> Abort {
    for pattern in patterns {
        let named = match pattern.source.is_empty() {
            true => BString::default(),
            false => bytes!(pattern.source, ": "),
        };
        let kind = pattern.kind.name();
        match translate(&pattern.regular(suffix)) {
            Ok(_) => {}
            Err(RegexError::Syntax) => {
                let text = &pattern.text;
                let message = bytes!(named, "invalid pattern (", kind, "): ", text);
                return Abort::plain(message);
            }
            Err(RegexError::OnlyPython(what)) => {
                let pattern = bytes!("the pattern '", kind, ":", pattern.text, "'");
                return Abort::unsupported(bytes!(named, pattern, " with ", what));
            }
        }
    }
    match wrong {
        RegexError::OnlyPython(what) => Abort::unsupported(bytes!("a pattern with ", what)),
        RegexError::Syntax => Abort::plain("invalid pattern"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compiled(regular: &str) -> Result<Compiled, Abort> {
        let pattern = Pattern::from_top(Kind::Re, regular.as_bytes(), b"");
        Compiled::new(&[pattern], SUFFIX)
    }

    const SUFFIX: &str = "$";

    #[test]
    fn an_empty_text_between_words_is_left_to_python() {
        for regular in [r"\B", r"a|(?:\B)*", r"(?!b)\B"] {
            let refused = compiled(regular).unwrap_err();
            assert_eq!(refused.kind, crate::abort::Kind::Unsupported, "{regular}");
        }
        let within = compiled(r"a\Bb").unwrap();
        assert!(within.is_match("ab".into()));
        assert!(!within.is_match("".into()));
    }
}
