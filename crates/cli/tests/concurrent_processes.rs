//! Many processes at once in one repository, some of which are killed. Every answer is right, and in the end the state is whole
//! and nothing else is left behind.
//!
//! A run has twelve rounds; `VIGIL_CROWD_ROUNDS` gives another number.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "all of this file is tests"
)]

use std::process::Stdio;

use vigil_testkit::chance::Chance;
use vigil_testkit::sandbox::Sandbox;

const PROCESSES: usize = 10;
const QUESTIONS: [&[&str]; 4] = [
    &["status", "--porcelain=v2", "-z", "--no-renames"],
    &["status", "--porcelain", "-uall", "--no-renames"],
    &["status", "--porcelain", "--ignored", "--no-renames"],
    &["status", "--porcelain=v2", "-uno", "--no-renames"],
];

/// Changes something in the working tree or the index.
fn change_something(sandbox: &Sandbox, random: &mut Chance, round: usize) {
    let (dir, file) = (random.below(12), random.below(12));
    let name = format!("d{dir}/e{}/f{file}", dir % 3);
    match random.below(7) {
        0 => sandbox.write(&name, format!("{round}\n")),
        1 => drop(std::fs::remove_file(sandbox.path(&name))),
        2 => sandbox.write(format!("d{dir}/new{round}"), ""),
        3 => sandbox.write(format!("d{dir}/u{round}/x.o"), ""),
        4 => drop(sandbox.git(["add", "-A", &format!("d{dir}")])),
        5 => drop(sandbox.git(["commit", "-q", "--allow-empty", "-am", "round"])),
        _ => sandbox.write(format!("d{dir}/.gitignore"), format!("*.o\nnew{round}\n")),
    }
}

/// Asks once. With `kill_after`, kills the process after yielding that many times; it may have answered by then.
fn ask(sandbox: &Sandbox, question: usize, expected: &[Vec<u8>], kill_after: Option<usize>) {
    let mut asked = sandbox.vigil(QUESTIONS[question]);
    asked.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = asked.spawn().unwrap();
    if let Some(turns) = kill_after {
        (0..turns).for_each(|_| std::thread::yield_now());
        let _ = child.kill();
    }
    let output = child.wait_with_output().unwrap();
    if output.status.success() {
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&expected[question]),
            "{:?}",
            QUESTIONS[question]
        );
    } else {
        let is_killed = kill_after.is_some() && output.status.code().is_none();
        assert!(is_killed, "{output:?}");
    }
}

#[test]
fn concurrent_processes_answer_correctly_though_some_are_killed() {
    let rounds = std::env::var("VIGIL_CROWD_ROUNDS").map_or(12, |text| text.parse().unwrap());
    let mut sandbox = Sandbox::new();
    sandbox.set_variable("GIT_OPTIONAL_LOCKS", "0");
    for dir in 0..12 {
        for file in 0..12 {
            sandbox.write(format!("d{dir}/e{}/f{file}", dir % 3), "recorded\n");
        }
    }
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-qm", "all"]);
    let mut random = Chance::new(0);
    for round in 0..rounds {
        change_something(&sandbox, &mut random, round);
        let expected: Vec<Vec<u8>> = QUESTIONS
            .iter()
            .map(|question| sandbox.git_bytes(*question))
            .collect();
        let mut plan = |_| {
            let turns = random.below(20_000);
            let kill_after = (random.below(3) == 0).then_some(turns);
            (random.below(QUESTIONS.len()), kill_after)
        };
        let plans: Vec<(usize, Option<usize>)> = (0..PROCESSES).map(&mut plan).collect();
        std::thread::scope(|scope| {
            for (question, kill_after) in &plans {
                scope.spawn(|| ask(&sandbox, *question, &expected, *kill_after));
            }
        });
    }
    // The next writer removes what killed processes left behind.
    sandbox.write("last", "");
    let expected: Vec<Vec<u8>> = QUESTIONS
        .iter()
        .map(|question| sandbox.git_bytes(*question))
        .collect();
    for question in 0..QUESTIONS.len() {
        ask(&sandbox, question, &expected, None);
    }
    let names = sandbox.state_files();
    assert_eq!(names.len(), 2, "{names:?}");
    assert_eq!(names[0], "state");
    assert!(!sandbox.path(".git/index.lock").exists());
}
