//! Colours: those of each part of the output, and the escape sequences for configured ones (git-config(1), "color").

use std::io::IsTerminal;

use bstr::{BStr, BString, ByteSlice};
use vigil_git::config::{ConfigEntry, Error};
use vigil_git::environment::Environment;
use vigil_model::raw_text::raw;

use crate::reply::{bytes, labelled};

/// Ends a coloured part.
pub(crate) const RESET: &[u8] = b"\x1b[m";

/// The escape sequences that begin each kind of text; empty for no colour.
#[derive(Clone, Debug)]
pub(crate) struct Palette {
    pub header: Vec<u8>,
    pub updated: Vec<u8>,
    pub changed: Vec<u8>,
    pub untracked: Vec<u8>,
    pub no_branch: Vec<u8>,
    pub unmerged: Vec<u8>,
    pub local_branch: Vec<u8>,
    pub remote_branch: Vec<u8>,
    /// The branch in the long format; `None` for the colour of the header.
    pub on_branch: Option<Vec<u8>>,
}

impl Default for Palette {
    /// git's defaults.
    fn default() -> Self {
        let green = || b"\x1b[32m".to_vec();
        let red = || b"\x1b[31m".to_vec();
        Self {
            header: Vec::new(),
            updated: green(),
            changed: red(),
            untracked: red(),
            no_branch: red(),
            unmerged: red(),
            local_branch: green(),
            remote_branch: red(),
            on_branch: None,
        }
    }
}

impl Palette {
    /// No colours at all.
    pub(crate) fn plain() -> Self {
        Self {
            header: Vec::new(),
            updated: Vec::new(),
            changed: Vec::new(),
            untracked: Vec::new(),
            no_branch: Vec::new(),
            unmerged: Vec::new(),
            local_branch: Vec::new(),
            remote_branch: Vec::new(),
            on_branch: None,
        }
    }

    /// The sequence configured under `name` (`color.status.<name>`, in lower case).
    pub(crate) fn slot_mut(&mut self, name: &[u8]) -> Option<&mut Vec<u8>> {
        Some(match name {
            b"header" => &mut self.header,
            b"added" | b"updated" => &mut self.updated,
            b"changed" => &mut self.changed,
            b"untracked" => &mut self.untracked,
            b"nobranch" => &mut self.no_branch,
            b"unmerged" => &mut self.unmerged,
            b"localbranch" => &mut self.local_branch,
            b"remotebranch" => &mut self.remote_branch,
            b"branch" => self.on_branch.get_or_insert_default(),
            _ => return None,
        })
    }
}

/// Appends `text` in a colour.
pub(crate) fn paint(out: &mut Vec<u8>, color: &[u8], text: &[u8]) {
    out.extend_from_slice(color);
    out.extend_from_slice(text);
    if !color.is_empty() {
        out.extend_from_slice(RESET);
    }
}

/// A colour, as the numbers that select it as the foreground.
enum Color {
    /// The terminal's default.
    Normal,
    /// A single number. For the background, 10 is added.
    Basic(u8),
    /// One of 256 colours.
    Indexed(u8),
    /// Red, green and blue.
    True([u8; 3]),
}

/// Returns the escape sequence for a configured colour, which consists of words for a foreground, a background and attributes.
/// `None` if a word is none of these.
pub(crate) fn parse(value: &BStr) -> Option<Vec<u8>> {
    let mut resets = false;
    let mut foreground = None;
    let mut background = None;
    let mut attributes = Vec::new();
    for word in value.fields() {
        if word.eq_ignore_ascii_case(b"reset") {
            resets = true;
        } else if let Some(color) = parse_color(word) {
            if foreground.is_none() {
                foreground = Some(color);
            } else if background.is_none() {
                background = Some(color);
            } else {
                return None;
            }
        } else {
            attributes.push(parse_attribute(word)?);
        }
    }
    attributes.sort_unstable();
    attributes.dedup();
    let mut parts: Vec<String> = Vec::new();
    if resets {
        parts.push(String::new());
    }
    parts.extend(attributes.iter().map(u8::to_string));
    parts.extend(foreground.and_then(|color| selector(&color, 0)));
    parts.extend(background.and_then(|color| selector(&color, 10)));
    if parts.is_empty() {
        return Some(Vec::new());
    }
    Some(format!("\x1b[{}m", parts.join(";")).into_bytes())
}

