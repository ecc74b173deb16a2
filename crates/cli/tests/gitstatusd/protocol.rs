//! Requests, responses and the pipes that carry them.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;

use super::daemon::request;
use super::sandbox::Sandbox;

/// A repository for which each of the 29 fields has a different value.
fn repository_with_all_fields() -> Sandbox {
    let sandbox = Sandbox::new();
    let origin = sandbox.repository("origin");
    let mine = sandbox.repository("mine");
    for name in ["b", "c", "d", "e", "f", "g", "h", "i"] {
        fs::write(origin.join(name), format!("{name}\n").repeat(20)).unwrap();
    }
    sandbox.git_in(&origin, ["add", "-A"]);
    sandbox.git_in(&origin, ["commit", "-q", "-m", "second"]);
    sandbox.git_in(sandbox.root(), ["clone", "-q", "origin", "work"]);
    for name in ["third", "fourth"] {
        sandbox.git_in(&origin, ["commit", "-q", "--allow-empty", "-m", name]);
    }
    sandbox.git(["remote", "add", "mine", mine.to_str().unwrap()]);
    sandbox.git(["fetch", "-q", "--all"]);
    sandbox.git(["config", "remote.pushDefault", "mine"]);
    for n in 0..3 {
        sandbox.write("b", format!("stashed {n}\n"));
        sandbox.git(["stash", "-q"]);
    }
    let encoding = ["-c", "i18n.commitEncoding=ISO-8859-1", "commit", "-q"];
    let message = [
        "--allow-empty",
        "-m",
        "A summary\nof two lines",
        "-m",
        "More.",
    ];
    sandbox.git([&encoding[..], &message].concat());
    for tag in ["a", "z-last", "m"] {
        sandbox.git(["tag", tag]);
    }
    // Staged: two changed, one renamed (which counts as deleted and new), two deleted.
    sandbox.write("b", "staged\n");
    sandbox.write("c", "staged\n");
    sandbox.git(["mv", "d", "renamed"]);
    sandbox.git(["rm", "-q", "e", "f"]);
    sandbox.git(["add", "b", "c"]);
    // Unstaged: one changed, one deleted. Marked: one of each kind. Untracked: two.
    sandbox.write("b", "unstaged\n");
    fs::remove_file(sandbox.top().join("g")).unwrap();
    sandbox.git(["update-index", "--skip-worktree", "h", "i"]);
    sandbox.git(["update-index", "--assume-unchanged", "file"]);
    sandbox.write("new", "");
    sandbox.write("new-dir/x", "");
    sandbox
}

#[test]
fn each_of_the_29_fields_has_its_position() {
    let sandbox = repository_with_all_fields();
    let mut daemon = sandbox.without_limits();
    let work = sandbox.top();
    let root = sandbox.root();
    let expected = [
        ("1 id", "id".to_owned()),
        ("2 is a repository", "1".into()),
        ("3 work tree", work.to_str().unwrap().into()),
        ("4 commit", sandbox.git(["rev-parse", "HEAD"])),
        ("5 branch", "main".into()),
        ("6 remote branch", "main".into()),
        ("7 remote", "origin".into()),
        ("8 url", format!("{}/origin", root.display())),
        ("9 action", String::new()),
        ("10 index size", "7".into()),
        ("11 staged", "6".into()),
        ("12 unstaged", "2".into()),
        ("13 conflicted", "0".into()),
        ("14 untracked", "2".into()),
        ("15 ahead", "1".into()),
        ("16 behind", "2".into()),
        ("17 stashes", "3".into()),
        ("18 tag", "z-last".into()),
        ("19 unstaged deleted", "1".into()),
        ("20 staged new", "1".into()),
        ("21 staged deleted", "3".into()),
        ("22 push remote", "mine".into()),
        ("23 push url", format!("{}/mine", root.display())),
        ("24 push ahead", "2".into()),
        ("25 push behind", "0".into()),
        ("26 skip-worktree", "2".into()),
        ("27 assume-unchanged", "1".into()),
        ("28 encoding", "ISO-8859-1".into()),
        ("29 summary", "A summary of two lines".into()),
    ];
    for dir in [&work, &work.join("new-dir"), &work] {
        let answer = daemon.ask(dir);
        for (number, (name, value)) in expected.iter().enumerate() {
            assert_eq!(
                String::from_utf8_lossy(answer.field(number + 1)),
                *value,
                "{name}"
            );
        }
        assert!(answer.is_repository());
    }
    // Without reading the index, its fields are zero and the others stay.
    let answer = daemon.ask_with(&work, b"\x1f1");
    for (number, (name, value)) in expected.iter().enumerate() {
        let number = number + 1;
        let is_of_index = (10..=14).contains(&number)
            || (19..=21).contains(&number)
            || (26..=27).contains(&number);
        let value = if is_of_index { "0" } else { value };
        let field = String::from_utf8_lossy(answer.field(number));
        assert_eq!(field, value, "{name}");
    }
    assert!(daemon.end().0.success());
}

