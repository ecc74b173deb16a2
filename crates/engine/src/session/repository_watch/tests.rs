use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::*;
use crate::prompt::{Prompt, PromptRequest};
use crate::session::Session;
use crate::testing::session_at;
use vigil_testkit::sandbox::Sandbox;

/// A repository with a tagged commit on `main`, another branch and an upstream.
fn repository() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.git(["symbolic-ref", "HEAD", "refs/heads/main"]);
    for name in ["one", "two"] {
        sandbox.write(name, "recorded\n");
    }
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-qm", "all"]);
    sandbox.git(["tag", "v/first"]);
    sandbox.git(["branch", "other/branch"]);
    sandbox.git(["config", "remote.origin.url", "elsewhere"]);
    sandbox.git([
        "config",
        "remote.origin.fetch",
        "+refs/heads/*:refs/remotes/origin/*",
    ]);
    sandbox.git(["update-ref", "refs/remotes/origin/main", "HEAD"]);
    sandbox.git(["branch", "-q", "-u", "origin/main"]);
    sandbox
}

fn open_watched(top: &Path) -> Session {
    let mut session = session_at(top, true);
    session.watch_by(Arc::new(Watcher::new().unwrap()));
    session
}

/// Asks as a long-lived process does: with a new session if the configuration changed. Also returns
/// whether the folders were still.
fn ask(session: &mut Session) -> (Prompt, bool) {
    let unchanged = session.prove_unchanged();
    if !session.is_fresh(unchanged) {
        *session = open_watched(session.top().unwrap());
        return (
            session.prompt(&PromptRequest::EVERYTHING, None).unwrap(),
            false,
        );
    }
    (
        session
            .prompt(&PromptRequest::EVERYTHING, unchanged)
            .unwrap(),
        unchanged.is_some(),
    )
}

/// Asks until the folders are known to be still, and returns the last answer.
fn ask_until_still(session: &mut Session) -> Prompt {
    for _ in 0..3 {
        let (prompt, is_still) = ask(session);
        if is_still {
            return prompt;
        }
    }
    panic!("the folders are never still");
}

type Change = fn(&Sandbox);

const CHANGES: [(&str, Change); 22] = [
    ("commit", |sandbox| {
        sandbox.git(["commit", "-q", "--allow-empty", "-m", "more"]);
    }),
    ("switch", |sandbox| {
        sandbox.git(["switch", "-q", "other/branch"]);
    }),
    ("detach", |sandbox| {
        sandbox.git(["switch", "-q", "--detach"]);
    }),
    ("HEAD in place", |sandbox| {
        fs::write(git_path(sandbox, "HEAD"), "ref: refs/heads/other/branch\n").unwrap();
    }),
    ("branch in place", |sandbox| {
        let parent = sandbox.git(["commit-tree", "-m", "x", "HEAD^{tree}"]);
        fs::write(git_path(sandbox, "refs/heads/main"), parent).unwrap();
    }),
    ("tag", |sandbox| {
        sandbox.git(["tag", "v/second"]);
    }),
    ("tag in a new folder", |sandbox| {
        sandbox.git(["tag", "x/y/z"]);
    }),
    ("no tag", |sandbox| {
        sandbox.git(["tag", "-d", "v/first"]);
    }),
    ("annotated tag, packed", |sandbox| {
        sandbox.git(["tag", "-a", "-m", "x", "v/third"]);
        sandbox.git(["pack-refs", "--all"]);
    }),
    ("upstream", |sandbox| {
        let other = sandbox.git(["commit-tree", "-m", "x", "-p", "HEAD", "HEAD^{tree}"]);
        fs::write(git_path(sandbox, "refs/remotes/origin/main"), other).unwrap();
    }),
    ("no upstream", |sandbox| {
        sandbox.git(["branch", "-q", "--unset-upstream"]);
    }),
    ("configuration in place", |sandbox| {
        let path = git_path(sandbox, "config");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace("elsewhere", "over-there")).unwrap();
    }),
    ("staged", |sandbox| {
        sandbox.write("new", "");
        sandbox.git(["add", "new"]);
    }),
    ("unstaged by a flag", |sandbox| {
        sandbox.git(["update-index", "--assume-unchanged", "one"]);
    }),
    ("stash", |sandbox| {
        sandbox.write("one", "changed and longer\n");
        sandbox.git(["stash", "-q"]);
    }),
    ("merge under way", |sandbox| {
        let head = sandbox.git(["rev-parse", "HEAD"]);
        fs::write(git_path(sandbox, "MERGE_HEAD"), head).unwrap();
    }),
    ("rebase under way", |sandbox| {
        fs::create_dir(git_path(sandbox, "rebase-merge")).unwrap();
    }),
    ("replaced commit", |sandbox| {
        let other = sandbox.git(["commit-tree", "-m", "other words", "HEAD^{tree}"]);
        sandbox.git(["replace", "HEAD", other.trim()]);
    }),
    ("shallow", |sandbox| {
        let head = sandbox.git(["rev-parse", "HEAD"]);
        fs::write(git_path(sandbox, "shallow"), head).unwrap();
    }),
    ("changed file", |sandbox| {
        sandbox.write("one", "changed and longer\n")
    }),
    ("new file", |sandbox| sandbox.write("new", "")),
    ("rules to ignore", |sandbox| {
        sandbox.write("new", "");
        fs::write(git_path(sandbox, "info/exclude"), "new\n").unwrap();
    }),
];

