use std::path::PathBuf;

use bstr::{BString, ByteSlice};

use super::*;
use crate::environment::Environment;
use crate::git::convert::FilterStderr;
use crate::git::oracle::Oracle;
use crate::git::repository::discover;
use crate::stamp;
use crate::state_store::NoSteps;
use crate::status::{Change, StatusRequest, UntrackedMode};

fn repository() -> Oracle {
    let oracle = Oracle::new();
    for name in ["a/one", "a/two", "b/c/one", "b/d", "top"] {
        oracle.write(name, "recorded\n");
    }
    oracle.write(".gitignore", "*.o\n");
    oracle.write("b/.gitignore", "*.x\n");
    oracle.git(&["add", "."]);
    oracle.git(&["commit", "-qm", "all"]);
    tick();
    oracle
}

/// Waits until stamps of what was done so far are older than now.
fn tick() {
    let start = stamp::now();
    while stamp::now() <= start {
        std::thread::yield_now();
    }
}

fn session(oracle: &Oracle) -> Session {
    let variables = [
        ("GIT_CONFIG_NOSYSTEM".into(), "1".into()),
        ("HOME".into(), "/nowhere".into()),
    ];
    let environment = Environment::new(variables, oracle.top());
    let repository = discover(&environment, &oracle.top()).unwrap();
    Session::open(repository, false, FilterStderr::Discard).unwrap()
}

#[test]
fn a_state_that_cannot_be_in_the_repository_is_in_the_cache() {
    let oracle = repository();
    std::fs::write(oracle.top().join(".git/vigil"), "in the way").unwrap();
    let home = tempfile::tempdir().unwrap();
    let answer = || {
        let home = home.path().to_str().unwrap();
        let variables = [("GIT_CONFIG_NOSYSTEM", "1"), ("HOME", home)];
        let variables = variables.map(|(name, value)| (name.into(), value.into()));
        let environment = Environment::new(variables, oracle.top());
        let repository = discover(&environment, &oracle.top()).unwrap();
        let mut session = Session::open(repository, false, FilterStderr::Discard).unwrap();
        session.status(&StatusRequest::default()).unwrap();
        session.save(&NoSteps).unwrap()
    };
    assert!(matches!(answer(), Published::Rewritten { .. }));
    tick();
    answer();
    tick();
    assert_eq!(answer(), Published::Unchanged);
    assert!(home.path().join(".cache/vigil").is_dir());
}

#[test]
fn what_becomes_a_repository_without_a_new_name_is_noticed() {
    let oracle = repository();
    oracle.write("b/nested/.git/objects/x", "");
    oracle.write("b/nested/deep/.git/objects/x", "");
    settle_as_far_as_it_goes(&oracle);
    oracle.git(&["init", "-q", "b/nested"]);
    right_answer(&oracle);
    oracle.git(&["init", "-q", "b/nested/deep"]);
    right_answer(&oracle);
}

#[test]
fn a_state_is_not_where_the_status_would_show_it() {
    let oracle = repository();
    let git_dir = oracle.top().join(".git");
    let home = tempfile::tempdir().unwrap();
    for home in [home.path(), git_dir.as_path()] {
        let variables = [
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_DIR", git_dir.to_str().unwrap()),
            ("HOME", home.to_str().unwrap()),
        ];
        let variables = variables.map(|(name, value)| (name.into(), value.into()));
        // The working tree is the git directory itself.
        let environment = Environment::new(variables, &git_dir);
        let repository = discover(&environment, &git_dir).unwrap();
        assert_eq!(repository.work_tree.as_deref(), Some(git_dir.as_path()));
        let mut session = Session::open(repository, false, FilterStderr::Discard).unwrap();
        session.status(&StatusRequest::default()).unwrap();
        session.save(&NoSteps).unwrap();
        assert!(!git_dir.join("vigil").exists() && !git_dir.join(".cache").exists());
    }
    assert!(home.path().join(".cache/vigil").is_dir());
}

/// What a new session says, as `git status --porcelain` would, and what of it it saves.
fn answer(oracle: &Oracle) -> (Vec<String>, Published, Session) {
    let mut session = session(oracle);
    let status = session.status(&StatusRequest::default()).unwrap();
    let letter = |kind: Option<crate::status::ChangeKind>| {
        kind.map_or(' ', |kind| char::from(kind.letter()))
    };
    let changes = status.changes.iter().map(|(path, change)| match change {
        Change::Tracked(change) => {
            format!(
                "{}{} {path}",
                letter(change.staged),
                letter(change.unstaged)
            )
        }
        Change::Unmerged(_) => format!("UU {path}"),
    });
    let untracked = status.untracked.iter().map(|path| format!("?? {path}"));
    let lines = changes.chain(untracked).collect();
    let published = session.save(&NoSteps).unwrap();
    (lines, published, session)
}

