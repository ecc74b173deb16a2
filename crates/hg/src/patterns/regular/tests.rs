use regex::bytes::RegexBuilder;

use super::*;

fn is_match(pattern: &str, text: &[u8]) -> bool {
    let translated = translate(pattern.as_bytes()).unwrap();
    let regex = RegexBuilder::new(&format!(r"\A(?:{translated})"))
        .unicode(false)
        .build()
        .unwrap_or_else(|error| panic!("{pattern}: {translated}: {error}"));
    regex.is_match(text)
}

#[test]
fn matches_are_those_of_python() {
    // As `re.match` of Python says.
    for (pattern, text, expected) in [
        ("a.c", "abc", true),
        ("a.c", "a\nc", false),
        ("(?s)a.c", "a\nc", true),
        ("a$", "a\n", true),
        ("a$", "a\nb", false),
        ("(?m)a$", "a\nb", true),
        (r"a\Z", "a\n", false),
        ("a{2}", "aa", true),
        ("a{,2}b", "aab", true),
        ("a{,}b", "aaaab", true),
        ("a{x}", "a{x}", true),
        ("a{}", "a{}", true),
        ("a{}$", "a", false),
        ("{", "{", true),
        ("[]a]+", "]a", true),
        ("[a-]", "-", true),
        (r"[\w-]+$", "a-b", true),
        ("[a[]", "[", true),
        ("[&&b]+$", "&", true),
        ("[^a]", "b", true),
        ("[b-d]", "c", true),
        ("[b-d]", "a", false),
        ("[b-d]", "-", false),
        ("[^b-d]", "c", false),
        ("[a-a]", "a", true),
        ("a b", "ab", false),
        ("(?x:a b)c d", "abc d", true),
        ("(?ii:a)", "A", true),
        ("(?-ss:a)", "a", true),
        ("(?s)(?-s:.)b", "\nb", false),
        (r"\x41\101\t", "AA\t", true),
        ("(?i)AbC", "aBc", true),
        ("(?i:a)b", "Ab", true),
        ("(?i:a)b", "AB", false),
        ("(?x) a b # c", "ab", true),
        ("(?:a|b)*?c", "abac", true),
        ("(?P<n>a)b", "ab", true),
        ("a(?#no)b", "ab", true),
        (r"a(?#\))b", "ab", true),
        ("(?x)a# \\\nc\nb", "ab", true),
        (r"\.\-\_\/", ".-_/", true),
        (r"\bab\b", "ab c", true),
        ("", "anything", true),
        ("a|", "b", true),
        ("(?-i:a)", "a", true),
    ] {
        assert_eq!(
            is_match(pattern, text.as_bytes()),
            expected,
            "{pattern} {text:?}"
        );
    }
    assert!(is_match(r"\xff[\xfe]", b"\xff\xfe"));
    assert!(translate(b"\xff").is_ok());
}

#[test]
fn patterns_that_python_refuses_are_refused() {
    for pattern in [
        "(",
        ")",
        "a)",
        "[",
        "[a",
        "*",
        "a**",
        "a{2}{3}",
        "a{3,2}",
        "(?)",
        "(?P<1>a)",
        "(?P<>a)",
        "(?P<n-1>a)",
        "(?P<n>a)(?P<n>b)",
        r"\q",
        r"[\q]",
        "[b-a]",
        r"[\w-a]",
        "(?z)",
        "(?i",
        r"\1",
        "a(?i)b",
        "(?u)a",
        "(?",
        r"\x4",
        "\\",
        "^*",
        "(?P=n)",
        "|*",
        "(?=a",
        "(?!(a)",
        "(?<!a*)b",
        "(?<=a|bc)d",
        "(?<=a?)",
        "(?<a)b",
        "(?i-i:a)",
        "(?i-:a)",
        "(?i--s:a)",
        "(?-a:a)",
        "(?i)*a",
        "(?aL:a)",
        "(?aL)a",
        r"a(?#\)",
        "a(?#\\",
        "(?x)a#\\",
    ] {
        assert_eq!(
            translate(pattern.as_bytes()),
            Err(RegexError::Syntax),
            "{pattern}"
        );
    }
}

#[test]
fn features_that_only_python_has_are_named() {
    for pattern in [
        r"(a)\1",
        r"(?!(a)\1)",
        "(?P<n>a)(?P=n)",
        "(?>a)",
        "a++",
        "(a)(?(1)b)",
        "(?a)(?L)a",
        "(?L)a",
        "(?iL:[^A])",
        "[[a]",
        "[a&&b]",
        "[a-b--c]",
        "[+--]",
        "a{4294967295}",
        "a{,99999999999999999999}",
        "{4294967295}",
        r"(?=\B)",
        r"(?=(?<!\B))",
    ] {
        assert!(
            matches!(
                translate(pattern.as_bytes()),
                Err(RegexError::OnlyPython(_))
            ),
            "{pattern}"
        );
    }
    let deep = "(".repeat(100_000);
    assert!(translate(deep.as_bytes()).is_err());
}
