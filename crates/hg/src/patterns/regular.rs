//! Translates Python's regular expressions over bytes (the Python library reference, "Regular Expression Syntax") into those
//! of the `regex` crate: the same strings match, and what Python refuses is refused. Lookahead and lookbehind, which that
//! crate lacks, are returned separately.

mod width;

use bstr::ByteSlice;
use regex::bytes::{Regex, RegexBuilder};

use super::sets::{self, Escaped};
use width::Width;

/// How deep groups may be nested.
const DEPTH_MAX: usize = 200;
/// Python's limit: a count must be less.
const REPEAT_MAX: u32 = u32::MAX;

/// The maximum size in bytes of a compiled expression that is searched for.
const SEARCHED_SIZE_MAX: usize = 4 << 20;

/// In a translation, the assertion that no word begins or ends here. It holds in an empty text, but not in some releases of Python.
pub(super) const NO_WORD_BOUNDARY: &str = r"\B";

/// Why a regular expression cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegexError {
    /// Python refuses it, too.
    Syntax,
    /// Only Python can match it: it uses the construct that is named.
    OnlyPython(&'static str),
}

/// An expression for the `regex` crate with an empty group in place of each assertion, and these assertions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LookaroundRegex {
    pub(super) text: String,
    pub(super) lookarounds: Vec<Lookaround>,
}

/// A lookahead or lookbehind assertion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lookaround {
    pub(super) seen: LookaroundRegex,
    /// Whether the assertion is negative.
    pub(super) is_negated: bool,
    /// For a lookbehind, its length in bytes; `None` for a lookahead.
    pub(super) behind: Option<usize>,
}

/// The flags in force.
#[derive(Clone, Copy, Default)]
struct Flags {
    ignores_case: bool,
    is_multiline: bool,
    dot_is_all: bool,
    is_verbose: bool,
}

/// Translates `pattern`, which matches from the beginning of a text, for the `regex` crate without Unicode. Assertions become
/// empty groups, so the translation matches more.
///
/// # Errors
/// The pattern is invalid, or only Python can match it.
pub fn translate(pattern: &[u8]) -> Result<String, RegexError> {
    let branches = branches(pattern)?;
    let texts: Vec<String> = branches.into_iter().map(|branch| branch.text).collect();
    Ok(texts.join("|"))
}

/// Compiles `pattern` to search for it anywhere in a text. Returns `None` if it is invalid, or only Python can match it.
pub fn searched(pattern: &[u8], ignores_case: bool) -> Option<Regex> {
    let branches = branches(pattern).ok()?;
    // What looks around is not in the translation, and flags within a pattern may hold for all of it.
    if branches.iter().any(|branch| !branch.lookarounds.is_empty()) || pattern.contains_str("(?") {
        return None;
    }
    let texts: Vec<String> = branches.into_iter().map(|branch| branch.text).collect();
    let regex = RegexBuilder::new(&texts.join("|"))
        .unicode(false)
        .case_insensitive(ignores_case)
        .size_limit(SEARCHED_SIZE_MAX)
        .build();
    regex.ok()
}

/// Like [`translate`], but returns each alternative by itself, with its assertions.
///
/// # Errors
/// As for [`translate`].
pub(super) fn branches(pattern: &[u8]) -> Result<Vec<LookaroundRegex>, RegexError> {
    let (branches, _) = branches_and_groups(pattern)?;
    Ok(branches)
}

/// Like [`branches`], for a pattern that means the same whatever other patterns it is an alternative to: it has no flags for the
/// whole expression, and no named groups. `None` if it has, or cannot be translated by itself.
pub(super) fn branches_alone(pattern: &[u8]) -> Option<Vec<LookaroundRegex>> {
    let mut translation = Translation::new(pattern);
    let branches = translation.top_alternatives(Flags::default()).ok()?;
    translation.names.is_empty().then_some(branches)
}

/// Returns the number of groups of `pattern`.
///
/// # Errors
/// As for [`translate`].
pub fn count_groups(pattern: &[u8]) -> Result<u32, RegexError> {
    let (_, groups) = branches_and_groups(pattern)?;
    Ok(groups)
}

