use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use bstr::BString;
use vigil_engine::hg_session::HgWorkingCopy;
use vigil_engine::prompt::PromptRequest;
use vigil_engine::session::Session;
use vigil_git::environment::Environment;

use crate::answers::{Answers, StatusWriter};
use crate::declined::Declined;
use crate::fsmonitor::Form;
use crate::protocol::{MonitorQuestion, PromptQuestion, Response, StatusQuestion};

struct Nobody;

impl StatusWriter for Nobody {
    fn write(
        &self,
        _: &mut Session,
        _: BString,
        _: &StatusQuestion,
        _: &Environment,
    ) -> Result<Vec<u8>, Declined> {
        Err(Declined::Question("nobody writes".into()))
    }

    fn write_of_mercurial(
        &self,
        _: &mut HgWorkingCopy,
        _: &StatusQuestion,
        _: &Environment,
    ) -> Result<Vec<u8>, Declined> {
        Err(Declined::Question("nobody writes".into()))
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
    let answer = answers.prompt(&PromptQuestion {
        request: PromptRequest::EVERYTHING,
        summary_len_max: 10,
        id: "id".into(),
        directory: directory.to_owned(),
        from_git_dir: false,
        variables: Vec::new(),
    });
    let is_record = matches!(answer.response, Response::Record(_));
    assert!(is_record, "{:?}", answer.response);
}

#[test]
fn what_is_gone_is_forgotten_with_its_watches() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().canonicalize().unwrap().join(name);
    for name in ["stays", "goes"] {
        std::fs::create_dir_all(path(name).join("dir")).unwrap();
        git(&path(name), &["init", "-q"]);
        std::fs::write(path(name).join("dir/file"), "").unwrap();
        git(&path(name), &["add", "."]);
        git(&path(name), &["commit", "-qm", "first"]);
    }
    git(&path("stays"), &["worktree", "add", "-q", "../linked"]);
    let answers = Answers::new(Box::new(Nobody)).unwrap();
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
    // Where nothing can be watched at all, nothing is left of it either.
    let watches = answers.watches();
    ask(&answers, &path("goes"));
    ask(&answers, &path("linked"));
    assert_eq!(answers.watches() > watches, watches > 0);
    answers.sessions().drop_gone();
    assert_eq!(all(), paths(&["goes", "linked", "stays"]));
    std::fs::remove_dir_all(path("goes")).unwrap();
    std::fs::remove_dir_all(path("linked")).unwrap();
    answers.sessions().drop_gone();
    assert_eq!(all(), paths(&["stays"]));
    assert_eq!(answers.watches(), watches);
    ask(&answers, &path("stays"));
}

#[test]
fn git_does_not_wait_for_the_first_look_at_everything() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    git(&top, &["init", "-q"]);
    std::fs::write(top.join("file"), "").unwrap();
    git(&top, &["add", "."]);
    let answers = Arc::new(Answers::new(Box::new(Nobody)).unwrap());
    if answers.watcher().is_none() {
        return;
    }
    let question = MonitorQuestion {
        directory: top,
        variables: Vec::new(),
        index: None,
        token: "none".into(),
    };
    let ask = |time| {
        let answer = answers.monitor_within(time, question.clone(), Form::Builtin);
        matches!(answer.response, Response::Changed(_))
    };
    // Who has no time may have an answer nevertheless; who has enough has one, from what is found out for the first.
    ask(Duration::ZERO);
    while !ask(Duration::from_secs(60)) {
        std::thread::yield_now();
    }
    assert!(ask(Duration::ZERO), "it was found out, and is not known");
}