#[test]
fn a_conflict_is_neither_staged_nor_unstaged() {
    let sandbox = Sandbox::with_repository();
    sandbox.git(["checkout", "-q", "-b", "other"]);
    sandbox.write("file", "theirs\n");
    sandbox.git(["commit", "-q", "-a", "-m", "theirs"]);
    sandbox.git(["checkout", "-q", "main"]);
    sandbox.write("file", "ours\n");
    sandbox.git(["commit", "-q", "-a", "-m", "ours"]);
    assert_ne!(sandbox.try_git(["merge", "-q", "other"]).code, 0);
    let answer = sandbox.without_limits().ask(sandbox.top());
    assert_eq!(answer.counts(), [0, 0, 1, 0]);
    assert_eq!(answer.field(9), b"merge");
}

#[test]
fn an_unborn_branch_has_a_name_and_no_commit() {
    let sandbox = Sandbox::new();
    sandbox.git_in(sandbox.root(), ["init", "-q", "work"]);
    sandbox.write("a", "");
    sandbox.write("b", "");
    sandbox.git(["add", "a"]);
    let answer = sandbox.without_limits().ask(sandbox.top());
    assert_eq!(answer.counts(), [1, 0, 0, 1]);
    assert_eq!((answer.field(4), answer.field(5)), (&b""[..], &b"main"[..]));
    assert_eq!((answer.field(18), answer.field(29)), (&b""[..], &b""[..]));
}