fn branches_and_groups(pattern: &[u8]) -> Result<(Vec<LookaroundRegex>, u32), RegexError> {
    let mut translation = Translation::new(pattern);
    let mut flags = Flags::default();
    translation.global_flags(&mut flags)?;
    let branches = translation.top_alternatives(flags)?;
    Ok((branches, translation.groups))
}

struct Translation<'p> {
    rest: &'p [u8],
    out: String,
    /// The assertion of each empty group in `out`.
    lookarounds: Vec<Lookaround>,
    groups: u32,
    closed_groups: Vec<u32>,
    names: Vec<&'p [u8]>,
    depth: usize,
}

/// What a repetition would apply to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Nothing,
    /// A position, not a byte.
    Assertion,
    Something,
    Repetition,
}

impl<'p> Translation<'p> {
    fn new(pattern: &'p [u8]) -> Self {
        Self {
            rest: pattern,
            out: String::with_capacity(pattern.len().saturating_mul(2)),
            lookarounds: Vec::new(),
            groups: 0,
            closed_groups: Vec::new(),
            names: Vec::new(),
            depth: 1,
        }
    }

    /// Reads the alternatives outside of all groups, up to the end.
    fn top_alternatives(&mut self, flags: Flags) -> Result<Vec<LookaroundRegex>, RegexError> {
        let mut branches = Vec::new();
        loop {
            self.branch(flags)?;
            branches.push(LookaroundRegex {
                text: std::mem::take(&mut self.out),
                lookarounds: std::mem::take(&mut self.lookarounds),
            });
            if !self.take(b"|") {
                break;
            }
        }
        match self.rest.is_empty() {
            true => Ok(branches),
            // A closing parenthesis without an opening one.
            false => Err(RegexError::Syntax),
        }
    }

    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn take(&mut self, wanted: &[u8]) -> bool {
        match self.rest.strip_prefix(wanted) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Reads flags for the whole expression, which are at its beginning.
    fn global_flags(&mut self, flags: &mut Flags) -> Result<(), RegexError> {
        loop {
            let Some(rest) = self.rest.strip_prefix(b"(?") else {
                return Ok(());
            };
            let len = rest
                .iter()
                .take_while(|byte| byte.is_ascii_alphabetic())
                .count();
            let (letters, rest) = rest.split_at(len);
            let Some(rest) = rest.strip_prefix(b")").filter(|_| len > 0) else {
                return Ok(());
            };
            if letters.contains(&b'a') && letters.contains(&b'L') {
                return Err(RegexError::Syntax);
            }
            for letter in letters {
                set_flag(flags, *letter, true)?;
            }
            self.rest = rest;
        }
    }

    fn alternatives(&mut self, flags: Flags) -> Result<Width, RegexError> {
        self.depth = self.depth.saturating_add(1);
        if self.depth > DEPTH_MAX {
            return Err(RegexError::OnlyPython("groups that are nested too deep"));
        }
        let mut width = self.branch(flags)?;
        while self.take(b"|") {
            self.out.push('|');
            width = width.or(self.branch(flags)?);
        }
        self.depth = self.depth.saturating_sub(1);
        Ok(width)
    }

    fn branch(&mut self, flags: Flags) -> Result<Width, RegexError> {
        let mut width = Width::NOTHING;
        // The width of the last item, to which a repetition would apply; not yet in `width`.
        let mut of_last = Width::NOTHING;
        let mut last = Last::Nothing;
        let mut start = self.out.len();
        while let Some(first) = self.rest.first().copied() {
            if matches!(first, b'|' | b')') {
                break;
            }
            if flags.is_verbose && self.skip_white_space()? {
                continue;
            }
            if let Some((least, most)) = self.repetition()? {
                match last {
                    Last::Nothing | Last::Assertion => return Err(RegexError::Syntax),
                    Last::Repetition => return Err(RegexError::Syntax),
                    Last::Something => {}
                }
                self.repeat(start, least, most)?;
                of_last = of_last.times(least, most);
                last = Last::Repetition;
                continue;
            }
            let begun = self.out.len();
            let (read, of_read) = self.atom(flags)?;
            if read != Last::Nothing {
                start = begun;
                last = read;
                width = width.and(of_last);
                of_last = of_read;
            }
        }
        Ok(width.and(of_last))
    }

    /// Skips white space and comments, which mean nothing in verbose expressions.
    fn skip_white_space(&mut self) -> Result<bool, RegexError> {
        Ok(match self.rest.first() {
            Some(b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c) => {
                self.next();
                true
            }
            Some(b'#') => {
                self.skip_past(b'\n')?;
                true
            }
            _ => false,
        })
    }

    /// Skips a comment with its end. Python reads a backslash together with what it escapes, in comments too. Returns whether
    /// the end is there.
    fn skip_past(&mut self, end: u8) -> Result<bool, RegexError> {
        while let Some(byte) = self.next() {
            match byte {
                byte if byte == end => return Ok(true),
                b'\\' => self.next().map(drop).ok_or(RegexError::Syntax)?,
                _ => {}
            }
        }
        Ok(false)
    }

    /// Reads a repetition of the last item, if there is one here.
    fn repetition(&mut self) -> Result<Option<(u32, Option<u32>)>, RegexError> {
        let found = match self.rest.first() {
            Some(b'*') => (0, None),
            Some(b'+') => (1, None),
            Some(b'?') => (0, Some(1)),
            Some(b'{') => return self.counted(),
            _ => return Ok(None),
        };
        self.next();
        Ok(Some(found))
    }

    /// Reads a counted repetition; returns `None` if the braces stand for themselves.
    fn counted(&mut self) -> Result<Option<(u32, Option<u32>)>, RegexError> {
        let inner = self.rest.get(1..).unwrap_or_default();
        let (least, rest) = digits(inner);
        let (most, rest) = match rest.strip_prefix(b",") {
            Some(rest) => digits(rest),
            None => (least, rest),
        };
        let has_comma = inner
            .iter()
            .take_while(|byte| **byte != b'}')
            .any(|byte| *byte == b',');
        let Some(rest) = rest.strip_prefix(b"}") else {
            return Ok(None);
        };
        if least.is_empty() && !has_comma {
            return Ok(None);
        }
        let least = number(least)?.unwrap_or(0);
        let most = number(most)?;
        if most.is_some_and(|most| most < least) {
            return Err(RegexError::Syntax);
        }
        self.rest = rest;
        Ok(Some((least, most)))
    }

    /// Makes a repetition of what was written since `start`.
    fn repeat(&mut self, start: usize, least: u32, most: Option<u32>) -> Result<(), RegexError> {
        let repeated = self.out.split_off(start);
        self.out.push_str("(?:");
        self.out.push_str(&repeated);
        self.out.push(')');
        match (least, most) {
            (0, None) => self.out.push('*'),
            (1, None) => self.out.push('+'),
            (0, Some(1)) => self.out.push('?'),
            (least, None) => self.out.push_str(&format!("{{{least},}}")),
            (least, Some(most)) => self.out.push_str(&format!("{{{least},{most}}}")),
        }
        if self.take(b"?") {
            // Lazy or greedy makes no difference to whether something matches.
            return Ok(());
        }
        match self.take(b"+") {
            true => Err(RegexError::OnlyPython("possessive repetition")),
            false => Ok(()),
        }
    }

    fn atom(&mut self, flags: Flags) -> Result<(Last, Width), RegexError> {
        let Some(first) = self.next() else {
            return Ok((Last::Nothing, Width::NOTHING));
        };
        match first {
            b'.' => self.out.push_str(match flags.dot_is_all {
                true => r"[\x00-\xff]",
                false => r"[^\n]",
            }),
            b'^' => {
                self.out.push_str(match flags.is_multiline {
                    true => "(?m:^)",
                    false => r"\A",
                });
                return Ok((Last::Assertion, Width::NOTHING));
            }
            b'$' => {
                // It also matches before a line feed at the end.
                self.out.push_str(match flags.is_multiline {
                    true => "(?m:$)",
                    false => r"(?:\n?\z)",
                });
                return Ok((Last::Assertion, Width::NOTHING));
            }
            b'[' => {
                let (set, rest) = sets::read(self.rest)?;
                self.rest = rest;
                self.push(&set, flags);
            }
            b'(' => return self.group(flags),
            b'\\' => return self.escape(flags),
            letter => self.push(&literal(letter), flags),
        }
        Ok((Last::Something, Width::ONE))
    }

    fn push(&mut self, piece: &str, flags: Flags) {
        match flags.ignores_case {
            true => {
                self.out.push_str("(?i:");
                self.out.push_str(piece);
                self.out.push(')');
            }
            false => self.out.push_str(piece),
        }
    }

    fn escape(&mut self, flags: Flags) -> Result<(Last, Width), RegexError> {
        match self.rest.first() {
            Some(b'A') => self.out.push_str(r"\A"),
            Some(b'Z') => self.out.push_str(r"\z"),
            Some(b'b') => self.out.push_str(r"\b"),
            Some(b'B') => self.out.push_str(NO_WORD_BOUNDARY),
            Some(b'1'..=b'9') => return self.numbered(flags),
            _ => {
                let (escaped, rest) = sets::escape(self.rest)?;
                self.rest = rest;
                match escaped {
                    Escaped::Letter(letter) => self.push(&literal(letter), flags),
                    Escaped::Class(class) => self.push(class, flags),
                }
                return Ok((Last::Something, Width::ONE));
            }
        }
        self.next();
        Ok((Last::Assertion, Width::NOTHING))
    }

    /// Reads a reference to a group by number, or a byte as three octal digits.
    fn numbered(&mut self, flags: Flags) -> Result<(Last, Width), RegexError> {
        let is_octal = |byte: &u8| matches!(byte, b'0'..=b'7');
        let digits = self.rest.iter().take(3).take_while(|byte| is_octal(byte));
        if digits.count() == 3 {
            let value = self.rest.iter().take(3).fold(0u32, |sum, byte| {
                sum.saturating_mul(8)
                    .saturating_add(u32::from(byte.wrapping_sub(b'0')))
            });
            let letter = u8::try_from(value).map_err(|_| RegexError::Syntax)?;
            self.rest = self.rest.get(3..).unwrap_or_default();
            self.push(&literal(letter), flags);
            return Ok((Last::Something, Width::ONE));
        }
        let len = self
            .rest
            .iter()
            .take(2)
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let digits = self.rest.get(..len).unwrap_or_default();
        let group = std::str::from_utf8(digits)
            .ok()
            .and_then(|text| text.parse().ok());
        match group {
            Some(group) if self.closed_groups.contains(&group) => {
                Err(RegexError::OnlyPython("a reference back to a group"))
            }
            _ => Err(RegexError::Syntax),
        }
    }

    fn group(&mut self, flags: Flags) -> Result<(Last, Width), RegexError> {
        let mut inner = flags;
        let mut number = None;
        if !self.take(b"?") {
            number = Some(self.opened());
        } else if self.take(b"P<") {
            let name = self.name(b'>')?;
            if self.names.contains(&name) {
                return Err(RegexError::Syntax);
            }
            self.names.push(name);
            number = Some(self.opened());
        } else if self.take(b"P=") {
            let name = self.name(b')')?;
            return match self.names.contains(&name) {
                true => Err(RegexError::OnlyPython("a reference back to a group")),
                false => Err(RegexError::Syntax),
            };
        } else if self.take(b"#") {
            return match self.skip_past(b')')? {
                true => Ok((Last::Nothing, Width::NOTHING)),
                false => Err(RegexError::Syntax),
            };
        } else if self.take(b"=") {
            return self.look(flags, false, false);
        } else if self.take(b"!") {
            return self.look(flags, true, false);
        } else if self.take(b"<=") {
            return self.look(flags, false, true);
        } else if self.take(b"<!") {
            return self.look(flags, true, true);
        } else if self.take(b">") {
            return self.refused("an atomic group");
        } else if self.take(b"(") {
            return self.refused("a condition on a group");
        } else if !self.take(b":") {
            self.local_flags(&mut inner)?;
        }
        self.out.push_str("(?:");
        let width = self.alternatives(inner)?;
        if !self.take(b")") {
            return Err(RegexError::Syntax);
        }
        self.out.push(')');
        self.closed_groups.extend(number);
        Ok((Last::Something, width))
    }

    /// Reads an assertion, and puts an empty group in its place.
    fn look(
        &mut self,
        flags: Flags,
        is_negated: bool,
        is_behind: bool,
    ) -> Result<(Last, Width), RegexError> {
        let out = std::mem::take(&mut self.out);
        let lookarounds = std::mem::take(&mut self.lookarounds);
        let width = self.alternatives(flags)?;
        if !self.take(b")") {
            return Err(RegexError::Syntax);
        }
        if self.out.contains(NO_WORD_BOUNDARY) {
            return Err(RegexError::OnlyPython("'\\B' in an assertion"));
        }
        let seen = LookaroundRegex {
            text: std::mem::replace(&mut self.out, out),
            lookarounds: std::mem::replace(&mut self.lookarounds, lookarounds),
        };
        let behind = match is_behind {
            // Python requires a lookbehind of fixed width.
            true => Some(width.exact().ok_or(RegexError::Syntax)?),
            false => None,
        };
        self.out.push_str("()");
        self.lookarounds.push(Lookaround {
            seen,
            is_negated,
            behind,
        });
        Ok((Last::Something, Width::NOTHING))
    }

    /// The error for a construct that only Python supports, if the group is closed.
    fn refused(&self, what: &'static str) -> Result<(Last, Width), RegexError> {
        match self.rest.contains(&b')') {
            true => Err(RegexError::OnlyPython(what)),
            false => Err(RegexError::Syntax),
        }
    }

    fn opened(&mut self) -> u32 {
        self.groups = self.groups.saturating_add(1);
        self.groups
    }

    fn name(&mut self, end: u8) -> Result<&'p [u8], RegexError> {
        let len = self.rest.iter().position(|byte| *byte == end);
        let (name, rest) = self.rest.split_at(len.ok_or(RegexError::Syntax)?);
        self.rest = rest.get(1..).unwrap_or_default();
        let is_name = name
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
            && name.first().is_some_and(|byte| !byte.is_ascii_digit());
        match is_name {
            true => Ok(name),
            false => Err(RegexError::Syntax),
        }
    }

