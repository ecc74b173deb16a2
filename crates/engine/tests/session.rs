//! A kept session: what changes between two questions is in the second answer.

#![allow(clippy::unwrap_used, reason = "all of this file is tests")]

use std::path::Path;
use std::time::Duration;

use vigil_engine::prompt::{Counts, PromptRequest};
use vigil_engine::session::Session;
use vigil_engine::status::StatusRequest;
use vigil_git::child::FilterStderr;
use vigil_git::environment::Environment;
use vigil_git::repository::discover;
use vigil_model::request::UntrackedMode;
use vigil_testkit::sandbox::Sandbox;

/// Writes a file as if it had been written `age_s` seconds ago.
fn write_aged(sandbox: &Sandbox, name: &str, contents: &str, age_s: i64) {
    sandbox.write(name, contents);
    sandbox.age(name, age_s);
}

fn session(sandbox: &Sandbox) -> Session {
    let environment = Environment::new(sandbox.environment(), sandbox.top());
    let repository = discover(&environment, &sandbox.top()).unwrap();
    Session::open(repository, true, FilterStderr::Discard).unwrap()
}

fn counts(session: &mut Session) -> Counts {
    session
        .prompt(&PromptRequest::EVERYTHING, None)
        .unwrap()
        .counts
}

#[test]
fn changed_attributes_are_seen_though_the_file_is_unchanged() {
    let sandbox = Sandbox::new();
    write_aged(&sandbox, "sub/text", "one\r\ntwo\r\n", 100);
    sandbox.git(["add", "sub"]);
    sandbox.git(["commit", "-qm", "with CRLF"]);
    // The stat data differs from what is recorded, so contents are compared; they are as recorded.
    write_aged(&sandbox, "sub/text", "one\r\ntwo\r\n", 50);
    let mut session = session(&sandbox);
    assert_eq!(counts(&mut session).unstaged, 0);
    assert_eq!(counts(&mut session).unstaged, 0);
    write_aged(&sandbox, "sub/.gitattributes", "text text=auto text\n", 20);
    assert_eq!(counts(&mut session).unstaged, 1);
    std::fs::remove_file(sandbox.top().join("sub/.gitattributes")).unwrap();
    assert_eq!(counts(&mut session).unstaged, 0);
}

#[test]
fn time_spent_on_tracked_files_is_not_counted_for_untracked_ones() {
    let sandbox = Sandbox::new();
    write_aged(&sandbox, "dir/tracked", "1\n", 100);
    sandbox.git(["add", "dir"]);
    write_aged(&sandbox, "dir/tracked", "2\n", 50);
    let mut session = session(&sandbox);
    let mut searched_in = |untracked| {
        let request = StatusRequest {
            long: true,
            untracked,
            ..StatusRequest::default()
        };
        let status = session.status(&request).unwrap();
        assert_eq!(status.changes.len(), 1);
        status.long.unwrap().searched_in
    };
    assert_eq!(searched_in(UntrackedMode::No), Duration::ZERO);
    assert!(searched_in(UntrackedMode::Normal) > Duration::ZERO);
    assert_eq!(searched_in(UntrackedMode::No), Duration::ZERO);
}

#[test]
fn a_file_that_comes_and_goes_is_counted_and_not_counted() {
    let sandbox = Sandbox::new();
    write_aged(&sandbox, "dir/tracked", "1\n", 100);
    sandbox.git(["add", "dir"]);
    let mut session = session(&sandbox);
    let at_rest = counts(&mut session);
    assert_eq!((at_rest.staged, at_rest.untracked), (1, 0));
    let new = Path::new("dir/new");
    for _ in 0..3 {
        write_aged(&sandbox, new.to_str().unwrap(), "", 0);
        assert_eq!(counts(&mut session).untracked, 1);
        std::fs::remove_file(sandbox.top().join(new)).unwrap();
        assert_eq!(counts(&mut session).untracked, 0);
    }
    write_aged(&sandbox, "dir/.gitignore", "new*\n", 100);
    write_aged(&sandbox, "dir/new", "", 100);
    assert_eq!(counts(&mut session).untracked, 1);
    write_aged(&sandbox, "dir/.gitignore", "nothing\n", 90);
    assert_eq!(counts(&mut session).untracked, 2);
}
