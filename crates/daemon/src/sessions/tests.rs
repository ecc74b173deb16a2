use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use bstr::BString;
use vigil_engine::hg_session::HgWorkingCopy;
use vigil_engine::prompt::PromptRequest;
use vigil_engine::session::Session;
use vigil_git::environment::Environment;
use vigil_testkit::sandbox::skip_test;

use crate::answers::{Answers, DECLINED_REST, Printed, StatusWriter};
use crate::declined::Declined;
use crate::fsmonitor::TokenForm;
use crate::protocol::{MonitorQuestion, PromptQuestion, Response, StatusQuestion};

use super::{WorkingCopy, no_session};

struct DecliningWriter;

impl StatusWriter for DecliningWriter {
    fn write(
        &self,
        _: &mut Session,
        _: BString,
        _: &StatusQuestion,
        _: &Environment,
    ) -> Result<Printed, Declined> {
        Err(Declined::ThisTime("nobody writes".into()))
    }

    fn write_of_mercurial(
        &self,
        _: &mut HgWorkingCopy,
        _: &StatusQuestion,
        _: &Environment,
    ) -> Result<Printed, Declined> {
        Err(Declined::ThisTime("nobody writes".into()))
    }
}

fn git(folder: &Path, arguments: &[&str]) {
    let status = Command::new("git")
        .args(["-c", "user.name=A", "-c", "user.email=a@b"])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("HOME", folder)
        .status();
    assert!(status.unwrap().success(), "git {arguments:?}");
}

fn ask(answers: &Answers, directory: &Path) {
    ask_with(answers, directory, Vec::new());
}

fn ask_with(answers: &Answers, directory: &Path, variables: Vec<(BString, BString)>) {
    let answer = answers.prompt(&PromptQuestion {
        request: PromptRequest::EVERYTHING,
        summary_len_max: 10,
        id: "id".into(),
        directory: directory.to_owned(),
        from_git_dir: false,
        variables,
    });
    let is_record = matches!(answer.response, Response::Record(_));
    assert!(is_record, "{:?}", answer.response);
}

#[test]
fn sessions_of_removed_repositories_are_dropped_with_their_watches() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().canonicalize().unwrap().join(name);
    for name in ["stays", "goes", "loses"] {
        std::fs::create_dir_all(path(name).join("dir")).unwrap();
        git(&path(name), &["init", "-q"]);
        std::fs::write(path(name).join("dir/file"), "").unwrap();
        git(&path(name), &["add", "."]);
        git(&path(name), &["commit", "-qm", "first"]);
    }
    git(&path("stays"), &["worktree", "add", "-q", "../linked"]);
    let answers = Answers::new(Box::new(DecliningWriter), DECLINED_REST).unwrap();
    let all = || {
        let described = answers.sessions().describe();
        let mut paths: Vec<String> = described.iter().map(|one| one.path.to_string()).collect();
        paths.sort();
        paths
    };
    let paths = |names: &[&str]| -> Vec<String> {
        let paths = names.iter().map(|name| path(name));
        paths
            .map(|path| path.to_str().unwrap().to_owned())
            .collect()
    };
    ask(&answers, &path("stays"));
    // Where nothing can be watched at all, nothing stays watched either.
    let watches = answers.watches();
    ask(&answers, &path("goes"));
    ask(&answers, &path("linked"));
    ask(&answers, &path("loses"));
    assert_eq!(answers.watches() > watches, watches > 0);
    answers.sessions().drop_gone();
    assert_eq!(all(), paths(&["goes", "linked", "loses", "stays"]));
    std::fs::remove_dir_all(path("goes")).unwrap();
    std::fs::remove_dir_all(path("linked")).unwrap();
    std::fs::remove_dir_all(path("loses").join(".git")).unwrap();
    answers.sessions().drop_gone();
    assert_eq!(all(), paths(&["stays"]));
    assert_eq!(answers.watches(), watches);
    ask(&answers, &path("stays"));
}

#[test]
fn no_folder_is_made_in_a_repository_that_somebody_may_be_removing() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    git(&top, &["init", "-q"]);
    let answers = Answers::new(Box::new(DecliningWriter), DECLINED_REST).unwrap();
    let state_folder = top.join(".git/vigil");
    let is_saved = || {
        ask(&answers, &top);
        for slot in answers.sessions().all() {
            slot.save();
        }
        state_folder.exists()
    };
    let leave_alone = || {
        let git_dir = std::fs::File::open(top.join(".git")).unwrap();
        let an_hour_ago = SystemTime::now() - Duration::from_secs(3600);
        git_dir.set_modified(an_hour_ago).unwrap();
    };
    std::fs::write(top.join("file"), "").unwrap();
    git(&top, &["add", "."]);
    assert!(!is_saved());
    leave_alone();
    assert!(is_saved());
    // It is there, so it is in nobody's way.
    git(&top, &["commit", "-qm", "first"]);
    assert!(is_saved());
    std::fs::remove_dir_all(&state_folder).unwrap();
    git(&top, &["rm", "-q", "file"]);
    assert!(!is_saved());
    leave_alone();
    // What is in memory does not belong to what is published now, so it is opened again first.
    assert!((0..3).any(|_| is_saved()));
}

