//! A group of patterns, compiled.

use std::collections::BTreeSet;

use bstr::{BStr, BString, ByteSlice};
use regex::bytes::{Regex, RegexBuilder};

use super::ignore::SUFFIX;
use super::kinds::{Kind, Pattern};
use super::lookaround::{LookaroundSet, NEST_MAX};
use super::names::{Name, Names};
use super::regular::{
    LookaroundRegex, NO_WORD_BOUNDARY, RegexError, branches as branches_of, branches_alone,
    translate,
};
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
/// The translation of what a glob begins with that matches in any directory.
const ANY_DIRECTORY: &str = r"(?:|(?:[^\n])*/)";
/// The translation of what an expression begins with that may match anywhere.
const ANYTHING: &str = r"(?:[^\n])*";
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
    names: Names,
}

/// A pattern, with the regular expression that it stands for.
struct Translated<'p> {
    pattern: &'p Pattern,
    regular: BString,
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
        let all = patterns.iter().map(|pattern| Translated {
            pattern,
            regular: pattern.regular(suffix),
        });
        let all: Vec<Translated<'_>> = all.collect();
        let mut lens = all.iter().map(|one| one.regular.len());
        if let Some(long) = lens.find(|len| *len > GROUP_LEN_MAX) {
            let message = format!("matcher pattern is too long ({long} bytes)");
            return Err(Abort::plain(message));
        }
        let mut names = Names::default();
        let mut branches = Vec::new();
        for group in groups(&all) {
            match apart(group, suffix, &mut names) {
                Some(found) => branches.extend(found),
                None => {
                    let whole = join(group.iter().map(|one| one.regular.as_slice()), b"|");
                    let found = branches_of(&whole);
                    branches.extend(found.map_err(|wrong| abort_of(&patterns, suffix, wrong))?);
                }
            }
        }
        Ok(Self {
            names,
            files,
            ..Self::of_branches(branches)?
        })
    }

    /// Compiles alternatives.
    fn of_branches(branches: Vec<LookaroundRegex>) -> Result<Self, Abort> {
        let too_much = || Abort::unsupported("patterns that take too much memory");
        let is_plain = |branch: &LookaroundRegex| branch.lookarounds.is_empty();
        let counts = |branch: &&LookaroundRegex| branch.text.contains('{');
        let mut size_max = SIZE_MAX;
        for branch in branches.iter().filter(counts) {
            size_max = WITH_COUNTED_SIZE_MAX;
            regex(&branch.text, COUNTED_SIZE_MAX).map_err(|_| too_much())?;
        }
        let mut texts = branches.iter().map(|branch| branch.text.as_str());
        let depends_on_release = texts.any(|text| text.contains(NO_WORD_BOUNDARY));
        let (plain, lookaround): (Vec<_>, Vec<_>) = branches.into_iter().partition(is_plain);
        let plain: Vec<String> = plain.into_iter().map(|branch| branch.text).collect();
        let regex = match plain.is_empty() {
            true => None,
            false => Some(regex(&alternatives(plain), size_max).map_err(|_| too_much())?),
        };
        let compiled = Self {
            regex,
            lookaround: LookaroundSet::new(&lookaround).ok_or_else(too_much)?,
            ..Self::default()
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
            || self.names.is_match(path)
            || regex.is_some_and(|regex| regex.is_match(path))
            || self.lookaround.is_match(path)
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

/// Joins alternatives to one expression. What many begin with stands there once: else, each has a state of its own that may begin
/// anywhere, and an automaton that follows thousands of them at each byte is slow.
fn alternatives(plain: Vec<String>) -> String {
    let mut rest = plain;
    let mut joined = Vec::new();
    for beginning in [ANY_DIRECTORY, ANYTHING] {
        let begins = |text: &String| text.starts_with(beginning);
        let (mut alike, others): (Vec<String>, Vec<String>) = rest.into_iter().partition(begins);
        rest = others;
        for text in &mut alike {
            text.drain(..beginning.len());
        }
        if !alike.is_empty() {
            joined.push(format!("{beginning}(?:{})", alike.join("|")));
        }
    }
    joined.append(&mut rest);
    joined.join("|")
}

/// Splits the expressions into groups of bounded length, as Mercurial does.
fn groups<'a, 'p>(all: &'a [Translated<'p>]) -> Vec<&'a [Translated<'p>]> {
    let mut groups = Vec::new();
    let (mut start, mut len) = (0, 0usize);
    for (at, one) in all.iter().enumerate() {
        if len.saturating_add(one.regular.len()) > GROUP_LEN_MAX {
            groups.push(all.get(start..at).unwrap_or_default());
            start = at;
            len = 0;
        }
        len = len.saturating_add(one.regular.len()).saturating_add(1);
    }
    groups.push(all.get(start..).unwrap_or_default());
    groups
}

