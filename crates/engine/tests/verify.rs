//! A wrong state is found to be wrong even if all its checksums are right.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "all of this file is tests"
)]

use std::borrow::Cow;

use vigil_engine::session::verify::{Problem, Verdict, Verification, verify};
use vigil_engine::session::{Session, SessionError};
use vigil_engine::status::StatusRequest;
use vigil_git::child::FilterStderr;
use vigil_git::environment::Environment;
use vigil_git::repository::discover;
use vigil_git::state_place::places;
use vigil_store::{Changes, NoSteps, PublishOutcome, StateTable};

struct Sandbox(vigil_testkit::sandbox::Sandbox);

impl Sandbox {
    /// A repository with a tracked file `a` and an untracked one, both in the state.
    fn new() -> Self {
        let sandbox = Self(vigil_testkit::sandbox::Sandbox::new());
        sandbox.0.write("a", "text\n");
        sandbox.0.git(["add", "a"]);
        sandbox.0.write("untracked", "");
        sandbox.0.settle();
        let mut session = sandbox.session().unwrap();
        session.status(&StatusRequest::default()).unwrap();
        let published = session.save(&NoSteps).unwrap();
        assert!(matches!(published, PublishOutcome::Rewritten { .. }));
        sandbox
    }

    fn session(&self) -> Result<Session, SessionError> {
        let top = &self.0.top();
        let repository = discover(&Environment::new(self.0.environment(), top), top)?;
        Session::open(repository, false, FilterStderr::Discard)
    }

    /// Rewrites the first block of `table` with `wrong` in place of the last occurrence of `right`: the stamps before it
    /// may have any bytes.
    fn replace(&self, table: StateTable, right: &[u8], wrong: &[u8]) {
        let session = self.session().unwrap();
        let store = &places(session.repository())[0];
        let base = store.open().unwrap();
        let mut block = base.block(table, 0).unwrap().unwrap().to_vec();
        let mut windows = block.windows(right.len());
        let at = windows.rposition(|window| window == right).unwrap();
        block[at..at + right.len()].copy_from_slice(wrong);
        let mut changes = Changes::new();
        changes.set(table, 0, Cow::Owned(block));
        let published = store.publish(Some(&base), changes, *base.clock(), &NoSteps);
        assert!(matches!(
            published,
            Ok((PublishOutcome::Appended { .. }, Some(_)))
        ));
    }

    fn verify(&self) -> Verification {
        verify(|| self.session()).unwrap()
    }
}

#[test]
fn a_state_as_it_was_written_is_right() {
    let found = Sandbox::new().verify();
    assert_eq!(found.problems, []);
    assert_eq!(found.entries, Some(1));
    assert_eq!(found.questions.len(), 3);
    assert!(found.is_present && found.blocks > 3);
}

#[test]
fn an_entry_that_is_not_in_the_index_is_found() {
    let sandbox = Sandbox::new();
    sandbox.replace(StateTable::Tracked, b"a\0", b"b\0");
    let found = sandbox.verify();
    let entry = |path: &str, is_in_index| Problem::Entry {
        path: path.into(),
        stage: 0,
        is_in_index,
        is_in_tree: !is_in_index,
    };
    assert_eq!(found.problems[..2], [entry("a", true), entry("b", false)]);
    let answers = found.problems.iter().skip(2);
    assert!(answers.clone().count() > 0);
    for problem in answers {
        assert!(matches!(problem, Problem::Answer { .. }), "{problem:?}");
    }
}

#[test]
fn facts_that_differ_from_the_index_are_found() {
    let sandbox = Sandbox::new();
    let size = |size: u32| [size.to_le_bytes(), 0o100_644_u32.to_le_bytes()].concat();
    sandbox.replace(StateTable::Tracked, &size(5), &size(6));
    let found = sandbox.verify();
    let both = Problem::Entry {
        path: "a".into(),
        stage: 0,
        is_in_index: true,
        is_in_tree: true,
    };
    assert_eq!(found.problems[0], both);
    assert_eq!(found.problems.len(), 4, "{:?}", found.problems);
}

#[test]
fn an_untracked_file_that_does_not_exist_is_found() {
    let sandbox = Sandbox::new();
    sandbox.replace(StateTable::Seen, b"untracked\0", b"untrucked\0");
    let found = sandbox.verify();
    // For the other questions, nothing was recorded.
    let [
        Problem::Answer {
            path: a,
            with: Verdict::Unchanged,
            without: Verdict::Untracked,
            ..
        },
        Problem::Answer {
            path: b,
            with: Verdict::Untracked,
            without: Verdict::Unchanged,
            ..
        },
    ] = &found.problems[..]
    else {
        unreachable!("{:?}", found.problems)
    };
    assert_eq!(
        (a.to_string(), b.to_string()),
        ("untracked".into(), "untrucked".into())
    );
}

#[test]
fn a_block_that_makes_no_sense_is_found() {
    let sandbox = Sandbox::new();
    // One byte more of names of untracked paths than there are.
    let len = |len: u32| [len.to_le_bytes(), 0_u32.to_le_bytes()].concat();
    sandbox.replace(StateTable::Seen, &len(10), &len(11));
    let found = sandbox.verify();
    let [Problem::Damaged(text)] = &found.problems[..] else {
        unreachable!("{:?}", found.problems)
    };
    assert!(
        text.ends_with("block 0 of the table Seen makes no sense"),
        "{text}"
    );
    assert_eq!(found.entries, None);
}
