//! Checks of one working tree and its index for what makes them slow.

use std::time::Duration;

use bstr::{BStr, BString};
use vigil_engine::session::checkup::{Checkup, Crowd};
use vigil_linux::dir::bounded::Budget;

use super::check::{Check, count, grouped, shown};
use super::stamps::stamps;
use crate::reply::bytes;

/// How much of a working tree is looked at.
const STEPS_MAX: u64 = 2_000_000;
const TIME_MAX: Duration = Duration::from_secs(3);

/// This many untracked entries in one place are a crowd.
pub(super) const CROWD_MIN: u64 = 10_000;

/// An index with this many entries is slow to read.
const ENTRIES_MAX: u32 = 100_000;

/// This many submodules are slow to ask, one by one.
const SUBMODULES_MAX: u32 = 20;

/// The limit on how much is looked at.
pub(super) fn budget() -> Budget {
    Budget::new(STEPS_MAX, TIME_MAX)
}

/// Judges the findings in the working tree, and the index, given by its version and its length in bytes.
pub(super) fn checks(found: &Checkup, index: Option<(u32, u64)>) -> Vec<Check> {
    let mut checks = vec![
        index_check(found, index),
        stamps(
            found.unsure,
            &count(found.looked_at, "tracked file"),
            "index",
            "git update-index -q --refresh",
        ),
    ];
    match found.crowds.as_slice() {
        [] => checks.push(Check::ok("many untracked files", cut(found, "none"))),
        crowds => checks.extend(crowds.iter().map(crowd)),
    }
    checks.push(nested(found));
    checks.push(submodules(found.submodules));
    checks
}

/// Returns `text`, with a remark if not everything was looked at.
fn cut(found: &Checkup, text: &str) -> String {
    match found.is_whole {
        true => text.to_owned(),
        false => format!("{text} in the part of the working tree that was looked at"),
    }
}

fn index_check(found: &Checkup, index: Option<(u32, u64)>) -> Check {
    let subject = "index";
    let Some((version, len)) = index else {
        return Check::ok(subject, "none");
    };
    let mut fact = format!(
        "version {version}, {} in {} bytes",
        count(found.entries.into(), "file"),
        grouped(len)
    );
    for (is, word) in [
        (found.is_split, "split"),
        (found.is_sparse, "sparse"),
        (found.has_untracked_cache, "with git's untracked cache"),
    ] {
        if is {
            fact.push_str(", ");
            fact.push_str(word);
        }
    }
    match found.entries > ENTRIES_MAX && version < 4 {
        true => Check::note(
            subject,
            fact + ": version 4 is shorter by half",
            "git config feature.manyFiles true && git update-index --index-version 4",
        ),
        false => Check::ok(subject, fact),
    }
}

fn crowd(crowd: &Crowd) -> Check {
    let directory = match crowd.directory.is_empty() {
        true => "the top".into(),
        false => shown(crowd.directory.as_ref()),
    };
    let number = grouped(crowd.entries);
    Check::problem(
        "many untracked files",
        bytes![number, " in ", directory, ", which no rule ignores"],
        ignoring(crowd.directory.as_ref()).unwrap_or_default(),
    )
}

/// The command that ignores `directory`, if its name needs no escapes in an ignore rule.
fn ignoring(directory: &BStr) -> Option<BString> {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-/".contains(byte);
    let is_fit = !directory.is_empty() && directory.iter().all(is_plain);
    is_fit.then(|| {
        let top = "\"$(git rev-parse --show-toplevel)\"/.gitignore";
        bytes!["echo /", directory, "/ >> ", top].into()
    })
}

fn nested(found: &Checkup) -> Check {
    let subject = "nested repositories";
    if found.nested.is_empty() {
        return Check::ok(subject, cut(found, "none"));
    }
    let names: Vec<BString> = found
        .nested
        .iter()
        .map(|name| shown(name.as_ref()))
        .collect();
    let number = grouped(found.nested_count);
    let names = bstr::join(", ", names);
    Check::note(
        subject,
        bytes![
            number,
            " that are no submodules (",
            names,
            "): each is asked whether it is one, unless a rule ignores it"
        ],
        "",
    )
}

fn submodules(number: u32) -> Check {
    let subject = "submodules";
    let fact = grouped(number.into());
    match number > SUBMODULES_MAX {
        true => Check::note(
            subject,
            fact + ": each has its own index and working tree to look at",
            "git config diff.ignoreSubmodules dirty",
        ),
        false => Check::ok(subject, fact),
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::Verdict;
    use super::*;

    fn whole() -> Checkup {
        Checkup {
            is_whole: true,
            ..Checkup::default()
        }
    }

    #[test]
    fn a_large_index_of_an_old_version_is_noted() {
        let mut found = whole();
        found.entries = ENTRIES_MAX;
        let verdict = |found: &Checkup, version| index_check(found, Some((version, 1))).verdict;
        assert_eq!(verdict(&found, 2), Verdict::Ok);
        found.entries += 1;
        assert_eq!(verdict(&found, 3), Verdict::Note);
        assert_eq!(verdict(&found, 4), Verdict::Ok);
        assert_eq!(index_check(&found, None).verdict, Verdict::Ok);
        found.is_split = true;
        found.is_sparse = true;
        found.has_untracked_cache = true;
        assert_eq!(
            index_check(&found, Some((4, 12_345))).fact,
            "version 4, 100,001 files in 12,345 bytes, split, sparse, with git's untracked cache"
        );
    }

    #[test]
    fn a_command_is_given_only_for_names_that_say_nothing_to_a_shell() {
        let command = |name: &str| ignoring(name.into());
        let expected = "echo /a-b/c.d_/ >> \"$(git rev-parse --show-toplevel)\"/.gitignore";
        assert_eq!(command("a-b/c.d_").unwrap(), expected);
        for name in [
            "", "a b", "a;b", "$(a)", "a*", "!a", "#a", "\"a", "ü", "a\n", "`a`",
        ] {
            assert_eq!(command(name), None, "{name}");
        }
    }

    #[test]
    fn submodules_and_nested_repositories_are_noted() {
        assert_eq!(submodules(20).verdict, Verdict::Ok);
        assert_eq!(submodules(21).verdict, Verdict::Note);
        let mut found = whole();
        assert_eq!(nested(&found).fact, "none");
        found.is_whole = false;
        assert!(nested(&found).fact.ends_with(b"that was looked at"));
        found.nested = vec!["a\x1b".into(), "b".into()];
        found.nested_count = 5;
        let check = nested(&found);
        assert_eq!(check.verdict, Verdict::Note);
        assert!(
            check
                .fact
                .starts_with(b"5 that are no submodules (\"a\\033\", b)")
        );
    }
}