fn git_path(sandbox: &Sandbox, name: &str) -> PathBuf {
    sandbox.top().join(".git").join(name)
}

#[test]
fn each_change_shows_at_once_though_the_folders_were_still() {
    for (what, change) in CHANGES {
        let sandbox = repository();
        let mut session = open_watched(&sandbox.top());
        let before = ask_until_still(&mut session);
        change(&sandbox);
        let (after, _) = ask(&mut session);
        let right = open_watched(&sandbox.top())
            .prompt(&PromptRequest::EVERYTHING, None)
            .unwrap();
        assert_eq!(after, right, "{what}");
        if !["shallow", "unstaged by a flag", "rules to ignore"].contains(&what) {
            assert_ne!(before, after, "{what}: nothing changed");
        }
        for _ in 0..3 {
            assert_eq!(ask(&mut session).0, right, "{what}, later");
        }
    }
}

#[test]
fn a_change_while_the_folders_are_first_watched_shows() {
    let sandbox = repository();
    let mut session = open_watched(&sandbox.top());
    for round in 0..5 {
        // The tag moves between the proof and the answer.
        let unchanged = session.prove_unchanged();
        sandbox.git(["tag", "-f", &format!("v/z{round:03}")]);
        assert!(session.is_fresh(unchanged));
        session
            .prompt(&PromptRequest::EVERYTHING, unchanged)
            .unwrap();
        let (prompt, _) = ask(&mut session);
        assert_eq!(prompt.tag, format!("v/z{round:03}"));
    }
}

#[test]
fn a_configuration_that_changed_before_the_folders_were_watched_shows() {
    let sandbox = repository();
    let mut session = open_watched(&sandbox.top());
    sandbox.git(["config", "branch.main.merge", "refs/heads/none"]);
    // The first question begins to watch. The session opened for it was the newest one.
    let unchanged = session.prove_unchanged();
    session
        .prompt(&PromptRequest::EVERYTHING, unchanged)
        .unwrap();
    let (prompt, _) = ask(&mut session);
    assert_eq!(prompt.upstream, None);
}

