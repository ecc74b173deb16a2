//! Packed references written by hand.

use super::*;

/// Compares the descriptions of HEAD, which has no name, and of others.
fn compare_head_and_others(sandbox: &Sandbox, remark: &str) {
    for options in [
        &["--tags"][..],
        &["--all"],
        &[],
        &["--tags", "--candidates=2"],
        &["--tags", "--candidates=3"],
        &["--tags", "--match=[d-x]*", "--exclude=*2"],
    ] {
        for names in [&["HEAD"][..], &["HEAD~1"], &["HEAD~3", "HEAD", "HEAD"]] {
            compare(sandbox, options, names, remark);
        }
    }
}

#[test]
fn of_several_packed_names_the_best_is_found_in_history() {
    let sandbox = five_commits();
    let tag = |name: &str, commit: &str, time_s: u64| {
        let (tag, id) = (
            tag_object(&sandbox, name, commit, time_s),
            sandbox.id(commit),
        );
        format!("{tag} refs/tags/{name}\n^{id}\n")
    };
    let light = |name: &str, commit: &str| format!("{} {name}\n", sandbox.id(commit));
    // Points to a missing object whose id begins like that of `commit`.
    let alike = |name: &str, commit: &str, digits: usize| {
        let id = sandbox.id(commit).to_string();
        let (start, end) = id.split_at(digits);
        let end: String = end.chars().rev().collect();
        format!("{start}{end} {name}\n")
    };
    let old = tag("old", "HEAD~3", 1_600_000_000);
    let new = tag("new", "HEAD~3", 1_800_000_000);
    let other = tag("p", "HEAD~2", 1_700_000_000);
    let lines = |lines: &[&str], remark: &str| {
        let text = lines.concat();
        // An unsorted file is read as a whole when it is opened.
        let is_bad = remark.starts_with("bad");
        let traits = ["peeled fully-peeled sorted", "peeled sorted", ""];
        for traits in traits.into_iter().take(if is_bad { 2 } else { 3 }) {
            let text = format!("# pack-refs with: {traits} \n{text}");
            std::fs::write(sandbox.git_dir().join("packed-refs"), text).unwrap();
            compare_head_and_others(&sandbox, &format!("{remark}, {traits:?}"));
        }
    };
    let (a, z) = (
        light("refs/tags/a", "HEAD~4"),
        light("refs/tags/z", "HEAD~4"),
    );
    let (d, q) = (
        light("refs/tags/d", "HEAD~3"),
        light("refs/tags/q", "HEAD~3"),
    );
    let far = light("refs/remotes/far", "HEAD~3");
    lines(&[&a, &d, &q, &z], "two of each");
    lines(&[&far, &a, &d, &q], "two and another");
    lines(&[&d, &new, &old, &q], "the newer first");
    lines(
        &[&old.replace("old", "n"), &new.replace("new", "o")],
        "renamed",
    );
    lines(&[&new, &other, &q], "light ones last");
    let bad = light("refs/tags/e..e", "HEAD~3");
    lines(&[&a, &bad, &z], "an invalid name");
    let lock = light("refs/tags/e.lock", "HEAD~3");
    lines(&[&a, &lock, &q], "the name of a lock");
    let upper = d
        .replace(['a', 'b', 'c', 'e', 'f'], "A")
        .replacen("refs/tAgs", "refs/tags", 1);
    lines(
        &[&a, &upper.replace("rAAs/tAgs", "refs/tags"), &q],
        "upper-case digits",
    );
    for digits in [7, 8, 16, 30] {
        let ids = [("refs/tags/b", "HEAD~3"), ("refs/tags/c", "HEAD~4")];
        let ids = ids.map(|(name, commit)| alike(name, commit, digits));
        lines(&[&a, &ids[0], &ids[1], &d, &z], "ids that begin alike");
        lines(&[&ids[1], &q], "an id that begins alike");
    }
    for (remark, line) in [
        ("bad: no record", "junk\n".to_owned()),
        (
            "bad: too short",
            format!("{} refs/tags/x\n", "1".repeat(39)),
        ),
        (
            "bad: a name that leads out",
            light("refs/tags/x/../y", "HEAD~1"),
        ),
        (
            "bad: a peeled line too many",
            format!("^{}\n", "1".repeat(40)),
        ),
    ] {
        // The end of the file is checked when it is opened.
        lines(&[&a, &d, &line, &z], remark);
        lines(&[&a, &new, &line, &z], remark);
    }
    // Loose references that replace packed ones, and before, among and after them.
    sandbox.git(["tag", "-f", "d", "HEAD~2"]);
    sandbox.git(["tag", "Z", "HEAD~4"]);
    sandbox.git(["tag", "b", "HEAD~3"]);
    sandbox.git(["tag", "-a", "-m", "x", "zz", "HEAD~3"]);
    lines(&[&a, &d, &old, &q, &z], "loose ones");
    lines(&[&a, &d, &new, &q, &z], "loose ones, and a newer one");
}

