mod damaged;
mod light;
mod long;
mod packed;
mod tables;

use std::fmt::Write as _;
use std::io::Write as _;

use bstr::ByteSlice;

use super::*;
use crate::testing::OpenRepository as _;
use vigil_git::objects::{MANY, Objects};
use vigil_git::refs::Refs;
use vigil_testkit::chance::Chance;
use vigil_testkit::sandbox::{FORMATS, RefFormat, Sandbox};

/// Returns the output of `git describe`, or its error without "fatal: ", and the messages before.
fn theirs(sandbox: &Sandbox, options: &[&str], names: &[&str]) -> (String, String) {
    let arguments = [&["describe"], options, names].concat();
    let output = sandbox.try_git(&arguments);
    (output.stdout, output.stderr.replace("fatal: ", ""))
}

fn at<T>(sandbox: &Sandbox, ask: impl FnOnce(Context<'_>) -> T) -> T {
    let repository = sandbox.repository();
    let refs = Refs::open(&repository);
    let objects = Objects::open_with(&repository, &refs).unwrap();
    objects.collect_messages();
    ask(Context {
        repository: &repository,
        refs: &refs,
        objects: &objects,
    })
}

fn ours(sandbox: &Sandbox, options: &[&str], names: &[&str]) -> (String, String) {
    at(sandbox, |context| ours_at(context, options, names))
}

fn ours_at(context: Context<'_>, options: &[&str], names: &[&str]) -> (String, String) {
    let parsed = parse(options);
    let (mut stdout, mut stderr) = (String::new(), String::new());
    let mut say = |messages: Vec<BString>, failure: Option<&Error>| {
        for line in messages {
            writeln!(stderr, "{line}").unwrap();
        }
        if let Some(error) = failure {
            writeln!(stderr, "{error}").unwrap();
        }
    };
    if options.contains(&"--contains") {
        let names: Vec<BString> = names.iter().map(|name| BString::from(*name)).collect();
        let contained = contains(&parsed, context, &names);
        say(contained.messages, contained.failure.as_ref());
        for name in contained.names {
            writeln!(stdout, "{name}").unwrap();
        }
        return (stdout, stderr);
    }
    let revisions: Vec<BString> = names.iter().map(|name| BString::from(*name)).collect();
    let mut describer = match Describer::new(&parsed, context, &revisions) {
        Ok(describer) => describer,
        Err(error) => {
            let messages = context
                .objects
                .take_messages()
                .into_iter()
                .map(BString::from);
            say(messages.collect(), Some(&error));
            return (stdout, stderr);
        }
    };
    for name in names {
        let described = describer.describe((*name).into());
        say(describer.take_messages(), described.as_ref().err());
        match described {
            Ok(text) => writeln!(stdout, "{text}").unwrap(),
            Err(_) => break,
        }
    }
    (stdout, stderr)
}

fn parse(options: &[&str]) -> DescribeOptions {
    let mut parsed = DescribeOptions::default();
    for option in options {
        match option.split_once('=') {
            None => match *option {
                "--all" => parsed.all = true,
                "--tags" => parsed.tags = true,
                "--long" => parsed.long = true,
                "--first-parent" => parsed.first_parent = true,
                "--always" => parsed.always = true,
                "--exact-match" => parsed.candidates = 0,
                "--debug" => parsed.is_debugged = true,
                "--contains" => {}
                other => panic!("{other}"),
            },
            Some(("--abbrev", digits)) => parsed.abbreviation = digits.parse().ok(),
            Some(("--candidates", count)) => parsed.candidates = count.parse().unwrap(),
            Some(("--match", pattern)) => parsed.patterns.push(pattern.into()),
            Some(("--exclude", pattern)) => parsed.excluded.push(pattern.into()),
            Some(other) => panic!("{other:?}"),
        }
    }
    parsed
}

fn compare(sandbox: &Sandbox, options: &[&str], names: &[&str], remark: &str) {
    assert_eq!(
        ours(sandbox, options, names),
        theirs(sandbox, options, names),
        "{remark} {options:?} {names:?}"
    );
}

/// A history for `git fast-import`, with merges, clocks that differ, tags of all kinds, and files.
fn history(chance: &mut Chance) -> String {
    let mut stream = String::new();
    let count = 2 + chance.below(14);
    let skew = chance.pick(&[1, 1, 500]);
    for mark in 1..=count {
        let time_s = 1_700_000_000 + mark * 100 + chance.below(skew);
        write!(
            stream,
            "commit refs/heads/main\nmark :{mark}\ncommitter C <c@d> {time_s} +0000\ndata 0\n"
        )
        .unwrap();
        if mark > 1 {
            let parent = mark - 1 - chance.below(mark.min(3) - 1);
            writeln!(stream, "from :{parent}").unwrap();
            let other = 1 + chance.below(mark - 1);
            if other != parent && chance.below(2) == 0 {
                writeln!(stream, "merge :{other}").unwrap();
            }
        }
        writeln!(stream, "M 644 inline d/{mark}\ndata 2\n{mark:02}").unwrap();
    }
    for number in 0..chance.below(7) {
        let mark = 1 + chance.below(count);
        let time_s = 1_700_000_000 + chance.below(3000);
        match chance.below(3) {
            0 => writeln!(stream, "reset refs/tags/light-{number}\nfrom :{mark}\n").unwrap(),
            1 => writeln!(stream, "reset refs/remotes/far/{number}\nfrom :{mark}\n").unwrap(),
            _ => writeln!(
                stream,
                "tag v{number}\nfrom :{mark}\ntagger T <t@t> {time_s} +0000\ndata 0"
            )
            .unwrap(),
        }
    }
    stream
}

#[test]
fn every_commit_has_the_name_that_git_gives_it() {
    const OPTIONS: &[&[&str]] = &[
        &[],
        &["--tags"],
        &["--all"],
        &["--tags", "--first-parent"],
        &["--long", "--abbrev=12"],
        &["--tags", "--abbrev=0"],
        &["--always", "--match=v1"],
        &["--tags", "--exclude=v*", "--exclude=light-0"],
        &["--all", "--match=far/*", "--match=main"],
        &["--exact-match", "--tags"],
        &["--contains"],
        &["--contains", "--all"],
        &["--contains", "--always", "--match=v*", "--exclude=v2"],
    ];
    for seed in 0..12 {
        let mut chance = Chance::new(seed);
        let (format, hash) = FORMATS[chance.below(FORMATS.len())];
        let sandbox = Sandbox::with_formats(format, hash);
        sandbox.git_with_input(
            ["fast-import", "--quiet", "--force"],
            history(&mut chance).as_bytes(),
        );
        if chance.below(2) == 0 {
            sandbox.git(["pack-refs", "--all"]);
        }
        if chance.below(2) == 0 {
            sandbox.git(["commit-graph", "write", "--reachable"]);
        }
        let commits = sandbox.git(["rev-list", "main"]);
        let commits: Vec<&str> = commits.lines().collect();
        for options in OPTIONS {
            compare(&sandbox, options, &commits, &format!("seed {seed}"));
            let one = chance.pick(&commits);
            compare(&sandbox, options, &[one], &format!("seed {seed}"));
        }
    }
}

/// Five commits in a row with a file each; nothing is tagged.
fn five_commits() -> Sandbox {
    Sandbox::new().with_five_commits()
}

#[test]
fn commits_that_cannot_be_described_are_refused_in_gits_words() {
    let sandbox = five_commits();
    let null = "0".repeat(40);
    let names = [
        "HEAD",
        "none",
        "HEAD^{tree}",
        "HEAD:file1",
        null.as_str(),
        "blob",
    ];
    for tag in [None, Some("light"), Some("annotated")] {
        match tag {
            None => {}
            Some("light") => drop(sandbox.git(["tag", "light", "HEAD~2"])),
            Some(name) => drop(sandbox.git(["tag", "-a", "-m", "x", name, "HEAD~1"])),
        }
        for options in [&[][..], &["--tags"], &["--always"], &["--exact-match"]] {
            for name in names {
                compare(&sandbox, options, &[name], "");
            }
        }
        for name in names {
            compare(&sandbox, &["--contains"], &[name], "");
        }
    }
    sandbox.git(["tag", "blob", "HEAD:file1"]);
    compare(&sandbox, &["--tags"], &["blob", "HEAD"], "");
    sandbox.git(["symbolic-ref", "HEAD", "refs/heads/unborn"]);
    compare(&sandbox, &[], &["HEAD"], "");
    let (_, stderr) = ours(&sandbox, &[], &["blob"]);
    assert!(stderr.ends_with("on an unborn branch\n"), "{stderr}");
}

#[test]
fn without_a_tag_object_the_walk_ends_early_and_the_answer_is_the_same() {
    let options: [&[&str]; 6] = [
        &[],
        &["--always"],
        &["--debug"],
        &["--candidates=1"],
        &["--match=b*"],
        &["--first-parent"],
    ];
    for has_graph in [false, true] {
        let sandbox = five_commits();
        if has_graph {
            sandbox.git(["commit-graph", "write", "--reachable"]);
        }
        // A commit that is in no graph.
        std::fs::write(sandbox.top().join("new"), "new").unwrap();
        sandbox.git(["add", "new"]);
        sandbox.commit_at("new", 1_700_001_000);
        let all = ["HEAD", "HEAD~1", "HEAD~3", "HEAD~5"];
        // More tags than candidates; the later ones are nearer.
        let tags: Vec<(String, &str)> = (0..12)
            .map(|number| (format!("a{number:02}"), "HEAD~5"))
            .chain([("b".to_owned(), "HEAD~3"), ("c".to_owned(), "HEAD~1")])
            .collect();
        for (tag, commit) in tags {
            sandbox.git(["tag", &tag, commit]);
            if tag == "a11" {
                sandbox.git(["pack-refs", "--all"]);
            }
            if tag.as_str() >= "a09" {
                for options in options {
                    for name in all {
                        compare(&sandbox, options, &[name], &tag);
                    }
                    compare(&sandbox, options, &all, &tag);
                }
            }
        }
        let lost = sandbox.git(["rev-parse", "HEAD~4"]);
        std::fs::remove_file(sandbox.loose_object(lost.trim())).unwrap();
        for options in options {
            compare(&sandbox, options, &["HEAD"], "lost");
            compare(&sandbox, options, &["HEAD~1"], "lost");
        }
    }
}

#[test]
fn blobs_are_described_by_the_commit_that_added_them() {
    let sandbox = five_commits();
    sandbox.git(["tag", "-a", "-m", "x", "first", "HEAD~3"]);
    for number in 2..=5 {
        let name = format!("HEAD:file{number}");
        compare(&sandbox, &[], &[&name], "");
    }
    compare(&sandbox, &[], &["HEAD:file2", "HEAD:file4", "HEAD~1"], "");
    // In git, the flags that one search sets affect the next.
    compare(&sandbox, &[], &["HEAD:file4", "HEAD:file2"], "");
    sandbox.git(["checkout", "-q", "first"]);
    let (_, stderr) = ours(&sandbox, &[], &["main:file5"]);
    assert!(stderr.ends_with("not reachable from HEAD\n"), "{stderr}");
}

/// Creates a tag object called `name` for `commit` with the time `time_s`; no reference leads to it.
fn tag_object(sandbox: &Sandbox, name: &str, commit: &str, time_s: u64) -> String {
    let id = sandbox.id(commit);
    let header = format!("object {id}\ntype commit\ntag {name}\ntagger T <t@t> {time_s} +0000\n");
    sandbox.git_with_input(["mktag"], format!("{header}\nx\n").as_bytes())
}

#[test]
fn names_of_one_commit_are_ranked() {
    let sandbox = five_commits();
    sandbox.git(["tag", "a-light"]);
    compare(&sandbox, &["--tags"], &["HEAD", "HEAD~1"], "light");
    sandbox.git(["tag", "-a", "-m", "x", "older"]);
    for (name, time_s) in [("newer", 1_800_000_000), ("z-oldest", 1_600_000_000)] {
        let tag = tag_object(&sandbox, name, "HEAD", time_s);
        sandbox.git(["update-ref", &format!("refs/tags/{name}"), &tag]);
    }
    for options in [&[][..], &["--tags"], &["--all"], &["--long"]] {
        compare(&sandbox, options, &["HEAD"], "ranked");
    }
    sandbox.git(["tag", "-d", "newer", "older"]);
    sandbox.git(["update-ref", "refs/tags/alias", "refs/tags/z-oldest"]);
    sandbox.git(["tag", "-d", "z-oldest"]);
    for options in [&[][..], &["--all"], &["--abbrev=0"]] {
        compare(&sandbox, options, &["HEAD", "HEAD"], "misnamed");
    }
    sandbox.git(["tag", "-a", "-m", "x", "nested", "alias"]);
    sandbox.git(["pack-refs", "--all"]);
    compare(&sandbox, &["--long"], &["HEAD"], "nested");
}

#[test]
fn of_several_tag_objects_on_each_commit_the_best_is_named() {
    let sandbox = five_commits();
    let tags = (0..3).flat_map(|back| (0..3).map(move |number| (back, number)));
    for (back, number) in tags {
        let id = sandbox.id(&format!("HEAD~{}", back + 1));
        // The first, the second or the third is the latest.
        let time_s = 1_700_000_000 + (number + back) % 3;
        let name = format!("t{back}{number}");
        let tag = tag_object(&sandbox, &name, &id.to_string(), time_s);
        sandbox.git(["update-ref", &format!("refs/tags/{name}"), &tag]);
        sandbox.git([
            "update-ref",
            &format!("refs/tags/{back}light"),
            &id.to_string(),
        ]);
    }
    let all = ["HEAD", "HEAD~1", "HEAD~2", "HEAD~3", "HEAD"];
    let check = |remark: &str| {
        for options in [
            &[][..],
            &["--tags"],
            &["--all"],
            &["--long"],
            &["--debug"],
            &["--debug", "--tags", "--candidates=2"],
            &["--match=*2", "--exclude=t0*"],
        ] {
            compare(&sandbox, options, &all, remark);
            compare(&sandbox, options, &["HEAD"], remark);
        }
    };
    check("loose");
    sandbox.git(["pack-refs", "--all"]);
    check("packed");
    // A tag object that is not the best one.
    let gone = sandbox.id("t20").to_string();
    std::fs::remove_file(sandbox.loose_object(&gone)).unwrap();
    for name in ["HEAD", "HEAD~3"] {
        let (described, _) = theirs(&sandbox, &[], &[name]);
        assert_eq!(ours(&sandbox, &[], &[name]).0, described, "{name}");
    }
}

#[test]
fn a_missing_parent_is_reported_and_skipped() {
    let sandbox = five_commits();
    sandbox.git(["tag", "-a", "-m", "x", "tip", "HEAD~1"]);
    let lost = sandbox.id("HEAD~3").to_string();
    std::fs::remove_file(sandbox.loose_object(&lost)).unwrap();
    compare(&sandbox, &[], &["HEAD"], "");
    let (_, stderr) = ours(&sandbox, &["--tags", "--match=ti"], &["HEAD"]);
    assert!(stderr.as_bytes().find("No names found").is_some());
}

#[test]
fn names_resolve_as_in_git() {
    let sandbox = five_commits();
    sandbox.git(["tag", "-a", "-m", "x", "tip"]);
    sandbox.git(["tag", "-a", "-m", "x", "v", "HEAD~3"]);
    sandbox.git(["branch", "v", "HEAD~1"]);
    let long = "x".repeat(300);
    let names = [
        "v",
        &long,
        "heads/v",
        "HEAD@{1}",
        "HEAD@{99}",
        "@{-1}",
        "main@{u}",
        ":file1",
        ":none",
        "HEAD~2:x",
        "HEAD~1",
        "HEAD~3",
        "HEAD~4",
        "HEAD~5",
        "v~1",
        ":/file3",
        ":/nowhere",
        "v^{/file2}",
    ];
    for step in ["read", "recorded"] {
        for name in names {
            compare(&sandbox, &[], &[name], step);
            compare(&sandbox, &["--contains"], &[name], step);
        }
        sandbox.git(["commit-graph", "write", "--reachable"]);
    }
    // A commit in the commit-graph needs no object, unless its message is needed.
    let lost = sandbox.id("HEAD~2").to_string();
    std::fs::remove_file(sandbox.loose_object(&lost)).unwrap();
    for name in ["HEAD~1", "HEAD~3", "HEAD~4", "HEAD~5", ":/file4"] {
        compare(&sandbox, &["--always"], &[name], "lost");
    }
}

/// The settings of all remotes are read once.
#[test]
fn complaints_about_remotes_come_once_for_all_names() {
    let sandbox = five_commits();
    sandbox.git(["tag", "-a", "-m", "x", "tip", "HEAD~2"]);
    for (key, value) in [
        ("remote./x.url", "y"),
        ("branch.main.remote", "."),
        ("branch.main.merge", "refs/heads/main"),
    ] {
        sandbox.git(["config", key, value]);
    }
    let names = ["main@{u}", "main@{upstream}", "main@{push}", "main@{u}~1"];
    for options in [&[][..], &["--contains"]] {
        compare(&sandbox, options, &names, "");
        compare(&sandbox, options, &["main@{u}"], "");
    }
}

const QUESTIONS: &[&[&str]] = &[
    &[],
    &["--tags"],
    &["--all"],
    &["--contains"],
    &["--contains", "--all"],
    &["--always", "--match=bad"],
    &["--always", "--match=good"],
    &["--debug"],
    &["--exact-match"],
];

#[test]
fn a_tag_object_that_is_gone_or_replaced_among_many_tags_is_taken_as_git_takes_it() {
    let sandbox = Sandbox::new();
    sandbox.commit("one");
    let first = sandbox.id("HEAD");
    let many: String = (0..300)
        .map(|number| format!("create refs/tags/many{number} {first}\n"))
        .collect();
    sandbox.git_with_input(["update-ref", "--stdin"], many.as_bytes());
    sandbox.commit("two");
    sandbox.git(["tag", "-a", "-m", "t", "annotated"]);
    for (options, name) in [
        (&[][..], "HEAD"),
        (&["--tags"], "HEAD~1"),
        (&["--all"], "HEAD"),
        (&["--contains"], "HEAD~1"),
    ] {
        compare(&sandbox, options, &[name], "whole");
    }

    let tag = sandbox.id("annotated").to_string();
    let object = sandbox.loose_object(&tag);
    let kept = std::fs::read(&object).unwrap();
    std::fs::remove_file(&object).unwrap();
    for options in [&["--tags"][..], &[], &["--all"], &["--contains"]] {
        compare(&sandbox, options, &["HEAD"], "without the tag object");
        compare(
            &sandbox,
            options,
            &["HEAD", "HEAD~1"],
            "without the tag object",
        );
    }
    std::fs::write(&object, kept).unwrap();
    sandbox.git(["replace", "-f", &tag, &first.to_string()]);
    for options in [&["--tags"][..], &[], &["--all"]] {
        compare(
            &sandbox,
            options,
            &["HEAD"],
            "with another in the tag's place",
        );
    }
}

#[test]
fn of_many_tag_objects_the_latest_is_the_best() {
    let sandbox = Sandbox::new();
    sandbox.commit("one");
    let first = sandbox.id("HEAD");
    // Some have the same time; then the first counts.
    let tag = |number: u32| {
        let time = 1_700_000_000 + number * 7919 % 101;
        format!("tag t{number}\nfrom {first}\ntagger A <a@b> {time} +0000\ndata 1\nt\n")
    };
    let many: String = (0..300).map(tag).collect();
    sandbox.git_with_input(["fast-import", "--quiet"], many.as_bytes());
    let check = |remark: &str| {
        for names in [&["HEAD"][..], &["HEAD", "HEAD"]] {
            for options in [
                &[][..],
                &["--tags"],
                &["--all"],
                &["--long"],
                &["--contains"],
            ] {
                compare(&sandbox, options, names, remark);
            }
        }
    };
    for packs in [false, true] {
        if packs {
            sandbox.git(["pack-refs", "--all"]);
        }
        let name = theirs(&sandbox, &[], &["HEAD"]).0;
        check("first");
        // The best tag is deleted, and created again.
        let best = sandbox.id(name.trim()).to_string();
        sandbox.git(["tag", "-d", name.trim()]);
        check("without the best");
        sandbox.git(["update-ref", &format!("refs/tags/{}", name.trim()), &best]);
        check("with the best again");
        sandbox.git(["tag", "-a", "-m", "t", "later"]);
        check("with a later one");
        sandbox.git(["tag", "-d", "later"]);
        // Another tag with the same time.
        sandbox.git(["update-ref", "refs/tags/a-copy", &best]);
        check("with the same under another name");
        sandbox.git(["tag", "-d", "a-copy"]);
    }
}

#[test]
fn many_tips_are_named_as_by_git() {
    let sandbox = Sandbox::new();
    let step = |number: u32| {
        let time = 1_700_000_000 + number * 1800;
        let who = format!("A <a@b> {time} +0000");
        let tag = match number % 3 {
            0 => format!("tag t{number}\nfrom :{number}\ntagger {who}\ndata 1\nt\n"),
            _ => format!("reset refs/tags/t{number}\nfrom :{number}\n\n"),
        };
        format!(
            "commit refs/heads/main\nmark :{number}\ncommitter {who}\ndata 1\nc\nfrom {}\n\n{tag}",
            match number {
                1 => "0000000000000000000000000000000000000000".to_owned(),
                _ => format!(":{}", number - 1),
            }
        )
    };
    let steps: String = (1..=300).map(step).collect();
    sandbox.git_with_input(["fast-import", "--quiet", "--force"], steps.as_bytes());
    let check = |remark: &str| {
        for name in ["HEAD", "HEAD~7", "HEAD~290"] {
            for options in [&["--contains"][..], &["--contains", "--all"]] {
                compare(&sandbox, options, &[name], remark);
            }
        }
    };
    check("loose");
    // The objects of a commit and of a tag are deleted.
    let contents = std::fs::read(sandbox.pack_file("pack")).unwrap();
    std::fs::remove_dir_all(sandbox.git_dir().join("objects/pack")).unwrap();
    sandbox.git_with_input(["unpack-objects", "-q"], &contents);
    check("not in a pack");
    for gone in ["t290^{}", "t285"] {
        let id = sandbox.id(gone).to_string();
        std::fs::remove_file(sandbox.loose_object(&id)).unwrap();
        check(gone);
    }
    sandbox.git(["pack-refs", "--all"]);
    check("packed");
}
