//! git's glob matching: `*`, `?`, brackets, escapes and `**`, with the very verdicts of git's wildmatch.
//!
//! Case folding, character classes and the places where a search is given up follow git even where they look odd
//! (`\A` never matches when case is folded), because ignore rules and pathspecs are compared with it byte by byte.

use std::collections::HashMap;

/// How a glob is matched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// Whether `/` is matched only by itself and by `**` between slashes.
    pub pathname: bool,
    /// Whether ASCII letters match in either case.
    pub fold_case: bool,
}

/// Whether `byte` starts something other than itself in a glob.
pub fn is_special(byte: u8) -> bool {
    matches!(byte, b'*' | b'?' | b'[' | b'\\')
}

/// How many bytes of `pattern` come before its first special one.
pub fn literal_prefix_len(pattern: &[u8]) -> usize {
    pattern
        .iter()
        .position(|&byte| is_special(byte))
        .unwrap_or(pattern.len())
}

/// Whether `pattern` matches all of `text`. Both end at a NUL, if they hold one.
///
/// A pattern that needs more than 1,000 stars to be taken one inside the other matches nothing.
pub fn wildmatch(pattern: &[u8], text: &[u8], flags: Flags) -> bool {
    let mut matcher = Matcher {
        pattern,
        text,
        flags,
        searches: 0,
        known: None,
    };
    matcher.run(0, 0, 0) == Outcome::Match
}

/// What a match of the rest of the pattern with the rest of the text came to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Match,
    /// Not here, but perhaps further right.
    NoMatch,
    /// Nowhere further right.
    AbortAll,
    /// Nowhere further right in this path component.
    AbortToStarStar,
}

/// What a star came to.
enum Star {
    Decided(Outcome),
    /// Go on matching behind these positions of pattern and text.
    Behind(usize, usize),
}

const DEPTH_MAX: usize = 1000;

/// After so many searches, outcomes are remembered: several `**/` in one pattern would else take exponential time.
const SEARCHES_BEFORE_REMEMBERING: usize = 2000;

struct Matcher<'a> {
    pattern: &'a [u8],
    text: &'a [u8],
    flags: Flags,
    searches: usize,
    known: Option<HashMap<(usize, usize), Outcome>>,
}

