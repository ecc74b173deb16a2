use std::fs;

use super::*;
use crate::git::refs::testing::{FORMATS, Sandbox};

/// The last of the tags that git finds for a commit.
fn by_git(sandbox: &Sandbox, commit: &oid) -> Option<BString> {
    let tags = sandbox.git(&["tag", "--points-at", &commit.to_string(), "--sort=refname"]);
    tags.lines().last().map(BString::from)
}

struct Asker {
    refs: Refs,
    objects: Objects,
    index: TagIndex,
}

impl Asker {
    fn new(sandbox: &Sandbox) -> Self {
        let repo = sandbox.repository();
        Self {
            refs: Refs::open(&repo).unwrap(),
            objects: Objects::open(&repo).unwrap(),
            index: TagIndex::new(),
        }
    }

    fn ask(&mut self, commit: &oid) -> Option<BString> {
        self.index
            .tag_of(&self.refs, &self.objects, commit)
            .unwrap()
    }
}

#[test]
fn tags_are_those_of_git_at_every_step() {
    for (format, hash) in FORMATS {
        let sandbox = Sandbox::with(format, hash);
        let commit = sandbox.commit("one");
        let mut asker = Asker::new(&sandbox);
        assert_eq!(asker.ask(&commit), None);
        let steps: [&[&str]; 14] = [
            &["tag", "b"],
            &["tag", "a"],
            &["tag", "-a", "-m", "t", "c"],
            &["tag", "-a", "-m", "t", "d", "c"],
            &["tag", "release/nested/1"],
            &["tag", "release-2"],
            &["pack-refs", "--all"],
            &["tag", "-d", "release/nested/1"],
            &["tag", "z", "HEAD^{tree}"],
            &["commit", "-q", "--allow-empty", "-m", "two"],
            &["tag", "-f", "release-2"],
            &["tag", "-f", "d"],
            &["symbolic-ref", "refs/tags/symbolic", "refs/heads/main"],
            &["commit", "-q", "--allow-empty", "-m", "three"],
        ];
        for step in steps {
            sandbox.git(step);
            for id in [commit, sandbox.id("HEAD")] {
                assert_eq!(
                    asker.ask(&id),
                    by_git(&sandbox, &id),
                    "{format:?} after {step:?}"
                );
            }
        }
    }
}

#[test]
fn packed_tags_without_a_header_are_peeled() {
    let sandbox = Sandbox::new();
    let commit = sandbox.commit("one");
    sandbox.git(&["tag", "-a", "-m", "t", "annotated"]);
    sandbox.git(&["tag", "Z"]);
    sandbox.git(&["pack-refs", "--all"]);
    let path = sandbox.git_dir().join("packed-refs");
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<_> = text
        .lines()
        .filter(|line| !line.starts_with(['#', '^']))
        .collect();
    fs::write(&path, lines.join("\n") + "\n").unwrap();
    assert_eq!(Asker::new(&sandbox).ask(&commit), Some("annotated".into()));
}

#[test]
fn a_tag_file_written_in_place_is_noticed() {
    let sandbox = Sandbox::new();
    let one = sandbox.commit("one");
    let two = sandbox.commit("two");
    sandbox.git(&["tag", "t"]);
    let mut asker = Asker::new(&sandbox);
    assert_eq!(asker.ask(&two), Some("t".into()));
    fs::write(sandbox.git_dir().join("refs/tags/t"), format!("{one}\n")).unwrap();
    assert_eq!((asker.ask(&one), asker.ask(&two)), (Some("t".into()), None));
}

#[test]
fn damaged_tags_name_nothing() {
    let sandbox = Sandbox::new();
    let commit = sandbox.commit("one");
    sandbox.git(&["tag", "good"]);
    let tags = sandbox.git_dir().join("refs/tags");
    fs::write(tags.join("missing"), format!("{}\n", "1".repeat(40))).unwrap();
    fs::write(tags.join("junk"), "junk\n").unwrap();
    let args = ["hash-object", "-t", "tag", "--literally", "-w", "--stdin"];
    let broken = sandbox.git_with_input(&args, b"no tag at all\n");
    fs::write(tags.join("malformed"), format!("{broken}\n")).unwrap();
    assert_eq!(Asker::new(&sandbox).ask(&commit), Some("good".into()));
}
