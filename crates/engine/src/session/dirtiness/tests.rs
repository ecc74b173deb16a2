use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use vigil_testkit::clock::wait_for_tick;
use vigil_testkit::sandbox::Sandbox;

use super::{Dirtiness, DirtinessQuestion};
use crate::session::Session;
use crate::session::nested_sessions::tests::{CLEAN, MODIFIED, state, watched_superproject};

/// The session of the only submodule.
fn submodule(session: &mut Session) -> &mut Session {
    let mut sessions = session.nested.as_mut().unwrap().sessions();
    sessions.next().unwrap().1
}

/// Asks until the answer about the submodule is kept, and then makes that a wrong one, so that it shows whether it is told again.
fn falsify(session: &mut Session, sandbox: &Sandbox) {
    // What was just written may change again without a new stamp.
    wait_for_tick();
    sandbox.git(["update-index", "-q", "--refresh"]);
    for _ in 0..3 {
        state(session);
    }
    let known = submodule(session).known_dirtiness.as_mut().unwrap();
    known.dirtiness.modified ^= true;
}

#[test]
fn a_submodule_at_rest_is_not_looked_into() {
    let (sandbox, mut session) = watched_superproject();
    falsify(&mut session, &sandbox);
    for _ in 0..2 {
        assert_eq!(state(&mut session), MODIFIED);
    }
    // Another question has another answer.
    let inside = submodule(&mut session);
    let question = DirtinessQuestion {
        looks_for_untracked: false,
        check: |_| Ok(true),
    };
    let unchanged = inside.prove_unchanged();
    assert!(unchanged.is_some());
    assert_eq!(inside.dirtiness_again(question, unchanged), None);
    assert_eq!(state(&mut session), CLEAN);
}

#[test]
fn whatever_its_answer_rests_on_is_noticed() {
    type Change = fn(&Sandbox);
    let changes: [(&str, Change); 11] = [
        ("a tracked file", |sandbox| sandbox.write("sub/a", "a")),
        ("another link", |sandbox| {
            let index = sandbox.path("sub/.git/index");
            fs::hard_link(index, sandbox.path("../index")).unwrap();
        }),
        ("another link of an ignore file", |sandbox| {
            let file = sandbox.path("sub/.gitignore");
            fs::hard_link(file, sandbox.path("../ignore")).unwrap();
        }),
        ("an ignore file elsewhere", |sandbox| {
            sandbox.write("../user-ignore", "x\n");
        }),
        ("an unreadable ignore file elsewhere", |sandbox| {
            let file = sandbox.path("../user-ignore");
            fs::remove_file(&file).unwrap();
            symlink("user-ignore", file).unwrap();
        }),
        ("attributes elsewhere", |sandbox| {
            sandbox.write("../user-attributes", "x text\n");
        }),
        ("ignore rules in the repository", |sandbox| {
            sandbox.write("sub/.git/info/exclude", "x\n");
        }),
        ("the index", |sandbox| {
            sandbox.git_in("sub", ["update-index", "--force-remove", "b"]);
            sandbox.git_in("sub", ["add", "b"]);
        }),
        ("the configuration", |sandbox| {
            sandbox.git_in("sub", ["config", "core.trustctime", "true"]);
        }),
        ("the mode of the top", |sandbox| {
            let mode = fs::Permissions::from_mode(0o700);
            fs::set_permissions(sandbox.path("sub"), mode).unwrap();
        }),
        ("a beginning operation", |sandbox| {
            fs::create_dir(sandbox.path("sub/.git/sequencer")).unwrap();
        }),
    ];
    for (what, change) in changes {
        let (sandbox, mut session) = watched_superproject();
        sandbox.write("sub/.gitignore", "*.log\n");
        sandbox.write("../user-ignore", "");
        for (key, name) in [
            ("core.excludesFile", "user-ignore"),
            ("core.attributesFile", "user-attributes"),
        ] {
            let file = sandbox.path(format!("../{name}"));
            sandbox.git_in("sub", ["config", key, file.to_str().unwrap()]);
        }
        sandbox.git_in("sub", ["add", "-A"]);
        sandbox.git_in("sub", ["commit", "-qm", "second"]);
        sandbox.git(["add", "sub"]);
        falsify(&mut session, &sandbox);
        assert_eq!(state(&mut session), MODIFIED, "{what}");
        change(&sandbox);
        assert_eq!(state(&mut session), CLEAN, "{what}");
    }
}

#[test]
fn an_operation_that_goes_on_is_looked_at_each_time() {
    let (sandbox, mut session) = watched_superproject();
    fs::create_dir(sandbox.path("sub/.git/sequencer")).unwrap();
    for _ in 0..3 {
        assert_eq!(state(&mut session), CLEAN);
    }
    assert!(submodule(&mut session).known_dirtiness.is_none());
}

#[test]
fn a_missing_commit_is_missed() {
    let (sandbox, mut session) = watched_superproject();
    falsify(&mut session, &sandbox);
    assert_eq!(state(&mut session), MODIFIED);
    let head = sandbox.git_in("sub", ["rev-parse", "HEAD"]);
    let (fan, rest) = head.trim().split_at(2);
    let file = sandbox.path(format!("sub/.git/objects/{fan}/{rest}"));
    fs::rename(&file, sandbox.path("../commit")).unwrap();
    let status = session.status_again(Default::default(), &Default::default());
    assert!(status.is_err());
    fs::rename(sandbox.path("../commit"), &file).unwrap();
    assert_eq!(state(&mut session), CLEAN);
    // In a pack, it goes with that.
    sandbox.git_in("sub", ["gc", "-q"]);
    falsify(&mut session, &sandbox);
    assert_eq!(state(&mut session), MODIFIED);
    fs::rename(
        sandbox.path("sub/.git/objects/pack"),
        sandbox.path("../pack"),
    )
    .unwrap();
    let status = session.status_again(Default::default(), &Default::default());
    assert!(status.is_err());
}

#[test]
fn untracked_files_are_told_again_too() {
    let (sandbox, mut session) = watched_superproject();
    sandbox.write("sub/new", "");
    falsify(&mut session, &sandbox);
    let known = submodule(&mut session).known_dirtiness.as_ref().unwrap();
    let expected = Dirtiness {
        modified: true,
        untracked: true,
    };
    assert_eq!(known.dirtiness, expected);
    let state = state(&mut session);
    assert!(state.modified && state.untracked);
}