    /// Reads flags that apply to the group they begin.
    fn local_flags(&mut self, flags: &mut Flags) -> Result<(), RegexError> {
        let mut value = true;
        let mut count = 0usize;
        let mut on = Vec::new();
        loop {
            match self.next() {
                Some(b':') if count > 0 => return Ok(()),
                Some(b'-') if value => {
                    value = false;
                    count = 0;
                }
                // Python allows the letters that choose an alphabet to be set, not cleared.
                Some(b'a' | b'L' | b'u') if !value => return Err(RegexError::Syntax),
                // Nor both to be set, nor any letter to be set and cleared.
                Some(b'L') if on.contains(&b'a') => return Err(RegexError::Syntax),
                Some(letter) if !value && on.contains(&letter) => return Err(RegexError::Syntax),
                Some(letter) => {
                    set_flag(flags, letter, value)?;
                    if value {
                        on.push(letter);
                    }
                    count = count.saturating_add(1);
                }
                None => return Err(RegexError::Syntax),
            }
        }
    }
}

fn set_flag(flags: &mut Flags, letter: u8, value: bool) -> Result<(), RegexError> {
    match letter {
        b'i' => flags.ignores_case = value,
        b'm' => flags.is_multiline = value,
        b's' => flags.dot_is_all = value,
        b'x' => flags.is_verbose = value,
        // Matching is over ASCII anyway.
        b'a' => {}
        b'L' => return Err(RegexError::OnlyPython("the letters of a locale")),
        _ => return Err(RegexError::Syntax),
    }
    Ok(())
}

/// Splits off the digits at the beginning.
fn digits(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(text.iter().take_while(|byte| byte.is_ascii_digit()).count())
}

/// Returns the number that the digits stand for, if there are any. One that is too large makes Python fail, in words of its own.
fn number(digits: &[u8]) -> Result<Option<u32>, RegexError> {
    let digits = std::str::from_utf8(digits).unwrap_or_default();
    if digits.is_empty() {
        return Ok(None);
    }
    match digits.parse() {
        Ok(number) if number < REPEAT_MAX => Ok(Some(number)),
        _ => Err(RegexError::OnlyPython("so large a count")),
    }
}

/// The expression for a byte that stands for itself.
pub(super) fn literal(letter: u8) -> String {
    match letter {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'_' => char::from(letter).to_string(),
        _ => format!("\\x{letter:02x}"),
    }
}

#[cfg(test)]
mod tests;