/// The same, compared with git.
#[track_caller]
fn right_answer(oracle: &Oracle) -> (Published, Session) {
    let (lines, published, session) = answer(oracle);
    let expected = oracle.git(&[
        "--no-optional-locks",
        "status",
        "--porcelain",
        "--no-renames",
    ]);
    let expected = String::from_utf8(expected).unwrap();
    assert_eq!(lines, expected.lines().collect::<Vec<_>>());
    (published, session)
}

/// Asks often enough that all that may be remembered is.
#[track_caller]
fn settle_as_far_as_it_goes(oracle: &Oracle) {
    for _ in 0..3 {
        tick();
        right_answer(oracle);
    }
}

/// Asks until there is nothing new to save.
#[track_caller]
fn settle(oracle: &Oracle) -> Session {
    for _ in 0..3 {
        tick();
        let (published, session) = right_answer(oracle);
        if published == Published::Unchanged {
            return session;
        }
    }
    panic!("it never settles");
}

fn data_file(oracle: &Oracle) -> PathBuf {
    let folder = oracle.top().join(".git/vigil");
    let files = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut data = files.filter(|path| path.file_name().unwrap().len() > 10);
    data.next().unwrap()
}

#[test]
fn an_index_that_is_recorded_is_not_read_and_nothing_is_written_again() {
    let oracle = repository();
    let (published, _) = right_answer(&oracle);
    assert!(matches!(published, Published::Rewritten { .. }));
    let session = settle(&oracle);
    let state = session.index.as_ref().unwrap();
    assert!(state.whole.get().is_none());
    assert!(!state.memory.as_ref().unwrap().has_moved());
}

#[test]
fn one_edit_costs_little_and_is_remembered() {
    let oracle = repository();
    settle(&oracle);
    oracle.write("a/one", "changed!\n");
    let (published, _) = right_answer(&oracle);
    let session = settle(&oracle);
    assert!(session.index.as_ref().unwrap().whole.get().is_none());
    if let Published::Appended { bytes } = published {
        assert!(bytes < 65_536, "{bytes}");
    }
}

#[test]
fn a_new_index_changes_what_it_changes() {
    let oracle = repository();
    settle(&oracle);
    oracle.write("b/new", "new\n");
    right_answer(&oracle);
    oracle.git(&["add", "b/new"]);
    // The directory's own stamp does not say that one of its files is tracked now.
    let (_, session) = right_answer(&oracle);
    let memory = session.index.as_ref().unwrap().memory.as_ref().unwrap();
    let tracked = &session.index.as_ref().unwrap().tracked;
    let unmoved = tracked.find_directory("a".into()).unwrap();
    assert!(memory.has_listing(unmoved));
    oracle.git(&["commit", "-qm", "more"]);
    right_answer(&oracle);
    oracle.git(&["rm", "-q", "--cached", "a/two", "b/c/one"]);
    right_answer(&oracle);
    settle(&oracle);
    oracle.git(&["mv", "b", "e"]);
    right_answer(&oracle);
    settle(&oracle);
}

#[test]
fn what_head_is_compared_with_is_the_index_that_is() {
    let oracle = repository();
    oracle.write("a/one", "staged\n");
    oracle.git(&["add", "a"]);
    settle(&oracle);
    oracle.git(&["reset", "-q", "--soft", "HEAD"]);
    right_answer(&oracle);
    oracle.git(&["commit", "-q", "--allow-empty", "-m", "all of it"]);
    right_answer(&oracle);
    oracle.git(&["reset", "-q", "--soft", "HEAD~1"]);
    right_answer(&oracle);
    settle(&oracle);
}

#[test]
fn changed_ignore_rules_are_noticed_below() {
    let oracle = repository();
    oracle.write("b/c/file.x", "");
    oracle.write("b/c/file.o", "");
    oracle.write("b/c/file.y", "");
    settle(&oracle);
    oracle.write("b/.gitignore", "*.y\n");
    right_answer(&oracle);
    settle(&oracle);
    oracle.write(".git/info/exclude", "*.x\n");
    right_answer(&oracle);
    settle(&oracle);
    // A directory that is listed anew where the rules above were never read by this process.
    oracle.write("b/c/other.y", "");
    oracle.write("b/c/other.z", "");
    right_answer(&oracle);
}

#[test]
fn damage_anywhere_changes_no_answer() {
    let oracle = repository();
    oracle.write("b/untracked", "");
    oracle.write("a/two", "changed!\n");
    settle(&oracle);
    let path = data_file(&oracle);
    let whole = std::fs::read(&path).unwrap();
    let docket = std::fs::read(oracle.top().join(".git/vigil/state")).unwrap();
    for at in (0..whole.len()).step_by(7) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        std::fs::write(&path, &damaged).unwrap();
        std::fs::write(oracle.top().join(".git/vigil/state"), &docket).unwrap();
        let (lines, ..) = answer(&oracle);
        assert_eq!(lines, [" M a/two", "?? b/untracked"], "at {at}");
        assert!(data_file(&oracle).exists());
        let new = data_file(&oracle);
        if new != path {
            std::fs::remove_file(new).unwrap();
        }
    }
}