#[test]
fn a_colon_means_that_the_path_is_the_git_dir() {
    let sandbox = Sandbox::with_repository();
    let linked = sandbox.path("linked");
    sandbox.git(["worktree", "add", "-q", linked.to_str().unwrap()]);
    let bare = sandbox.path("bare");
    sandbox.git(["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    let mut daemon = sandbox.without_limits();
    let mut work_tree = |dir: &str| {
        let answer = daemon.ask(format!(":{dir}"));
        answer
            .is_repository()
            .then(|| String::from_utf8(answer.field(3).to_vec()).unwrap())
    };
    let root = sandbox.root();
    let root = root.to_str().unwrap();
    for dir in ["work/.git", "work/.git/", "work/../work/.git"] {
        assert_eq!(
            work_tree(&format!("{root}/{dir}")),
            Some(format!("{root}/work")),
            "{dir}"
        );
    }
    for dir in ["linked/.git", "work/.git/worktrees/linked"] {
        assert_eq!(
            work_tree(&format!("{root}/{dir}")),
            Some(format!("{root}/linked")),
            "{dir}"
        );
    }
    for dir in ["work", "", "work/file", "nowhere", "bare", "work/.git/refs"] {
        assert_eq!(work_tree(&format!("{root}/{dir}")), None, "{dir}");
    }
    assert_eq!(work_tree("work/.git"), None);
    assert_eq!(work_tree(""), None);
    assert!(!daemon.ask(bare).is_repository());
}

#[test]
fn inside_of_a_repository_the_answer_is_about_the_working_tree_around_it() {
    let sandbox = Sandbox::with_repository();
    let linked = sandbox.path("linked");
    sandbox.git(["worktree", "add", "-q", linked.to_str().unwrap()]);
    let bare = sandbox.path("bare");
    sandbox.git(["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    sandbox.git(["config", "--global", "safe.bareRepository", "explicit"]);
    let mut daemon = sandbox.without_limits();
    let mut work_tree = |dir: &str| {
        let answer = daemon.ask(sandbox.root().join(dir));
        answer
            .is_repository()
            .then(|| String::from_utf8(answer.field(3).to_vec()).unwrap())
    };
    let around = sandbox.top().to_str().unwrap().to_owned();
    for dir in ["work/.git", "work/.git/refs", "work/.git/worktrees/linked"] {
        assert_eq!(work_tree(dir).as_deref(), Some(&*around), "{dir}");
    }
    assert_eq!(work_tree("linked/.git").as_deref(), linked.to_str());
    assert_eq!(work_tree("bare/refs"), None);
}

#[test]
fn requests_may_come_in_any_pieces() {
    let sandbox = Sandbox::with_repository();
    let mut daemon = sandbox.without_limits();
    let ids: Vec<String> = (0..50).map(|n| n.to_string()).collect();
    let all: Vec<u8> = ids
        .iter()
        .flat_map(|id| request(id, &sandbox.top()))
        .collect();
    for piece in [1, 7, 255, 256, 257, all.len()] {
        for bytes in all.chunks(piece) {
            daemon.send(bytes);
        }
        for id in &ids {
            let answer = daemon.answer();
            assert_eq!(answer.field(1), id.as_bytes());
            assert!(answer.is_repository());
        }
    }
}

#[test]
fn what_was_asked_before_the_end_of_input_is_answered() {
    let sandbox = Sandbox::with_repository();
    let mut daemon = sandbox.without_limits();
    let mut all: Vec<u8> = Vec::new();
    for id in ["1", "2", "3"] {
        all.extend(request(id, &sandbox.top()));
    }
    // The last request lacks its terminator.
    all.extend_from_slice(b"4\x1f/");
    let mut requests = daemon.take_requests();
    requests.write_all(&all).unwrap();
    drop(requests);
    for id in ["1", "2", "3"] {
        assert_eq!(daemon.answer().field(1), id.as_bytes());
    }
    assert!(daemon.end().0.success());
}

#[test]
fn a_reader_that_takes_its_time_gets_every_answer() {
    const REQUESTS: usize = 3000;
    let sandbox = Sandbox::with_repository();
    let mut daemon = sandbox.without_limits();
    let mut requests = daemon.take_requests();
    let work = sandbox.top();
    // More than both pipes hold, so the process has to wait before this side reads.
    let writer = std::thread::spawn(move || {
        for id in 0..REQUESTS {
            requests
                .write_all(&request(&id.to_string(), &work))
                .unwrap();
        }
    });
    for id in 0..REQUESTS {
        let answer = daemon.answer();
        assert_eq!(answer.field(1), id.to_string().as_bytes());
        assert!(answer.is_repository());
    }
    writer.join().unwrap();
    assert!(daemon.end().0.success());
}

#[test]
fn unprintable_characters_are_question_marks() {
    let sandbox = Sandbox::new();
    let name = OsStr::from_bytes(b"a\nb\x1fc\xff\xc3\xa9\x7f");
    let top = sandbox.repository("work");
    let odd = sandbox.path(name);
    fs::rename(top, &odd).unwrap();
    sandbox.git_in(
        &odd,
        ["commit", "-q", "--allow-empty", "-m", "tab\there \u{e9}"],
    );
    let mut daemon = sandbox.without_limits();
    // A request cannot contain a separator, so use a symbolic link to the repository.
    let link = sandbox.path("link");
    std::os::unix::fs::symlink(&odd, &link).unwrap();
    daemon.send(&[b"\x01\n\xfe\x1f", link.as_os_str().as_bytes(), b"\x1e"].concat());
    let answer = daemon.answer();
    assert_eq!(answer.field(1), b"??\xfe");
    assert!(
        answer.field(3).ends_with(b"/a?b?c\xff\xc3\xa9?"),
        "{answer:?}"
    );
    assert_eq!(answer.field(29), "tab?here \u{e9}".as_bytes());
}

#[test]
fn malformed_requests_are_skipped() {
    let sandbox = Sandbox::with_repository();
    let mut daemon = sandbox.gitstatusd(&["-v", "FATAL"]);
    for silent in [
        "",
        "no separator",
        "id\x1f/\x1f2",
        "id\x1f/\x1f",
        "id\x1f/\x1f0\x1f0",
    ] {
        daemon.send(format!("{silent}\x1e").as_bytes());
        assert!(daemon.ask(sandbox.top()).is_repository(), "{silent:?}");
    }
    for nothing in [
        "",
        ":",
        "relative",
        "./work",
        "~",
        "/",
        "/nowhere",
        "/dev/null",
    ] {
        assert!(!daemon.ask(nothing).is_repository(), "{nothing:?}");
    }
    daemon.send(b"}hello\x1f\x1e");
    assert_eq!(format!("{:?}", daemon.answer()), "}hello|0");
    let (status, messages) = daemon.end();
    assert!(status.success());
    assert_eq!(messages, "");
}

#[test]
fn a_long_request_costs_bounded_memory_and_keeps_its_id() {
    const LEN: usize = 10 << 20;
    let sandbox = Sandbox::with_repository();
    let mut daemon = sandbox.gitstatusd(&[]);
    assert!(daemon.ask(sandbox.top()).is_repository());
    let before = daemon.resident_bytes();
    let long = vec![b'x'; LEN];
    daemon.send(&[b"long\x1f/", &long[..], b"\x1e"].concat());
    assert_eq!(format!("{:?}", daemon.answer()), "long|0");
    daemon.send(&[&long[..], b"\x1e"].concat());
    assert!(daemon.ask(sandbox.top()).is_repository());
    let grown = daemon.resident_bytes().saturating_sub(before);
    assert!(grown < LEN as u64 / 2, "{grown} bytes more");
}
