use std::fs;
use std::path::Path;

use super::*;
use crate::testing::OpenRepository as _;
use vigil_testkit::sandbox::{FORMATS, Sandbox};

/// Lists all references as `git for-each-ref` prints them.
fn listed_references(refs: &Refs, prefix: &str) -> String {
    let mut lines = Vec::new();
    refs.for_each(prefix.into(), |name, id, _| {
        lines.push(format!("{id} {name}"))
    })
    .unwrap();
    lines.join("\n")
}

fn git_references(sandbox: &Sandbox, folder: &Path) -> String {
    sandbox.git_in(
        folder,
        ["for-each-ref", "--format=%(objectname) %(refname)"],
    )
}

#[test]
fn references_are_those_of_git_in_every_format() {
    for (format, hash) in FORMATS {
        let sandbox = Sandbox::with_formats(format, hash);
        let refs = Refs::open(&sandbox.repository());
        assert_eq!(
            refs.head().unwrap(),
            Head::Branch {
                name: "refs/heads/main".into(),
                id: None
            }
        );
        let first = sandbox.commit("one");
        sandbox.git(["branch", "a/b/c"]);
        sandbox.git(["branch", "a-b"]);
        sandbox.git(["branch", "a.b"]);
        sandbox.git(["tag", "-a", "-m", "t", "annotated"]);
        sandbox.git(["tag", "light"]);
        sandbox.git(["pack-refs", "--all"]);
        let second = sandbox.commit("two");
        sandbox.git(["tag", "-a", "-m", "t", "later"]);
        sandbox.git(["update-ref", "-d", "refs/heads/a-b"]);
        sandbox.git([
            "symbolic-ref",
            "refs/remotes/origin/HEAD",
            "refs/heads/main",
        ]);
        sandbox.git(["symbolic-ref", "refs/heads/dangling", "refs/heads/nowhere"]);

        let expected = git_references(&sandbox, &sandbox.top());
        assert_eq!(
            listed_references(&refs, ""),
            expected,
            "{format:?} {hash:?}"
        );
        let heads: Vec<_> = expected
            .lines()
            .filter(|line| line.contains(" refs/heads/"))
            .collect();
        assert_eq!(listed_references(&refs, "refs/heads/"), heads.join("\n"));
        for line in expected.lines() {
            let (id, name) = line.split_once(' ').unwrap();
            assert_eq!(refs.resolve(name.into()).unwrap().unwrap().to_string(), id);
        }
        let mut peels = Vec::new();
        refs.for_each("refs/tags/".into(), |name, _, peeled| {
            peels.push((name.to_string(), peeled))
        })
        .unwrap();
        let annotated = peels
            .iter()
            .find(|(name, _)| name == "refs/tags/annotated")
            .unwrap();
        assert_eq!(
            annotated.1,
            Some(first),
            "packed or in a table, its target is recorded"
        );

        assert_eq!(
            refs.head().unwrap(),
            Head::Branch {
                name: "refs/heads/main".into(),
                id: Some(second)
            }
        );
        assert_eq!(refs.resolve("refs/heads/a-b".into()).unwrap(), None);
        assert_eq!(refs.resolve("refs/heads/dangling".into()).unwrap(), None);
        let head = refs.read("refs/remotes/origin/HEAD".into()).unwrap();
        assert_eq!(head, Raw::Symbolic("refs/heads/main".into()));
        sandbox.git(["checkout", "-q", "--detach"]);
        assert_eq!(refs.head().unwrap(), Head::Detached(second));
    }
}

