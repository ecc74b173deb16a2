//! Faults of a daemon while it is being asked: a client that asks right after gets git's answer.

use std::process::{Child, Command, Output, Stdio};

use rustix::process::Signal;
use vigil_testkit::chance::Chance;

use super::sandbox::{Sandbox, Serving, VIGIL};
use super::shell::Shell;

/// Makes the command wait only as long as it would for a user.
fn impatient(mut command: Command) -> Command {
    command.env_remove("VIGIL_DAEMON_PATIENCE_MS");
    command
}

/// Starts a client that asks.
fn asking(sandbox: &Sandbox) -> Child {
    let arguments = ["status", "--porcelain=v2", "-uall"];
    impatient(sandbox.command(VIGIL, "work", &arguments))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn git_says(sandbox: &Sandbox) -> Vec<u8> {
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
fn halted_killed_or_stopped_while_many_ask_it_costs_no_answer() {
    let mut random = Chance::new(1);
    let sandbox = Sandbox::with_repository();
    let mut shell = Shell::start(impatient(sandbox.shell_command()));
    let mut lone = sandbox.lone_shell();
    let mut serving = sandbox.serve();
    for round in 0..24 {
        sandbox.write(&format!("work/new{round}"), "");
        sandbox.write("work/file", &format!("changed {round}\n"));
        if round % 5 == 4 {
            sandbox.git_in("work", &["add", "-A"]);
        }
        let early: Vec<Child> = (0..random.below(4)).map(|_| asking(&sandbox)).collect();
        // Chance decides how many questions are in progress, and how far they are.
        for _ in 0..random.below(2000) {
            std::thread::yield_now();
        }
        let fault = random.below(4);
        match fault {
            0 => serving.signal(Signal::STOP),
            1 => serving.signal(Signal::KILL),
            2 => serving.signal(Signal::TERM),
            _ => std::fs::remove_dir_all(sandbox.run()).unwrap(),
        }
        let late: Vec<Child> = (0..2).map(|_| asking(&sandbox)).collect();
        let prompt = shell.ask(&sandbox, "work");
        let expected = git_says(&sandbox);
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
            sandbox.daemon(&["stop"]);
            serving.signal_if_there(Signal::KILL);
            serving = sandbox.serve();
        }
        assert_answer(
            &asking(&sandbox).wait_with_output().unwrap(),
            &expected,
            "after it",
        );
    }
    drop(serving);
    shell.end();
    sandbox.daemon(&["stop"]);
}

#[test]
fn one_whose_folder_is_gone_makes_no_answer_wrong_and_is_replaced() {
    let sandbox = Sandbox::with_repository();
    let _old: Serving = sandbox.serve();
    sandbox.is_answered_as_by_git("work");
    std::fs::remove_dir_all(sandbox.run()).unwrap();
    sandbox.write("work/new", "");
    sandbox.is_answered_as_by_git("work");
    let _new = sandbox.serve();
    for name in ["newer", "newest"] {
        sandbox.write(&format!("work/{name}"), "");
        let (answered, _) = sandbox.counts();
        sandbox.is_answered_as_by_git("work");
        assert_eq!(sandbox.counts().0, answered + 2);
    }
}
