use gix_hash::Kind;

use super::parse;
use crate::refs::Raw;

#[test]
fn contents_are_read_as_git_reads_them() {
    let id = "1234567890123456789012345678901234567890";
    let direct = |text: &str| match parse(text.as_bytes(), Kind::Sha1) {
        Raw::Direct(found) => found == id,
        _ => false,
    };
    assert!(direct(id));
    assert!(direct(&format!("{id}\n\n ")));
    assert!(direct(&format!("{id}\tbranch 'x' of y")));
    assert!(!direct(&format!("{id}0")));
    assert!(!direct(id.split_at(39).0));
    assert!(!direct(""));
    assert!(!direct(&format!("{id}\x0c\n")));
    let symbolic = |text: &str| match parse(text.as_bytes(), Kind::Sha1) {
        Raw::Symbolic(target) => target.to_string(),
        other => format!("{other:?}"),
    };
    assert_eq!(symbolic("ref: refs/heads/a\n"), "refs/heads/a");
    assert_eq!(symbolic("ref:\t refs/heads/a b \n"), "refs/heads/a b");
    assert_eq!(symbolic("ref:refs/heads/a\0b\n"), "refs/heads/a");
    assert_eq!(symbolic("ref: refs/heads/a\x0c\n"), "refs/heads/a\x0c");
}
