use std::fs;
use std::sync::Arc;

use bstr::BString;
use vigil_model::timestamp::Timestamp;
use vigil_testkit::clock::wait_for_tick;
use vigil_testkit::sandbox::Sandbox;
use vigil_watch::Watcher;

use super::SUBMODULE_FOLDERS_MAX;
use crate::session::Session;
use crate::session::audit::Extent;
use crate::status::{Change, StatusRequest, SubmoduleState};
use crate::testing::session_at;

pub(in crate::session) const CLEAN: SubmoduleState = SubmoduleState {
    new_commits: false,
    modified: false,
    untracked: false,
};
pub(in crate::session) const MODIFIED: SubmoduleState = SubmoduleState {
    modified: true,
    ..CLEAN
};

/// A repository with a file and the submodule `sub`, and a session that watches it.
pub(in crate::session) fn watched_superproject() -> (Sandbox, Session) {
    let sandbox = Sandbox::new();
    make_repository(&sandbox, "sub");
    sandbox.write("own", "own\n");
    sandbox.git(["add", "own", "sub"]);
    sandbox.commit("with a submodule");
    let mut session = session_at(&sandbox.top(), true);
    session.watch_by(Arc::new(Watcher::new().unwrap()));
    assert_eq!(state(&mut session), CLEAN);
    (sandbox, session)
}

/// Makes a repository with two files.
fn make_repository(sandbox: &Sandbox, folder: &str) {
    sandbox.git(["init", "-q", folder]);
    for file in ["a", "b"] {
        sandbox.write(format!("{folder}/{file}"), file);
    }
    sandbox.git_in(folder, ["add", "-A"]);
    sandbox.git_in(folder, ["commit", "-qm", "first"]);
}

/// The state of the only submodule.
pub(in crate::session) fn state(session: &mut Session) -> SubmoduleState {
    let request = StatusRequest::default();
    let status = session.status_again(BString::default(), &request).unwrap();
    match &status.changes[..] {
        [] => CLEAN,
        [(_, Change::Tracked(change))] => change.submodule.unwrap(),
        changes => panic!("{changes:?}"),
    }
}

/// The number of submodules whose sessions are kept.
fn kept(session: &mut Session) -> usize {
    session.nested.as_mut().unwrap().sessions().count()
}

/// Whether the submodule's HEAD is known until a change is heard in the folders of its repository.
fn knows_head(session: &mut Session) -> bool {
    let mut sessions = session.nested.as_mut().unwrap().sessions();
    sessions
        .next()
        .is_some_and(|(_, session)| session.known_head.is_some())
}

/// When everything in the submodule was last looked at.
fn looked_at_all(session: &mut Session) -> Option<Timestamp> {
    let nested = session.nested.as_mut().unwrap();
    let (path, session) = nested.sessions().next()?;
    assert_eq!(path, "sub");
    Some(session.basis("a".into()).unwrap().looked_at_all)
}

#[test]
fn only_what_changed_in_a_submodule_is_looked_at() {
    let (sandbox, mut session) = watched_superproject();
    let first = looked_at_all(&mut session).unwrap();
    assert_eq!(kept(&mut session), 1);
    wait_for_tick();
    sandbox.write("sub/new", "");
    session.nested.as_ref().unwrap().watcher.read_events();
    assert!(session.watch_positions().since() > 0);
    let untracked = SubmoduleState {
        untracked: true,
        ..CLEAN
    };
    assert_eq!(state(&mut session), untracked);
    fs::remove_file(sandbox.path("sub/new")).unwrap();
    sandbox.write("sub/a", "changed");
    assert_eq!(state(&mut session), MODIFIED);
    sandbox.git_in("sub", ["commit", "-qam", "second"]);
    let committed = SubmoduleState {
        new_commits: true,
        ..CLEAN
    };
    assert_eq!(state(&mut session), committed);
    sandbox.git(["add", "sub"]);
    sandbox.commit("the submodule's second");
    assert_eq!(state(&mut session), CLEAN);
    assert_eq!(looked_at_all(&mut session), Some(first));
}

#[test]
fn what_changes_in_the_folders_of_a_submodule_is_heard() {
    let (sandbox, mut session) = watched_superproject();
    let committed = SubmoduleState {
        new_commits: true,
        ..CLEAN
    };
    let staged = SubmoduleState {
        modified: true,
        ..committed
    };
    sandbox.git_in("sub", ["commit", "-qm", "second", "--allow-empty"]);
    assert_eq!(state(&mut session), committed);
    let changes: [(&[&str], SubmoduleState); 6] = [
        (
            &["rm", "-q", "--cached", "a"],
            SubmoduleState {
                untracked: true,
                ..staged
            },
        ),
        (&["reset", "-q", "--hard", "HEAD~"], CLEAN),
        (&["symbolic-ref", "HEAD", "refs/heads/unborn"], MODIFIED),
        (&["update-ref", "HEAD", "ORIG_HEAD"], committed),
        (&["pack-refs", "--all"], committed),
        (&["checkout", "-q", "--detach", "ORIG_HEAD~"], CLEAN),
    ];
    for (command, expected) in changes {
        for _ in 0..2 {
            state(&mut session);
            assert!(knows_head(&mut session), "{command:?}");
        }
        session.nested.as_ref().unwrap().watcher.read_events();
        assert_eq!(session.watch_positions().since(), 0);
        sandbox.git_in("sub", command);
        session.nested.as_ref().unwrap().watcher.read_events();
        assert!(session.watch_positions().since() > 0, "{command:?}");
        assert_eq!(state(&mut session), expected, "{command:?}");
    }
    // What git says of a second HEAD, it says each time.
    sandbox.git_in("sub", ["update-ref", "refs/heads/HEAD", "HEAD"]);
    assert_eq!(state(&mut session), CLEAN);
    assert!(!knows_head(&mut session));
}

