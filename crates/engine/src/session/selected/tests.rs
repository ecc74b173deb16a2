use std::sync::Arc;

use crate::session::Session;
use crate::status::{Status, StatusRequest};
use crate::testing::session_at;
use vigil_model::request::{IgnoredMode, UntrackedMode};
use vigil_testkit::sandbox::Sandbox;
use vigil_watch::Watcher;

/// A repository with changed, untracked and ignored files in directories with and without tracked
/// files.
fn repository() -> Sandbox {
    let sandbox = Sandbox::new();
    for name in ["a/one", "a/deep/one.c", "b/one", "b/two.c", "top.c"] {
        sandbox.write(name, "recorded\n");
    }
    sandbox.write(".gitignore", "*.o\nbuild/\n");
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-qm", "all"]);
    for name in [
        "a/one", "b/two.c", "a/new", "a/new.o", "new/x", "new/y.c", "new/y.o", "build/x", "c.c",
    ] {
        sandbox.write(name, "changed now\n");
    }
    sandbox
}

fn request(pathspecs: &[&str], untracked: UntrackedMode, ignored: IgnoredMode) -> StatusRequest {
    StatusRequest {
        pathspecs: pathspecs.iter().map(|&spec| spec.into()).collect(),
        untracked,
        ignored,
        ..StatusRequest::default()
    }
}

fn everything_in(status: &Status) -> String {
    format!(
        "{:?} {:?} {:?} {:?}",
        status.changes, status.untracked, status.ignored, status.warnings
    )
}

fn is_answered_without_scan(session: &mut Session, request: &StatusRequest) -> bool {
    let pathspec = session.parse_pathspecs(&request.pathspecs).unwrap();
    session.known_for(request, &pathspec).unwrap().is_some()
}

const PATHSPECS: [(&[&str], bool); 13] = [
    (&["."], true),
    (&["a"], true),
    (&["a/", "b"], true),
    (&["a/one"], true),
    (&["a/new", "top.c"], true),
    (&["new"], true),
    (&["new/", "c.c"], true),
    // A part of what is shown as one, or of what might be.
    (&["new/x"], false),
    (&["*.c"], false),
    (&["ne*"], false),
    (&[".", ":!new/x"], false),
    (&["nowhere"], true),
    (&["nowhere/at/all"], false),
];

#[test]
fn pathspecs_are_answered_from_known_findings_without_a_scan() {
    let sandbox = repository();
    // Nothing is kept while `.gitignore` is racy.
    sandbox.settle();
    let mut session = session_at(&sandbox.top(), true);
    session.watch_by(Arc::new(Watcher::new().unwrap()));
    let all = request(&[], UntrackedMode::Normal, IgnoredMode::No);
    session.status(&all).unwrap();
    for (specs, is_told) in PATHSPECS {
        let request = request(specs, UntrackedMode::Normal, IgnoredMode::No);
        let look = session_at(&sandbox.top(), false).status(&request).unwrap();
        let told = session.status(&request).unwrap();
        assert_eq!(everything_in(&told), everything_in(&look), "{specs:?}");
        assert_eq!(
            is_answered_without_scan(&mut session, &request),
            is_told,
            "{specs:?}"
        );
    }
}

#[test]
fn a_directory_that_cannot_be_opened_is_told_though_nothing_is_untracked() {
    let sandbox = Sandbox::new();
    sandbox.write("dir/recorded", "recorded\n");
    sandbox.git(["add", "."]);
    let mut session = session_at(&sandbox.top(), true);
    session.watch_by(Arc::new(Watcher::new().unwrap()));
    for (untracked, warnings) in [(UntrackedMode::Normal, 1), (UntrackedMode::No, 0)] {
        session
            .status(&request(&[], untracked, IgnoredMode::No))
            .unwrap();
        let request = request(&["dir/no/such"], untracked, IgnoredMode::No);
        let look = session_at(&sandbox.top(), false).status(&request).unwrap();
        let told = session.status(&request).unwrap();
        assert_eq!(everything_in(&told), everything_in(&look));
        assert_eq!(told.warnings.len(), warnings);
    }
}

#[test]
fn answers_from_known_findings_equal_those_of_a_scan_in_every_mode() {
    let sandbox = repository();
    let mut session = session_at(&sandbox.top(), true);
    session.watch_by(Arc::new(Watcher::new().unwrap()));
    for untracked in [UntrackedMode::No, UntrackedMode::Normal, UntrackedMode::All] {
        for ignored in [
            IgnoredMode::No,
            IgnoredMode::Traditional,
            IgnoredMode::Matching,
        ] {
            session.status(&request(&[], untracked, ignored)).unwrap();
            for (specs, _) in PATHSPECS {
                let request = request(specs, untracked, ignored);
                let look = session_at(&sandbox.top(), false).status(&request).unwrap();
                let told = session.status(&request).unwrap();
                assert_eq!(
                    everything_in(&told),
                    everything_in(&look),
                    "{specs:?} {untracked:?} {ignored:?}"
                );
            }
        }
    }
    // Later changes are heard.
    sandbox.write("b/one", "changed later\n");
    sandbox.write("a/later", "");
    for (specs, _) in PATHSPECS {
        let request = request(specs, UntrackedMode::Normal, IgnoredMode::No);
        let look = session_at(&sandbox.top(), false).status(&request).unwrap();
        let told = session.status(&request).unwrap();
        assert_eq!(everything_in(&told), everything_in(&look), "{specs:?}");
    }
}

#[test]
fn what_is_in_the_place_of_a_file_is_shown_if_a_part_of_it_is_asked_for() {
    for option in [None, Some("--assume-unchanged"), Some("--skip-worktree")] {
        let sandbox = Sandbox::new();
        sandbox.write("a/one", "recorded\n");
        sandbox.write("b/one", "recorded\n");
        sandbox.write("b/two.c", "recorded\n");
        sandbox.git(["add", "."]);
        if let Some(option) = option {
            sandbox.git(["update-index", option, "b/one"]);
        }
        std::fs::remove_file(sandbox.top().join("b/one")).unwrap();
        sandbox.write("b/one/x.c", "");
        sandbox.write("b/one/deep/y.c", "");
        let mut session = session_at(&sandbox.top(), true);
        session.watch_by(Arc::new(Watcher::new().unwrap()));
        for untracked in [UntrackedMode::No, UntrackedMode::Normal, UntrackedMode::All] {
            let all = request(&[], untracked, IgnoredMode::No);
            session.status(&all).unwrap();
            let is_shown_whole = untracked == UntrackedMode::Normal;
            for (spec, is_told) in [
                ("*.c", !is_shown_whole),
                ("b/o*", !is_shown_whole),
                ("b/one", true),
                ("a/*", true),
            ] {
                let request = request(&[spec], untracked, IgnoredMode::No);
                let look = session_at(&sandbox.top(), false).status(&request).unwrap();
                let told = session.status(&request).unwrap();
                let what = format!("{spec} {untracked:?} {option:?}");
                assert_eq!(everything_in(&told), everything_in(&look), "{what}");
                let answered = is_answered_without_scan(&mut session, &request);
                assert_eq!(answered, is_told, "{what}");
            }
        }
    }
}