impl Matcher<'_> {
    /// The byte of the pattern at `at`, NUL behind its end.
    fn pattern_byte(&self, at: usize) -> u8 {
        self.pattern.get(at).copied().unwrap_or(0)
    }

    fn text_byte(&self, at: usize) -> u8 {
        self.text.get(at).copied().unwrap_or(0)
    }

    fn folded(&self, byte: u8) -> u8 {
        if self.flags.fold_case {
            byte.to_ascii_lowercase()
        } else {
            byte
        }
    }

    /// The next slash of the text, from `at` on.
    fn slash_from(&self, at: usize) -> Option<usize> {
        let rest = self.text.get(at..)?;
        rest.iter()
            .position(|&byte| byte == b'/')
            .map(|distance| at + distance)
    }

    fn search(&mut self, pattern_at: usize, text_at: usize, depth: usize) -> Outcome {
        if depth == DEPTH_MAX {
            return Outcome::AbortAll;
        }
        if self.searches < SEARCHES_BEFORE_REMEMBERING {
            self.searches += 1;
            return self.run(pattern_at, text_at, depth + 1);
        }
        let key = (pattern_at, text_at);
        if let Some(&outcome) = self.known.as_ref().and_then(|known| known.get(&key)) {
            return outcome;
        }
        let outcome = self.run(pattern_at, text_at, depth + 1);
        self.known
            .get_or_insert_with(HashMap::new)
            .insert(key, outcome);
        outcome
    }

    fn run(&mut self, mut pattern_at: usize, mut text_at: usize, depth: usize) -> Outcome {
        loop {
            let raw = self.pattern_byte(pattern_at);
            if raw == 0 {
                return match self.text_byte(text_at) {
                    0 => Outcome::Match,
                    _ => Outcome::NoMatch,
                };
            }
            let text_byte = self.folded(self.text_byte(text_at));
            if text_byte == 0 && raw != b'*' {
                return Outcome::AbortAll;
            }
            match self.folded(raw) {
                b'\\' => {
                    pattern_at += 1;
                    if self.pattern_byte(pattern_at) != text_byte {
                        return Outcome::NoMatch;
                    }
                }
                b'?' => {
                    if self.flags.pathname && text_byte == b'/' {
                        return Outcome::NoMatch;
                    }
                }
                b'*' => match self.star(pattern_at, text_at, depth) {
                    Star::Decided(outcome) => return outcome,
                    Star::Behind(pattern, text) => (pattern_at, text_at) = (pattern, text),
                },
                b'[' => match self.bracket(pattern_at, text_byte) {
                    Ok(close) => pattern_at = close,
                    Err(outcome) => return outcome,
                },
                literal => {
                    if literal != text_byte {
                        return Outcome::NoMatch;
                    }
                }
            }
            pattern_at += 1;
            text_at += 1;
        }
    }

    /// Matches one or more stars, the first of them at `first`.
    fn star(&mut self, first: usize, mut text_at: usize, depth: usize) -> Star {
        let mut next = first + 1;
        while self.pattern_byte(next) == b'*' {
            next += 1;
        }
        let mut crosses_slash = !self.flags.pathname;
        if self.flags.pathname && next > first + 1 {
            let opens = first
                .checked_sub(1)
                .is_none_or(|before| self.pattern_byte(before) == b'/');
            let (follower, after) = (self.pattern_byte(next), self.pattern_byte(next + 1));
            if opens && (matches!(follower, 0 | b'/') || (follower == b'\\' && after == b'/')) {
                // `**/` may also stand for nothing at all.
                if follower == b'/' && self.search(next + 1, text_at, depth) == Outcome::Match {
                    return Star::Decided(Outcome::Match);
                }
                crosses_slash = true;
            }
        }
        let follower = self.pattern_byte(next);
        if follower == 0 {
            return Star::Decided(if !crosses_slash && self.slash_from(text_at).is_some() {
                Outcome::AbortToStarStar
            } else {
                Outcome::Match
            });
        }
        if !crosses_slash && follower == b'/' {
            return match self.slash_from(text_at) {
                Some(slash) => Star::Behind(next, slash),
                None => Star::Decided(Outcome::AbortAll),
            };
        }
        let gives_up = if crosses_slash {
            Outcome::AbortAll
        } else {
            Outcome::AbortToStarStar
        };
        let literal = (!is_special(follower)).then(|| self.folded(follower));
        loop {
            let mut text_byte = self.text_byte(text_at);
            if text_byte == 0 {
                return Star::Decided(Outcome::AbortAll);
            }
            if let Some(literal) = literal {
                while text_byte != 0
                    && (crosses_slash || text_byte != b'/')
                    && self.folded(text_byte) != literal
                {
                    text_at += 1;
                    text_byte = self.text_byte(text_at);
                }
                if self.folded(text_byte) != literal {
                    return Star::Decided(gives_up);
                }
            }
            match self.search(next, text_at, depth) {
                Outcome::NoMatch if !crosses_slash && text_byte == b'/' => {
                    return Star::Decided(Outcome::AbortToStarStar);
                }
                Outcome::NoMatch => {}
                Outcome::AbortToStarStar if crosses_slash => {}
                outcome => return Star::Decided(outcome),
            }
            text_at += 1;
        }
    }

    /// Matches the set whose `[` is at `open` with `text_byte`; the position of its `]` if it matches.
    fn bracket(&self, open: usize, text_byte: u8) -> Result<usize, Outcome> {
        let mut at = open + 1;
        let negated = matches!(self.pattern_byte(at), b'!' | b'^');
        if negated {
            at += 1;
        }
        let mut previous = 0;
        let mut matched = false;
        loop {
            let byte = self.pattern_byte(at);
            previous = match byte {
                0 => return Err(Outcome::AbortAll),
                b'\\' => {
                    at += 1;
                    let escaped = self.pattern_byte(at);
                    if escaped == 0 {
                        return Err(Outcome::AbortAll);
                    }
                    matched |= text_byte == escaped;
                    escaped
                }
                b'-' if previous != 0 && !matches!(self.pattern_byte(at + 1), 0 | b']') => {
                    at += 1;
                    let mut last = self.pattern_byte(at);
                    if last == b'\\' {
                        at += 1;
                        last = self.pattern_byte(at);
                        if last == 0 {
                            return Err(Outcome::AbortAll);
                        }
                    }
                    let range = previous..=last;
                    matched |= range.contains(&text_byte)
                        || (self.flags.fold_case
                            && range.contains(&text_byte.to_ascii_uppercase()));
                    0
                }
                b'[' if self.pattern_byte(at + 1) == b':' => match self.class(at + 2, text_byte)? {
                    Some((close, is_member)) => {
                        at = close;
                        matched |= is_member;
                        0
                    }
                    None => {
                        matched |= text_byte == b'[';
                        b'['
                    }
                },
                _ => {
                    matched |= text_byte == byte;
                    byte
                }
            };
            at += 1;
            // Asked only here: a `]` in the first place is a member.
            if self.pattern_byte(at) == b']' {
                break;
            }
        }
        if matched == negated || (self.flags.pathname && text_byte == b'/') {
            return Err(Outcome::NoMatch);
        }
        Ok(at)
    }

    /// A class `[:name:]` whose name starts at `start`: the position of its `]` and whether `byte` is a member,
    /// or `None` if there is no `:]`.
    fn class(&self, start: usize, byte: u8) -> Result<Option<(usize, bool)>, Outcome> {
        let rest = self.pattern.get(start..).unwrap_or_default();
        let Some(length) = rest.iter().position(|&byte| byte == b']') else {
            return Err(Outcome::AbortAll);
        };
        let inside = rest.get(..length).unwrap_or_default();
        let Some((b':', name)) = inside.split_last() else {
            return Ok(None);
        };
        let is_member = match name {
            b"alnum" => byte.is_ascii_alphanumeric(),
            b"alpha" => byte.is_ascii_alphabetic(),
            b"blank" => matches!(byte, b' ' | b'\t'),
            b"cntrl" => byte.is_ascii_control(),
            b"digit" => byte.is_ascii_digit(),
            b"graph" => byte.is_ascii_graphic(),
            b"lower" => byte.is_ascii_lowercase(),
            b"print" => matches!(byte, b' '..=b'~'),
            b"punct" => byte.is_ascii_punctuation(),
            b"space" => matches!(byte, b' ' | b'\t' | b'\n' | b'\r'),
            b"upper" => {
                byte.is_ascii_uppercase() || (self.flags.fold_case && byte.is_ascii_lowercase())
            }
            b"xdigit" => byte.is_ascii_hexdigit(),
            _ => return Err(Outcome::AbortAll),
        };
        Ok(Some((start + length, is_member)))
    }
}