fn selector(color: &Color, offset: u8) -> Option<String> {
    let extended = 38_u8.saturating_add(offset);
    match color {
        Color::Normal => None,
        Color::Basic(number) => Some(number.saturating_add(offset).to_string()),
        Color::Indexed(index) => Some(format!("{extended};5;{index}")),
        Color::True([red, green, blue]) => Some(format!("{extended};2;{red};{green};{blue}")),
    }
}

fn parse_color(word: &[u8]) -> Option<Color> {
    const NAMES: [&str; 8] = [
        "black", "red", "green", "yellow", "blue", "magenta", "cyan", "white",
    ];
    const DARK: u8 = 30;
    const BRIGHT: u8 = 90;
    let word = word.to_str().ok()?.to_ascii_lowercase();
    if word == "normal" {
        return Some(Color::Normal);
    }
    if word == "default" {
        return Some(Color::Basic(DARK + 9));
    }
    if let Some(color) = word.strip_prefix('#').and_then(parse_hex) {
        return Some(color);
    }
    let (base, name) = match word.strip_prefix("bright") {
        Some(name) => (BRIGHT, name),
        None => (DARK, word.as_str()),
    };
    if let Some(at) = (0..).zip(NAMES).find(|&(_, known)| known == name) {
        return Some(Color::Basic(base + at.0));
    }
    let number: i64 = word.parse().ok()?;
    if number == -1 {
        return Some(Color::Normal);
    }
    match u8::try_from(number).ok()? {
        number @ 0..8 => Some(Color::Basic(DARK + number)),
        number @ 8..16 => Some(Color::Basic(BRIGHT + number - 8)),
        number => Some(Color::Indexed(number)),
    }
}

/// Parses three or six hexadecimal digits.
fn parse_hex(digits: &str) -> Option<Color> {
    if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let number = u32::from_str_radix(digits, 16).ok()?;
    let [_, red, green, blue] = number.to_be_bytes();
    match digits.len() {
        6 => Some(Color::True([red, green, blue])),
        3 => {
            let doubled = |digit: u8| (digit & 15) * 17;
            Some(Color::True([
                doubled(green),
                doubled(blue >> 4),
                doubled(blue),
            ]))
        }
        _ => None,
    }
}

fn parse_attribute(word: &[u8]) -> Option<u8> {
    let (negated, name) = match word.strip_prefix(b"no") {
        Some(rest) => (true, rest.strip_prefix(b"-").unwrap_or(rest)),
        None => (false, word),
    };
    let (on, off) = match name {
        b"bold" => (1, 22),
        b"dim" => (2, 22),
        b"italic" => (3, 23),
        b"ul" => (4, 24),
        b"blink" => (5, 25),
        b"reverse" => (7, 27),
        b"strike" => (9, 29),
        _ => return None,
    };
    Some(if negated { off } else { on })
}

/// When colours are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColorUse {
    Never,
    Always,
    /// If the output is a terminal.
    Auto,
}

impl ColorUse {
    /// Reads the value of an entry.
    ///
    /// # Errors
    /// git refuses the value.
    pub(crate) fn of_entry(entry: &ConfigEntry<'_>) -> Result<Self, Error> {
        let is = |word: &[u8]| {
            let value = entry.value;
            value.is_some_and(|value| value.eq_ignore_ascii_case(word))
        };
        if is(b"always") {
            return Ok(Self::Always);
        }
        if is(b"never") || (!is(b"auto") && !entry.boolean()?) {
            return Ok(Self::Never);
        }
        Ok(Self::Auto)
    }
}

/// The colours of hints on standard error.
#[derive(Clone, Debug)]
pub(crate) struct HintColors {
    /// `color.advice`.
    pub(crate) color_use: Option<ColorUse>,
    /// What begins and what ends the colour.
    pub(crate) sequences: [Vec<u8>; 2],
}

impl Default for HintColors {
    fn default() -> Self {
        Self {
            color_use: None,
            sequences: [b"\x1b[33m".to_vec(), RESET.to_vec()],
        }
    }
}

