//! Output of the checks: as text, a line each with the fixing command below it, and as JSON (docs/json-doctor.md).

use bstr::ByteSlice;
use serde::Serialize;

use super::check::{Check, Verdict, count};
use crate::output::json::{Text, serialized};

/// Raised when a reader of the previous schema could misunderstand the new one.
const SCHEMA: u32 = 1;

/// The widths of the columns of verdicts and subjects.
const VERDICT_WIDTH: usize = 9;
const SUBJECT_WIDTH: usize = 26;

fn name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Ok => "ok",
        Verdict::Note => "note",
        Verdict::Problem => "problem",
    }
}

fn how_many(checks: &[Check], verdict: Verdict) -> u64 {
    checks
        .iter()
        .filter(|check| check.verdict == verdict)
        .count() as u64
}

/// Writes the checks as lines of text.
pub(super) fn text(checks: &[Check]) -> Vec<u8> {
    let mut out = Vec::new();
    for check in checks {
        let verdict = name(check.verdict);
        let subject = check.subject;
        let label = format!("{verdict:VERDICT_WIDTH$}{subject:SUBJECT_WIDTH$}");
        out.extend_from_slice(label.as_bytes());
        append_escaped(&mut out, &check.fact);
        out.push(b'\n');
        if let Some(remedy) = &check.remedy {
            let label = format!("{:VERDICT_WIDTH$}{:SUBJECT_WIDTH$}", "", "");
            out.extend_from_slice(label.as_bytes());
            out.extend_from_slice(b"fix: ");
            append_escaped(&mut out, remedy);
            out.push(b'\n');
        }
    }
    let problems = match how_many(checks, Verdict::Problem) {
        0 => "no problem".to_owned(),
        number => count(number, "problem"),
    };
    let notes = count(how_many(checks, Verdict::Note), "note");
    out.extend_from_slice(format!("{problems}, {notes}\n").as_bytes());
    out
}

/// Appends `text` so that it affects only its own line: white space becomes a space, and other characters that a terminal may
/// obey are escaped byte by byte, as in git's quotes.
fn append_escaped(out: &mut Vec<u8>, text: &[u8]) {
    for (start, end, character) in text.char_indices() {
        let bytes = text.get(start..end).unwrap_or_default();
        let is_broken = character == '\u{fffd}' && bytes != "\u{fffd}".as_bytes();
        match character {
            '\n' | '\t' => out.push(b' '),
            _ if is_broken || character.is_control() || turns_text(character) => {
                for byte in bytes {
                    out.extend_from_slice(format!("\\{byte:03o}").as_bytes());
                }
            }
            _ => out.extend_from_slice(bytes),
        }
    }
}

/// Returns whether a character is invisible and moves what follows it (Unicode's bidirectional controls and separators).
fn turns_text(character: char) -> bool {
    matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    problems: u64,
    notes: u64,
    checks: Vec<CheckDocument<'a>>,
}

#[derive(Serialize)]
struct CheckDocument<'a> {
    subject: &'static str,
    verdict: &'static str,
    fact: Text<'a>,
    remedy: Option<Text<'a>>,
}

/// Writes the JSON object and a line feed.
pub(super) fn json(checks: &[Check]) -> Vec<u8> {
    let document = Document {
        schema: SCHEMA,
        problems: how_many(checks, Verdict::Problem),
        notes: how_many(checks, Verdict::Note),
        checks: checks
            .iter()
            .map(|check| CheckDocument {
                subject: check.subject,
                verdict: name(check.verdict),
                fact: Text::of(&check.fact),
                remedy: check.remedy.as_ref().map(Text::of),
            })
            .collect(),
    };
    serialized(&document, b'\n')
}

#[cfg(test)]
mod tests {
    use bstr::{BStr, BString};

    use super::*;

    #[test]
    fn each_check_is_a_line_with_its_remedy_below() {
        let checks = [
            Check::ok("kernel", "6.1"),
            Check::problem("daemon", "hangs", "vigil daemon restart"),
            Check::note("index", "large", ""),
        ];
        let expected = "\
ok       kernel                    6.1
problem  daemon                    hangs
                                   fix: vigil daemon restart
note     index                     large
1 problem, 1 note
";
        assert_eq!(BStr::new(&text(&checks)), expected);
        let last = text(&checks[..1]);
        assert!(last.ends_with(b"\nno problem, 0 notes\n"));
    }

    #[test]
    fn nothing_that_a_terminal_obeys_is_printed() {
        let hostile = b"a\x1b[2J\r\nb\x9b1m\xc2\x9b\xff \xe2\x80\xae\x7f\xc3\xbc \xef\xbf\xbd";
        let mut out = Vec::new();
        append_escaped(&mut out, hostile);
        let expected = "a\\033[2J\\015 b\\2331m\\302\\233\\377 \\342\\200\\256\\177ü \u{fffd}";
        assert_eq!(BString::from(out), expected);
    }
}
