//! The format of `.gitattributes` files (gitattributes(5)).

use std::collections::HashMap;

use bstr::{BStr, BString, ByteSlice};
use vigil_model::quote::unquote;

use super::pattern::Pattern;
use super::value::Value;
use crate::messages::{FileMessages, bytes};
use vigil_model::c_string::until_nul;

/// Lines of at least this length in bytes are ignored.
const LINE_LENGTH_MAX: usize = 2048;

const MACRO_PREFIX: &[u8] = b"[attr]";
const BLANK: &[u8] = b" \t\r\n";

/// The value that a line gives to one attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Assignment {
    pub(super) name: BString,
    pub(super) value: Value,
}

/// A line with a pattern.
#[derive(Debug)]
pub(super) struct Rule {
    /// From 1.
    pub(super) line: usize,
    pub(super) pattern: Pattern,
    pub(super) assignments: Vec<Assignment>,
}

/// The contents of one file.
#[derive(Debug, Default)]
pub(super) struct Rules {
    /// The file's name in messages.
    pub(super) origin: BString,
    /// In the order of the file: later ones win.
    pub(super) rules: Vec<Rule>,
    /// The assignments of each `[attr]` line; the last definition of a name wins.
    pub(super) macros: HashMap<BString, Vec<Assignment>>,
}

/// How a file is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct ParseContext<'a> {
    /// The file's name in messages.
    pub(super) origin: &'a BStr,
    /// Whether `[attr]` lines are allowed; they are not below the top directory.
    pub(super) macros: bool,
}

impl Rules {
    fn called(origin: &BStr) -> Self {
        Self {
            origin: origin.to_owned(),
            ..Self::default()
        }
    }

    /// Parses a file on disk.
    pub(super) fn from_file(
        bytes: &[u8],
        context: ParseContext<'_>,
        complaints: &mut FileMessages,
    ) -> Self {
        let mut rules = Self::called(context.origin);
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        for (line, number) in bytes.lines().zip(1..) {
            rules.add(until_nul(line), number, context, complaints);
        }
        rules
    }

    /// Parses a blob. Unlike a file, it ends at its first NUL, and a byte order mark is not
    /// skipped.
    pub(super) fn from_blob(
        bytes: &[u8],
        context: ParseContext<'_>,
        complaints: &mut FileMessages,
    ) -> Self {
        let mut rules = Self::called(context.origin);
        for (line, number) in until_nul(bytes).split_str(b"\n").zip(1..) {
            rules.add(line, number, context, complaints);
        }
        rules
    }

    fn add(
        &mut self,
        line: &[u8],
        number: usize,
        context: ParseContext<'_>,
        complaints: &mut FileMessages,
    ) {
        match parse_line(line, number, context, complaints) {
            Some(Line::Rule(rule)) => self.rules.push(rule),
            Some(Line::Macro(name, assignments)) => {
                self.macros.insert(name, assignments);
            }
            None => {}
        }
    }
}

enum Line {
    Rule(Rule),
    Macro(BString, Vec<Assignment>),
}

fn parse_line(
    line: &[u8],
    number: usize,
    context: ParseContext<'_>,
    complaints: &mut FileMessages,
) -> Option<Line> {
    let text = skip_blank(line);
    if text.is_empty() || text.starts_with(b"#") {
        return None;
    }
    if line.len() >= LINE_LENGTH_MAX {
        complaints.warning(format!("ignoring overly long attributes line {number}"));
        return None;
    }

    let unquoted = unquote(text);
    let (name, rest) = match &unquoted {
        Some((name, rest)) => (name.as_slice(), *rest),
        None => split_blank(text),
    };
    if name.len() > MACRO_PREFIX.len() && name.starts_with(MACRO_PREFIX) {
        if !context.macros {
            // The rest of the line is part of git's message, unless the name is quoted.
            let shown = if unquoted.is_some() { name } else { text };
            let place = format!(":{number}");
            complaints.line(bytes!(shown, " not allowed: ", context.origin, place));
            return None;
        }
        let name = skip_blank(name.get(MACRO_PREFIX.len()..).unwrap_or_default());
        let (name, _) = split_blank(name);
        if !is_valid_name(name) {
            report_name(name, number, context, complaints);
            return None;
        }
        let assignments = parse_assignments(rest, number, context, complaints)?;
        return Some(Line::Macro(name.into(), assignments));
    }

    let assignments = parse_assignments(rest, number, context, complaints)?;
    if name.starts_with(b"!") {
        complaints.warning(
            "Negative patterns are ignored in git attributes\n\
             Use '\\!' for literal leading exclamation.",
        );
        return None;
    }
    Some(Line::Rule(Rule {
        line: number,
        pattern: Pattern::new(until_nul(name)),
        assignments,
    }))
}