#[test]
fn a_repository_in_the_place_of_another_is_not_taken_for_it() {
    let sandbox = repository();
    let mut session = open_watched(&sandbox.top());
    ask_until_still(&mut session);
    let other = sandbox.top().with_extension("other");
    fs::rename(sandbox.top(), &other).unwrap();
    assert!(session.prove_unchanged().is_none());
    fs::rename(&other, sandbox.top()).unwrap();
    // It is the same folder again, but nothing was heard of it meanwhile.
    ask_until_still(&mut session);
    let git_dir = git_path(&sandbox, "");
    fs::rename(&git_dir, &other).unwrap();
    sandbox.git(["init", "-q"]);
    assert!(session.prove_unchanged().is_none());
}

/// Makes another hard link, outside, to a file of the repository.
fn add_hard_link(sandbox: &Sandbox, name: &str) {
    fs::hard_link(
        git_path(sandbox, name),
        sandbox.top().with_extension("link"),
    )
    .unwrap();
}

/// Moves something out of the repository, and puts a symbolic link in its place.
fn replace_by_link(sandbox: &Sandbox, name: &str) {
    let elsewhere = sandbox.top().with_extension("moved");
    fs::rename(git_path(sandbox, name), &elsewhere).unwrap();
    symlink(&elsewhere, git_path(sandbox, name)).unwrap();
}

#[test]
fn a_repository_that_can_change_without_events_is_not_watched() {
    let deeds: [(&str, Change); 7] = [
        ("HEAD with another name", |sandbox| {
            add_hard_link(sandbox, "HEAD")
        }),
        ("a branch with another name", |sandbox| {
            add_hard_link(sandbox, "refs/heads/main")
        }),
        ("a tag with another name", |sandbox| {
            add_hard_link(sandbox, "refs/tags/v/first")
        }),
        ("configuration behind a link", |sandbox| {
            replace_by_link(sandbox, "config")
        }),
        ("the index behind a link", |sandbox| {
            replace_by_link(sandbox, "index")
        }),
        ("references behind a link", |sandbox| {
            replace_by_link(sandbox, "refs")
        }),
        ("what is under way", |sandbox| {
            let head = sandbox.git(["rev-parse", "HEAD"]);
            fs::write(git_path(sandbox, "MERGE_HEAD"), head).unwrap();
        }),
    ];
    for (what, change) in deeds {
        let sandbox = repository();
        change(&sandbox);
        let mut session = open_watched(&sandbox.top());
        for _ in 0..3 {
            assert!(!ask(&mut session).1, "{what}");
        }
    }
}

/// Asserts that the answer changes when `old` becomes `new` in the file `name` by way of a link that is made meanwhile.
#[track_caller]
fn assert_seen_through_hard_link(sandbox: &Sandbox, name: &str, old: &str, new: &str) {
    let mut session = open_watched(&sandbox.top());
    let before = ask_until_still(&mut session);
    add_hard_link(sandbox, name);
    let place = sandbox.top().with_extension("link");
    let text = fs::read_to_string(&place).unwrap().replace(old, new);
    fs::write(&place, text).unwrap();
    let (after, _) = ask(&mut session);
    assert_ne!(before, after, "{name}");
    let right = open_watched(&sandbox.top())
        .prompt(&PromptRequest::EVERYTHING, None)
        .unwrap();
    assert_eq!(after, right, "{name}");
}

#[test]
fn writes_through_a_hard_link_made_meanwhile_are_seen() {
    for name in ["refs/heads/main", "refs/remotes/origin/main"] {
        let sandbox = repository();
        let head = sandbox.git(["rev-parse", "HEAD"]);
        let other = sandbox.git(["commit-tree", "-m", "x", "-p", "HEAD", "HEAD^{tree}"]);
        assert_seen_through_hard_link(&sandbox, name, &head, &other);
    }
    let sandbox = repository();
    sandbox.write("one", "changed and longer\n");
    sandbox.git(["stash", "-q"]);
    let log = fs::read_to_string(git_path(&sandbox, "logs/refs/stash")).unwrap();
    assert_seen_through_hard_link(&sandbox, "logs/refs/stash", &log, &log.repeat(2));
    for (name, old, new) in [
        ("HEAD", "main", "other/branch"),
        ("config", "elsewhere", "over-there"),
        ("packed-refs", "v/first", "v/third"),
    ] {
        let sandbox = repository();
        sandbox.git(["pack-refs", "--all"]);
        assert_seen_through_hard_link(&sandbox, name, old, new);
    }
}

