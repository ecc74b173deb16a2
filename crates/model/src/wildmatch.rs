//! git's glob matching: `*`, `?`, brackets, escapes and `**`, with exactly the verdicts of git's wildmatch.
//!
//! Case folding and character classes follow git even where they look odd (`\A` never matches when case is folded),
//! because ignore rules, attributes and pathspecs must give git's verdicts byte for byte.
//!
//! Nothing is allocated, and no pattern takes more time than its length times the text's: a search never needs to
//! backtrack beyond its last star, or beyond its last star that crosses slashes.

/// How a glob is matched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// Whether `/` is matched only by itself and by `**` between slashes.
    pub pathname: bool,
    /// Whether ASCII letters match in either case.
    pub fold_case: bool,
}

/// Whether `byte` has a special meaning in a glob.
pub fn is_special(byte: u8) -> bool {
    matches!(byte, b'*' | b'?' | b'[' | b'\\')
}

/// Returns the length of `pattern` up to its first special byte.
pub fn literal_prefix_len(pattern: &[u8]) -> usize {
    pattern
        .iter()
        .position(|&byte| is_special(byte))
        .unwrap_or(pattern.len())
}

/// Whether `pattern` matches all of `text`. The pattern ends at its first NUL; the text must have none.
pub fn wildmatch(pattern: &[u8], text: &[u8], flags: Flags) -> bool {
    Matcher {
        pattern,
        text,
        flags,
    }
    .is_match()
}

/// The text that a star may match.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// Bytes other than `/`.
    Component,
    /// Any bytes.
    Everything,
    /// Nothing, or any bytes that end in `/`: the star is `**/`.
    Directories,
}

/// A star that was passed, and from which the search can resume.
#[derive(Clone, Copy)]
struct Star {
    reach: Reach,
    /// The position in the pattern after the star.
    pattern_after: usize,
    /// The end of the text that the star matches so far.
    text_end: usize,
}

struct Matcher<'a> {
    pattern: &'a [u8],
    text: &'a [u8],
    flags: Flags,
}

