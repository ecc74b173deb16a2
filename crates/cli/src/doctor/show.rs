//! Output of the checks: as text, a line each with the fixing command below it, and as JSON (docs/json-doctor.md).

use serde::Serialize;
use vigil_model::escape::append_escaped;

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
    use bstr::BStr;

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
}
