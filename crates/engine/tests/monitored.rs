//! What a file system monitor tells git.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "all of this file is tests"
)]

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Arc;

use bstr::BString;
use vigil_engine::session::{ChangeReport, ForGit, Session};
use vigil_engine::status::StatusRequest;
use vigil_git::child::FilterStderr;
use vigil_git::environment::Environment;
use vigil_git::repository::discover;
use vigil_model::request::UntrackedMode;
use vigil_testkit::sandbox::{Sandbox, skip_test};
use vigil_watch::Watcher;

/// A watcher, unless the user has no inotify instance left.
fn watcher() -> Option<Arc<Watcher>> {
    let watcher = Watcher::new().map(Arc::new);
    if watcher.is_err() {
        skip_test("a test of the monitor", "no inotify instance is left");
    }
    watcher.ok()
}

fn session(sandbox: &Sandbox, watcher: &Arc<Watcher>) -> Session {
    let top = sandbox.top();
    let environment = Environment::new(sandbox.environment(), &top);
    let repository = discover(&environment, &top).unwrap();
    let mut session = Session::open(repository, true, FilterStderr::Discard).unwrap();
    session.leave_state();
    session.watch_by(watcher.clone());
    session
}

fn reported_paths(report: ChangeReport) -> BTreeSet<BString> {
    assert!(report.until.has_right_listings);
    report.paths.unwrap()
}

fn contains_path(paths: &BTreeSet<BString>, path: &str) -> bool {
    paths.contains(&BString::from(path))
}

#[test]
fn folders_not_watched_at_a_full_report_are_reported_by_name_later() {
    let Some(watcher) = watcher() else {
        return;
    };
    let sandbox = Sandbox::new();
    for path in ["file", "top/1/file", "top/2/file"] {
        sandbox.write(path, "");
    }
    sandbox.git(["add", "-A"]);
    let mut session = session(&sandbox, &watcher);
    let everything = session.full_report().unwrap().unwrap();
    let first = everything.current_report().unwrap();
    assert_eq!(first.paths, None);
    sandbox.write("file", "other");
    let report = session
        .changes_to_report(Some(first.until), ForGit::SinceSocket)
        .unwrap()
        .unwrap();
    assert!(everything.continues(Some(report.until)));
    let until = report.until;
    let all = [
        ".vigil",
        "file",
        "top/",
        "top/.vigil",
        "top/1/.vigil",
        "top/2/.vigil",
    ];
    assert_eq!(reported_paths(report), all.map(BString::from).into());
    let report = session
        .changes_to_report(Some(until), ForGit::SinceSocket)
        .unwrap()
        .unwrap();
    assert_eq!(reported_paths(report), BTreeSet::new());

    // As told while the session answers other clients; the tree is known by then.
    let later = everything.current_report().unwrap();
    sandbox.write("top/2/new", "");
    let report = session
        .changes_to_report(Some(later.until), ForGit::SinceSocket)
        .unwrap()
        .unwrap();
    let report = reported_paths(report);
    assert!(contains_path(&report, "top/2/new") && contains_path(&report, "top/1/.vigil"));
    assert!(!contains_path(&report, "top/"), "{report:?}");
    let later = everything.current_report().unwrap();
    for number in 0..1100 {
        sandbox.write(format!("top/2/{number}"), "");
    }
    let report = session
        .changes_to_report(Some(later.until), ForGit::SinceSocket)
        .unwrap()
        .unwrap();
    assert_eq!(reported_paths(report), all.map(BString::from).into());
}

#[test]
fn long_listings_are_reported_once() {
    let Some(watcher) = watcher() else {
        return;
    };
    let sandbox = Sandbox::new();
    let far = vec!["x".repeat(250); 14].join("/");
    for number in 0..1000 {
        sandbox.write(format!("{far}/{number}/file"), "");
    }
    let mut session = session(&sandbox, &watcher);
    let first = session
        .full_report()
        .unwrap()
        .unwrap()
        .current_report()
        .unwrap();
    let report = session
        .changes_to_report(Some(first.until), ForGit::SinceSocket)
        .unwrap()
        .unwrap();
    let until = report.until;
    let report = reported_paths(report);
    assert!(report.iter().map(|path| path.len()).sum::<usize>() > 3 << 20);
    let report = session
        .changes_to_report(Some(until), ForGit::SinceSocket)
        .unwrap()
        .unwrap();
    assert_eq!(reported_paths(report), BTreeSet::new());
}

#[test]
fn a_full_report_ends_when_the_set_up_changes() {
    let Some(watcher) = watcher() else {
        return;
    };
    let sandbox = Sandbox::new();
    let mut session = session(&sandbox, &watcher);
    let everything = session.full_report().unwrap().unwrap();
    assert!(everything.current_report().is_some());
    sandbox.git(["config", "core.fileMode", "false"]);
    assert!(everything.current_report().is_none());
}

