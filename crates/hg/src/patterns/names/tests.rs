use regex::bytes::Regex;

use super::super::ignore::SUFFIX;
use super::super::regular::translate;
use super::*;

const KINDS: [Kind; 5] = [
    Kind::RelGlob,
    Kind::RootGlob,
    Kind::Glob,
    Kind::Path,
    Kind::RelPath,
];

/// Every text of at most `len` of `letters`.
fn texts(letters: &[&str], len: usize) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut longest = all.clone();
    for _ in 0..len {
        longest = longest
            .iter()
            .flat_map(|text| letters.iter().map(move |letter| format!("{text}{letter}")))
            .collect();
        all.extend_from_slice(&longest);
    }
    all
}

fn pattern(kind: Kind, text: &str) -> Pattern {
    Pattern::from_top(kind, text.as_bytes(), b"")
}

#[test]
fn names_match_what_their_expressions_match() {
    let paths = texts(&["a", "b", ".", "/", "\n"], 4);
    let mut tried = 0;
    for kind in KINDS {
        for text in texts(&["a", ".", "/", "*"], 4) {
            let pattern = pattern(kind, &text);
            let Some(name) = Name::of(&pattern, true) else {
                continue;
            };
            tried += 1;
            let mut names = Names::default();
            names.add(&name);
            let regular = translate(&pattern.regular(SUFFIX)).unwrap();
            let regex = Regex::new(&format!(r"(?-u)\A(?:{regular})")).unwrap();
            for path in &paths {
                let expected = regex.is_match(path.as_bytes());
                let found = names.is_match(path.as_str().into());
                assert_eq!(found, expected, "{kind:?} {text} {path:?}");
            }
        }
    }
    assert!(tried > 300, "{tried}");
}

#[test]
fn what_means_more_than_a_name_is_none() {
    for text in [
        "", "*", "a*", "**", "a?", "[a]", "{a}", "a\\b", "*a", "*.o/x", "**a", "*.a*",
    ] {
        assert!(
            Name::of(&pattern(Kind::RelGlob, text), true).is_none(),
            "{text}"
        );
    }
    assert!(Name::of(&pattern(Kind::RootGlob, "*.o"), true).is_none());
    assert!(Name::of(&pattern(Kind::RootFilesIn, "a"), true).is_none());
    // The globs of a command line match no more than what they say.
    assert!(Name::of(&pattern(Kind::RelGlob, "a"), false).is_none());
    assert!(Name::of(&pattern(Kind::RelPath, "a*"), false).is_some());
}

#[test]
fn names_without_a_usual_length_are_none() {
    let long = "a/".repeat(PARTS_MAX);
    assert!(Name::of(&pattern(Kind::RelGlob, &long), true).is_some());
    assert!(Name::of(&pattern(Kind::RelGlob, &format!("{long}a")), true).is_none());
    let long = format!("*.{}", "a".repeat(ENDING_LEN_MAX));
    assert!(Name::of(&pattern(Kind::RelGlob, &long), true).is_none());
    assert!(Name::of(&pattern(Kind::RelGlob, &long[..long.len() - 1]), true).is_some());
}