impl Matcher<'_> {
    fn is_match(&self) -> bool {
        let (mut pattern_at, mut text_at) = (0, 0);
        // The last star that stays within a component. A later one replaces it: either what lies between them ends at
        // the same slash wherever the earlier one ends, or the earliest end is the best one.
        let mut narrow: Option<Star> = None;
        // The last star that crosses slashes.
        let mut wide: Option<Star> = None;
        loop {
            let raw = self.pattern_byte(pattern_at);
            let text_byte = self.folded(self.text_byte(text_at));
            // The position of the last byte of the pattern element that matches this byte, if it matches.
            let taken = match raw {
                0 if text_byte == 0 => return true,
                0 => None,
                b'*' => {
                    let star = self.star(pattern_at, text_at);
                    let begun = self.settled(star);
                    match star.reach {
                        Reach::Component => narrow = begun,
                        Reach::Everything | Reach::Directories => (narrow, wide) = (None, begun),
                    }
                    if let Some(star) = begun {
                        (pattern_at, text_at) = (star.pattern_after, star.text_end);
                        continue;
                    }
                    None
                }
                // If a star ended later, even less text would be left for the rest of the pattern.
                _ if text_byte == 0 => return false,
                b'?' => (!self.flags.pathname || text_byte != b'/').then_some(pattern_at),
                b'[' => match self.bracket(pattern_at, text_byte) {
                    Some((close, is_member)) => is_member.then_some(close),
                    None => return false,
                },
                b'\\' => {
                    let escaped = pattern_at + 1;
                    (self.pattern_byte(escaped) == text_byte).then_some(escaped)
                }
                literal => (self.folded(literal) == text_byte).then_some(pattern_at),
            };
            if let Some(last) = taken {
                (pattern_at, text_at) = (last + 1, text_at + 1);
                continue;
            }
            narrow = self.extended(narrow);
            if narrow.is_none() {
                wide = self.extended(wide);
            }
            let Some(star) = narrow.or(wide) else {
                return false;
            };
            (pattern_at, text_at) = (star.pattern_after, star.text_end);
        }
    }

    /// Returns `star` with the next longer text after which the rest of the pattern might match.
    fn extended(&self, star: Option<Star>) -> Option<Star> {
        let star = star?;
        let mut rest = self.text.get(star.text_end..)?.iter();
        match (star.reach, rest.next()?) {
            (Reach::Component, b'/') => return None,
            (Reach::Directories, byte) if *byte != b'/' => {
                rest.find(|&&byte| byte == b'/')?;
            }
            _ => {}
        }
        self.settled(Star {
            text_end: self.text.len() - rest.len(),
            ..star
        })
    }

    /// Returns `star` with the shortest text, at least as long as now, that the next byte of the pattern allows.
    fn settled(&self, star: Star) -> Option<Star> {
        let rest = self.text.get(star.text_end..)?;
        let stays = star.reach == Reach::Component;
        let skipped = match self.pattern_byte(star.pattern_after) {
            _ if star.reach == Reach::Directories => 0,
            0 if stays && rest.contains(&b'/') => return None,
            0 => rest.len(),
            follower if is_special(follower) => 0,
            follower => {
                let wanted = self.folded(follower);
                let is_wanted = |byte| self.folded(byte) == wanted;
                rest.iter()
                    .position(|&byte| is_wanted(byte) || (stays && byte == b'/'))
                    .filter(|&at| rest.get(at).copied().is_some_and(is_wanted))?
            }
        };
        Some(Star {
            text_end: star.text_end + skipped,
            ..star
        })
    }

    /// Parses one or more stars, the first of them at `first`. Their text starts empty at `text_end`.
    fn star(&self, first: usize, text_end: usize) -> Star {
        let mut pattern_after = first + 1;
        while self.pattern_byte(pattern_after) == b'*' {
            pattern_after += 1;
        }
        let star = |reach, pattern_after| Star {
            reach,
            pattern_after,
            text_end,
        };
        if !self.flags.pathname {
            return star(Reach::Everything, pattern_after);
        }
        let opens = first
            .checked_sub(1)
            .is_none_or(|before| self.pattern_byte(before) == b'/');
        if pattern_after == first + 1 || !opens {
            return star(Reach::Component, pattern_after);
        }
        match (
            self.pattern_byte(pattern_after),
            self.pattern_byte(pattern_after + 1),
        ) {
            (b'/', _) => star(Reach::Directories, pattern_after + 1),
            (0, _) | (b'\\', b'/') => star(Reach::Everything, pattern_after),
            _ => star(Reach::Component, pattern_after),
        }
    }

    /// Returns the byte of the pattern at `at`, or NUL after its end.
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

    /// Returns the position of the `]` of the set whose `[` is at `open`, and whether `text_byte` is a member; `None`
    /// if the set is malformed.
    fn bracket(&self, open: usize, text_byte: u8) -> Option<(usize, bool)> {
        let mut at = open + 1;
        let negated = matches!(self.pattern_byte(at), b'!' | b'^');
        if negated {
            at += 1;
        }
        let mut previous = 0;
        let mut matched = false;
        // The position of the last `]` that was found as a possible end of a class.
        let mut class_end = 0;
        loop {
            let byte = self.pattern_byte(at);
            previous = match byte {
                0 => return None,
                b'\\' => {
                    at += 1;
                    let escaped = self.pattern_byte(at);
                    if escaped == 0 {
                        return None;
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
                            return None;
                        }
                    }
                    let range = previous..=last;
                    matched |= range.contains(&text_byte)
                        || (self.flags.fold_case
                            && range.contains(&text_byte.to_ascii_uppercase()));
                    0
                }
                b'[' if self.pattern_byte(at + 1) == b':' => {
                    match self.class(at + 2, &mut class_end, text_byte)? {
                        Some((close, is_member)) => {
                            at = close;
                            matched |= is_member;
                            0
                        }
                        None => {
                            matched |= text_byte == b'[';
                            b'['
                        }
                    }
                }
                _ => {
                    matched |= text_byte == byte;
                    byte
                }
            };
            at += 1;
            // Checked only here, because a `]` in the first place is a member.
            if self.pattern_byte(at) == b']' {
                break;
            }
        }
        let is_member = matched != negated && !(self.flags.pathname && text_byte == b'/');
        Some((at, is_member))
    }

    /// Parses a class `[:name:]` whose name starts at `start`. Returns the position of its `]` and whether `byte` is
    /// a member, or an inner `None` if there is no `:]`. `end` is where the next `]` was last seen.
    fn class(&self, start: usize, end: &mut usize, byte: u8) -> Option<Option<(usize, bool)>> {
        if *end < start {
            let rest = self.pattern.get(start..)?;
            *end = start + rest.iter().position(|&byte| byte == b']')?;
        }
        let Some((b':', name)) = self.pattern.get(start..*end)?.split_last() else {
            return Some(None);
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
            _ => return None,
        };
        Some(Some((*end, is_member)))
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

    /// Text, pattern, and whether they match: as paths, as paths ignoring case, plainly, plainly ignoring case.
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
        ("a/b/x.c", "a/*.c", [0, 0, 1, 1]),
        ("ax.c", "a/**/x.c", [0, 0, 0, 0]),
        ("a/c", "a/**\\/c", [0, 0, 0, 0]),
        ("a/b/c", "a**/c", [0, 0, 1, 1]),
        ("b", "[!]a]", [1, 1, 1, 1]),
        ("x/", "x[^a]", [0, 0, 1, 1]),
        ("abc", "A*", [0, 1, 0, 1]),
        ("a", "[A]", [0, 0, 0, 0]),
        ("x/ab/c/abd/e", "**/a*d/e", [1, 1, 1, 1]),
        ("a/b", "a/*/", [0, 0, 0, 0]),
        ("a/b/c", "**/", [0, 0, 0, 0]),
        ("a/b/", "**/", [1, 1, 1, 1]),
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
        let impossible = "**/a".repeat(60) + "/b";
        let text = "a/".repeat(1000);
        assert!(!wildmatch(impossible.as_bytes(), text.as_bytes(), PATHS));
        let deep = "*x".repeat(5000);
        let text = "x".repeat(6000);
        assert!(wildmatch(
            deep.as_bytes(),
            text.as_bytes(),
            Flags::default()
        ));
    }
}
