use super::*;
use crate::revision::tests::{NEWEST_RELEASE, git_release};
use vigil_git::environment::Environment;
use vigil_testkit::sandbox::Sandbox;

/// 2023-11-14 22:13:20 UTC, a Tuesday.
const NOW_S: i64 = 1_700_000_000;

fn ours(text: &str) -> Option<i64> {
    let zone = Zone::default();
    parse_at(text.as_bytes(), &zone, NOW_S, vigil_stamp::now().s)
}

#[test]
fn dates_are_parsed_as_by_git() {
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
        "16:59:41 jan 70",
        "00:00:00 jan 70 +0200",
        "23:59:59 jan 70 -0100",
        "16:59:41 feb 70",
        "2099-12-31 23:00:00 -0030",
        "2099-12-31 23:00:00 -0200",
        "2099-12-31 23:59:59",
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
        // Found at random: what is half of a date or a time, and what came before.
        "@0 +0000",
        "@0 +0000-",
        "12:30am 20231110",
        "1234567890/T10",
        "2023-11-10+02:5,10:30",
        "6/7/2024 12:00 5,",
        "20231110T101520 T1015",
        "70 a 1234567890-",
        "82023-11-10T10:15:00.25+01 09",
        "T1015:00.60 sept/10:30/",
        "2,+02 10:30:15.5-2023 jan 5",
        "2023-11-10T10:15:00.2099",
        "0:",
        "1/2/3",
        "1.2038/",
        "007.13 @1700000000 +010",
        "10:60",
        "38/midnight wednesday",
        "jan5 jan noon,am:0",
        "am/today--0530:",
        "2023,JST,today minutes EST/",
        "13 +02 today-",
        "92 today:ten.",
    ] {
        // In older versions of git, these are relative to the present time.
        let is_newer = ["today", "noon", "tea", "midnight"]
            .iter()
            .any(|word| text.contains(word));
        if is_newer && git_release() < NEWEST_RELEASE {
            continue;
        }
        let argument = format!("--since={text}");
        // git counts without a sign: what is too large for a sign is a time before 1970.
        let theirs = git_at_now(&sandbox, &argument);
        let theirs = theirs.strip_prefix("--max-age=").unwrap();
        let theirs = theirs.parse::<u64>().unwrap();
        let theirs = i64::try_from(theirs).unwrap_or(i64::MAX);
        // git takes the present time if there is no date.
        assert_eq!(ours(text).unwrap_or(NOW_S), theirs, "{text}");
    }
    for text in ["", "x", "garbage words", "-", "friday"] {
        assert_eq!(ours(text), None, "{text}");
    }
}

#[test]
fn large_numbers_wrap_around_as_in_git() {
    let sandbox = Sandbox::new();
    for text in [
        "32767 last monday",
        "70000 last friday",
        "12345678 monday",
        "32767 days ago",
        "99999999 days ago",
        "4294967297 seconds ago",
        "999999999999999999999 seconds ago",
        "32767 weeks ago",
        "32767 months ago",
        "32767 years ago",
        "99999 years ago",
        "4294967308 january",
        "1969-12-31",
        "1899-12-31 12:00",
        "4294969319-11-10",
        "99999999999999999999 2024 5 may",
        "1000 am 1699999999 weeks",
    ] {
        let theirs = git_at_now(&sandbox, &format!("--since={text}"));
        // git shows a time before 1970 as one that is after all others.
        let theirs: u64 = theirs.trim_start_matches("--max-age=").parse().unwrap();
        let theirs = i64::try_from(theirs).unwrap_or(i64::MAX);
        assert_eq!(ours(text), Some(theirs), "{text}");
    }
}

#[test]
fn time_zones_are_those_of_git() {
    let sandbox = Sandbox::new();
    for zone in [
        "UTC",
        "Europe/Berlin",
        "America/New_York",
        "Australia/Sydney",
        "Asia/Kolkata",
        "EST5EDT4,M3.2.0,M11.1.0",
        "<+0330>-3:30",
        "Nowhere/AtAll",
    ] {
        let environment = Environment::new([("TZ".into(), zone.into())], "/");
        let clocks = Zone::of(&environment);
        for text in [
            "2024-01-15 12:00",
            "2024-07-15 12:00",
            "2024-03-31 02:30",
            "2060-07-15 12:00",
            "2060-01-15 12:00",
            "jan 15",
            "july 15",
            "5 months ago",
            "200 days ago",
            "noon",
        ] {
            for now_s in [NOW_S, 1_722_500_000] {
                let output = sandbox
                    .command("git", "", ["rev-parse", &format!("--since={text}")])
                    .env("GIT_TEST_DATE_NOW", now_s.to_string())
                    .env("TZ", zone)
                    .output()
                    .unwrap();
                let ours = parse_at(text.as_bytes(), &clocks, now_s, vigil_stamp::now().s);
                let ours = format!("--max-age={}\n", ours.unwrap());
                let theirs = String::from_utf8(output.stdout).unwrap();
                assert_eq!(ours, theirs, "{zone} {text} {now_s}");
            }
        }
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
    let output = sandbox
        .command("git", "", ["rev-parse", argument])
        .env("GIT_TEST_DATE_NOW", NOW_S.to_string())
        .env("TZ", "UTC")
        .output()
        .unwrap();
    String::from_utf8(output.stdout)
        .unwrap()
        .trim_end()
        .to_owned()
}