#[test]
fn git_does_not_wait_for_the_first_look_at_everything() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    git(&top, &["init", "-q"]);
    std::fs::write(top.join("file"), "").unwrap();
    git(&top, &["add", "."]);
    let answers = Arc::new(Answers::new(Box::new(DecliningWriter), DECLINED_REST).unwrap());
    if answers.watcher().is_none() {
        return skip_test(
            "git_does_not_wait_for_the_first_look_at_everything",
            "there is no inotify instance left",
        );
    }
    let question = MonitorQuestion {
        directory: top,
        variables: Vec::new(),
        index: None,
        token: "none".into(),
    };
    let ask = |time| {
        let answer = answers.monitor_within(time, false, question.clone(), TokenForm::Builtin);
        matches!(answer.response, Response::Changed(_))
    };
    // A caller without time may still get an answer; one with enough time gets it from the first one's look.
    ask(Duration::ZERO);
    while !ask(Duration::from_secs(60)) {
        std::thread::yield_now();
    }
    assert!(ask(Duration::ZERO), "it was found out, and is not known");
}

/// What git in `top` is told after `token`: a new token, and paths, the last of which is empty.
fn monitor(answers: &Answers, top: &Path, token: &[u8]) -> (Vec<u8>, Vec<BString>) {
    let question = MonitorQuestion {
        directory: top.to_owned(),
        variables: Vec::new(),
        index: None,
        token: token.into(),
    };
    match answers.monitor(&question, TokenForm::Builtin).response {
        Response::Changed(told) => {
            let mut parts = told.split(|byte| *byte == 0);
            let token = parts.next().unwrap().to_vec();
            (token, parts.map(BString::from).collect())
        }
        other => panic!("{other:?}"),
    }
}

/// An index so large that git does not wait for a look, with one file in the working tree.
fn write_large_index(top: &Path) {
    git(top, &["init", "-q"]);
    std::fs::write(top.join("file"), "").unwrap();
    git(top, &["add", "."]);
    // All files but that one are deleted; only the length of the index matters.
    let folder = vec!["x".repeat(200); 4].join("/");
    let blob = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";
    let entries = (0..6000).map(|number| format!("100644 {blob}\t{folder}/{number}\n"));
    let mut child = Command::new("git")
        .args(["update-index", "--index-info"])
        .current_dir(top)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let all: String = entries.collect();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(all.as_bytes())
        .unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn for_a_large_tree_git_gets_a_token_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    write_large_index(&top);
    let answers = Arc::new(Answers::new(Box::new(DecliningWriter), DECLINED_REST).unwrap());
    if answers.watcher().is_none() {
        return skip_test(
            "for_a_large_tree_git_gets_a_token_at_once",
            "there is no inotify instance left",
        );
    }
    let ask = |token: &[u8]| monitor(&answers, &top, token);
    let everything = |paths: &[BString]| paths.first().is_some_and(|path| path == "/");
    let (token, paths) = ask(b"none");
    assert!(everything(&paths));
    let watches = answers.watches();
    // This happens between the answer and the first look.
    std::fs::write(top.join("file"), "other").unwrap();
    let (token, paths) = ask(&token);
    assert!(answers.watches() > watches, "it was looked at before");
    assert!(everything(&paths) || paths.iter().any(|path| path == "file"));
    let (token, _) = ask(&token);
    std::fs::write(top.join("file"), "once more").unwrap();
    let (token, paths) = ask(&token);
    assert_eq!(paths, ["file", ""]);
    assert_eq!(ask(&token).1, [""]);
}

