//! The result of one check.

use std::path::Path;

use bstr::{BStr, BString, ByteSlice};
use vigil_model::quote::{QuoteRule, append_quoted};
use vigil_stamp::paths::bytes_of;

/// How good or bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verdict {
    /// As it should be.
    Ok,
    /// Worth knowing: it may be slow.
    Note,
    /// It makes answers slow or prevents them.
    Problem,
}

/// One checked thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Check {
    /// What was checked.
    pub(super) subject: &'static str,
    /// The verdict.
    pub(super) verdict: Verdict,
    /// What was found: one line, which may contain any bytes.
    pub(super) fact: BString,
    /// The command that fixes it, if there is one.
    pub(super) remedy: Option<BString>,
}

/// The maximum length of a fact in bytes. Names from a repository may have any length, and nobody reads more.
const FACT_LEN_MAX: usize = 1000;

impl Check {
    pub(super) fn ok(subject: &'static str, fact: impl Into<BString>) -> Self {
        Self::new(subject, Verdict::Ok, fact, "")
    }

    /// A note with the command that fixes it; empty if there is none.
    pub(super) fn note(
        subject: &'static str,
        fact: impl Into<BString>,
        remedy: impl Into<BString>,
    ) -> Self {
        Self::new(subject, Verdict::Note, fact, remedy)
    }

    /// A problem with the command that fixes it; empty if there is none.
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
            // Do not cut a character in two.
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

/// Returns `path` as it is, or quoted and escaped if it contains control characters or quotes.
pub(super) fn shown(path: &BStr) -> BString {
    let mut shown = Vec::new();
    let rule = QuoteRule {
        high_bytes: false,
        spaces: false,
    };
    append_quoted(&mut shown, path, rule);
    shown.into()
}

/// As [`shown`], for a path of the system.
pub(super) fn shown_path(path: &Path) -> BString {
    shown(bytes_of(path))
}

/// Returns `number` and `thing`, with the plural's `s` if needed.
pub(super) fn count(number: u64, thing: &str) -> String {
    count_of(number, thing, &format!("{thing}s"))
}

/// Returns `number` with the word for `one` thing, or for several.
pub(super) fn count_of(number: u64, one: &str, several: &str) -> String {
    let word = if number == 1 { one } else { several };
    format!("{} {word}", grouped(number))
}

/// Returns `number` with a comma between groups of three digits.
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