#[test]
fn a_write_through_a_removed_name_makes_a_full_report_necessary() {
    let Some(watcher) = watcher() else {
        return;
    };
    let sandbox = Sandbox::new();
    sandbox.write("file", "recorded");
    sandbox.write("dir/file", "recorded");
    sandbox.git(["add", "-A"]);
    let [file, other] = ["file", "dir/file"].map(|name| sandbox.top().join(name));
    let mut open = std::fs::File::options().write(true).open(&file).unwrap();
    std::fs::remove_file(&other).unwrap();
    std::fs::hard_link(&file, &other).unwrap();
    std::fs::remove_file(&file).unwrap();
    let mut session = session(&sandbox, &watcher);
    let first = session
        .full_report()
        .unwrap()
        .unwrap()
        .current_report()
        .unwrap();
    let report = session
        .changes_to_report(Some(first.until), ForGit::SinceSocket)
        .unwrap()
        .unwrap();
    let until = report.until;
    assert!(report.paths.is_some());
    open.write_all(b"R").unwrap();
    let report = session
        .changes_to_report(Some(until), ForGit::SinceSocket)
        .unwrap()
        .unwrap();
    assert_eq!(report.paths, None);
    let report = session
        .changes_to_report(Some(report.until), ForGit::SinceSocket)
        .unwrap()
        .unwrap();
    assert!(report.paths.is_some());
}

#[test]
fn new_entries_that_differ_are_reported_whoever_else_asked_before() {
    let Some(watcher) = watcher() else {
        return;
    };
    let sandbox = Sandbox::new();
    sandbox.write("dir/file", "");
    sandbox.git(["add", "-A"]);
    let mut session = session(&sandbox, &watcher);
    // The question of a command that is also the monitor's.
    let request = StatusRequest {
        untracked: UntrackedMode::All,
        ..StatusRequest::default()
    };
    let mut until = None;
    let mut report = |session: &mut Session| {
        let report = session
            .changes_to_report(until, ForGit::SinceSocket)
            .unwrap()
            .unwrap();
        until = Some(report.until);
        report.paths
    };
    for _ in 0..3 {
        report(&mut session);
    }
    assert_eq!(report(&mut session), Some(BTreeSet::new()));
    // In the index alone.
    sandbox.git(["mv", "-k", "dir", "no/where"]);
    for _ in 0..2 {
        session.status(&request).unwrap();
    }
    let paths = report(&mut session).unwrap();
    assert!(contains_path(&paths, "no/where/file"), "{paths:?}");
    assert_eq!(report(&mut session), Some(BTreeSet::new()));
    // The same if a file with another name has everything looked at.
    sandbox.write("other", "");
    session.status(&request).unwrap();
    let empty = sandbox.git(["hash-object", "-t", "blob", "/dev/null"]);
    let entry = format!("100644,{},else/where", empty.trim());
    sandbox.git(["update-index", "--add", "--cacheinfo", &entry]);
    std::fs::hard_link(sandbox.top().join("other"), sandbox.top().join("link")).unwrap();
    session.status(&request).unwrap();
    let paths = report(&mut session).unwrap();
    assert!(contains_path(&paths, "else/where"), "{paths:?}");
}

#[test]
fn a_git_that_takes_a_folder_for_a_file_is_told_of_each_file_in_it() {
    let Some(watcher) = watcher() else {
        return;
    };
    let sandbox = Sandbox::new();
    for path in ["file", "top/1/file", "top/2/file", "top/other"] {
        sandbox.write(path, "");
    }
    sandbox.git(["add", "-A"]);
    let module = "160000,1111111111111111111111111111111111111111,dir/module";
    sandbox.git(["update-index", "--add", "--cacheinfo", module]);
    let mut session = session(&sandbox, &watcher);
    let mut told = |until, for_git| session.changes_to_report(until, for_git).unwrap().unwrap();
    let mut until = None;
    // The first two reports are about everything.
    for _ in 0..2 {
        until = Some(told(until, ForGit::SinceHook).until);
    }
    std::fs::rename(sandbox.top().join("top"), sandbox.top().join("moved")).unwrap();
    let new = reported_paths(told(until, ForGit::SinceSocket));
    let any = reported_paths(told(until, ForGit::SinceHook));
    assert!(contains_path(&new, "top/"));
    let more = ["dir/module", "top/1/file", "top/2/file", "top/other"];
    let mut all = new;
    for path in more {
        assert!(all.insert(path.into()), "{path}");
    }
    assert_eq!(any, all);
    // git before 2.37 would never look at the submodule again.
    let until = told(until, ForGit::SinceHook).until;
    let later = told(Some(until), ForGit::SinceHook);
    assert_eq!(reported_paths(later), ["dir/module".into()].into());
}