#[test]
fn linked_working_trees_are_watched_in_both_folders() {
    let sandbox = repository();
    let top = sandbox.top().with_extension("linked");
    let name = top.to_str().unwrap();
    sandbox.git(["worktree", "add", "-q", "-b", "linked", name]);
    let mut session = open_watched(&top);
    for change in [
        ["tag", "v/z"].as_slice(),
        &["-C", name, "commit", "-q", "--allow-empty", "-m", "more"],
        &["-C", name, "switch", "-q", "--detach"],
        &["-C", name, "rm", "-q", "--cached", "one"],
    ] {
        let before = ask_until_still(&mut session);
        sandbox.git(change);
        let (after, _) = ask(&mut session);
        assert_ne!(before, after, "{change:?}");
        let right = open_watched(&top)
            .prompt(&PromptRequest::EVERYTHING, None)
            .unwrap();
        assert_eq!(after, right, "{change:?}");
    }
}

#[test]
fn many_references_are_watched() {
    let sandbox = repository();
    let tags: Vec<_> = (0..300)
        .map(|number| format!("create refs/tags/t{number} HEAD\n"))
        .collect();
    let output = sandbox.output("", ["update-ref", "--stdin"], tags.concat().as_bytes());
    assert!(output.status.success());
    let mut session = open_watched(&sandbox.top());
    ask_until_still(&mut session);
    sandbox.git(["tag", "z"]);
    assert_eq!(ask(&mut session).0.tag, "z");
    assert!(ask(&mut session).1);
}

#[test]
fn a_commit_has_no_tag_read_again() {
    let sandbox = repository();
    let mut session = open_watched(&sandbox.top());
    ask_until_still(&mut session);
    let stayed = |session: &mut Session| {
        session.prove_unchanged();
        session.repository_watch.as_mut().unwrap().tags_stayed()
    };
    sandbox.git(["commit", "-q", "--allow-empty", "-m", "more"]);
    assert!(stayed(&mut session));
    sandbox.git(["tag", "more"]);
    assert!(!stayed(&mut session));
    assert!(stayed(&mut session));
}

#[test]
fn watching_is_retried_less_and_less_often() {
    let mut refused = Refused::default();
    let mut tries = Vec::new();
    for question in 0..40 {
        if refused.may_try() {
            tries.push(question);
            refused.note(true);
        }
    }
    assert_eq!(tries, [0, 2, 5, 10, 19, 36]);
    refused.note(false);
    assert!(refused.may_try());
}

#[test]
fn commits_are_counted_as_soon_as_they_are_here() {
    let sandbox = repository();
    let theirs = sandbox.git(["commit-tree", "-m", "x", "-p", "HEAD", "HEAD^{tree}"]);
    let theirs = theirs.trim();
    sandbox.git(["update-ref", "refs/remotes/origin/main", theirs]);
    let (fan, rest) = theirs.split_at(2);
    let object = git_path(&sandbox, "objects").join(fan).join(rest);
    let away = sandbox.top().join("away");
    fs::rename(&object, &away).unwrap();
    let mut session = open_watched(&sandbox.top());
    let behind = |prompt: Prompt| prompt.upstream.unwrap().behind;
    for _ in 0..3 {
        assert_eq!(behind(ask(&mut session).0), 0);
    }
    fs::rename(&away, &object).unwrap();
    assert_eq!(behind(ask(&mut session).0), 1);
    assert_eq!(behind(ask_until_still(&mut session)), 1);
}