#[test]
fn tag_objects_that_the_file_does_not_peel_are_tag_objects() {
    let sandbox = five_commits();
    sandbox.git(["tag", "light", "HEAD~1"]);
    for (name, commit) in [("a", "HEAD~2"), ("b", "HEAD~3"), ("n", "a")] {
        sandbox.git(["tag", "-a", "-m", "x", name, commit]);
    }
    sandbox.git(["pack-refs", "--all"]);
    let packed = sandbox.git_dir().join("packed-refs");
    let peeled = std::fs::read_to_string(&packed).unwrap();
    assert!(peeled.contains("fully-peeled"));
    let lines = peeled.lines().filter(|line| !line.starts_with('^'));
    let unpeeled: String = lines.map(|line| format!("{line}\n")).collect();
    for options in [
        &[][..],
        &["--tags"],
        &["--all"],
        &["--contains"],
        &["--contains", "--all"],
    ] {
        for name in ["HEAD", "HEAD~1", "HEAD~2", "HEAD~3", "HEAD~4"] {
            // git 2.55 writes such a file when it migrates references, and peels them itself; older ones of git believe it.
            std::fs::write(&packed, &peeled).unwrap();
            let expected = theirs(&sandbox, options, &[name]);
            std::fs::write(&packed, &unpeeled).unwrap();
            assert_eq!(
                ours(&sandbox, options, &[name]),
                expected,
                "{options:?} {name}"
            );
        }
    }
}

#[test]
fn the_best_of_many_packed_names_is_found_alone_and_among_others() {
    let sandbox = five_commits();
    for (name, commit) in [
        ("b", "HEAD"),
        ("d", "HEAD~1"),
        ("e", "HEAD"),
        ("m", "HEAD~3"),
    ] {
        sandbox.git(["tag", name, commit]);
    }
    sandbox.git(["tag", "-a", "-m", "x", "w", "HEAD~1"]);
    sandbox.git(["tag", "-a", "-m", "x", "x", "HEAD~2"]);
    let compare_all = |remark: &str| {
        for options in [
            &["--tags"][..],
            &["--all"],
            &[],
            &["--tags", "--match=[d-x]"],
        ] {
            for name in ["HEAD", "HEAD~1", "HEAD~2", "HEAD~3", "HEAD~4", "x"] {
                compare(&sandbox, options, &[name], remark);
            }
        }
    };
    sandbox.git(["pack-refs", "--all"]);
    compare_all("packed");
    // Loose references before, among and after packed ones, and replacing them.
    sandbox.git(["tag", "a", "HEAD~4"]);
    sandbox.git(["tag", "-f", "b", "HEAD~3"]);
    sandbox.git(["tag", "-a", "-m", "x", "c", "HEAD"]);
    sandbox.git(["tag", "z", "HEAD~4"]);
    compare_all("loose");
    let packed = sandbox.git_dir().join("packed-refs");
    let text = std::fs::read_to_string(&packed).unwrap();
    std::fs::write(&packed, text.replacen("refs/tags/e", "refs/tags/e..e", 1)).unwrap();
    compare_all("an invalid name");
    for (remark, name) in [
        ("a line that is no record", "\nrefs/tags/w"),
        ("bad: a name that leads out", "refs/tags/../w"),
        ("a name that is a folder's", "refs/tags/w/"),
        ("a hidden name", "refs/tags/.w"),
        ("no name", ""),
        ("another line that is no record", "refs/tags/w\n"),
    ] {
        std::fs::write(&packed, text.replacen("refs/tags/w", name, 1)).unwrap();
        compare_all(remark);
    }
}

#[test]
fn lightweight_tags_beyond_the_candidates_change_no_answer() {
    let sandbox = five_commits();
    let commits = ["HEAD", "HEAD~1", "HEAD~2", "HEAD~3", "HEAD~4"];
    let tag = |name: &str, commit: &str| drop(sandbox.git(["tag", name, commit]));
    let compare_all = |remark: &str| {
        for candidates in ["--candidates=1", "--candidates=2", "--candidates=10"] {
            for option in ["--debug", "--always", "--first-parent", "--match=*e*"] {
                for names in [&["HEAD"][..], &["HEAD~4"], &commits] {
                    compare(&sandbox, &[candidates, option], names, remark);
                }
            }
        }
    };
    // The first names, which are more than the candidates, are of commits that are not in the history of
    // some.
    for (number, commit) in (0..).zip(commits) {
        tag(&format!("a{number}"), commit);
        tag(&format!("b{number}"), commit);
    }
    compare_all("loose");
    sandbox.git(["pack-refs", "--all"]);
    compare_all("packed");
    for (number, commit) in [(0, "HEAD~3"), (1, "HEAD~3"), (2, "HEAD~2"), (3, "HEAD")] {
        let name = format!("e{number}");
        sandbox.git(["tag", "-a", "-m", "x", &name, commit]);
        compare_all(&format!("{number} annotated, loose"));
        sandbox.git(["pack-refs", "--all"]);
        compare_all(&format!("{number} annotated, packed"));
        sandbox.git(["commit-graph", "write", "--reachable"]);
    }
}