impl HintColors {
    /// Reads an entry, as every command of git does; `false` if it is not about hints.
    ///
    /// # Errors
    /// git refuses the value.
    pub(crate) fn take(&mut self, entry: &ConfigEntry<'_>) -> Result<bool, Error> {
        let [begin, end] = &mut self.sequences;
        match entry.key.as_bytes() {
            b"color.advice" => self.color_use = Some(ColorUse::of_entry(entry)?),
            b"color.advice.hint" => *begin = of_entry(entry)?,
            b"color.advice.reset" => *end = of_entry(entry)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Returns the sequences, if this process writes hints in colour.
    pub(crate) fn if_wanted(self, environment: &Environment) -> Option<[Vec<u8>; 2]> {
        let is_wanted = match self.color_use.unwrap_or(ColorUse::Auto) {
            ColorUse::Never => false,
            ColorUse::Always => true,
            ColorUse::Auto => std::io::stderr().is_terminal() && !is_dumb(environment),
        };
        is_wanted.then_some(self.sequences)
    }
}

/// Whether the terminal shows no colours.
pub(crate) fn is_dumb(environment: &Environment) -> bool {
    let name = environment.get("TERM");
    name.is_none_or(|name| name == BStr::new("dumb"))
}

/// Returns each of `texts` as a line for standard error, with hints between these sequences.
pub(crate) fn lines_with_hints(texts: &[BString], sequences: Option<&[Vec<u8>; 2]>) -> Vec<u8> {
    let mut lines = Vec::new();
    for text in texts {
        match sequences.filter(|_| text.starts_with(b"hint:")) {
            Some([begin, end]) => lines.extend(bytes![begin, text, end, "\n"]),
            None => lines.extend(labelled("", text)),
        }
    }
    lines
}

/// Checks an entry if it is about the colours of hints, as every command of git does.
///
/// # Errors
/// git refuses the value.
pub(crate) fn hint_color(entry: &ConfigEntry<'_>) -> Result<(), Error> {
    HintColors::default().take(entry).map(drop)
}

/// The value of an entry, as the sequence that begins the colour.
///
/// # Errors
/// git refuses the value.
pub(crate) fn of_entry(entry: &ConfigEntry<'_>) -> Result<Vec<u8>, Error> {
    let value = entry.required()?;
    parse(value)
        .ok_or_else(|| entry.complaint(format!("invalid color value: {value}", value = raw(value))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_become_escape_sequences() {
        for (value, sequence) in [
            ("", Some("")),
            ("normal", Some("")),
            ("-1", Some("")),
            ("red", Some("\x1b[31m")),
            ("RED", Some("\x1b[31m")),
            ("red blue bold", Some("\x1b[1;31;44m")),
            ("ul bold red", Some("\x1b[1;4;31m")),
            ("bold bold", Some("\x1b[1m")),
            ("normal blue", Some("\x1b[44m")),
            ("brightred", Some("\x1b[91m")),
            ("default", Some("\x1b[39m")),
            ("5", Some("\x1b[35m")),
            ("12", Some("\x1b[94m")),
            ("200 16", Some("\x1b[38;5;200;48;5;16m")),
            ("#ff0102", Some("\x1b[38;2;255;1;2m")),
            ("#1aF", Some("\x1b[38;2;17;170;255m")),
            ("reset", Some("\x1b[m")),
            ("reset red", Some("\x1b[;31m")),
            ("nobold no-ul", Some("\x1b[22;24m")),
            ("purple", None),
            ("256", None),
            ("-2", None),
            ("#12345", None),
            ("red green blue", None),
            ("brightdefault", None),
            ("Bold", None),
        ] {
            let expected = sequence.map(|text| text.as_bytes().to_vec());
            assert_eq!(parse(value.into()), expected, "{value}");
        }
    }

    #[test]
    fn only_coloured_text_is_reset() {
        let mut out = Vec::new();
        paint(&mut out, b"", b"a");
        paint(&mut out, b"\x1b[31m", b"b");
        assert_eq!(out, b"a\x1b[31mb\x1b[m");
    }
}