#[test]
fn a_linked_worktree_has_a_head_of_its_own_and_shares_branches() {
    for (format, hash) in FORMATS {
        let sandbox = Sandbox::with_formats(format, hash);
        let id = sandbox.commit("one");
        let linked = sandbox.root().join("linked");
        sandbox.git([
            "worktree",
            "add",
            "-q",
            "-b",
            "topic",
            linked.to_str().unwrap(),
        ]);
        sandbox.git(["update-ref", "refs/bisect/bad", "HEAD"]);
        sandbox.git_in(&linked, ["update-ref", "refs/bisect/good", "HEAD"]);
        sandbox.git_in(&linked, ["update-ref", "refs/worktree/x", "HEAD"]);
        let refs = Refs::open(&sandbox.repository());
        let own = sandbox.git_dir().join("worktrees/linked");
        let theirs = Refs::open(&sandbox.repository_at(own, linked.clone()));
        assert_eq!(
            listed_references(&refs, ""),
            git_references(&sandbox, &sandbox.top()),
            "{format:?}"
        );
        assert_eq!(
            listed_references(&theirs, ""),
            git_references(&sandbox, &linked),
            "{format:?}"
        );
        assert_eq!(
            theirs.head().unwrap(),
            Head::Branch {
                name: "refs/heads/topic".into(),
                id: Some(id)
            }
        );
        assert_eq!(theirs.resolve("refs/bisect/bad".into()).unwrap(), None);
        assert_eq!(theirs.resolve("refs/bisect/good".into()).unwrap(), Some(id));
        assert_eq!(theirs.resolve("refs/heads/main".into()).unwrap(), Some(id));
    }
}

#[test]
fn stash_entries_are_counted_as_git_counts_them() {
    for (format, hash) in FORMATS {
        let sandbox = Sandbox::with_formats(format, hash);
        sandbox.commit("one");
        let refs = Refs::open(&sandbox.repository());
        let git_stash_count = || {
            let status = sandbox.git(["status", "--porcelain=v2", "--show-stash"]);
            let count = status
                .lines()
                .find_map(|line| line.strip_prefix("# stash "));
            count.map_or(0, |count| count.parse().unwrap())
        };
        assert_eq!(refs.stash_count().unwrap(), 0);
        fs::write(sandbox.top().join("file"), "x").unwrap();
        for round in 0..4 {
            fs::write(sandbox.top().join("file"), round.to_string()).unwrap();
            sandbox.git(["stash", "-u", "-q"]);
            assert_eq!(refs.stash_count().unwrap(), round + 1, "{format:?}");
            assert_eq!(git_stash_count(), round + 1);
        }
        sandbox.git(["stash", "drop", "-q", "stash@{2}"]);
        assert_eq!(refs.stash_count().unwrap(), git_stash_count(), "{format:?}");
        sandbox.git(["stash", "clear"]);
        assert_eq!((refs.stash_count().unwrap(), git_stash_count()), (0, 0));
    }
}

#[test]
fn broken_references_are_taken_as_git_takes_them() {
    let mut sandbox = Sandbox::new();
    // Where the search for a repository ends does not matter here.
    sandbox.set_variable("GIT_DISCOVERY_ACROSS_FILESYSTEM", "1");
    sandbox.commit("one");
    let refs = Refs::open(&sandbox.repository());
    let main = sandbox.git_dir().join("refs/heads/main");
    let unknown = Head::Branch {
        name: "".into(),
        id: None,
    };
    let git_status = || sandbox.try_git(["status", "--porcelain=v2", "--branch"]);
    for content in [
        "garbage\n",
        "ref: refs/heads/bad..name\n",
        "",
        "ref: refs/heads/main\n",
    ] {
        fs::write(&main, content).unwrap();
        assert!(
            git_status().stdout.contains("# branch.head (unknown)\n"),
            "{content:?}"
        );
        assert_eq!(refs.head().unwrap(), unknown, "{content:?}");
    }
    fs::write(&main, "ref: refs/heads/other\n").unwrap();
    assert!(git_status().stdout.contains("# branch.head other\n"));
    assert_eq!(
        refs.head().unwrap(),
        Head::Branch {
            name: "refs/heads/other".into(),
            id: None
        }
    );

    fs::write(&main, format!("{}\n", ObjectId::null(Kind::Sha1))).unwrap();
    let error = git_status().stderr;
    assert_eq!(error, format!("fatal: {}\n", refs.head().unwrap_err()));

    let head = sandbox.git_dir().join("HEAD");
    for content in ["garbage\n", ""] {
        fs::write(&head, content).unwrap();
        let error = git_status().stderr;
        assert_eq!(error, format!("fatal: {}\n", refs.head().unwrap_err()));
    }
}