/// Reads the patterns of a group each by itself, and adds those that are nothing but names to `names`. Returns `None`, and adds
/// nothing, if they may mean something else together: flags at the beginning apply to all, and a group may begin in one pattern
/// and end in another.
fn apart(
    group: &[Translated<'_>],
    suffix: &str,
    names: &mut Names,
) -> Option<Vec<LookaroundRegex>> {
    let mut found = Vec::new();
    let mut branches = Vec::new();
    for one in group {
        match Name::of(one.pattern, suffix == SUFFIX) {
            Some(name) => found.push(name),
            None => branches.extend(branches_alone(&one.regular)?),
        }
    }
    found.iter().for_each(|name| names.add(name));
    Some(branches)
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
        Compiled::new(&[pattern], "$")
    }

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

    /// Compiles patterns of an ignore file.
    fn all(patterns: &[(Kind, &str)]) -> Result<Compiled, Abort> {
        let pattern = |(kind, text): &(Kind, &str)| Pattern::from_top(*kind, text.as_bytes(), b"");
        let patterns: Vec<Pattern> = patterns.iter().map(pattern).collect();
        Compiled::new(&patterns, SUFFIX)
    }

    #[test]
    fn patterns_that_mean_something_else_together_are_not_taken_apart() {
        let name = (Kind::RelGlob, "b");
        for (patterns, path, expected) in [
            ([(Kind::Re, "(a"), name, (Kind::Re, "c)d")], "b", false),
            ([(Kind::Re, "(a"), name, (Kind::Re, "c)d")], "b/d", true),
            ([(Kind::Re, "[a"), name, (Kind::Re, "]")], "b", true),
            ([(Kind::Re, "[a"), name, (Kind::Re, "]")], ")", true),
            ([(Kind::Re, "[a"), name, (Kind::Re, "]")], "d", false),
            ([(Kind::Re, "(?i)a"), name, (Kind::Re, "c")], "B", true),
            ([(Kind::Re, "a\\"), name, (Kind::Re, "c")], "b", false),
            ([(Kind::Re, "a\\"), name, (Kind::Re, "c")], "c", true),
        ] {
            let compiled = all(&patterns).unwrap();
            assert_eq!(
                compiled.is_match(path.into()),
                expected,
                "{patterns:?} {path}"
            );
        }
        for wrong in [
            [name, (Kind::Re, "(?i)a")],
            [(Kind::Re, "(?P<n>a)"), (Kind::Re, "(?P<n>b)")],
            [name, (Kind::Re, "*")],
        ] {
            assert!(all(&wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_long_list_of_names_needs_no_automaton() {
        let names: Vec<String> = (0..10_000).map(|number| format!("a/{number}")).collect();
        let patterns: Vec<_> = names.iter().map(|name| (Kind::RelGlob, &**name)).collect();
        let compiled = all(&patterns).unwrap();
        assert!(compiled.regex.is_none());
        assert!(compiled.is_match("x/a/9999/y".into()));
        assert!(!compiled.is_match("x/a/10000/y".into()));
    }

    #[test]
    fn what_many_patterns_begin_with_stands_once_in_the_expression() {
        let plain = [r".*\.a$", "(?:|.*/)b*", "c", r".*", "(?:|.*/)d"];
        let plain = plain.map(|regular| translate(regular.as_bytes()).unwrap());
        let joined = alternatives(plain.to_vec());
        assert_eq!(joined.matches(ANY_DIRECTORY).count(), 1, "{joined}");
        assert_eq!(joined.matches(ANYTHING).count(), 2, "{joined}");
        let one = |text: &str| regex(text, SIZE_MAX).unwrap();
        for path in ["x.a", "b", "x/bb", "c", "d", "y/d", "", "x\n/b", "x\ny.a"] {
            let expected = plain.iter().any(|text| one(text).is_match(path.as_bytes()));
            assert_eq!(one(&joined).is_match(path.as_bytes()), expected, "{path}");
        }
    }
}
