mod light;
mod long;
mod packed;

use std::fmt::Write as _;
use std::io::Write as _;

use bstr::ByteSlice;

use super::*;
use crate::testing::OpenRepository as _;
use vigil_git::objects::Objects;
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
    let question = question(options);
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
        let contained = contains(&question, context, &names);
        say(contained.messages, contained.failure.as_ref());
        for name in contained.names {
            writeln!(stdout, "{name}").unwrap();
        }
        return (stdout, stderr);
    }
    let revisions: Vec<BString> = names.iter().map(|name| BString::from(*name)).collect();
    let mut describer = match Describer::new(&question, context, &revisions) {
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

fn question(options: &[&str]) -> Question {
    let mut question = Question::default();
    for option in options {
        match option.split_once('=') {
            None => match *option {
                "--all" => question.all = true,
                "--tags" => question.tags = true,
                "--long" => question.long = true,
                "--first-parent" => question.first_parent = true,
                "--always" => question.always = true,
                "--exact-match" => question.candidates = 0,
                "--debug" => question.is_debugged = true,
                "--contains" => {}
                other => panic!("{other}"),
            },
            Some(("--abbrev", digits)) => question.abbreviation = digits.parse().ok(),
            Some(("--candidates", count)) => question.candidates = count.parse().unwrap(),
            Some(("--match", pattern)) => question.patterns.push(pattern.into()),
            Some(("--exclude", pattern)) => question.excluded.push(pattern.into()),
            Some(other) => panic!("{other:?}"),
        }
    }
    question
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
        let (folder, file) = lost.trim().split_at(2);
        let object = sandbox.top().join(".git/objects").join(folder);
        std::fs::remove_file(object.join(file)).unwrap();
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
    let (folder, file) = gone.split_at(2);
    let object = sandbox.git_dir().join("objects").join(folder);
    std::fs::remove_file(object.join(file)).unwrap();
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
    let (folder, file) = lost.split_at(2);
    let path = sandbox.git_dir().join("objects").join(folder).join(file);
    std::fs::remove_file(path).unwrap();
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
    let (folder, file) = lost.split_at(2);
    let path = sandbox.git_dir().join("objects").join(folder).join(file);
    std::fs::remove_file(path).unwrap();
    for name in ["HEAD~1", "HEAD~3", "HEAD~4", "HEAD~5", ":/file4"] {
        compare(&sandbox, &["--always"], &[name], "lost");
    }
}

#[test]
fn a_broken_tag_is_a_name_of_nothing() {
    let sandbox = five_commits();
    compare(&sandbox, &[], &["HEAD"], "none");
    let folder = sandbox.git_dir().join("refs/tags");
    std::fs::write(folder.join("broken"), "no id\n").unwrap();
    compare(&sandbox, &[], &["HEAD"], "broken");
    std::fs::write(folder.join("broken"), "ref: refs/tags/none\n").unwrap();
    compare(&sandbox, &[], &["HEAD"], "dangling");
    compare(&sandbox, &["--contains"], &["HEAD"], "dangling");
}

/// Creates a chain of tags of tags, `c000` and so on, that ends at the commit HEAD~1.
fn chain_of_tags(sandbox: &Sandbox, count: usize) {
    let start = sandbox.id("HEAD~1");
    let mut stream = String::new();
    for number in 0..count {
        let from = match number {
            0 => start.to_string(),
            number => format!(":{number}"),
        };
        let mark = number + 1;
        writeln!(
            stream,
            "tag c{number:03}\nmark :{mark}\nfrom {from}\ntagger T <t@t> 1700000000 +0000\ndata 0"
        )
        .unwrap();
    }
    sandbox.git_with_input(["fast-import", "--quiet", "--force"], stream.as_bytes());
}

#[test]
fn a_long_chain_of_tags_is_followed_to_its_end() {
    let sandbox = five_commits();
    chain_of_tags(&sandbox, 300);
    for name in ["c063", "c064", "c127", "c128", "c299"] {
        let only = format!("--match={name}");
        for options in [
            &[][..],
            &["--all"],
            &["--contains"],
            &[&only],
            &["--contains", &only],
        ] {
            compare(&sandbox, options, &[name], "");
            compare(&sandbox, options, &["HEAD", "HEAD~1"], "");
        }
    }
}

#[test]
fn circular_tags_resolve_to_nothing() {
    let sandbox = five_commits();
    sandbox.git(["tag", "-a", "-m", "x", "good", "HEAD~2"]);
    sandbox.git(["tag", "-a", "-m", "x", "inner", "HEAD~1"]);
    let inner = sandbox.id("inner").to_string();
    let text = format!("object {inner}\ntype tag\ntag outer\ntagger T <t@t> 1 +0000\n\nx\n");
    let outer = sandbox.git_with_input(["mktag"], text.as_bytes());
    sandbox.git(["update-ref", "refs/tags/outer", &outer]);
    sandbox.git(["replace", "-f", &inner, &outer]);
    // git loops forever.
    for (options, described) in [(&[][..], "good-2-g"), (&["--all"], "heads/main")] {
        let (stdout, _) = ours(&sandbox, options, &["HEAD"]);
        assert!(stdout.starts_with(described), "{stdout}");
    }
    let (_, stderr) = ours(&sandbox, &[], &["outer"]);
    assert_eq!(stderr, "outer is neither a commit nor blob\n");
    for name in [
        "outer^{}",
        "outer^{commit}",
        "outer~1",
        "outer:file1",
        "outer^{/x}",
        ":/none",
    ] {
        let (stdout, stderr) = ours(&sandbox, &[], &[name]);
        assert_eq!(stdout, "", "{name}");
        assert!(
            stderr.contains("Not a valid object name"),
            "{name} {stderr}"
        );
    }
}

/// Damages the loose object `id`: replaces the contents of its file with `bytes`.
fn damage_object(sandbox: &Sandbox, id: &str, bytes: &[u8]) {
    let path = sandbox.loose_object(id);
    let kept = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let bytes = match bytes {
        b"cut" => &kept[..kept.len() / 2],
        b"tail" => &[kept.as_slice(), b"more"].concat(),
        other => other,
    };
    std::fs::write(path, bytes).unwrap();
}

/// Returns the contents of a loose object's file.
fn loose_object_file(kind: &str, content: &str) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    write!(encoder, "{kind} {}\0{content}", content.len()).unwrap();
    encoder.finish().unwrap()
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
fn a_damaged_tag_is_reported_as_by_git() {
    let other = loose_object_file("tag", "object 1\n");
    for (name, bytes) in [
        ("empty", &b""[..]),
        ("cut", b"cut"),
        ("tail", b"tail"),
        ("of another id", &other),
    ] {
        for is_inner in [false, true] {
            let sandbox = five_commits();
            sandbox.git(["tag", "-a", "-m", "x", "good", "HEAD~3"]);
            sandbox.git(["tag", "-a", "-m", "x", "bad", "HEAD~1"]);
            let damaged = sandbox.id("bad").to_string();
            if is_inner {
                sandbox.git(["tag", "-f", "-a", "-m", "x", "bad", "bad"]);
            }
            damage_object(&sandbox, &damaged, bytes);
            for options in QUESTIONS {
                for revision in ["HEAD", "HEAD~1", "HEAD~3"] {
                    compare(&sandbox, options, &[revision], name);
                }
            }
            // Older versions of git say more about the tag itself.
            let (stdout, stderr) = ours(&sandbox, &["--always", "--match=good"], &["bad"]);
            let last = stderr.lines().last().unwrap();
            assert_eq!(stdout, "");
            let is_unread = last == "bad is neither a commit nor blob";
            assert!(
                is_unread || last.ends_with("is corrupt"),
                "{name}: {stderr}"
            );
            compare(&sandbox, &[], &["HEAD", "HEAD~3", "HEAD~2"], name);
        }
    }
}

#[test]
fn a_commit_whose_object_is_lost_is_described_by_no_commit_graph() {
    for (is_annotated, has_graph) in [(true, true), (false, true), (true, false), (false, false)] {
        for lost in ["HEAD", "HEAD~2"] {
            let sandbox = five_commits();
            sandbox.git(["tag", "-a", "-m", "x", "good", "HEAD~3"]);
            sandbox.git(["tag", "light", "HEAD~3"]);
            match is_annotated {
                true => sandbox.git(["tag", "-a", "-m", "x", "bad", "HEAD~2"]),
                false => sandbox.git(["tag", "bad", "HEAD~2"]),
            };
            sandbox.git(["pack-refs", "--all"]);
            if has_graph {
                sandbox.git(["commit-graph", "write", "--reachable"]);
            }
            let id = sandbox.id(lost).to_string();
            std::fs::remove_file(sandbox.loose_object(&id)).unwrap();
            for options in [
                &[][..],
                &["--tags"],
                &["--all"],
                &["--exact-match"],
                &["--always", "--match=bad"],
                &["--long", "--candidates=1"],
            ] {
                let remark = format!("{lost} {is_annotated} {has_graph}");
                compare(&sandbox, options, &["HEAD"], &remark);
            }
        }
    }
}

#[test]
fn a_tag_that_cannot_be_unpacked_is_passed_over() {
    let sandbox = five_commits();
    sandbox.git(["tag", "-a", "-m", "x", "good", "HEAD~3"]);
    sandbox.git(["tag", "-a", "-m", "x", "bad", "HEAD~1"]);
    let id = sandbox.id("bad").to_string();
    damage_object(&sandbox, &id, b"garbage, and more of it");
    // Older versions of git exit here.
    let messages = format!(
        "error: inflate: data stream error (incorrect header check)\nerror: unable to unpack {id} header\n"
    );
    let commit = sandbox.git(["rev-parse", "--short", "HEAD"]);
    let described = format!("good-3-g{commit}\n");
    assert_eq!(
        ours(&sandbox, &[], &["HEAD"]),
        (described, messages.repeat(2))
    );
    assert_eq!(
        ours(&sandbox, &[], &["HEAD~3"]),
        ("good\n".to_owned(), messages.clone())
    );
    let messages = messages.repeat(3) + "bad is neither a commit nor blob\n";
    assert_eq!(ours(&sandbox, &[], &["bad"]), (String::new(), messages));
}

/// Makes the reference `name` lead to a new tag object with these contents, which need not be valid.
fn craft_tag(sandbox: &Sandbox, name: &str, content: &str) {
    let arguments = ["hash-object", "-t", "tag", "-w", "--literally", "--stdin"];
    let id = sandbox.git_with_input(arguments, content.as_bytes());
    std::fs::write(sandbox.git_dir().join(name), id + "\n").unwrap();
}

#[test]
fn a_malformed_tag_is_reported_as_by_git() {
    let sandbox = five_commits();
    sandbox.git(["tag", "-a", "-m", "x", "good", "HEAD~3"]);
    let id = sandbox.id("HEAD~1").to_string();
    let short = &id[1..];
    for content in [
        format!("object {id}\ntype nonsense\ntag bad\n\ntext\n"),
        format!("object {id}\ntype {}\ntag bad\n\ntext\n", "x".repeat(20)),
        format!("object {id}\n"),
        format!("object {short}\ntype commit\ntag bad\n\ntext\n"),
        format!("object {id}\ntype commit\ntag"),
        format!("object {id}\ntype commit\ntag bad"),
        format!("object {id}\ntype commit\n\ntext of many letters\n"),
        format!("object {}\ntype commit\ntag bad\n\ntext\n", "0".repeat(40)),
        format!("object {}\ntype tag\ntag bad\n\ntext\n", "1".repeat(40)),
    ] {
        craft_tag(&sandbox, "refs/tags/bad", &content);
        for options in QUESTIONS {
            for revision in ["HEAD", "HEAD~1", "HEAD~3"] {
                compare(&sandbox, options, &[revision], &content);
            }
        }
        let (stdout, stderr) = ours(&sandbox, &["--always"], &["bad"]);
        assert!(
            stderr.ends_with("bad is neither a commit nor blob\n"),
            "{stdout}{stderr}"
        );
    }
}

#[test]
fn the_types_that_tags_name_count_until_the_objects_are_read() {
    for kind in ["blob", "tree", "tag"] {
        let sandbox = five_commits();
        let id = sandbox.id("HEAD~1").to_string();
        craft_tag(
            &sandbox,
            "refs/tags/bad",
            &format!("object {id}\ntype {kind}\ntag bad\n\nx\n"),
        );
        for tag in ["", "a", "z"] {
            if !tag.is_empty() {
                sandbox.git(["tag", "-a", "-m", "x", tag, "HEAD~1"]);
            }
            for options in QUESTIONS {
                for revision in ["HEAD", "HEAD~1", "HEAD~2"] {
                    compare(&sandbox, options, &[revision], kind);
                }
            }
            let neither = "bad is neither a commit nor blob\n".to_owned();
            if tag.is_empty() && kind != "tag" {
                assert_eq!(
                    ours(&sandbox, &[], &["bad"]),
                    (String::new(), neither),
                    "{kind}"
                );
            }
        }
        sandbox.git(["tag", "-d", "a"]);
        let bad = sandbox.git_dir().join("refs/tags/bad");
        let content = std::fs::read(&bad).unwrap();
        std::fs::remove_file(&bad).unwrap();
        sandbox.git(["commit-graph", "write", "--reachable"]);
        std::fs::write(&bad, content).unwrap();
        // Older versions of git do not read commits that are asked about from the commit-graph.
        let (_, stderr) = ours(&sandbox, &[], &["HEAD"]);
        let last = stderr.lines().last();
        assert_eq!(
            last,
            Some(format!("could not find commit {id}").as_str()),
            "{stderr}"
        );
    }
}

/// A reftable of version 1 with HEAD and the references `refs` ("<id> <name>" each), without peeled ids.
fn table_without_peeled_ids(refs: &str) -> Vec<u8> {
    let mut header = b"REFT\x01\0\0\0".to_vec();
    header.extend([0; 16]);
    let record = |out: &mut Vec<u8>, name: &str, value: &[u8]| {
        // No common prefix with the previous name; then the length of the suffix, and the kind of value.
        out.push(0);
        let rest = name.len() << 3 | 1;
        if rest >= 128 {
            out.push(((rest >> 7) as u8 - 1) | 0x80);
        }
        out.push(rest as u8 & 0x7f);
        out.extend_from_slice(name.as_bytes());
        out.push(0);
        out.extend_from_slice(value);
    };
    let mut records = b"\0\x23HEAD\0".to_vec();
    records.push(b"refs/heads/main".len() as u8);
    records.extend_from_slice(b"refs/heads/main");
    for line in refs.lines() {
        let (id, name) = line.split_once(' ').unwrap();
        let id = ObjectId::from_hex(id.as_bytes()).unwrap();
        record(&mut records, name, id.as_bytes());
    }
    records.extend([0, 0, 28, 0, 1]);
    let len = u32::try_from(header.len() + 4 + records.len()).unwrap();
    let block = len.to_be_bytes();
    let mut table = [&header, &b"r"[..], &block[1..], &records].concat();
    let footer = [&header[..], &[0; 40]].concat();
    let mut sum = flate2::Crc::new();
    sum.update(&footer);
    table.extend_from_slice(&footer);
    table.extend(sum.sum().to_be_bytes());
    table
}

/// Writes all references without peeled ids, as git 2.55 does when it moves all of them. git before 2.53 then takes
/// annotated tags for lightweight ones.
fn write_plain_table(sandbox: &Sandbox, name: &str) {
    let folder = sandbox.git_dir().join("reftable");
    let (list, refs) = (folder.join("tables.list"), sandbox.git(["show-ref"]));
    std::fs::write(folder.join(name), table_without_peeled_ids(&refs)).unwrap();
    std::fs::write(list, format!("{name}\n")).unwrap();
}

#[test]
fn many_tags_in_tables_that_do_not_say_where_they_lead_are_not_taken_for_lightweight_ones() {
    let sandbox =
        Sandbox::with_formats(RefFormat::Reftable, gix_hash::Kind::Sha1).with_five_commits();
    let [second, third] = ["HEAD~2", "HEAD~3"].map(|name| sandbox.id(name));
    sandbox.git(["tag", "-a", "-m", "t", "old", "HEAD~4"]);
    sandbox.git(["tag", "-a", "-m", "t", "new", "HEAD~1"]);
    // Enough objects to be read on all cores.
    let light: String = (0..300)
        .map(|number| {
            let id = [second, third][number % 2];
            let time = 1_700_000_000 + number;
            format!(
                "reset refs/tags/light{number}\nfrom {id}\n\n\
                 tag of{number}\nfrom {id}\ntagger A <a@b> {time} +0000\ndata 1\nt\n"
            )
        })
        .collect();
    sandbox.git_with_input(["fast-import", "--quiet"], light.as_bytes());
    let ask = || {
        let questions = [
            &[][..],
            &["--tags"],
            &["--all"],
            &["--contains"],
            &["--exact-match"],
        ];
        let names = ["HEAD", "HEAD~1", "HEAD~2", "HEAD~4"];
        let asked = questions.iter().flat_map(|options| {
            names.map(|name| (*options, name, ours(&sandbox, options, &[name])))
        });
        asked.collect::<Vec<_>>()
    };
    let expected = ask();
    for (options, name, messages) in &expected {
        assert_eq!(
            *messages,
            theirs(&sandbox, options, &[name]),
            "{options:?} {name}"
        );
    }
    write_plain_table(&sandbox, "plain.ref");
    assert_eq!(ask(), expected);
    // With another table on top, written by git.
    sandbox.git(["tag", "later", "HEAD"]);
    sandbox.git(["update-ref", "refs/tags/light5", "HEAD"]);
    assert_eq!(ours(&sandbox, &["--tags"], &["HEAD"]).0, "later\n");
    assert_eq!(ours(&sandbox, &["--exact-match"], &["HEAD~1"]).0, "new\n");
}

#[test]
fn tables_that_do_not_say_where_tags_lead_are_not_taken_to_have_none() {
    let sandbox =
        Sandbox::with_formats(RefFormat::Reftable, gix_hash::Kind::Sha1).with_five_commits();
    for (name, commit) in [("one", "HEAD~3"), ("two", "HEAD~1"), ("nested", "two")] {
        sandbox.git(["tag", "-a", "-m", "t", name, commit]);
    }
    sandbox.git(["tag", "light", "HEAD~2"]);
    let questions: Vec<(Vec<&str>, &str)> = [
        &[][..],
        &["--tags"],
        &["--all"],
        &["--contains"],
        &["--debug"],
    ]
    .iter()
    .flat_map(|options| ["HEAD", "HEAD~1", "HEAD~2", "HEAD~3"].map(|name| (options.to_vec(), name)))
    .collect();
    let before: Vec<_> = questions
        .iter()
        .map(|(options, name)| theirs(&sandbox, options, &[name]))
        .collect();
    write_plain_table(&sandbox, "plain.ref");
    for ((options, name), expected) in questions.iter().zip(before) {
        assert_eq!(
            ours(&sandbox, options, &[name]),
            expected,
            "{options:?} {name}"
        );
    }
}

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
    let (folder, rest) = tag.split_at(2);
    let object = sandbox.git_dir().join("objects").join(folder).join(rest);
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

#[test]
fn a_tag_that_leads_to_no_commit_is_passed_over() {
    for (format, kind) in FORMATS {
        let sandbox = Sandbox::with_formats(format, kind);
        sandbox.write("file", "1\n");
        sandbox.git(["add", "file"]);
        sandbox.git(["commit", "-qm", "one"]);
        sandbox.git(["tag", "-am", "blob", "of-blob", "HEAD:file"]);
        sandbox.git(["tag", "-am", "tree", "of-tree", "HEAD^{tree}"]);
        sandbox.git(["tag", "-am", "again", "of-tag", "of-blob"]);
        sandbox.git(["tag", "plain-tree", "HEAD^{tree}"]);
        for options in [&["--contains"][..], &["--contains", "--all"]] {
            compare(&sandbox, options, &["HEAD"], "without a tag");
        }
        sandbox.git(["tag", "right"]);
        for remark in ["loose", "packed"] {
            for options in [&["--contains"][..], &["--contains", "--all"]] {
                compare(&sandbox, options, &["HEAD"], remark);
            }
            sandbox.git(["pack-refs", "--all"]);
        }
    }
}
