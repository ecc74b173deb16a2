//! Writers in other processes: killed, out of space, many at once. Each is this test program, running the otherwise
//! ignored test, with its part in an environment variable.

use std::process::{Command, ExitStatus};

use rustix::process::{Signal, getpid, kill_process};

use super::steps::{count, increment};
use super::*;

const FOLDER: &str = "VIGIL_TEST_FOLDER";
const TASK: &str = "VIGIL_TEST_PART";
const KILL_AT: &str = "VIGIL_TEST_KILL_AT";
const COUNTS: u32 = 10;

/// Kills the process at a step.
struct KillAt(Option<Step>);

impl Steps for KillAt {
    fn reached(&self, step: Step) {
        if self.0 == Some(step) {
            kill_process(getpid(), Signal::KILL).unwrap();
        }
    }
}

/// What a writer does with the state that it finds.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Task {
    /// Publishes the first state, in several pieces.
    First,
    /// Appends several pieces.
    Append,
    /// Makes a large state small.
    Rewrite,
    /// Publishes another docket, and nothing else.
    Clock,
    /// Adds to a number.
    Count,
}

const TASKS: [Task; 5] = [
    Task::First,
    Task::Append,
    Task::Rewrite,
    Task::Clock,
    Task::Count,
];

fn large(byte: u8) -> Vec<u8> {
    vec![byte; 3 << 20]
}

fn changes(task: Task) -> Changes<'static> {
    let mut changes = Changes::new();
    match task {
        Task::First => changes.set(StateTable::Tracked, 0, large(1)),
        Task::Append => changes.set(StateTable::Tracked, 1, large(2)),
        Task::Rewrite => changes.set(StateTable::Tracked, 0, b"small".as_slice()),
        Task::Clock | Task::Count => {}
    }
    if task != Task::Clock {
        changes.set(StateTable::General, 0, format!("{task:?}").into_bytes());
    }
    changes
}

#[test]
#[ignore = "the part of another process"]
fn writer() {
    let number = |name| {
        std::env::var(name)
            .ok()
            .map(|number| number.parse::<usize>().unwrap())
    };
    let folder = std::env::var(FOLDER).unwrap();
    let store = Store::new(folder.into(), IDENTITY);
    let task = TASKS[number(TASK).unwrap()];
    if task == Task::Count {
        return (0..COUNTS).for_each(|_| increment(&store));
    }
    let steps = KillAt(number(KILL_AT).map(|step| STEPS[step]));
    let base = store.open().ok();
    if let Err(error) = store.publish(base.as_ref(), changes(task), [2; 48], &steps) {
        let error = error.to_string();
        assert!(
            error.starts_with("could not write /") && error.contains("vigil/state."),
            "{error}"
        );
        std::process::exit(3);
    }
}

/// Returns the command that plays `task`, run through the command `prefix`.
fn command(store: &Store, task: Task, prefix: &[&str]) -> Command {
    let program = std::env::current_exe().unwrap();
    let mut command = match prefix.split_first() {
        Some((first, others)) => {
            let mut command = Command::new(first);
            command.args(others).arg(program);
            command
        }
        None => Command::new(program),
    };
    let number = TASKS.iter().position(|other| *other == task).unwrap();
    command
        .args([
            "--exact",
            "--ignored",
            "--quiet",
            "tests::other_processes::writer",
        ])
        .env(FOLDER, store.folder())
        .env(TASK, number.to_string())
        .stdout(std::process::Stdio::null());
    command
}

/// Prepares a state on which `task` can be played.
fn prepared(task: Task) -> Sandbox {
    let sandbox = Sandbox::new();
    if task != Task::First {
        sandbox.publish(None, changes(Task::First), 1);
    }
    sandbox
}