#[test]
fn head_may_be_a_symbolic_link_and_a_reference_a_folder_or_pipe() {
    let sandbox = Sandbox::new();
    let id = sandbox.commit("one");
    let refs = Refs::open(&sandbox.repository());
    let head = sandbox.git_dir().join("HEAD");
    fs::remove_file(&head).unwrap();
    std::os::unix::fs::symlink("refs/heads/main", &head).unwrap();
    assert_eq!(
        refs.head().unwrap(),
        Head::Branch {
            name: "refs/heads/main".into(),
            id: Some(id)
        }
    );
    sandbox.git(["pack-refs", "--all"]);
    fs::create_dir_all(sandbox.git_dir().join("refs/heads/main/empty")).unwrap();
    assert_eq!(refs.resolve("refs/heads/main".into()).unwrap(), Some(id));
    assert_eq!(refs.resolve("refs/heads/main/empty".into()).unwrap(), None);
    rustix::fs::mknodat(
        rustix::fs::CWD,
        sandbox.git_dir().join("refs/heads/pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    assert_eq!(refs.resolve("refs/heads/pipe".into()).unwrap(), None);
}

#[test]
fn names_are_shortened_and_expanded_as_git_does() {
    let sandbox = Sandbox::new();
    let id = sandbox.commit("one").to_string();
    let names = [
        "refs/heads/main",
        "refs/heads/x",
        "refs/tags/x",
        "refs/remotes/x",
        "refs/remotes/origin/main",
        "refs/remotes/origin/x",
        "refs/heads/origin/x",
        "refs/remotes/up/HEAD",
        "refs/other/y",
        "refs/heads/other/y",
    ];
    for name in names {
        sandbox.git(["update-ref", name, &id]);
    }
    let refs = Refs::open(&sandbox.repository());
    for strict in ["false", "true"] {
        sandbox.git(["config", "core.warnAmbiguousRefs", strict]);
        for name in names {
            if strict == "false" {
                let short = sandbox.git(["for-each-ref", "--format=%(refname:short)", name]);
                assert_eq!(refs.shorten(name.into()).unwrap(), short.as_str(), "{name}");
            }
        }
    }
    for (short, full) in [
        ("x", Some("refs/tags/x")),
        ("up", Some("refs/remotes/up/HEAD")),
        ("other/y", Some("refs/other/y")),
        ("origin/main", Some("refs/remotes/origin/main")),
        ("HEAD", Some("HEAD")),
        ("none", None),
    ] {
        let found = refs.expand(short.into(), false, &mut Vec::new()).unwrap();
        let full = if short == "HEAD" {
            Some("refs/heads/main")
        } else {
            full
        };
        assert_eq!(found, full.map(BString::from), "{short}");
    }
    assert_eq!(
        refs.expand("x".into(), true, &mut Vec::new()).unwrap(),
        None
    );
    assert_eq!(
        refs.expand("main".into(), true, &mut Vec::new()).unwrap(),
        Some("refs/heads/main".into())
    );
}

#[test]
fn packed_references_that_move_are_read_again() {
    let sandbox = Sandbox::new();
    let one = sandbox.commit("one");
    sandbox.git(["pack-refs", "--all"]);
    let refs = Refs::open(&sandbox.repository());
    assert_eq!(refs.resolve("refs/heads/main".into()).unwrap(), Some(one));
    let two = sandbox.commit("two");
    sandbox.git(["pack-refs", "--all"]);
    assert_eq!(refs.resolve("refs/heads/main".into()).unwrap(), Some(two));
    fs::remove_file(sandbox.git_dir().join("packed-refs")).unwrap();
    assert_eq!(refs.resolve("refs/heads/main".into()).unwrap(), None);
}

#[test]
fn packed_names_that_may_lead_elsewhere_are_refused() {
    let sandbox = Sandbox::new();
    let id = sandbox.commit("one");
    let refs = Refs::open(&sandbox.repository());
    for (name, message) in [
        ("refs/tags/a..b", ""),
        ("refs/tags/.a", ""),
        ("refs/tags/a/", "packed refname is dangerous: refs/tags/a/"),
        (
            "refs/tags/../a",
            "packed refname is dangerous: refs/tags/../a",
        ),
        (
            "refs/tags/a//b",
            "packed refname is dangerous: refs/tags/a//b",
        ),
        ("", "packed refname is dangerous: "),
        (
            "refs/tags/a\0b",
            "packed refname contains embedded NULL: refs/tags/a",
        ),
    ] {
        let text = format!("# pack-refs with: peeled fully-peeled sorted \n{id} {name}\n");
        fs::write(sandbox.git_dir().join("packed-refs"), text).unwrap();
        let listed = refs.for_each(BStr::new(""), |_, _, _| ());
        assert_eq!(
            listed.map_or_else(|error| error.to_string(), |()| String::new()),
            message
        );
    }
}

#[test]
fn messages_keep_the_bytes_of_names_and_lines() {
    let sandbox = Sandbox::new();
    let id = sandbox.commit("one");
    let refs = Refs::open(&sandbox.repository());
    let path = sandbox.git_dir().join("packed-refs");
    for (line, message) in [
        (
            format!("{id} refs/tags/../{{}}\n"),
            "packed refname is dangerous: refs/tags/../{}".to_owned(),
        ),
        (
            "refs/tags/{}\n".to_owned(),
            "unexpected line in .git/packed-refs: refs/tags/{}".to_owned(),
        ),
        (
            format!("{id} refs/tags/{{}}"),
            format!("unterminated line in .git/packed-refs: {id} refs/tags/{{}}"),
        ),
    ] {
        let odd = |text: &str| text.as_bytes().replace("{}", b"\xff\xfe");
        fs::write(&path, odd(&line)).unwrap();
        let error = refs.for_each(BStr::new(""), |_, _, _| ()).unwrap_err();
        assert_eq!(vigil_model::raw_text::message_bytes(&error), odd(&message));
    }
}

#[test]
fn links_and_pipes_are_listed_as_by_git() {
    let sandbox = Sandbox::new();
    sandbox.commit("one");
    sandbox.git(["tag", "a"]);
    sandbox.git(["tag", "in/b"]);
    let tags = sandbox.git_dir().join("refs/tags");
    for (target, name) in [
        ("a", "to-file"),
        ("in", "to-folder"),
        ("refs/heads/main", "to-name"),
        ("nowhere", "to-nothing"),
        ("loop", "loop"),
        ("../../HEAD", "to-head"),
    ] {
        std::os::unix::fs::symlink(target, tags.join(name)).unwrap();
    }
    rustix::fs::mknodat(
        rustix::fs::CWD,
        tags.join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    let refs = Refs::open(&sandbox.repository());
    assert_eq!(
        listed_references(&refs, ""),
        git_references(&sandbox, &sandbox.top())
    );
    let main = refs.resolve("refs/tags/to-name".into()).unwrap();
    assert_eq!(main, Some(sandbox.id("refs/tags/to-name")));
}

#[test]
fn many_loose_references_are_read_as_by_git() {
    let sandbox = Sandbox::new();
    let commits = [sandbox.commit("one"), sandbox.commit("two")];
    // More in one directory than one thread reads, some in one below, and packed ones among them.
    let create = |folder: &str, step: usize| {
        let names = (0..700).step_by(step).zip(commits.iter().cycle());
        let names =
            names.map(|(number, id)| format!("update refs/tags/{folder}{number:04} {id}\n"));
        sandbox.git_with_input(
            ["update-ref", "--stdin"],
            names.collect::<String>().as_bytes(),
        );
    };
    create("t", 5);
    sandbox.git(["pack-refs", "--all"]);
    create("t", 2);
    create("in/side", 1);
    let tags = sandbox.git_dir().join("refs/tags");
    fs::write(tags.join("t0008"), "ref: refs/heads/main\n").unwrap();
    fs::remove_file(tags.join("in/side0005")).unwrap();
    std::os::unix::fs::symlink("side0006", tags.join("in/side0005")).unwrap();
    let refs = Refs::open(&sandbox.repository());
    assert_eq!(
        listed_references(&refs, ""),
        git_references(&sandbox, &sandbox.top())
    );
}
