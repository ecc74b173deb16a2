use bstr::BString;
use vigil_model::request::RenameRule;
use vigil_testkit::clock::wait_for_tick;
use vigil_testkit::sandbox::Sandbox;

use super::Found;
use crate::session::Session;
use crate::status::{Change, StatusRequest};
use crate::testing::session_at;

const RULE: RenameRule = RenameRule {
    copies: false,
    min_score: RenameRule::MIN_SCORE,
    limit: 1000,
};

/// A repository in which `from` was renamed to `to` and changed, and a session that is kept.
fn renamed() -> (Sandbox, Session) {
    let sandbox = Sandbox::new();
    let lines: String = (0..100).map(|line| format!("line {line}\n")).collect();
    sandbox.write("from", &lines);
    sandbox.write(".gitattributes", "");
    sandbox.git(["add", "-A"]);
    sandbox.commit("first");
    sandbox.git(["mv", "from", "to"]);
    sandbox.write("to", format!("{lines}another\n"));
    sandbox.git(["add", "-A"]);
    let session = session_at(&sandbox.top(), true);
    (sandbox, session)
}

/// The paths that changed, and their sources.
fn changes(session: &mut Session, rule: RenameRule) -> Vec<(BString, Option<BString>)> {
    let request = StatusRequest {
        renames: Some(rule),
        ..StatusRequest::default()
    };
    let status = session.status_again(BString::default(), &request).unwrap();
    let changes = status
        .changes
        .into_iter()
        .map(|(path, change)| match change {
            Change::Tracked(change) => (path, change.staged_source.map(|source| source.path)),
            Change::Unmerged(_) => (path, None),
        });
    changes
        .filter(|(path, _)| path != ".gitattributes")
        .collect()
}

fn pair(from: &str, to: &str) -> Vec<(BString, Option<BString>)> {
    vec![(to.into(), Some(from.into()))]
}

/// Calls `change` with what is kept.
fn with_kept<R>(session: &Session, change: impl FnOnce(&mut Found) -> R) -> Option<R> {
    let staged = session.index.as_ref()?.staged.as_ref()?;
    staged.renames.0.lock().as_mut().map(change)
}

/// Makes what is kept a wrong answer, so that it shows whether it is given again.
fn falsify(session: &mut Session) {
    // An index that was just written is read again.
    wait_for_tick();
    assert_eq!(changes(session, RULE), pair("from", "to"));
    let source = |found: &mut Found| found.renamed.pop();
    assert!(with_kept(session, source).is_some());
    assert_eq!(changes(session, RULE), []);
}

#[test]
fn a_search_is_only_made_again_if_something_that_decides_it_changed() {
    let (sandbox, mut session) = renamed();
    falsify(&mut session);
    let strict = RenameRule {
        min_score: 60_000,
        ..RULE
    };
    assert_eq!(changes(&mut session, strict).len(), 2);

    let limited = RenameRule { limit: 7, ..RULE };
    assert_eq!(changes(&mut session, limited), pair("from", "to"));
    falsify(&mut session);
    // Binary files are compared in other pieces.
    sandbox.write(".gitattributes", "to -diff\n");
    assert_eq!(changes(&mut session, RULE), pair("from", "to"));

    falsify(&mut session);
    sandbox.write("to", "something else\n");
    assert_eq!(changes(&mut session, RULE), [("to".into(), None)]);
    sandbox.git(["add", "to"]);
    assert_eq!(changes(&mut session, RULE).len(), 2);
}

#[test]
fn replaced_contents_are_compared_again() {
    let (sandbox, mut session) = renamed();
    falsify(&mut session);
    sandbox.write("../other", "something else\n");
    let other = sandbox.git(["hash-object", "-w", "../other"]);
    let to = sandbox.git(["rev-parse", ":to"]);
    sandbox.git(["replace", to.trim(), other.trim()]);
    assert_eq!(changes(&mut session, RULE).len(), 2);
    sandbox.git(["replace", "-d", to.trim()]);
    assert_eq!(changes(&mut session, RULE), pair("from", "to"));
}

#[test]
fn nothing_is_kept_of_a_search_that_read_a_file_for_its_object() {
    let (sandbox, mut session) = renamed();
    let to = sandbox.git(["rev-parse", ":to"]);
    let (fan, rest) = to.trim().split_at(2);
    std::fs::remove_file(sandbox.path(format!(".git/objects/{fan}/{rest}"))).unwrap();
    assert_eq!(changes(&mut session, RULE), pair("from", "to"));
    assert!(with_kept(&session, |_| ()).is_none());
}
