mod crafted;

use std::path::PathBuf;

use bstr::{BString, ByteSlice};
use gix_hash::ObjectId;

use super::*;
use crate::session::head_changes::HeadComparison;
use crate::status::{Change, SparseState, StatusRequest};
use vigil_git::convert::FilterStderr;
use vigil_git::environment::Environment;
use vigil_git::repository::discover;
use vigil_model::request::UntrackedMode;
use vigil_rules::pathspec::Pathspec;
use vigil_store::NoSteps;
use vigil_testkit::clock::tick;
use vigil_testkit::oracle::Oracle;

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
fn a_home_that_is_not_there_is_not_made() {
    let oracle = repository();
    std::fs::write(oracle.top().join(".git/vigil"), "in the way").unwrap();
    let folder = tempfile::tempdir().unwrap();
    for name in ["HOME", "XDG_CACHE_HOME"] {
        let home = folder.path().join("none/home");
        let variables = [("GIT_CONFIG_NOSYSTEM", "1"), (name, home.to_str().unwrap())];
        let variables = variables.map(|(name, value)| (name.into(), value.into()));
        let environment = Environment::new(variables, oracle.top());
        let repository = discover(&environment, &oracle.top()).unwrap();
        let mut session = Session::open(repository, false, FilterStderr::Discard).unwrap();
        session.status(&StatusRequest::default()).unwrap();
        assert!(session.save(&NoSteps).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
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
    let letter = |kind: Option<vigil_model::change::ChangeKind>| {
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

#[test]
fn a_sparse_directory_is_looked_for_once() {
    let oracle = repository();
    oracle.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "a"]);
    let mut settled = settle(&oracle);
    let lacks = |session: &Session| session.index.as_ref().unwrap().lacks_sparse_directories();
    assert!(lacks(&settled));
    settled.refresh_index().unwrap();
    // It comes after that look: a second one would find what is in it.
    oracle.write("b/other", "");
    let scan = |session: &mut Session| {
        let request = StatusRequest::default();
        let found = session.scan(&request, &Pathspec::default());
        found.unwrap().untracked
    };
    assert_eq!(scan(&mut settled), Vec::<BString>::new());
    settled.refresh_index().unwrap();
    assert_eq!(scan(&mut settled), ["b/other"]);
    let (_, session) = right_answer(&oracle);
    assert!(!session.index.as_ref().unwrap().is_as_written());

    // Whatever has its name.
    let path = oracle.top().join("b");
    std::fs::remove_dir_all(&path).unwrap();
    for (target, is_known) in [(None, true), (Some("nowhere"), true), (Some("b"), false)] {
        match target {
            None => std::fs::write(&path, "").unwrap(),
            Some(target) => std::os::unix::fs::symlink(target, &path).unwrap(),
        }
        for _ in 0..3 {
            let (_, session) = right_answer(&oracle);
            assert_eq!(lacks(&session), is_known, "{target:?}");
        }
        std::fs::remove_file(&path).unwrap();
    }
    assert!(lacks(&settle(&oracle)));
}

#[test]
fn the_rules_of_a_sparse_checkout_are_those_of_now() {
    let oracle = repository();
    oracle.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "a"]);
    settle(&oracle);
    let rules = ".git/info/sparse-checkout";
    let cone = std::fs::read_to_string(oracle.top().join(rules)).unwrap();
    let not_cone = "warning: unrecognized pattern: '*.x'";
    let expected = [
        (cone.clone(), SparseState::SparseIndex, None),
        (
            format!("{cone}*.x\n"),
            SparseState::Percent(58),
            Some(not_cone),
        ),
        (cone.clone(), SparseState::SparseIndex, None),
    ];
    let request = StatusRequest {
        long: true,
        ..StatusRequest::default()
    };
    for (text, state, warning) in expected {
        oracle.write(rules, &text);
        let status = session(&oracle).status(&request).unwrap();
        assert_eq!(status.long.unwrap().sparse, Some(state));
        let said = |line: &&BString| line.starts_with(b"warning: unrecognized");
        let said: Vec<_> = status.warnings.iter().filter(said).collect();
        assert_eq!(said, Vec::from_iter(warning));
        let by_git = oracle.output("", &["--no-optional-locks", "status"], b"");
        let tells = |text: &str| by_git.stdout.contains_str(text);
        assert_eq!(
            tells("You are in a sparse checkout with 58%"),
            warning.is_some()
        );
        assert_eq!(tells("You are in a sparse checkout.\n"), warning.is_none());
        let lines = by_git
            .stderr
            .lines()
            .filter(|line| line.starts_with(b"warning: unr"));
        assert_eq!(
            lines.collect::<Vec<_>>(),
            Vec::from_iter(warning.map(str::as_bytes))
        );
    }
}