#[cfg(test)]
mod tests {
    use super::{Flags, wildmatch};

    const PATHS: Flags = Flags {
        pathname: true,
        fold_case: false,
    };

    fn verdicts(text: &str, pattern: &str) -> [u8; 4] {
        [(true, false), (true, true), (false, false), (false, true)].map(|(pathname, fold_case)| {
            let flags = Flags {
                pathname,
                fold_case,
            };
            u8::from(wildmatch(pattern.as_bytes(), text.as_bytes(), flags))
        })
    }

    /// Text, pattern, and whether they match: as paths, as paths in any case, plainly, plainly in any case.
    const CASES: &[(&str, &str, [u8; 4])] = &[
        ("", "", [1, 1, 1, 1]),
        ("", "*", [1, 1, 1, 1]),
        ("", "\\", [0, 0, 0, 0]),
        ("main.rs", "*.rs", [1, 1, 1, 1]),
        ("main.RS", "*.rs", [0, 1, 0, 1]),
        ("src/main.rs", "*.rs", [0, 0, 1, 1]),
        ("src/main.rs", "src?main.rs", [0, 0, 1, 1]),
        ("src/main.rs", "src[/]main.rs", [0, 0, 1, 1]),
        ("src/main.rs", "src/**/main.rs", [1, 1, 0, 0]),
        ("src/a/b/main.rs", "src/**/**/main.rs", [1, 1, 1, 1]),
        ("src/a/b/main.rs", "src**main.rs", [0, 0, 1, 1]),
        ("src/a/b/main.rs", "src/**", [1, 1, 1, 1]),
        ("src/a/b/main.rs", "src/**\\/main.rs", [1, 1, 1, 1]),
        ("main.rs", "**/main.rs", [1, 1, 0, 0]),
        ("src/main.rs", "*/main.rs", [1, 1, 1, 1]),
        ("a/src/main.rs", "*/main.rs", [0, 0, 1, 1]),
        ("a*b", "a\\*b", [1, 1, 1, 1]),
        ("aXb", "a\\*b", [0, 0, 0, 0]),
        ("A", "\\A", [1, 0, 1, 0]),
        ("A", "\\a", [0, 1, 0, 1]),
        ("x]", "x[]]", [1, 1, 1, 1]),
        ("x-", "x[]-]", [1, 1, 1, 1]),
        ("x", "[!]x-]", [0, 0, 0, 0]),
        ("[b", "[[:]b", [1, 1, 1, 1]),
        (":", "[[:]", [1, 1, 1, 1]),
        ("a", "[a", [0, 0, 0, 0]),
        ("[a", "[a", [0, 0, 0, 0]),
        ("m", "[^[:digit:]k]", [1, 1, 1, 1]),
        ("k", "[[:upper:]]", [0, 1, 0, 1]),
        ("k", "[[:lower:]]", [1, 1, 1, 1]),
        ("k", "[[:nonsense:]k]", [0, 0, 0, 0]),
        ("k", "[[::]k]", [0, 0, 0, 0]),
        ("k", "[Z-k]", [1, 1, 1, 1]),
        ("K", "[a-z]", [0, 1, 0, 1]),
        ("k", "[A-Z]", [0, 1, 0, 1]),
        ("]", "[\\[-^]", [1, 1, 1, 1]),
        ("one/two/three", "**/*h*e*", [1, 1, 1, 1]),
    ];

    #[test]
    fn verdicts_are_those_of_git() {
        for (text, pattern, expected) in CASES {
            assert_eq!(
                verdicts(text, pattern),
                *expected,
                "{text:?} with {pattern:?}"
            );
        }
    }

    #[test]
    fn nested_searches_end() {
        let text = "x/".repeat(200) + "y";
        let impossible = "**/".repeat(30) + "z";
        assert!(!wildmatch(impossible.as_bytes(), text.as_bytes(), PATHS));
        let possible = "**/x/".repeat(30) + "**/y";
        assert!(wildmatch(possible.as_bytes(), text.as_bytes(), PATHS));
        let too_deep = "*x".repeat(5000);
        let text = "x".repeat(6000);
        assert!(!wildmatch(
            too_deep.as_bytes(),
            text.as_bytes(),
            Flags::default()
        ));
    }
}
