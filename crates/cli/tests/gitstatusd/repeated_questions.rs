//! Successive questions, for which the repository's folders are watched: each change shows immediately.

use std::fs;

use super::daemon::{Answer, Gitstatusd};
use super::sandbox::Sandbox;

/// More questions than it takes for folders to be watched.
const QUESTIONS: usize = 20;

/// Asks many times, and asserts that the answers are the same.
fn ask_repeatedly(daemon: &mut Gitstatusd, dir: &std::path::Path) -> Answer {
    let first = daemon.ask(dir);
    for _ in 0..QUESTIONS {
        assert_eq!(daemon.ask(dir), first);
    }
    first
}

#[test]
fn a_repository_that_appears_vanishes_or_is_replaced_is_noticed() {
    let sandbox = Sandbox::with_repository();
    sandbox.write("below/file", "");
    let (top, below) = (sandbox.top(), sandbox.top().join("below"));
    let mut daemon = sandbox.without_limits();
    for dir in [&top, &below] {
        assert_eq!(
            ask_repeatedly(&mut daemon, dir).field(3),
            top.as_os_str().as_encoded_bytes()
        );
    }
    sandbox.git_in(&below, ["init", "-q"]);
    let inner = ask_repeatedly(&mut daemon, &below);
    assert_eq!(inner.field(3), below.as_os_str().as_encoded_bytes());
    fs::remove_dir_all(below.join(".git")).unwrap();
    assert_eq!(
        ask_repeatedly(&mut daemon, &below).field(3),
        top.as_os_str().as_encoded_bytes()
    );

    let git_dir = top.join(".git");
    for (what, name) in [
        ("no HEAD", "HEAD"),
        ("no references", "refs"),
        ("no objects", "objects"),
    ] {
        assert!(ask_repeatedly(&mut daemon, &top).is_repository());
        fs::rename(git_dir.join(name), sandbox.path("away")).unwrap();
        assert!(!ask_repeatedly(&mut daemon, &top).is_repository(), "{what}");
        fs::rename(sandbox.path("away"), git_dir.join(name)).unwrap();
    }
    let outside = sandbox.path("outside.git");
    for is_linked in [true, false] {
        let before = ask_repeatedly(&mut daemon, &top);
        fs::rename(&git_dir, &outside).unwrap();
        assert!(!ask_repeatedly(&mut daemon, &top).is_repository());
        match is_linked {
            true => std::os::unix::fs::symlink(&outside, &git_dir).unwrap(),
            false => fs::write(&git_dir, format!("gitdir: {}\n", outside.display())).unwrap(),
        }
        assert_eq!(ask_repeatedly(&mut daemon, &top), before);
        fs::write(outside.join("HEAD"), "ref: refs/heads/unborn\n").unwrap();
        assert_eq!(ask_repeatedly(&mut daemon, &top).field(5), b"unborn");
        fs::write(outside.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::remove_file(&git_dir).unwrap();
        fs::rename(&outside, &git_dir).unwrap();
    }
}

#[test]
fn a_configured_working_tree_is_where_its_path_leads_now() {
    let sandbox = Sandbox::with_repository();
    let top = sandbox.top();
    sandbox.write("named/file", "");
    fs::create_dir_all(sandbox.path("other")).unwrap();
    let named = top.join("named");
    for (key, value) in [("relative", "../named".into()), ("absolute", named.clone())] {
        sandbox.git(["config", "core.worktree", value.to_str().unwrap()]);
        let mut daemon = sandbox.without_limits();
        let answer = ask_repeatedly(&mut daemon, &top);
        assert_eq!(
            answer.field(3),
            named.as_os_str().as_encoded_bytes(),
            "{key}"
        );
        for target in ["aside", "other"] {
            if target == "aside" {
                fs::rename(&named, sandbox.path("aside")).unwrap();
            } else {
                fs::remove_file(&named).unwrap();
            }
            let target = sandbox.path(target);
            std::os::unix::fs::symlink(&target, &named).unwrap();
            let answer = ask_repeatedly(&mut daemon, &top);
            assert_eq!(
                answer.field(3),
                target.as_os_str().as_encoded_bytes(),
                "{key}"
            );
        }
        fs::remove_file(&named).unwrap();
        assert!(!ask_repeatedly(&mut daemon, &top).is_repository(), "{key}");
        fs::rename(sandbox.path("aside"), &named).unwrap();
        assert_eq!(ask_repeatedly(&mut daemon, &top), answer, "{key}");
    }
}

#[test]
fn repositories_that_are_asked_about_in_turn_are_told_apart() {
    let sandbox = Sandbox::with_repository();
    let (one, two) = (sandbox.top(), sandbox.repository("two"));
    let mut daemon = sandbox.without_limits();
    for round in 0..3 {
        let tag = format!("tag-{round}");
        for dir in [&one, &two] {
            ask_repeatedly(&mut daemon, dir);
        }
        sandbox.git_in(&one, ["tag", &tag]);
        for _ in 0..QUESTIONS {
            assert_eq!(daemon.ask(&one).field(18), tag.as_bytes());
            assert_eq!(daemon.ask(&two).field(18), b"");
        }
    }
}

#[test]
fn a_file_that_comes_and_goes_is_counted_each_time() {
    let sandbox = Sandbox::with_repository();
    let mut daemon = sandbox.without_limits();
    let before = ask_repeatedly(&mut daemon, &sandbox.top());
    for _ in 0..3 {
        sandbox.write("new", "");
        assert_eq!(daemon.ask(sandbox.top()).number(14), before.number(14) + 1);
        fs::remove_file(sandbox.top().join("new")).unwrap();
        assert_eq!(daemon.ask(sandbox.top()), before);
    }
}

#[test]
fn a_process_that_answers_by_itself_watches_nothing() {
    let sandbox = Sandbox::with_repository();
    let mut daemon = sandbox.without_limits();
    for _ in 0..10 {
        ask_repeatedly(&mut daemon, &sandbox.top());
        assert_eq!(daemon.inotify_count(), 0);
    }
}
