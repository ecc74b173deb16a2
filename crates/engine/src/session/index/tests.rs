mod crafted;

use bstr::{BString, ByteSlice};
use gix_hash::ObjectId;

use super::*;
use crate::session::head_changes::HeadComparison;
use crate::status::{Change, SparseState, StatusRequest};
use crate::testing::session_at;
use vigil_git::child::FilterStderr;
use vigil_git::environment::Environment;
use vigil_git::repository::discover;
use vigil_model::request::UntrackedMode;
use vigil_rules::pathspec::Pathspec;
use vigil_store::{NoSteps, PublishOutcome};
use vigil_testkit::clock::wait_for_tick;
use vigil_testkit::sandbox::Sandbox;
use vigil_watch::Watcher;

fn repository() -> Sandbox {
    let sandbox = Sandbox::new();
    for name in ["a/one", "a/two", "b/c/one", "b/d", "top"] {
        sandbox.write(name, "recorded\n");
    }
    sandbox.write(".gitignore", "*.o\n");
    sandbox.write("b/.gitignore", "*.x\n");
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-qm", "all"]);
    wait_for_tick();
    sandbox
}

fn session(sandbox: &Sandbox) -> Session {
    session_at(&sandbox.top(), false)
}

#[test]
fn a_state_that_cannot_be_in_the_repository_is_in_the_cache() {
    let sandbox = repository();
    std::fs::write(sandbox.top().join(".git/vigil"), "in the way").unwrap();
    let home = tempfile::tempdir().unwrap();
    let open_and_save = || {
        let home = home.path().to_str().unwrap();
        let variables = [("GIT_CONFIG_NOSYSTEM", "1"), ("HOME", home)];
        let variables = variables.map(|(name, value)| (name.into(), value.into()));
        let environment = Environment::new(variables, sandbox.top());
        let repository = discover(&environment, &sandbox.top()).unwrap();
        let mut session = Session::open(repository, false, FilterStderr::Discard).unwrap();
        session.status(&StatusRequest::default()).unwrap();
        session.save(&NoSteps).unwrap()
    };
    assert!(matches!(open_and_save(), PublishOutcome::Rewritten { .. }));
    wait_for_tick();
    open_and_save();
    wait_for_tick();
    assert_eq!(open_and_save(), PublishOutcome::Unchanged);
    assert!(home.path().join(".cache/vigil").is_dir());
}

