use std::fs;
use std::sync::Arc;

use bstr::BString;
use vigil_testkit::clock::wait_for_tick;
use vigil_testkit::sandbox::Sandbox;
use vigil_watch::Watcher;

use crate::session::Session;
use crate::status::{SparseState, StatusRequest};
use crate::testing::session_at;

/// A sparse checkout of 2 of 8 files, and a session that watches it.
fn sparse_checkout() -> (Sandbox, Session) {
    let sandbox = Sandbox::new();
    for folder in ["d1", "d2", "d3", "d4/e"] {
        for file in ["a", "b"] {
            sandbox.write(format!("{folder}/{file}"), "");
        }
    }
    sandbox.git(["add", "-A"]);
    sandbox.commit("first");
    sandbox.git(["sparse-checkout", "set", "--no-cone", "/d1/a", "/d2/a"]);
    // An index that was just written is read again.
    wait_for_tick();
    let mut session = session_at(&sandbox.top(), true);
    session.watch_by(Arc::new(Watcher::new().unwrap()));
    (sandbox, session)
}

/// The percentage of the files that are present, by the answer.
fn percent(session: &mut Session) -> usize {
    let request = StatusRequest {
        long: true,
        ..StatusRequest::default()
    };
    let status = session.status_again(BString::default(), &request).unwrap();
    match status.long.unwrap().sparse {
        Some(SparseState::Percent(percent)) => percent,
        other => panic!("{other:?}"),
    }
}

/// Makes what is kept wrong, so that it shows whether it is told again.
fn falsify(session: &mut Session) {
    percent(session);
    let index = session.index.as_ref().unwrap();
    index.presence.0.lock().as_mut().unwrap().percent = Some(99);
    assert_eq!(percent(session), 99);
}

#[test]
fn files_that_are_left_out_are_only_looked_for_if_any_may_have_come() {
    let (sandbox, mut session) = sparse_checkout();
    assert_eq!(percent(&mut session), 25);
    falsify(&mut session);
    sandbox.write("d1/a", "changed");
    sandbox.write("d1/new", "");
    sandbox.write("new/file", "");
    assert_eq!(percent(&mut session), 99);
    fs::remove_dir_all(sandbox.path("new")).unwrap();
    assert_eq!(percent(&mut session), 99);

    sandbox.write("d1/b", "");
    assert_eq!(percent(&mut session), 38);
    falsify(&mut session);
    fs::remove_file(sandbox.path("d1/b")).unwrap();
    assert_eq!(percent(&mut session), 25);
    falsify(&mut session);
    fs::create_dir(sandbox.path("d3")).unwrap();
    assert_eq!(percent(&mut session), 25);
    falsify(&mut session);
    sandbox.write("d3/a", "");
    assert_eq!(percent(&mut session), 38);
    falsify(&mut session);
    sandbox.write("../elsewhere/e/b", "");
    fs::rename(sandbox.path("../elsewhere"), sandbox.path("d4")).unwrap();
    assert_eq!(percent(&mut session), 50);
    falsify(&mut session);
    fs::rename(sandbox.path("d2"), sandbox.path("d5")).unwrap();
    assert_eq!(percent(&mut session), 50);
    falsify(&mut session);
    sandbox.git(["sparse-checkout", "set", "--no-cone", "/d1/"]);
    assert_ne!(percent(&mut session), 99);
}

#[test]
fn nothing_is_kept_if_files_may_come_unheard() {
    let (sandbox, mut session) = sparse_checkout();
    // Another name of a file with ignore rules.
    sandbox.write("d1/.gitignore", "");
    fs::hard_link(sandbox.path("d1/.gitignore"), sandbox.path("../ignore")).unwrap();
    assert_eq!(percent(&mut session), 25);
    let index = session.index.as_ref().unwrap();
    assert!(index.presence.0.lock().is_none());
    sandbox.write("d1/b", "");
    assert_eq!(percent(&mut session), 38);
}
