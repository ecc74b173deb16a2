//! A check for files whose stamps do not tell whether they changed.

use super::check::{Check, Verdict, grouped};

/// From these numbers on, files whose contents must be compared deserve a note, or are a problem.
const UNSURE_NOTED: u64 = 100;
const UNSURE_MAX: u64 = 10_000;

/// Checks the number `unsure` of files, described by `all`, whose stamps differ from those in the file called `recorded_in`.
/// `remedy` is the command that records their stamps there.
pub(super) fn stamps(unsure: u64, all: &str, recorded_in: &str, remedy: &str) -> Check {
    let subject = "time stamps";
    let fact = format!(
        "{} of {all} can only be compared by contents",
        grouped(unsure)
    );
    let verdict = match unsure {
        ..UNSURE_NOTED => return Check::ok(subject, fact),
        UNSURE_NOTED..UNSURE_MAX => Verdict::Note,
        UNSURE_MAX.. => Verdict::Problem,
    };
    let fact = format!("{fact}: their stamps differ from the {recorded_in}");
    Check::new(subject, verdict, fact, remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_count_by_their_number() {
        for (unsure, verdict) in [
            (99, Verdict::Ok),
            (100, Verdict::Note),
            (9_999, Verdict::Note),
            (10_000, Verdict::Problem),
        ] {
            let check = stamps(unsure, "10,000 tracked files", "index", "refresh");
            assert_eq!(check.verdict, verdict, "{unsure}");
            let is_remedied = check.remedy.is_some_and(|remedy| remedy == "refresh");
            assert_eq!(is_remedied, verdict != Verdict::Ok, "{unsure}");
            let names_index = check.fact.ends_with(b"differ from the index");
            assert_eq!(names_index, verdict != Verdict::Ok, "{unsure}");
        }
    }
}