fn assert_is_old(sandbox: &Sandbox, task: Task) {
    match sandbox.store.open() {
        Err(NoState::Absent { .. }) => assert_eq!(task, Task::First),
        Err(error) => panic!("{error}"),
        Ok(state) => {
            assert_eq!(
                (state.clock(), state.keys(StateTable::Tracked)),
                (&[1; 48], 1),
                "{task:?}"
            );
            assert!(
                state.block(StateTable::Tracked, 0) == Ok(Some(&large(1))),
                "{task:?}"
            );
            state.verify_all().unwrap();
        }
    }
}

fn assert_is_new(sandbox: &Sandbox, task: Task) {
    let state = sandbox.store.open().unwrap();
    assert_eq!(state.clock(), &[2; 48], "{task:?}");
    let first = match task {
        Task::Rewrite => b"small".to_vec(),
        _ => large(1),
    };
    assert!(
        state.block(StateTable::Tracked, 0) == Ok(Some(&first)),
        "{task:?}"
    );
    assert_eq!(
        state.keys(StateTable::Tracked),
        if task == Task::Append { 2 } else { 1 }
    );
    state.verify_all().unwrap();
}

#[test]
fn a_writer_may_be_killed_at_any_step() {
    use std::os::unix::process::ExitStatusExt;
    for task in [Task::First, Task::Append, Task::Rewrite] {
        for (number, step) in STEPS.into_iter().enumerate() {
            let sandbox = prepared(task);
            let held = sandbox.store.open().ok();
            let mut killed = command(&sandbox.store, task, &[]);
            let status: ExitStatus = killed.env(KILL_AT, number.to_string()).status().unwrap();
            // Appending leaves no old file to be removed.
            let is_reached = (task, step) != (Task::Append, Step::OldRemoved);
            let signal = is_reached.then_some(Signal::KILL.as_raw());
            assert_eq!(status.signal(), signal, "{task:?} {step:?}");

            match step {
                Step::DocketPublished | Step::OldRemoved => assert_is_new(&sandbox, task),
                _ => assert_is_old(&sandbox, task),
            }
            if let Some(held) = held {
                held.verify_all().unwrap();
            }
            let base = sandbox.store.open().ok();
            let next = changes_of(&[(StateTable::Seen, 5, b"next")]);
            let state = sandbox.publish_and_open(base.as_ref(), next, 3);
            assert_eq!(
                state.block(StateTable::Seen, 5),
                Ok(Some(b"next".as_slice()))
            );
            state.verify_all().unwrap();
            sandbox.assert_tidy();
        }
    }
}

/// A limit on the file size stands in for a full disk: writes up to it succeed, and writes beyond it fail.
#[test]
fn a_writer_without_space_leaves_the_old_state_and_no_file() {
    // Each row: the part, and the file size limit in units of 512 bytes (ulimit(1p)).
    let cases = [
        (Task::First, 0),
        (Task::First, 3000),
        (Task::Append, 0),
        (Task::Append, 6500),
        (Task::Rewrite, 0),
        (Task::Clock, 0),
    ];
    for (task, units) in cases {
        let sandbox = prepared(task);
        let limit = format!("trap '' XFSZ; ulimit -f {units}; exec \"$@\"");
        let status = command(&sandbox.store, task, &["sh", "-c", &limit, "sh"])
            .status()
            .unwrap();
        assert_eq!(status.code(), Some(3), "{task:?} {units}");
        assert_is_old(&sandbox, task);
        match task {
            Task::First => assert!(sandbox.names().is_empty()),
            _ => sandbox.assert_tidy(),
        }
        assert!(
            command(&sandbox.store, task, &[])
                .status()
                .unwrap()
                .success()
        );
        assert_is_new(&sandbox, task);
        sandbox.assert_tidy();
    }
}

#[test]
fn concurrent_increments_by_processes_are_not_lost() {
    let sandbox = Sandbox::new();
    sandbox.publish(
        None,
        changes_of(&[(StateTable::General, 0, &0_u32.to_le_bytes())]),
        0,
    );
    let start = || command(&sandbox.store, Task::Count, &[]).spawn().unwrap();
    for mut child in [start(), start(), start()] {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(count(&sandbox.store.open().unwrap()), 3 * COUNTS);
    sandbox.assert_tidy();
}