/// Parses `attr`, `-attr`, `!attr` and `attr=value`. One invalid name makes the whole line invalid.
fn parse_assignments(
    text: &[u8],
    number: usize,
    context: ParseContext<'_>,
    complaints: &mut FileMessages,
) -> Option<Vec<Assignment>> {
    let mut assignments = Vec::new();
    let mut rest = skip_blank(text);
    while !rest.is_empty() {
        let (word, after) = split_blank(rest);
        rest = skip_blank(after);
        let (name, value) = match word.split_once_str(b"=") {
            Some((name, value)) => (name, Value::Text(value.into())),
            None => (word, Value::Set),
        };
        let (name, value) = match name.split_first() {
            Some((b'-', name)) => (name, Value::Unset),
            Some((b'!', name)) => (name, Value::Unspecified),
            _ => (name, value),
        };
        if !is_valid_name(name) {
            report_name(name, number, context, complaints);
            return None;
        }
        assignments.push(Assignment {
            name: name.into(),
            value,
        });
    }
    Some(assignments)
}

fn report_name(
    name: &[u8],
    number: usize,
    context: ParseContext<'_>,
    complaints: &mut FileMessages,
) {
    let place = format!(":{number}");
    complaints.line(bytes!(
        name,
        " is not a valid attribute name: ",
        context.origin,
        place
    ));
}

/// Whether `name` is a valid name of an attribute; those with `builtin_` are git's own.
fn is_valid_name(name: &[u8]) -> bool {
    !name.is_empty()
        && !name.starts_with(b"-")
        && !name.starts_with(b"builtin_")
        && name
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_'))
}

fn skip_blank(text: &[u8]) -> &[u8] {
    text.trim_start_with(|c| c.is_ascii() && BLANK.contains(&(c as u8)))
}

/// Splits `text` before its first blank.
fn split_blank(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.find_byteset(BLANK).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, &[]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, macros: bool) -> (Rules, Vec<BString>) {
        let mut complaints = FileMessages::default();
        let context = ParseContext {
            origin: "f".into(),
            macros,
        };
        let rules = Rules::from_file(text.as_bytes(), context, &mut complaints);
        (rules, complaints.into_lines())
    }

    #[test]
    fn a_line_assigns_in_four_ways() {
        let (rules, complaints) = read("x a -b !c d=e=f -g=h\n", true);
        assert!(complaints.is_empty());
        let values: Vec<_> = rules.rules[0]
            .assignments
            .iter()
            .map(|a| (a.name.to_string(), a.value.clone()))
            .collect();
        assert_eq!(
            values,
            [
                ("a".into(), Value::Set),
                ("b".into(), Value::Unset),
                ("c".into(), Value::Unspecified),
                ("d".into(), Value::Text("e=f".into())),
                ("g".into(), Value::Unset),
            ]
        );
    }

    #[test]
    fn what_is_wrong_is_said_in_gits_words() {
        assert_eq!(
            read("\n[attr]x y\n", false).1,
            ["[attr]x y not allowed: f:2"]
        );
        assert_eq!(
            read("a b$ c\n", true).1,
            ["b$ is not a valid attribute name: f:1"]
        );
        assert_eq!(
            read("a builtin_x\n[attr]builtin_y\n", true).1,
            [
                "builtin_x is not a valid attribute name: f:1",
                "builtin_y is not a valid attribute name: f:2"
            ]
        );
        assert_eq!(
            read("!a b\n", true).1,
            ["warning: Negative patterns are ignored in git attributes\n\
              Use '\\!' for literal leading exclamation."]
        );
        assert_eq!(
            read(&("a b".to_owned() + &" ".repeat(2045)), true).1,
            ["warning: ignoring overly long attributes line 1"]
        );
    }
}
