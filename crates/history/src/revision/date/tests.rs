use super::*;
use crate::revision::tests::{NEWEST, release};
use vigil_testkit::repository::Sandbox;

/// 2023-11-14 22:13:20 UTC, a Tuesday.
const NOW_S: i64 = 1_700_000_000;

fn ours(text: &str) -> Option<i64> {
    let zone = Zone::default();
    let exact = exact::parse(text.as_bytes(), &zone, NOW_S);
    exact.or_else(|| Approximate::new(&zone, NOW_S).parse(text.as_bytes()))
}

#[test]
fn dates_mean_what_git_takes_them_for() {
    let sandbox = Sandbox::new();
    for text in [
        "now",
        "today",
        "yesterday",
        "midnight",
        "noon",
        "tea",
        "never",
        "noon yesterday",
        "yesterday noon",
        "noon today",
        "3 days ago",
        "3.days.ago",
        "1 week ago",
        "2 months ago",
        "11 months ago",
        "14 months ago",
        "1 year ago",
        "3 years 2 months ago",
        "ten seconds ago",
        "last week",
        "last friday",
        "2 tuesdays ago",
        "last month",
        "5 minutes",
        "90 minutes ago",
        "2023-11-10",
        "2023-11-10 10:00",
        "2023-11-10 10:00:05",
        "2023-11-10T10:00:05Z",
        "2023-11-10T10:00:05.5Z",
        "2023-11-10 10:00:05 +0200",
        "2023-11-10 10:00:05 -05:30",
        "20231110",
        "20231110T100000",
        "20231110T1000",
        "20231110T10",
        "1699999999",
        "@1699999999 +0100",
        "Fri, 10 Nov 2023 10:00:00 +0100",
        "10 Nov 2023",
        "Nov 10",
        "10 Nov",
        "Dec 6 1992",
        "6 Dec 92",
        "6/12/92",
        "12/6/92",
        "6.12.92",
        "11/10",
        "10.11.",
        "3pm",
        "3pm yesterday",
        "10am",
        "11/20/2023",
        "12/30",
        "1}^{blob",
        "1 2 2003",
        "13",
        "32",
        "0",
        "2",
        "friday",
        "Nov",
        "march",
        "noon 10 Nov",
        "10:30",
        "yesterday 10:30",
        "2023-11-10 10:00 EST",
        "2023-11-10 10:00 CEST",
        "2023-11-10 10:00 GMT",
        "Jan 5 2023 3am",
    ] {
        // Before, these counted from the present.
        let is_newer = ["today", "noon", "tea", "midnight"]
            .iter()
            .any(|word| text.contains(word));
        if is_newer && release() < NEWEST {
            continue;
        }
        let argument = format!("--since={text}");
        let theirs = git_at_now(&sandbox, &argument);
        // git takes the present for what is no date.
        let ours = format!("--max-age={}", ours(text).unwrap_or(NOW_S));
        assert_eq!(ours, theirs, "{text}");
    }
    for text in ["", "x", "garbage words", "-", "friday"] {
        assert_eq!(ours(text), None, "{text}");
    }
}

#[test]
fn dates_are_shown_as_git_shows_them() {
    assert_eq!(short(NOW_S, 0), "2023-11-14");
    assert_eq!(short(NOW_S, 200), "2023-11-15");
    assert_eq!(rfc2822(NOW_S, 0), "Tue, 14 Nov 2023 22:13:20 +0000");
    assert_eq!(rfc2822(NOW_S, -530), "Tue, 14 Nov 2023 16:43:20 -0530");
}

fn git_at_now(sandbox: &Sandbox, argument: &str) -> String {
    let output = std::process::Command::new("git")
        .args(["rev-parse", argument])
        .current_dir(sandbox.work_tree())
        .env("GIT_TEST_DATE_NOW", NOW_S.to_string())
        .env("TZ", "UTC")
        .output()
        .unwrap();
    String::from_utf8(output.stdout)
        .unwrap()
        .trim_end()
        .to_owned()
}
