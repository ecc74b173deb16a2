use super::super::regular::branches;
use super::*;

fn lookaround(pattern: &str) -> LookaroundSet {
    LookaroundSet::new(&branches(pattern.as_bytes()).unwrap()).unwrap()
}

#[test]
fn lookaround_matches_as_in_python() {
    for (pattern, text, expected) in [
        (r"(?!foo/)", "foo/x", false),
        (r"(?!foo/)", "fo/x", true),
        (r"(?!foo/).*x", "bar/x", true),
        (r".*(?<!\.keep)$", "a/.keep", false),
        (r".*(?<!\.keep)$", "a/b", true),
        (r"(?=a).b", "ab", true),
        (r"(?=a).b", "bb", false),
        (r"a(?!b)", "ab", false),
        (r"a(?!b)", "ac", true),
        (r"a(?!b)", "a", true),
        (r".*(?<=/)x", "d/x", true),
        (r".*(?<=/)x", "dx", false),
        (r"(?<=a)b", "b", false),
        (r"(?<!a)b", "b", true),
        (r"(?!a|b)c|(?=x)", "xyz", true),
        (r"(?:(?!ab).)*$", "aabb", false),
        (r"(?:(?!ab).)*$", "acb", true),
        (r"(?!(?!a)b)b", "b", false),
        (r"(?!(?=a)b)b", "b", true),
        (r"(?!)", "a", false),
        (r"(?=)", "a", true),
        (r"(?i)(?!A)b", "B", true),
        (r"(?i)(?!A)[a-z]", "a", false),
        (r"(?!.*\.c$).*", "x.c", false),
        (r"(?!.*\.c$).*", "x.cc", true),
        (r"(?=a)*b", "b", true),
        (r"(?=a)?b", "b", true),
        (r"(?=a){2}a", "a", true),
        (r"(?=a){2}a", "b", false),
        (r"(?<=ab|cd)e", "e", false),
        (r"..(?<=ab|cd)e", "cde", true),
        (r"..(?<=ab|cd)e", "ace", false),
        (r".*(?<=\ba)b", "x ab", true),
        (r".+(?<=(?=b)b)c", "abc", true),
        (r".*(?<!^)b", "b", false),
        (r".*(?<!^)b", "ab", true),
        (r"(?!a$)a", "a", false),
        (r"(?!a$)a", "ab", true),
        ("(?s).(?!\n)", "a\n", false),
        (r"(?=(?:a|b){2}$)", "ab", true),
        (r"(?=(?:a|b){2}$)", "abc", false),
        (r"(?!\Aa)", "a", false),
    ] {
        let found = lookaround(pattern).is_match(text.as_bytes());
        assert_eq!(found, expected, "{pattern} {text:?}");
    }
    assert!(lookaround(r"(?=\xff).").is_match(b"\xff"));
}

/// A backtracking matcher would take longer on each of these than anybody waits.
#[test]
fn the_time_is_bounded() {
    let text = "a".repeat(4000);
    for (pattern, expected) in [
        ("(?=(?:a*)*b)a", false),
        ("(?!(?:a|aa)+$)", false),
        ("(?:(?=.*.*.*b)a|(?!.*b)a)*$", true),
        ("(?=(?=(?=(?:a+)+b)(?:a+)+b)(?:a+)+b)", false),
    ] {
        assert_eq!(
            lookaround(pattern).is_match(text.as_bytes()),
            expected,
            "{pattern}"
        );
    }
}

#[test]
fn patterns_that_are_too_large_are_refused() {
    let large =
        |pattern: &str| LookaroundSet::new(&branches(pattern.as_bytes()).unwrap()).is_none();
    assert!(large(
        "(?=a{1000}{1})(?:a{1000}){1000}"
            .replace("{1})", ")")
            .as_str()
    ));
    assert!(large(&"(?!abc)|".repeat(5000)));
    assert!(!large(&"(?!abc)|".repeat(500)));
}
