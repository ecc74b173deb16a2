//! What makes a working copy slow is found where it is, and nowhere else.

#![allow(clippy::unwrap_used, reason = "all of this file is tests")]

use std::time::Duration;

use vigil_engine::session::Session;
use vigil_engine::session::checkup::{Checkup, Crowd};
use vigil_engine::status::StatusRequest;
use vigil_git::child::FilterStderr;
use vigil_git::environment::Environment;
use vigil_git::repository::discover;
use vigil_linux::dir::bounded::Budget;
use vigil_store::NoSteps;
use vigil_testkit::sandbox::Sandbox;

/// Returns what is found within `steps`, where ten untracked files are a crowd.
fn checkup(sandbox: &Sandbox, steps: u64) -> Checkup {
    let budget = Budget::new(steps, Duration::from_secs(3600));
    session(sandbox).checkup(budget, 10).unwrap()
}

fn session(sandbox: &Sandbox) -> Session {
    let environment = Environment::new(sandbox.environment(), sandbox.top());
    let repository = discover(&environment, &sandbox.top()).unwrap();
    Session::open(repository, false, FilterStderr::Discard).unwrap()
}

/// A repository with the tracked files `a`, `dir/b` and `dir/deep/c`, written and recorded long
/// ago.
fn aged_repository() -> Sandbox {
    let sandbox = Sandbox::new();
    for name in ["a", "dir/b", "dir/deep/c"] {
        sandbox.write(name, "contents\n");
        sandbox.age(name, 100);
    }
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-qm", "one"]);
    sandbox
}

/// Writes `count` files in a directory.
fn write_crowd(sandbox: &Sandbox, directory: &str, count: usize) {
    for number in 0..count {
        sandbox.write(format!("{directory}/{number}"), "");
    }
}

#[test]
fn in_a_small_and_quiet_working_copy_nothing_is_found() {
    let sandbox = aged_repository();
    write_crowd(&sandbox, "untracked", 9);
    let expected = Checkup {
        entries: 3,
        directories: 3,
        looked_at: 3,
        is_whole: true,
        ..Checkup::default()
    };
    assert_eq!(checkup(&sandbox, 1000), expected);
}

#[test]
fn directories_that_are_gone_are_not_counted() {
    let sandbox = aged_repository();
    let answer_and_save = || {
        let mut session = session(&sandbox);
        session.status(&StatusRequest::default()).unwrap();
        session.save(&NoSteps).unwrap();
    };
    for round in 0..3 {
        for number in 0..20 {
            sandbox.write(format!("{round}/{number}/file"), "");
        }
        sandbox.git(["add", "."]);
        answer_and_save();
        sandbox.git(["rm", "-rqf", &round.to_string()]);
        answer_and_save();
    }
    assert_eq!(checkup(&sandbox, 1000).directories, 3);
}

#[test]
fn files_with_other_facts_than_those_recorded_are_counted() {
    let sandbox = aged_repository();
    for name in ["a", "dir/deep/c"] {
        sandbox.age(name, 50);
    }
    assert_eq!(checkup(&sandbox, 1000).unsure, 2);
    sandbox.git(["update-index", "-q", "--refresh"]);
    assert_eq!(checkup(&sandbox, 1000).unsure, 0);
    sandbox.write("a", "another length\n");
    assert_eq!(checkup(&sandbox, 1000).unsure, 0);
}

#[test]
fn crowds_of_untracked_files_are_found_where_no_rule_ignores_them() {
    let sandbox = aged_repository();
    write_crowd(&sandbox, "out/deep/er", 20);
    write_crowd(&sandbox, "dir", 10);
    write_crowd(&sandbox, "dir/ignored", 30);
    sandbox.write("dir/.gitignore", "ignored\n");
    let of = |directory: &str, entries| Crowd {
        directory: directory.into(),
        entries,
    };
    // Including two directories, and the ignore file.
    let expected = [of("out", 22), of("dir", 11)];
    assert_eq!(checkup(&sandbox, 1000).crowds, expected);
    sandbox.write(".git/info/exclude", "/out\n/dir/[0-9]\n");
    assert_eq!(checkup(&sandbox, 1000).crowds, []);
}

#[test]
fn nested_repositories_that_are_no_submodules_are_named() {
    let sandbox = aged_repository();
    for name in ["one", "dir/two", "three", "four", "ignored"] {
        sandbox.git(["init", "-q", name]);
    }
    sandbox.write(".git/info/exclude", "ignored\n");
    let found = checkup(&sandbox, 1000);
    assert_eq!((found.nested_count, found.nested.len()), (4, 3));
    assert!(found.nested.iter().all(|name| name != "ignored"));
}

#[test]
fn an_endless_tree_is_scanned_only_up_to_the_bound() {
    let sandbox = aged_repository();
    write_crowd(&sandbox, "out", 300);
    let found = checkup(&sandbox, 100);
    assert!(!found.is_whole);
    let entries: Vec<u64> = found.crowds.iter().map(|crowd| crowd.entries).collect();
    assert!(entries.iter().all(|entries| *entries <= 100), "{entries:?}");
    let mut deep = sandbox.path("deep");
    for _ in 0..500 {
        deep.push("d");
    }
    std::fs::create_dir_all(&deep).unwrap();
    assert!(checkup(&sandbox, 2000).is_whole);
}
