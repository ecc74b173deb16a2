use std::fs;

use super::*;
use crate::testing::OpenRepository as _;
use vigil_testkit::clock::wait_for_tick;
use vigil_testkit::sandbox::{FORMATS, Sandbox};

/// Returns the last of the tags that git finds for a commit.
fn git_tag(sandbox: &Sandbox, commit: &oid) -> Option<BString> {
    let tags = sandbox.git(["tag", "--points-at", &commit.to_string(), "--sort=refname"]);
    tags.lines().last().map(BString::from)
}

struct TagQuery {
    refs: Refs,
    objects: Objects,
    index: TagIndex,
}

impl TagQuery {
    fn new(sandbox: &Sandbox) -> Self {
        let repo = sandbox.repository();
        Self {
            refs: Refs::open(&repo),
            objects: Objects::open(&repo).unwrap(),
            index: TagIndex::default(),
        }
    }

    fn ask(&mut self, commit: &oid) -> Option<BString> {
        self.index
            .tag_of(&self.refs, &self.objects, commit, false)
            .unwrap()
    }
}

#[test]
fn tags_are_those_of_git_at_every_step() {
    for (format, hash) in FORMATS {
        let sandbox = Sandbox::with_formats(format, hash);
        let commit = sandbox.commit("one");
        let mut asker = TagQuery::new(&sandbox);
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
                    git_tag(&sandbox, &id),
                    "{format:?} after {step:?}"
                );
            }
        }
    }
}

#[test]
fn packed_tags_that_the_file_does_not_peel_are_peeled() {
    let sandbox = Sandbox::new();
    let commit = sandbox.commit("one");
    sandbox.git(["tag", "-a", "-m", "t", "annotated"]);
    sandbox.git(["tag", "Z"]);
    sandbox.git(["pack-refs", "--all"]);
    let path = sandbox.git_dir().join("packed-refs");
    let text = fs::read_to_string(&path).unwrap();
    // With the header, as `git refs migrate` of git 2.55 writes it; and without, as old ones of git.
    for left_out in [&['^'][..], &['#', '^']] {
        let lines = text.lines().filter(|line| !line.starts_with(left_out));
        let lines: String = lines.map(|line| format!("{line}\n")).collect();
        fs::write(&path, lines).unwrap();
        let found = TagQuery::new(&sandbox).ask(&commit);
        assert_eq!(found, Some("annotated".into()), "{left_out:?}");
    }
}

#[test]
fn a_tag_file_written_in_place_is_noticed() {
    let sandbox = Sandbox::new();
    let one = sandbox.commit("one");
    let two = sandbox.commit("two");
    sandbox.git(["tag", "t"]);
    let mut asker = TagQuery::new(&sandbox);
    assert_eq!(asker.ask(&two), Some("t".into()));
    fs::write(sandbox.git_dir().join("refs/tags/t"), format!("{one}\n")).unwrap();
    assert_eq!((asker.ask(&one), asker.ask(&two)), (Some("t".into()), None));
}

#[test]
fn in_a_folder_of_many_tags_every_change_is_noticed() {
    let sandbox = Sandbox::new();
    let one = sandbox.commit("one");
    let two = sandbox.commit("two");
    for n in 10..40 {
        sandbox.git(["tag", &format!("t{n}")]);
    }
    let mut asker = TagQuery::new(&sandbox);
    assert_eq!(asker.ask(&two), Some("t39".into()));
    let tags = sandbox.git_dir().join("refs/tags");
    fs::write(tags.join("t39"), format!("{one}\n")).unwrap();
    assert_eq!(asker.ask(&one), Some("t39".into()));
    sandbox.git(["tag", "-d", "t38"]);
    assert_eq!(asker.ask(&two), Some("t37".into()));
    // Changed through another name of the file.
    fs::hard_link(tags.join("t37"), sandbox.git_dir().join("other")).unwrap();
    sandbox.git(["tag", "-d", "t36"]);
    assert_eq!(asker.ask(&two), Some("t37".into()));
    fs::write(sandbox.git_dir().join("other"), format!("{one}\n")).unwrap();
    assert_eq!(asker.ask(&two), Some("t35".into()));
    sandbox.git(["pack-refs", "--all"]);
    assert_eq!(asker.ask(&two), Some("t35".into()));
}

#[test]
fn damaged_tags_name_nothing() {
    let sandbox = Sandbox::new();
    let commit = sandbox.commit("one");
    sandbox.git(["tag", "good"]);
    let tags = sandbox.git_dir().join("refs/tags");
    fs::write(tags.join("missing"), format!("{}\n", "1".repeat(40))).unwrap();
    fs::write(tags.join("junk"), "junk\n").unwrap();
    let args = ["hash-object", "-t", "tag", "--literally", "-w", "--stdin"];
    let broken = sandbox.git_with_input(args, b"no tag at all\n");
    fs::write(tags.join("malformed"), format!("{broken}\n")).unwrap();
    assert_eq!(TagQuery::new(&sandbox).ask(&commit), Some("good".into()));
}