#[test]
fn only_so_many_folders_of_a_submodule_are_watched() {
    let (sandbox, mut session) = watched_superproject();
    assert!(knows_head(&mut session));
    for folder in 0..SUBMODULE_FOLDERS_MAX {
        fs::create_dir(sandbox.path(format!("sub/.git/refs/heads/{folder}"))).unwrap();
    }
    assert_eq!(state(&mut session), CLEAN);
    assert!(!knows_head(&mut session));
    sandbox.git_in("sub", ["commit", "-qm", "second", "--allow-empty"]);
    assert!(state(&mut session).new_commits);
}

#[test]
fn a_submodule_is_opened_anew_if_it_is_another_or_set_up_otherwise() {
    let (sandbox, mut session) = watched_superproject();
    sandbox.write("sub/new", "");
    assert_ne!(state(&mut session), CLEAN);
    wait_for_tick();
    sandbox.git_in("sub", ["config", "status.showUntrackedFiles", "no"]);
    assert_eq!(state(&mut session), CLEAN);
    make_repository(&sandbox, "other");
    sandbox.write("other/a", "changed");
    fs::rename(sandbox.path("sub"), sandbox.path("../before")).unwrap();
    fs::rename(sandbox.path("other"), sandbox.path("sub")).unwrap();
    assert!(state(&mut session).modified);
    fs::remove_dir_all(sandbox.path("sub/.git")).unwrap();
    assert_eq!(state(&mut session), CLEAN);
    assert_eq!(looked_at_all(&mut session), None);
}

#[test]
fn submodules_are_looked_for_in_the_working_tree_that_is_configured_now() {
    let (sandbox, mut session) = watched_superproject();
    sandbox.write("sub/a", "changed");
    for _ in 0..2 {
        assert_eq!(state(&mut session), MODIFIED);
    }
    let other = sandbox.path("../other");
    fs::create_dir_all(other.join("sub")).unwrap();
    fs::write(other.join("own"), "own\n").unwrap();
    sandbox.git(["config", "core.worktree", other.to_str().unwrap()]);
    let watcher = session.nested.as_ref().unwrap().watcher.clone();
    let mut later = session_at(&sandbox.top(), true);
    later.watch_by(watcher);
    later.take_over_from(session);
    assert_eq!(state(&mut later), CLEAN);
}

#[test]
fn what_is_kept_of_a_submodule_is_audited() {
    let (sandbox, mut session) = watched_superproject();
    let sample = |session: &mut Session, first| {
        let audit = session.audit(Extent::From(first)).unwrap();
        (audit.files, audit.next, audit.differences.len())
    };
    // There are two entries around it.
    assert_eq!(sample(&mut session, 0), (2, 2, 0));
    assert_eq!(sample(&mut session, 2), (2, 0, 0));
    assert_eq!(sample(&mut session, 9), (2, 2, 0));
    let other_name = sandbox.path("../other-name");
    fs::hard_link(sandbox.path("sub/a"), &other_name).unwrap();
    assert_eq!(state(&mut session), CLEAN);
    fs::write(&other_name, "changed").unwrap();
    let all = session.audit(Extent::All).unwrap();
    let [difference] = &all.differences[..] else {
        panic!("{all:?}")
    };
    assert_eq!(difference.disagreement.path, "sub/a");
    assert_eq!(all.files, 4);
    assert_eq!(sample(&mut session, 2), (2, 0, 1));
}

#[test]
fn writes_through_links_between_working_trees_are_seen() {
    for (tracked, link) in [
        ("sub/a", "link"),
        ("own", "sub/link"),
        ("another/a", "sub/link"),
    ] {
        let (sandbox, mut session) = watched_superproject();
        make_repository(&sandbox, "another");
        sandbox.git(["add", "another"]);
        sandbox.commit("with another submodule");
        let mut changed = || {
            let request = StatusRequest::default();
            let status = session.status_again(BString::default(), &request).unwrap();
            status
                .changes
                .iter()
                .map(|(path, _)| path.clone())
                .collect::<Vec<_>>()
        };
        assert!(changed().is_empty());
        assert!(changed().is_empty());
        fs::hard_link(sandbox.path(tracked), sandbox.path(link)).unwrap();
        sandbox.write(link, "changed");
        let path = tracked.split('/').next().unwrap();
        assert!(changed().contains(&path.into()), "{tracked}");
    }
}

#[test]
fn only_so_many_submodules_are_watched() {
    let (sandbox, mut session) = watched_superproject();
    make_repository(&sandbox, "another");
    sandbox.git(["add", "another"]);
    sandbox.commit("with another submodule");
    session.nested.as_mut().unwrap().kept_max = 1;
    for text in ["a", "changed"] {
        sandbox.write("another/a", text);
        let is_changed = state(&mut session) == MODIFIED;
        assert_eq!(is_changed, text == "changed");
        assert_eq!(kept(&mut session), 1);
    }
    assert!(looked_at_all(&mut session).is_some());
}

#[test]
fn a_former_submodule_is_forgotten() {
    let (sandbox, mut session) = watched_superproject();
    assert!(looked_at_all(&mut session).is_some());
    sandbox.git(["rm", "-q", "--cached", "sub"]);
    let request = StatusRequest::default();
    let status = session.status_again(BString::default(), &request).unwrap();
    assert_eq!(status.untracked, ["sub/"]);
    assert_eq!(looked_at_all(&mut session), None);
}