#[test]
fn what_changes_just_after_the_session_began_is_no_evidence() {
    let oracle = repository();
    settle(&oracle);
    let packs = oracle.top().join(".git/objects/pack");
    // Within a tick, since files are stamped by a clock that lags behind.
    for _ in 0..8 {
        tick();
        let mut session = session(&oracle);
        std::fs::write(packs.join("x.keep"), "").unwrap();
        std::fs::remove_file(packs.join("x.keep")).unwrap();
        session.status(&StatusRequest::default()).unwrap();
        assert!(session.index.as_ref().unwrap().head_tree.is_none());
    }
}

fn known_head_tree(session: &Session, id: &ObjectId) -> Option<HeadTree> {
    let comparison = HeadComparison {
        repository: &session.repository,
        settings: &session.settings,
        objects: &session.objects,
        attributes: &session.attributes,
        state: session.state.as_ref().filter(|_| !session.is_kept),
        looks_since: session.looks_since,
    };
    comparison.known_tree(id)
}

#[test]
fn heads_commit_is_not_read_while_its_files_stand() {
    let oracle = repository();
    let name = oracle.git(&["rev-parse", "HEAD"]);
    let id = ObjectId::from_hex(name.trim_ascii_end()).unwrap();
    let (fan, rest) = std::str::from_utf8(name.trim_ascii_end())
        .unwrap()
        .split_at(2);
    let objects = oracle.top().join(".git/objects");
    let loose = objects.join(fan).join(rest);
    let is_known = |session: &Session| known_head_tree(session, &id).is_some();
    let settled = || {
        settle(&oracle);
        is_known(&session(&oracle))
    };
    assert!(settled());

    // What is gone is missed, and what is damaged, whatever its mtime.
    let contents = std::fs::read(&loose).unwrap();
    let mtime = std::fs::metadata(&loose).unwrap().modified().unwrap();
    let is_refused = || session(&oracle).status(&StatusRequest::default()).is_err();
    std::fs::remove_file(&loose).unwrap();
    assert!(is_refused());
    std::fs::write(&loose, &contents).unwrap();
    let file = std::fs::File::options().write(true).open(&loose).unwrap();
    file.set_modified(mtime).unwrap();
    assert!(!is_known(&session(&oracle)));
    assert!(settled());
    tick();
    std::fs::write(&loose, vec![b'x'; contents.len()]).unwrap();
    file.set_modified(mtime).unwrap();
    assert!(is_refused());
    std::fs::write(&loose, &contents).unwrap();
    assert!(settled());

    // Packs are looked into before.
    oracle.git(&["repack", "-adq"]);
    assert!(!is_known(&session(&oracle)));
    assert!(settled());
    let pack = std::fs::read_dir(objects.join("pack")).unwrap();
    let mut pack = pack.map(|entry| entry.unwrap().path());
    let pack = pack.find(|path| path.extension().is_some_and(|of| of == "pack"));
    let pack = pack.unwrap();
    let contents = std::fs::read(&pack).unwrap();
    std::fs::remove_file(&pack).unwrap();
    assert!(is_refused());
    std::fs::write(&pack, vec![b'x'; contents.len()]).unwrap();
    assert!(is_refused());
    std::fs::write(&pack, &contents).unwrap();
    assert!(settled());

    // Another commit, or another tree in its place.
    oracle.git(&["commit", "-q", "--allow-empty", "-m", "next"]);
    let next = oracle.git(&["rev-parse", "HEAD"]);
    settle(&oracle);
    assert!(!is_known(&session(&oracle)));
    oracle.git(&["reset", "-q", "--soft", "HEAD^"]);
    assert!(settled());
    let next = std::str::from_utf8(next.trim_ascii_end()).unwrap();
    oracle.git(&["replace", &id.to_string(), next]);
    settle_as_far_as_it_goes(&oracle);
    assert!(!is_known(&session(&oracle)));
    oracle.git(&["replace", "-d", &id.to_string()]);
    assert!(settled());

    // What else may have the objects makes it too much to look at.
    oracle.git(&["multi-pack-index", "write"]);
    assert!(!is_known(&session(&oracle)));
    assert!(!settled());
    std::fs::remove_file(objects.join("pack/multi-pack-index")).unwrap();
    assert!(settled());
    std::fs::write(objects.join("info/alternates"), "").unwrap();
    assert!(!is_known(&session(&oracle)));
    assert!(!settled());
}

#[test]
fn a_tag_that_head_names_is_read_each_time() {
    let oracle = repository();
    oracle.git(&["tag", "-am", "tag", "tag"]);
    let name = oracle.git(&["rev-parse", "tag"]);
    std::fs::write(oracle.top().join(".git/HEAD"), &name).unwrap();
    settle_as_far_as_it_goes(&oracle);
    let id = ObjectId::from_hex(name.trim_ascii_end()).unwrap();
    assert_eq!(known_head_tree(&session(&oracle), &id), None);
}
