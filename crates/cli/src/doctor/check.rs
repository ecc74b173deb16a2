//! What is said of one thing.

use std::path::Path;

use bstr::{BStr, BString, ByteSlice};
use vigil_model::quote::{QuoteRule, append_quoted};
use vigil_stamp::paths::bytes_of;

/// How it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verdict {
    /// As it should be.
    Ok,
    /// Worth knowing: it may cost something.
    Note,
    /// It makes answers slow, or keeps them from being given.
    Problem,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Check {
    /// What was looked at.
    pub(super) subject: &'static str,
    /// How it is.
    pub(super) verdict: Verdict,
    /// What was found: a line, which may hold any bytes.
    pub(super) fact: BString,
    /// The command that mends it, if there is one.
    pub(super) remedy: Option<BString>,
}

/// What a repository names may be of any length; more of it than this, in bytes, tells nobody more.
const FACT_LEN_MAX: usize = 1000;

impl Check {
    pub(super) fn ok(subject: &'static str, fact: impl Into<BString>) -> Self {
        Self::new(subject, Verdict::Ok, fact, "")
    }

    /// With the command that mends it; empty if there is none.
    pub(super) fn note(
        subject: &'static str,
        fact: impl Into<BString>,
        remedy: impl Into<BString>,
    ) -> Self {
        Self::new(subject, Verdict::Note, fact, remedy)
    }

    /// With the command that mends it; empty if there is none.
    pub(super) fn problem(
        subject: &'static str,
        fact: impl Into<BString>,
        remedy: impl Into<BString>,
    ) -> Self {
        Self::new(subject, Verdict::Problem, fact, remedy)
    }

    pub(super) fn new(
        subject: &'static str,
        verdict: Verdict,
        fact: impl Into<BString>,
        remedy: impl Into<BString>,
    ) -> Self {
        let mut fact = fact.into();
        if fact.len() > FACT_LEN_MAX {
            // Not in the middle of a character.
            let cut = fact.char_indices().map(|(start, ..)| start);
            let cut = cut.take_while(|start| *start <= FACT_LEN_MAX).last();
            fact.truncate(cut.unwrap_or_default());
            fact.extend_from_slice("…".as_bytes());
        }
        let remedy = remedy.into();
        Self {
            subject,
            verdict,
            fact,
            remedy: (!remedy.is_empty()).then_some(remedy),
        }
    }
}

/// `path` as it is, or in quotes and with escapes where it has control characters or quotes.
pub(super) fn shown(path: &BStr) -> BString {
    let mut shown = Vec::new();
    let rule = QuoteRule {
        high_bytes: false,
        spaces: false,
    };
    append_quoted(&mut shown, path, rule);
    shown.into()
}

/// The same of a path of the system.
pub(super) fn shown_path(path: &Path) -> BString {
    shown(bytes_of(path))
}

/// `number` of things, and the plural's `s`.
pub(super) fn count(number: u64, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {thing}{plural}", grouped(number))
}

/// `number` with a comma before each three digits.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && digits.len().saturating_sub(at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_in_threes() {
        let numbers = [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1_234_567, "1,234,567"),
        ];
        for (number, expected) in numbers {
            assert_eq!(grouped(number), expected);
        }
        assert_eq!(
            (count(1, "file"), count(2, "file")),
            ("1 file".into(), "2 files".into())
        );
    }

    #[test]
    fn a_long_fact_is_cut_between_characters() {
        let fact = Check::ok("x", "ü".repeat(10_000)).fact;
        assert!(fact.to_str().unwrap().ends_with("ü…") && fact.len() <= FACT_LEN_MAX + 3);
        let fact = Check::ok("x", vec![0xff; 10_000]).fact;
        assert!(fact.len() <= FACT_LEN_MAX + 3);
    }
}