#[test]
fn of_many_working_trees_only_the_watches_are_kept_and_tokens_stay_valid() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().canonicalize().unwrap().join(name);
    std::fs::create_dir_all(path("main/dir")).unwrap();
    std::fs::write(path("main/dir/file"), "").unwrap();
    git(&path("main"), &["init", "-q"]);
    git(&path("main"), &["add", "."]);
    git(&path("main"), &["commit", "-qm", "first"]);
    let names: Vec<String> = (0..6).map(|number| format!("tree{number}")).collect();
    for name in &names {
        let arguments = ["worktree", "add", "-q", "--detach", &format!("../{name}")];
        git(&path("main"), &arguments);
    }
    let answers = Answers::new(Box::new(DecliningWriter), DECLINED_REST).unwrap();
    if answers.watcher().is_none() {
        return skip_test(
            "of_many_working_trees_only_the_watches_are_kept_and_tokens_stay_valid",
            "there is no inotify instance left",
        );
    }
    // After the second answer, git is not told any more that everything may have changed.
    let tokens = names.iter().map(|name| {
        let (token, _) = monitor(&answers, &path(name), b"none");
        monitor(&answers, &path(name), &token).0
    });
    let tokens: Vec<Vec<u8>> = tokens.collect();
    let kept = || {
        let slots = answers.sessions().all();
        let kept = slots.iter().map(|slot| slot.is_kept().unwrap());
        kept.collect::<Vec<bool>>()
    };
    assert_eq!(kept(), [false, true, true, true, true, true]);
    std::fs::write(path("tree0/dir/file"), "changed").unwrap();
    std::fs::write(path("tree5/dir/new"), "").unwrap();
    let (first, paths) = monitor(&answers, &path("tree0"), &tokens[0]);
    assert_eq!(paths, ["dir/file", ""]);
    assert_eq!(kept(), [false, false, true, true, true, true]);
    assert_eq!(monitor(&answers, &path("tree0"), &first).1, [""]);
    let (_, paths) = monitor(&answers, &path("tree5"), &tokens[5]);
    assert_eq!(paths, ["dir/new", ""]);
}

#[test]
fn of_many_environments_only_some_have_a_session_of_one_working_tree() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    git(&top, &["init", "-q"]);
    let answers = Answers::new(Box::new(DecliningWriter), DECLINED_REST).unwrap();
    for number in 0..12 {
        let variable = ("VIGIL_OF_CLIENT".into(), number.to_string().into());
        ask_with(&answers, &top, vec![variable]);
    }
    let slots = answers.sessions().all();
    let kept = slots.iter().map(|slot| slot.is_kept().unwrap());
    // The last one was asked about after the others were counted.
    let expected = [vec![false; 3], vec![true; 9]].concat();
    assert_eq!(kept.collect::<Vec<bool>>(), expected);
}

#[test]
fn a_session_that_is_dropped_after_a_failure_has_looked_at_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    git(&top, &["init", "-q"]);
    let answers = Answers::new(Box::new(DecliningWriter), DECLINED_REST).unwrap();
    if answers.watcher().is_none() {
        return skip_test(
            "a_session_that_is_dropped_after_a_failure_has_looked_at_nothing",
            "there is no inotify instance left",
        );
    }
    let (token, _) = monitor(&answers, &top, b"none");
    monitor(&answers, &top, &token);
    let slots = answers.sessions().all();
    let slot = slots.first().unwrap();
    assert!(slot.has_looked());
    let mut kept = slot.take_turn().unwrap();
    let fail = |_: &mut WorkingCopy, _| Err::<(), _>(Declined::ForNow("it failed".into()));
    assert!(slot.answer(&mut kept, no_session, fail).is_err());
    drop(kept);
    assert_eq!((slot.is_kept(), slot.has_looked()), (Some(false), false));
}

#[test]
fn nothing_is_done_ahead_while_a_command_changes_the_working_copy() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    git(&top, &["init", "-q"]);
    let answers = Answers::new(Box::new(DecliningWriter), DECLINED_REST).unwrap();
    ask(&answers, &top);
    let Some(watcher) = answers.watcher().filter(|it| it.watches() > 0) else {
        return skip_test(
            "nothing_is_done_ahead_while_a_command_changes_the_working_copy",
            "nothing can be watched",
        );
    };
    let lock = top.join(".git/index.lock");
    std::fs::write(&lock, "").unwrap();
    std::fs::write(top.join("file"), "").unwrap();
    watcher.read_events();
    let slot = answers.sessions().all().pop().unwrap();
    let mut ahead = slot.ahead.lock();
    let now = Instant::now();
    assert!(ahead.begin(now).is_premature());
    assert_eq!(ahead.due_at(now), None);
    let until = ahead.put_off(now);
    assert!(until > now);
    assert_eq!(ahead.due_at(now), Some(until));
    std::fs::remove_file(lock).unwrap();
    assert_eq!(ahead.due_at(until), Some(until));
    assert!(!ahead.begin(until).is_premature());
}

#[test]
fn configuration_in_variables_gives_no_directory_a_session_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    git(&top, &["init", "-q"]);
    std::fs::create_dir(top.join("below")).unwrap();
    let answers = Answers::new(Box::new(DecliningWriter), DECLINED_REST).unwrap();
    let with_setting: [(&str, &str); 3] = [
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "core.excludesFile"),
        ("GIT_CONFIG_VALUE_0", "ignored-here"),
    ];
    let elsewhere = [("GIT_CONFIG_GLOBAL", "gitconfig")];
    for (variables, sessions) in [(&with_setting[..], 1), (&elsewhere, 3)] {
        let variables = variables
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()));
        let variables: Vec<(BString, BString)> = variables.collect();
        ask_with(&answers, &top, variables.clone());
        ask_with(&answers, &top.join("below"), variables);
        assert_eq!(answers.sessions().all().len(), sessions);
    }
}
