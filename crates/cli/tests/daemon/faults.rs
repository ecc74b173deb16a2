//! Faults of a daemon while it is being asked: a client that asks right after gets git's answer.

use std::process::{Child, Output, Stdio};

use rustix::process::Signal;
use vigil_testkit::chance::Chance;

use super::sandbox::{RunningDaemon, Sandbox};
use super::shell::Shell;

/// Starts a client that asks.
fn start_status(sandbox: &Sandbox) -> Child {
    let arguments = ["status", "--porcelain=v2", "-uall"];
    sandbox
        .impatient_command("work", &arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn git_status(sandbox: &Sandbox) -> Vec<u8> {
    let arguments = ["status", "--porcelain=v2", "-uall"];
    let mut command = sandbox.command("git", "work", &arguments);
    command
        .env("GIT_OPTIONAL_LOCKS", "0")
        .output()
        .unwrap()
        .stdout
}

#[track_caller]
fn assert_answer(output: &Output, expected: &[u8], what: &str) {
    assert_eq!(output.status.code(), Some(0), "{what}: {output:?}");
    assert_eq!(output.stderr, b"", "{what}");
    let text = String::from_utf8_lossy;
    assert_eq!(text(&output.stdout), text(expected), "{what}");
}

#[test]
fn a_daemon_that_is_halted_killed_or_stopped_while_many_ask_costs_no_answer() {
    let mut random = Chance::new(1);
    let sandbox = Sandbox::with_repository();
    let mut command = sandbox.shell_command();
    command.env_remove("VIGIL_DAEMON_PATIENCE_MS");
    let mut shell = Shell::start(command);
    let mut lone = sandbox.shell_without_daemon();
    let mut serving = sandbox.serve();
    for round in 0..24 {
        sandbox.write(&format!("work/new{round}"), "");
        sandbox.write("work/file", &format!("changed {round}\n"));
        if round % 5 == 4 {
            sandbox.git_in("work", &["add", "-A"]);
        }
        let early: Vec<Child> = (0..random.below(4))
            .map(|_| start_status(&sandbox))
            .collect();
        // Chance decides how many questions are in progress, and how far they are.
        for _ in 0..random.below(2000) {
            std::thread::yield_now();
        }
        let fault = random.below(4);
        match fault {
            0 => serving.signal(Signal::STOP),
            1 => serving.signal(Signal::KILL),
            2 => serving.signal(Signal::TERM),
            _ => std::fs::remove_dir_all(sandbox.runtime_folder()).unwrap(),
        }
        let late: Vec<Child> = (0..2).map(|_| start_status(&sandbox)).collect();
        let prompt = shell.ask(&sandbox, "work");
        let expected = git_status(&sandbox);
        for child in early.into_iter().chain(late) {
            let output = child.wait_with_output().unwrap();
            assert_answer(&output, &expected, &format!("round {round}, fault {fault}"));
        }
        assert_eq!(
            prompt,
            lone.ask(&sandbox, "work"),
            "round {round}, fault {fault}"
        );
        if fault == 0 {
            serving.signal(Signal::CONT);
        } else {
            // The shell may have started another daemon.
            sandbox.vigil_daemon(&["stop"]);
            serving.signal_if_running(Signal::KILL);
            serving = sandbox.serve();
        }
        assert_answer(
            &start_status(&sandbox).wait_with_output().unwrap(),
            &expected,
            "after it",
        );
    }
    drop(serving);
    shell.end();
    sandbox.vigil_daemon(&["stop"]);
}

#[test]
fn a_daemon_whose_folder_is_gone_makes_no_answer_wrong_and_is_replaced() {
    let sandbox = Sandbox::with_repository();
    let _old: RunningDaemon = sandbox.serve();
    sandbox.assert_answered_as_by_git("work");
    std::fs::remove_dir_all(sandbox.runtime_folder()).unwrap();
    sandbox.write("work/new", "");
    sandbox.assert_answered_as_by_git("work");
    let _new = sandbox.serve();
    for name in ["newer", "newest"] {
        sandbox.write(&format!("work/{name}"), "");
        let (answered, _) = sandbox.question_counts();
        sandbox.assert_answered_as_by_git("work");
        assert_eq!(sandbox.question_counts().0, answered + 2);
    }
}