#[test]
fn tags_that_move_though_their_files_do_not_are_followed() {
    for (format, hash) in FORMATS {
        let sandbox = Sandbox::with_formats(format, hash);
        let one = sandbox.commit("one");
        sandbox.git(["tag", "-m", "t", "annotated"]);
        sandbox.git(["tag", "z", "HEAD^{tree}"]);
        // A linked worktree has its own HEAD.
        sandbox.git(["worktree", "add", "-q", "--detach", "../linked"]);
        let linked = sandbox.root().join("linked");
        sandbox.git(["symbolic-ref", "refs/tags/own", "HEAD"]);
        let repo = sandbox.repository_at(&linked);
        let mut asker = TagQuery {
            refs: Refs::open(&repo),
            objects: Objects::open(&repo).unwrap(),
            index: TagIndex::default(),
        };
        assert_eq!(asker.ask(&one), Some("own".into()), "{format:?}");
        let two = sandbox.commit("two");
        assert_eq!(asker.ask(&one), Some("own".into()));
        assert_eq!(asker.ask(&two), None);
        sandbox.git_in(&linked, ["checkout", "-q", "--detach", "main"]);
        assert_eq!(asker.ask(&one), Some("annotated".into()));
        assert_eq!(asker.ask(&two), Some("own".into()));
    }
}

#[test]
fn a_tag_whose_object_arrives_later_counts_from_then_on() {
    let sandbox = Sandbox::new();
    let commit = sandbox.commit("one");
    sandbox.git(["tag", "-m", "t", "late"]);
    let id = sandbox.id("late").to_string();
    let object = sandbox.loose_object(&id);
    let aside = sandbox.root().join("aside");
    fs::rename(&object, &aside).unwrap();
    let mut asker = TagQuery::new(&sandbox);
    assert_eq!(asker.ask(&commit), None);
    fs::rename(&aside, &object).unwrap();
    assert_eq!(asker.ask(&commit), Some("late".into()));
}

#[test]
fn a_link_to_a_tag_is_read_each_time() {
    let sandbox = Sandbox::new();
    let one = sandbox.commit("one");
    let two = sandbox.commit("two");
    let elsewhere = sandbox.root().join("elsewhere");
    let tags = sandbox.git_dir().join("refs/tags");
    fs::create_dir_all(&tags).unwrap();
    std::os::unix::fs::symlink(&elsewhere, tags.join("link")).unwrap();
    wait_for_tick();
    let mut asker = TagQuery::new(&sandbox);
    // As long as it leads nowhere, it is no tag.
    assert_eq!(asker.ask(&one), None);
    fs::write(&elsewhere, format!("{one}\n")).unwrap();
    assert_eq!(asker.ask(&one), git_tag(&sandbox, &one));
    assert_eq!(asker.ask(&one), Some("link".into()));
    fs::write(&elsewhere, format!("{two}\n")).unwrap();
    assert_eq!(asker.ask(&two), Some("link".into()));
}

/// Changes tags in random order, by git and by hand.
#[test]
fn tags_are_those_of_git_after_random_changes() {
    let sandbox = Sandbox::new();
    let commits = [sandbox.commit("one"), sandbox.commit("two")];
    let mut asker = TagQuery::new(&sandbox);
    let mut random = 12_345_u32;
    let mut next = |below: usize| {
        random = random.wrapping_mul(1_103_515_245).wrapping_add(12_345);
        (random >> 16) as usize % below
    };
    let names = ["a", "b", "f/a", "f/g/a", "f/z", "m", "z"];
    let tags = sandbox.git_dir().join("refs/tags");
    for step in 0..80 {
        let name = names[next(names.len())];
        let id = commits[next(2)].to_string();
        let loose = tags.join(name);
        match next(7) {
            0 => drop(sandbox.git(["tag", "-f", name, &id])),
            1 => drop(sandbox.git(["tag", "-f", "-m", "t", name, &id])),
            2 => drop(sandbox.git(["update-ref", "-d", &format!("refs/tags/{name}")])),
            3 if loose.is_file() => fs::write(&loose, format!("{id}\n")).unwrap(),
            4 if loose.is_file() => fs::remove_file(&loose).unwrap(),
            5 => drop(sandbox.git(["pack-refs", "--all"])),
            6 => {
                // In place, with the same length.
                let path = sandbox.git_dir().join("packed-refs");
                let [one, two] = commits.map(|id| format!("\n{id} "));
                if let Ok(text) = fs::read_to_string(&path) {
                    let text = text.replace(&one, "\n! ").replace(&two, &one);
                    fs::write(&path, text.replace("\n! ", &two)).unwrap();
                }
            }
            _ => {}
        }
        for id in &commits {
            assert_eq!(asker.ask(id), git_tag(&sandbox, id), "step {step}");
        }
    }
}
