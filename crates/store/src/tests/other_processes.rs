//! Writers in other processes: killed, out of space, many at once. Each is this test program, running the otherwise
//! ignored test, with its part in an environment variable.

use std::process::{Command, ExitStatus};

use rustix::process::{Signal, getpid, kill_process};

use super::steps::{count, increment};
use super::*;

const FOLDER: &str = "VIGIL_TEST_FOLDER";
const PART: &str = "VIGIL_TEST_PART";
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
enum Part {
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

const PARTS: [Part; 5] = [
    Part::First,
    Part::Append,
    Part::Rewrite,
    Part::Clock,
    Part::Count,
];

fn large(byte: u8) -> Vec<u8> {
    vec![byte; 3 << 20]
}

fn changes(part: Part) -> Changes<'static> {
    let mut changes = Changes::new();
    match part {
        Part::First => changes.set(Table::Tracked, 0, large(1)),
        Part::Append => changes.set(Table::Tracked, 1, large(2)),
        Part::Rewrite => changes.set(Table::Tracked, 0, b"small".as_slice()),
        Part::Clock | Part::Count => {}
    }
    if part != Part::Clock {
        changes.set(Table::General, 0, format!("{part:?}").into_bytes());
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
    let part = PARTS[number(PART).unwrap()];
    if part == Part::Count {
        return (0..COUNTS).for_each(|_| increment(&store));
    }
    let steps = KillAt(number(KILL_AT).map(|step| Step::ALL[step]));
    let base = store.open().ok();
    if let Err(error) = store.publish(base.as_ref(), changes(part), [2; 48], &steps) {
        let error = error.to_string();
        assert!(
            error.starts_with("could not write /") && error.contains("vigil/state."),
            "{error}"
        );
        std::process::exit(3);
    }
}

/// Returns the command that plays `part`, run through the command `prefix`.
fn command(store: &Store, part: Part, prefix: &[&str]) -> Command {
    let program = std::env::current_exe().unwrap();
    let mut command = match prefix.split_first() {
        Some((first, others)) => {
            let mut command = Command::new(first);
            command.args(others).arg(program);
            command
        }
        None => Command::new(program),
    };
    let number = PARTS.iter().position(|other| *other == part).unwrap();
    command
        .args([
            "--exact",
            "--ignored",
            "--quiet",
            "tests::other_processes::writer",
        ])
        .env(FOLDER, store.folder())
        .env(PART, number.to_string())
        .stdout(std::process::Stdio::null());
    command
}

/// Prepares a state on which `part` can be played.
fn prepared(part: Part) -> Sandbox {
    let sandbox = Sandbox::new();
    if part != Part::First {
        sandbox.publish(None, changes(Part::First), 1);
    }
    sandbox
}

fn assert_is_old(sandbox: &Sandbox, part: Part) {
    match sandbox.store.open() {
        Err(NoState::Absent { .. }) => assert_eq!(part, Part::First),
        Err(error) => panic!("{error}"),
        Ok(state) => {
            assert_eq!(
                (state.clock(), state.keys(Table::Tracked)),
                (&[1; 48], 1),
                "{part:?}"
            );
            assert!(
                state.block(Table::Tracked, 0) == Ok(Some(&large(1))),
                "{part:?}"
            );
            state.verify_all().unwrap();
        }
    }
}

fn assert_is_new(sandbox: &Sandbox, part: Part) {
    let state = sandbox.store.open().unwrap();
    assert_eq!(state.clock(), &[2; 48], "{part:?}");
    let first = match part {
        Part::Rewrite => b"small".to_vec(),
        _ => large(1),
    };
    assert!(
        state.block(Table::Tracked, 0) == Ok(Some(&first)),
        "{part:?}"
    );
    assert_eq!(
        state.keys(Table::Tracked),
        if part == Part::Append { 2 } else { 1 }
    );
    state.verify_all().unwrap();
}

#[test]
fn a_writer_may_be_killed_at_any_step() {
    use std::os::unix::process::ExitStatusExt;
    for part in [Part::First, Part::Append, Part::Rewrite] {
        for (number, step) in Step::ALL.into_iter().enumerate() {
            let sandbox = prepared(part);
            let held = sandbox.store.open().ok();
            let mut killed = command(&sandbox.store, part, &[]);
            let status: ExitStatus = killed.env(KILL_AT, number.to_string()).status().unwrap();
            // Appending leaves no old file to be removed.
            let is_reached = (part, step) != (Part::Append, Step::OldRemoved);
            let signal = is_reached.then_some(Signal::KILL.as_raw());
            assert_eq!(status.signal(), signal, "{part:?} {step:?}");

            match step {
                Step::DocketPublished | Step::OldRemoved => assert_is_new(&sandbox, part),
                _ => assert_is_old(&sandbox, part),
            }
            if let Some(held) = held {
                held.verify_all().unwrap();
            }
            let base = sandbox.store.open().ok();
            let next = set(&[(Table::Seen, 5, b"next")]);
            let state = sandbox.after(base.as_ref(), next, 3);
            assert_eq!(state.block(Table::Seen, 5), Ok(Some(b"next".as_slice())));
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
        (Part::First, 0),
        (Part::First, 3000),
        (Part::Append, 0),
        (Part::Append, 6500),
        (Part::Rewrite, 0),
        (Part::Clock, 0),
    ];
    for (part, units) in cases {
        let sandbox = prepared(part);
        let limit = format!("trap '' XFSZ; ulimit -f {units}; exec \"$@\"");
        let status = command(&sandbox.store, part, &["sh", "-c", &limit, "sh"])
            .status()
            .unwrap();
        assert_eq!(status.code(), Some(3), "{part:?} {units}");
        assert_is_old(&sandbox, part);
        match part {
            Part::First => assert!(sandbox.names().is_empty()),
            _ => sandbox.assert_tidy(),
        }
        assert!(
            command(&sandbox.store, part, &[])
                .status()
                .unwrap()
                .success()
        );
        assert_is_new(&sandbox, part);
        sandbox.assert_tidy();
    }
}

#[test]
fn processes_that_count_together_lose_no_count() {
    let sandbox = Sandbox::new();
    sandbox.publish(None, set(&[(Table::General, 0, &0_u32.to_le_bytes())]), 0);
    let start = || command(&sandbox.store, Part::Count, &[]).spawn().unwrap();
    for mut child in [start(), start(), start()] {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(count(&sandbox.store.open().unwrap()), 3 * COUNTS);
    sandbox.assert_tidy();
}