#[test]
fn a_clock_that_was_set_back_takes_the_proof_away() {
    let oracle = repository();
    let mut session = settle(&oracle);
    // As if the session had begun ten seconds later by the clock than it did.
    session.mark.wall.s += 10;
    session.look_at_the_clock();
    assert!(session.index.is_none());
    session.status(&StatusRequest::default()).unwrap();
    let state = session.index.as_ref().unwrap();
    assert!(state.whole.get().is_some());
    assert!(matches!(
        session.save(&NoSteps).unwrap(),
        Published::Rewritten { .. }
    ));
    settle(&oracle);
}

#[test]
fn two_who_learn_the_same_do_not_mix() {
    let oracle = repository();
    settle(&oracle);
    let (mut one, mut two) = (session(&oracle), session(&oracle));
    oracle.write("n/new", "");
    oracle.write("m", "");
    oracle.git(&["add", "n"]);
    for session in [&mut one, &mut two] {
        session.status(&StatusRequest::default()).unwrap();
    }
    assert!(matches!(
        one.save(&NoSteps).unwrap(),
        Published::Appended { .. }
    ));
    oracle.git(&["rm", "-q", "--cached", "a/one"]);
    assert_eq!(two.save(&NoSteps).unwrap(), Published::Superseded);
    two.status(&StatusRequest::default()).unwrap();
    two.save(&NoSteps).unwrap();
    right_answer(&oracle);
    two.status(&StatusRequest::default()).unwrap();
    two.save(&NoSteps).unwrap();
    settle(&oracle);
}

#[test]
fn without_regard_to_case_other_names_matter_everywhere() {
    let oracle = repository();
    oracle.git(&["config", "core.ignoreCase", "true"]);
    oracle.write("TOP2", "");
    settle(&oracle);
    oracle.git(&[
        "update-index",
        "--add",
        "--cacheinfo",
        "100644",
        "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
        "top2",
    ]);
    right_answer(&oracle);
    settle(&oracle);
}

#[test]
fn nothing_is_untracked_in_what_is_a_submodule_but_for_case() {
    let oracle = repository();
    oracle.git(&["config", "core.ignoreCase", "true"]);
    oracle.write("module/sub/file", "");
    // With other names in the index, what is remembered does not count, and the search goes without.
    settle(&oracle);
    let gitlink = format!("160000,{},MODULE", "1".repeat(40));
    oracle.git(&["update-index", "--add", "--cacheinfo", &gitlink]);
    let request = StatusRequest {
        untracked: UntrackedMode::All,
        ..StatusRequest::default()
    };
    let status = session(&oracle).status(&request).unwrap();
    assert_eq!(status.untracked, Vec::<BString>::new());
    let by_git = oracle.git(&["status", "--porcelain", "-uall"]);
    assert!(!by_git.contains_str("??"));
}

#[test]
fn a_sparse_index_is_recorded_as_it_was_written() {
    let oracle = repository();
    oracle.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "a"]);
    oracle.write("a/new", "");
    let mut long_lived = settle(&oracle);
    let state = long_lived.index.as_ref().unwrap();
    assert!(state.whole.get().is_none() && state.memory.is_some());
    assert_eq!(state.tracked.sums().sparse_directories, 1);
    let mut untracked = |expected: &[&str]| {
        let status = long_lived.status(&StatusRequest::default()).unwrap();
        assert_eq!(status.untracked, expected);
        assert!(status.changes.is_empty());
    };
    untracked(&["a/new"]);

    // In the way, the directory is expanded; and no longer once it is gone.
    oracle.write("b/d", "recorded\n");
    oracle.write("b/other", "");
    let (published, session) = right_answer(&oracle);
    assert_eq!(published, Published::Unchanged);
    assert!(!session.index.as_ref().unwrap().is_as_written());
    let status = long_lived.status(&StatusRequest::default()).unwrap();
    assert_eq!(status.untracked, ["a/new", "b/other"]);
    std::fs::remove_dir_all(oracle.top().join("b")).unwrap();
    let session = settle(&oracle);
    assert!(session.index.as_ref().unwrap().whole.get().is_none());
    let status = long_lived.status(&StatusRequest::default()).unwrap();
    assert_eq!(status.untracked, ["a/new"]);
    assert!(long_lived.index.as_ref().unwrap().is_as_written());

    for arguments in [
        ["add", "b/c"].as_slice(),
        &["set", "b/c"],
        &["set", "a"],
        &["disable"],
    ] {
        oracle.git(&[&["sparse-checkout"], arguments].concat());
        right_answer(&oracle);
        settle(&oracle);
    }
}