#[test]
fn a_missing_home_is_not_created() {
    let sandbox = repository();
    std::fs::write(sandbox.top().join(".git/vigil"), "in the way").unwrap();
    let folder = tempfile::tempdir().unwrap();
    for name in ["HOME", "XDG_CACHE_HOME"] {
        let home = folder.path().join("none/home");
        let variables = [("GIT_CONFIG_NOSYSTEM", "1"), (name, home.to_str().unwrap())];
        let variables = variables.map(|(name, value)| (name.into(), value.into()));
        let environment = Environment::new(variables, sandbox.top());
        let repository = discover(&environment, &sandbox.top()).unwrap();
        let mut session = Session::open(repository, false, FilterStderr::Discard).unwrap();
        session.status(&StatusRequest::default()).unwrap();
        assert!(session.save(&NoSteps).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[test]
fn a_folder_that_becomes_a_repository_is_noticed() {
    let sandbox = repository();
    sandbox.write("b/nested/.git/objects/x", "");
    sandbox.write("b/nested/deep/.git/objects/x", "");
    ask_three_times(&sandbox);
    sandbox.git(["init", "-q", "b/nested"]);
    checked_answer(&sandbox);
    sandbox.git(["init", "-q", "b/nested/deep"]);
    checked_answer(&sandbox);
}

#[test]
fn a_state_is_not_where_the_status_would_show_it() {
    let sandbox = repository();
    let git_dir = sandbox.top().join(".git");
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

/// Returns a new session's answer, in the format of `git status --porcelain`, and the outcome of
/// saving.
fn saved_answer(sandbox: &Sandbox) -> (Vec<String>, PublishOutcome, Session) {
    let mut session = session(sandbox);
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

/// Same as [`saved_answer`], after comparing the answer with git's.
#[track_caller]
fn checked_answer(sandbox: &Sandbox) -> (PublishOutcome, Session) {
    let (lines, published, session) = saved_answer(sandbox);
    let expected = sandbox.git([
        "--no-optional-locks",
        "status",
        "--porcelain",
        "--no-renames",
    ]);
    assert_eq!(lines, expected.lines().collect::<Vec<_>>());
    (published, session)
}

/// Asks often enough that everything that may be remembered is.
#[track_caller]
fn ask_three_times(sandbox: &Sandbox) {
    for _ in 0..3 {
        wait_for_tick();
        checked_answer(sandbox);
    }
}

/// Asks until there is nothing new to save.
#[track_caller]
fn ask_until_saved(sandbox: &Sandbox) -> Session {
    for _ in 0..3 {
        wait_for_tick();
        let (published, session) = checked_answer(sandbox);
        if published == PublishOutcome::Unchanged {
            return session;
        }
    }
    panic!("there is always something new to save");
}

#[test]
fn an_index_that_is_recorded_is_not_read_and_nothing_is_written_again() {
    let sandbox = repository();
    let (published, _) = checked_answer(&sandbox);
    assert!(matches!(published, PublishOutcome::Rewritten { .. }));
    let session = ask_until_saved(&sandbox);
    let state = session.index.as_ref().unwrap();
    assert!(state.whole.get().is_none());
    assert!(!state.memory.as_ref().unwrap().is_dirty());
}

#[test]
fn one_edit_costs_little_and_is_remembered() {
    let sandbox = repository();
    ask_until_saved(&sandbox);
    sandbox.write("a/one", "changed!\n");
    let (published, _) = checked_answer(&sandbox);
    let session = ask_until_saved(&sandbox);
    assert!(session.index.as_ref().unwrap().whole.get().is_none());
    if let PublishOutcome::Appended { bytes } = published {
        assert!(bytes < 65_536, "{bytes}");
    }
}

#[test]
fn a_new_index_keeps_what_is_known_of_unchanged_folders() {
    let sandbox = repository();
    ask_until_saved(&sandbox);
    sandbox.write("b/new", "new\n");
    checked_answer(&sandbox);
    sandbox.git(["add", "b/new"]);
    // The directory's own stamp does not show that one of its files is now tracked.
    let (_, session) = checked_answer(&sandbox);
    let memory = session.index.as_ref().unwrap().memory.as_ref().unwrap();
    let tracked = &session.index.as_ref().unwrap().tracked;
    let unmoved = tracked.find_directory("a".into()).unwrap();
    assert!(memory.has_listing(unmoved));
    sandbox.git(["commit", "-qm", "more"]);
    checked_answer(&sandbox);
    sandbox.git(["rm", "-q", "--cached", "a/two", "b/c/one"]);
    checked_answer(&sandbox);
    ask_until_saved(&sandbox);
    sandbox.git(["mv", "b", "e"]);
    checked_answer(&sandbox);
    ask_until_saved(&sandbox);
}

#[test]
fn head_is_compared_with_the_current_index() {
    let sandbox = repository();
    sandbox.write("a/one", "staged\n");
    sandbox.git(["add", "a"]);
    ask_until_saved(&sandbox);
    sandbox.git(["reset", "-q", "--soft", "HEAD"]);
    checked_answer(&sandbox);
    sandbox.git(["commit", "-q", "--allow-empty", "-m", "all of it"]);
    checked_answer(&sandbox);
    sandbox.git(["reset", "-q", "--soft", "HEAD~1"]);
    checked_answer(&sandbox);
    ask_until_saved(&sandbox);
}

#[test]
fn changed_ignore_rules_apply_to_folders_below() {
    let sandbox = repository();
    sandbox.write("b/c/file.x", "");
    sandbox.write("b/c/file.o", "");
    sandbox.write("b/c/file.y", "");
    ask_until_saved(&sandbox);
    sandbox.write("b/.gitignore", "*.y\n");
    checked_answer(&sandbox);
    ask_until_saved(&sandbox);
    sandbox.write(".git/info/exclude", "*.x\n");
    checked_answer(&sandbox);
    ask_until_saved(&sandbox);
    // A directory is listed again although this process never read the rules above it.
    sandbox.write("b/c/other.y", "");
    sandbox.write("b/c/other.z", "");
    checked_answer(&sandbox);
}

#[test]
fn damage_anywhere_in_the_state_changes_no_answer() {
    let sandbox = repository();
    sandbox.write("b/untracked", "");
    sandbox.write("a/two", "changed!\n");
    ask_until_saved(&sandbox);
    let path = sandbox.state_data();
    let whole = std::fs::read(&path).unwrap();
    let docket = std::fs::read(sandbox.top().join(".git/vigil/state")).unwrap();
    for at in (0..whole.len()).step_by(7) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        std::fs::write(&path, &damaged).unwrap();
        std::fs::write(sandbox.top().join(".git/vigil/state"), &docket).unwrap();
        let (lines, ..) = saved_answer(&sandbox);
        assert_eq!(lines, [" M a/two", "?? b/untracked"], "at {at}");
        assert!(sandbox.state_data().exists());
        let new = sandbox.state_data();
        if new != path {
            std::fs::remove_file(new).unwrap();
        }
    }
}

#[test]
fn stamps_prove_nothing_after_the_clock_was_set_back() {
    let sandbox = repository();
    let mut session = ask_until_saved(&sandbox);
    // As if the clock had been ten seconds ahead when the session began.
    session.mark.wall.s += 10;
    session.forget_if_clock_went_back();
    assert!(session.index.is_none());
    session.status(&StatusRequest::default()).unwrap();
    let state = session.index.as_ref().unwrap();
    assert!(state.whole.get().is_some());
    assert!(matches!(
        session.save(&NoSteps).unwrap(),
        PublishOutcome::Rewritten { .. }
    ));
    ask_until_saved(&sandbox);
}

#[test]
fn two_processes_that_publish_the_same_do_not_mix() {
    let sandbox = repository();
    ask_until_saved(&sandbox);
    let (mut one, mut two) = (session(&sandbox), session(&sandbox));
    sandbox.write("n/new", "");
    sandbox.write("m", "");
    sandbox.git(["add", "n"]);
    for session in [&mut one, &mut two] {
        session.status(&StatusRequest::default()).unwrap();
    }
    assert!(matches!(
        one.save(&NoSteps).unwrap(),
        PublishOutcome::Appended { .. }
    ));
    sandbox.git(["rm", "-q", "--cached", "a/one"]);
    assert_eq!(two.save(&NoSteps).unwrap(), PublishOutcome::Superseded);
    two.status(&StatusRequest::default()).unwrap();
    two.save(&NoSteps).unwrap();
    checked_answer(&sandbox);
    two.status(&StatusRequest::default()).unwrap();
    two.save(&NoSteps).unwrap();
    ask_until_saved(&sandbox);
}

#[test]
fn a_watched_session_scans_nothing_again_when_another_process_publishes() {
    let sandbox = repository();
    ask_until_saved(&sandbox);
    let (mut one, mut two) = (session(&sandbox), session_at(&sandbox.top(), true));
    two.watch_by(Arc::new(Watcher::new().unwrap()));
    sandbox.write("n/new", "");
    sandbox.git(["add", "n"]);
    for session in [&mut one, &mut two] {
        session.status(&StatusRequest::default()).unwrap();
    }
    let looked_at_all = |session: &Session| session.basis("n/new".into()).unwrap().looked_at_all;
    let before = looked_at_all(&two);
    one.save(&NoSteps).unwrap();
    sandbox.git(["rm", "-q", "--cached", "a/one"]);
    for _ in 0..2 {
        assert_eq!(two.save(&NoSteps).unwrap(), PublishOutcome::Superseded);
        two.status(&StatusRequest::default()).unwrap();
    }
    assert_eq!(looked_at_all(&two), before);
    assert!(matches!(
        two.save(&NoSteps).unwrap(),
        PublishOutcome::Rewritten { .. }
    ));
    checked_answer(&sandbox);
    ask_until_saved(&sandbox);
}

#[test]
fn published_findings_of_a_watched_session_are_not_kept_in_memory_too() {
    let sandbox = repository();
    let mut watched = session_at(&sandbox.top(), true);
    watched.watch_by(Arc::new(Watcher::new().unwrap()));
    for name in ["m", "b/n", "b/c/one"] {
        sandbox.write(name, name);
        sandbox.git(["add", name]);
        wait_for_tick();
        watched.status(&StatusRequest::default()).unwrap();
        assert!(watched.save(&NoSteps).unwrap().is_new());
        let index = watched.index.as_ref().unwrap();
        assert!(!index.tracked.is_in_memory(), "{name}");
        assert_eq!(index.memory.as_ref().unwrap().loaded(), 0, "{name}");
    }
    ask_until_saved(&sandbox);

    // Nor is it lost when everything is written again because another process published.
    sandbox.git(["rm", "-q", "--cached", "b/n"]);
    assert!(checked_answer(&sandbox).0.is_new());
    for _ in 0..2 {
        watched.status(&StatusRequest::default()).unwrap();
        assert_eq!(watched.save(&NoSteps).unwrap(), PublishOutcome::Superseded);
    }
    wait_for_tick();
    watched.status(&StatusRequest::default()).unwrap();
    let published = watched.save(&NoSteps).unwrap();
    assert!(matches!(published, PublishOutcome::Rewritten { .. }));
    let mut session = session(&sandbox);
    session.refresh_index().unwrap();
    let index = session.index.as_ref().unwrap();
    let memory = index.memory.as_ref().unwrap();
    assert!((0..index.tracked.directory_number_end()).all(|number| memory.has_listing(number)));
}

#[test]
fn with_ignore_case_names_in_other_case_matter_everywhere() {
    let sandbox = repository();
    sandbox.git(["config", "core.ignoreCase", "true"]);
    sandbox.write("TOP2", "");
    ask_until_saved(&sandbox);
    sandbox.git([
        "update-index",
        "--add",
        "--cacheinfo",
        "100644",
        "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
        "top2",
    ]);
    checked_answer(&sandbox);
    ask_until_saved(&sandbox);
}

#[test]
fn nothing_is_untracked_in_a_submodule_whose_name_differs_in_case() {
    let sandbox = repository();
    sandbox.git(["config", "core.ignoreCase", "true"]);
    sandbox.write("module/sub/file", "");
    // If the index has other names, the memory does not count, and the search works without it.
    ask_until_saved(&sandbox);
    let gitlink = format!("160000,{},MODULE", "1".repeat(40));
    sandbox.git(["update-index", "--add", "--cacheinfo", &gitlink]);
    let request = StatusRequest {
        untracked: UntrackedMode::All,
        ..StatusRequest::default()
    };
    let status = session(&sandbox).status(&request).unwrap();
    assert_eq!(status.untracked, Vec::<BString>::new());
    let by_git = sandbox.git(["status", "--porcelain", "-uall"]);
    assert!(!by_git.contains("??"));
}

#[test]
fn a_sparse_index_is_recorded_as_it_was_written() {
    let sandbox = repository();
    sandbox.git(["sparse-checkout", "set", "--cone", "--sparse-index", "a"]);
    sandbox.write("a/new", "");
    let mut long_lived = ask_until_saved(&sandbox);
    let state = long_lived.index.as_ref().unwrap();
    assert!(state.whole.get().is_none() && state.memory.is_some());
    assert_eq!(state.tracked.sums().sparse_directories, 1);
    let mut untracked = |expected: &[&str]| {
        let status = long_lived.status(&StatusRequest::default()).unwrap();
        assert_eq!(status.untracked, expected);
        assert!(status.changes.is_empty());
    };
    untracked(&["a/new"]);

    // A directory that is in the way is expanded, until it is gone.
    sandbox.write("b/d", "recorded\n");
    sandbox.write("b/other", "");
    let (published, session) = checked_answer(&sandbox);
    assert_eq!(published, PublishOutcome::Unchanged);
    assert!(!session.index.as_ref().unwrap().is_as_written());
    let status = long_lived.status(&StatusRequest::default()).unwrap();
    assert_eq!(status.untracked, ["a/new", "b/other"]);
    std::fs::remove_dir_all(sandbox.top().join("b")).unwrap();
    let session = ask_until_saved(&sandbox);
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
        sandbox.git([&["sparse-checkout"], arguments].concat());
        checked_answer(&sandbox);
        ask_until_saved(&sandbox);
    }
}

#[test]
fn a_sparse_directory_is_looked_for_once() {
    let sandbox = repository();
    sandbox.git(["sparse-checkout", "set", "--cone", "--sparse-index", "a"]);
    let mut settled = ask_until_saved(&sandbox);
    let lacks = |session: &Session| session.index.as_ref().unwrap().lacks_sparse_directories();
    assert!(lacks(&settled));
    settled.refresh_index().unwrap();
    // Created after that check: a second check would find what is in it.
    sandbox.write("b/other", "");
    let scan = |session: &mut Session| {
        let request = StatusRequest::default();
        let found = session.scan(&request, &Pathspec::default());
        found.unwrap().untracked
    };
    assert_eq!(scan(&mut settled), Vec::<BString>::new());
    settled.refresh_index().unwrap();
    assert_eq!(scan(&mut settled), ["b/other"]);
    let (_, session) = checked_answer(&sandbox);
    assert!(!session.index.as_ref().unwrap().is_as_written());

    // Something else has its name.
    let path = sandbox.top().join("b");
    std::fs::remove_dir_all(&path).unwrap();
    for (target, is_known) in [(None, true), (Some("nowhere"), true), (Some("b"), false)] {
        match target {
            None => std::fs::write(&path, "").unwrap(),
            Some(target) => std::os::unix::fs::symlink(target, &path).unwrap(),
        }
        for _ in 0..3 {
            let (_, session) = checked_answer(&sandbox);
            assert_eq!(lacks(&session), is_known, "{target:?}");
        }
        std::fs::remove_file(&path).unwrap();
    }
    assert!(lacks(&ask_until_saved(&sandbox)));
}

#[test]
fn changed_sparse_patterns_are_used_at_once() {
    let sandbox = repository();
    sandbox.git(["sparse-checkout", "set", "--cone", "--sparse-index", "a"]);
    ask_until_saved(&sandbox);
    let rules = ".git/info/sparse-checkout";
    let cone = std::fs::read_to_string(sandbox.top().join(rules)).unwrap();
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
        sandbox.write(rules, &text);
        let status = session(&sandbox).status(&request).unwrap();
        assert_eq!(status.long.unwrap().sparse, Some(state));
        let printed = |line: &&BString| line.starts_with(b"warning: unrecognized");
        let printed: Vec<_> = status.warnings.iter().filter(printed).collect();
        assert_eq!(printed, Vec::from_iter(warning));
        let by_git = sandbox.output("", ["--no-optional-locks", "status"], b"");
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
fn files_that_changed_just_after_the_session_began_are_no_evidence() {
    let sandbox = repository();
    ask_until_saved(&sandbox);
    let packs = sandbox.top().join(".git/objects/pack");
    // Within one tick, since files are stamped by a clock that lags behind.
    for _ in 0..8 {
        wait_for_tick();
        let mut session = session(&sandbox);
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
        session_started_at: session.session_started_at,
    };
    comparison.known_tree(id)
}

#[test]
fn heads_commit_is_not_read_again_while_its_object_files_are_unchanged() {
    let sandbox = repository();
    let name = sandbox.git(["rev-parse", "HEAD"]);
    let id = ObjectId::from_hex(name.as_bytes()).unwrap();
    let objects = sandbox.git_dir().join("objects");
    let loose = sandbox.loose_object(&name);
    let is_known = |session: &Session| known_head_tree(session, &id).is_some();
    let settled = || {
        ask_until_saved(&sandbox);
        is_known(&session(&sandbox))
    };
    assert!(settled());

    // A missing object is noticed, and so is a damaged one, whatever its mtime.
    let contents = std::fs::read(&loose).unwrap();
    let mtime = std::fs::metadata(&loose).unwrap().modified().unwrap();
    let is_refused = || session(&sandbox).status(&StatusRequest::default()).is_err();
    std::fs::remove_file(&loose).unwrap();
    assert!(is_refused());
    std::fs::write(&loose, &contents).unwrap();
    let file = std::fs::File::options().write(true).open(&loose).unwrap();
    file.set_modified(mtime).unwrap();
    assert!(!is_known(&session(&sandbox)));
    assert!(settled());
    wait_for_tick();
    std::fs::write(&loose, vec![b'x'; contents.len()]).unwrap();
    file.set_modified(mtime).unwrap();
    assert!(is_refused());
    std::fs::write(&loose, &contents).unwrap();
    assert!(settled());

    // Packs are searched before loose objects.
    sandbox.git(["repack", "-adq"]);
    assert!(!is_known(&session(&sandbox)));
    assert!(settled());
    let pack = sandbox.pack_file("pack");
    let contents = std::fs::read(&pack).unwrap();
    std::fs::remove_file(&pack).unwrap();
    assert!(is_refused());
    std::fs::write(&pack, vec![b'x'; contents.len()]).unwrap();
    assert!(is_refused());
    std::fs::write(&pack, &contents).unwrap();
    assert!(settled());

    // Another commit, or the same commit with another tree.
    sandbox.git(["commit", "-q", "--allow-empty", "-m", "next"]);
    let next = sandbox.git(["rev-parse", "HEAD"]);
    ask_until_saved(&sandbox);
    assert!(!is_known(&session(&sandbox)));
    sandbox.git(["reset", "-q", "--soft", "HEAD^"]);
    assert!(settled());
    sandbox.git(["replace", &id.to_string(), &next]);
    ask_three_times(&sandbox);
    assert!(!is_known(&session(&sandbox)));
    sandbox.git(["replace", "-d", &id.to_string()]);
    assert!(settled());

    // With other files that may hold the objects, there would be too much to look at.
    sandbox.git(["multi-pack-index", "write"]);
    assert!(!is_known(&session(&sandbox)));
    assert!(!settled());
    std::fs::remove_file(objects.join("pack/multi-pack-index")).unwrap();
    assert!(settled());
    std::fs::write(objects.join("info/alternates"), "").unwrap();
    assert!(!is_known(&session(&sandbox)));
    assert!(!settled());
}

#[test]
fn a_tag_that_head_names_is_read_each_time() {
    let sandbox = repository();
    sandbox.git(["tag", "-am", "tag", "tag"]);
    let name = sandbox.git(["rev-parse", "tag"]);
    sandbox.write(".git/HEAD", format!("{name}\n"));
    ask_three_times(&sandbox);
    let id = ObjectId::from_hex(name.as_bytes()).unwrap();
    assert_eq!(known_head_tree(&session(&sandbox), &id), None);
}
