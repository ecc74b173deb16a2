//! Tight limits on a process's resources: what is optional is silently skipped and leaves nothing behind; the rest is answered
//! correctly or fails in an orderly way.

#![allow(clippy::unwrap_used, reason = "all of this file is tests")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Output, Stdio};

const VIGIL: &str = env!("CARGO_BIN_EXE_vigil");

/// The exit code of a program that panicked.
const PANIC_EXIT_CODE: i32 = 101;

struct Sandbox(vigil_testkit::sandbox::Sandbox);

vigil_testkit::wraps_a_sandbox!(Sandbox);

impl Sandbox {
    /// A repository of 600 files in 40 folders, one of them changed, and one untracked file.
    fn new() -> Self {
        let mut sandbox = vigil_testkit::sandbox::Sandbox::new();
        sandbox.set_variable("GIT_OPTIONAL_LOCKS", "0");
        // Rust's library may wait for itself if memory runs out while it prints a backtrace.
        sandbox.set_variable("RUST_BACKTRACE", "0");
        sandbox.set_variable("VIGIL", VIGIL);
        let sandbox = Self(sandbox);
        for number in 0..600 {
            let name = format!("dir{}/file{number}", number % 40);
            sandbox.write(&name, "recorded\n");
        }
        sandbox.run_script("git add . && git commit -q -m all");
        sandbox.write("dir3/file3", "changed\n");
        sandbox.write("new", "");
        sandbox
    }

    fn shell_command(&self, script: &str) -> Command {
        self.command("sh", "", ["-c", script])
    }

    fn run_script(&self, script: &str) -> Output {
        self.shell_command(script).output().unwrap()
    }
}

#[test]
fn with_a_small_stack_the_answers_are_the_same() {
    let sandbox = Sandbox::new();
    for command in ["status", "status --porcelain=v2 --branch -uall", "prompt"] {
        let answer = sandbox.run_script(&format!("$VIGIL {command}"));
        assert!(answer.status.success() && !answer.stdout.is_empty());
        let same = sandbox.run_script(&format!("ulimit -s 64 && exec $VIGIL {command}"));
        assert_eq!(same, answer, "{command}");
    }
}

#[test]
fn a_state_that_may_not_be_so_long_is_not_written_and_leaves_nothing() {
    let sandbox = Sandbox::new();
    let expected = sandbox.run_script("git status --porcelain").stdout;
    assert!(!expected.is_empty());
    for blocks in [0, 1, 8, 20] {
        let told = sandbox.run_script(&format!(
            "ulimit -f {blocks} && exec $VIGIL status --porcelain"
        ));
        assert_eq!(told.status.code(), Some(0), "{blocks}: {told:?}");
        assert_eq!(told.stdout, expected);
        assert!(told.stderr.is_empty(), "{told:?}");
        assert_eq!(sandbox.state_files(), [""; 0], "{blocks}");
    }
    // An existing state stays as it is.
    assert!(sandbox.run_script("$VIGIL status").status.success());
    let list = "stat -c '%n %s %i' .git/vigil/* | sort";
    let before = sandbox.run_script(list).stdout;
    assert_eq!(sandbox.state_files().len(), 2);
    sandbox.write("dir5/new", "");
    let expected = sandbox.run_script("git status --porcelain").stdout;
    let told = sandbox.run_script("ulimit -f 0 && exec $VIGIL status --porcelain");
    assert_eq!((told.status.code(), told.stdout), (Some(0), expected));
    assert_eq!(sandbox.run_script(list).stdout, before);
}

#[test]
fn a_long_lived_process_lives_on_where_nothing_may_be_written() {
    let sandbox = Sandbox::new();
    let mut shell = sandbox.shell_command("ulimit -f 0 && exec $VIGIL gitstatusd");
    let piped = shell.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    for number in 0..3 {
        write!(input, "{number}\x1f{}\x1e", sandbox.top().display()).unwrap();
        let mut answer = Vec::new();
        output.read_until(0x1e, &mut answer).unwrap();
        let expected = format!("{number}\x1f1\x1f");
        assert!(answer.starts_with(expected.as_bytes()), "{answer:?}");
    }
    drop(input);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(sandbox.state_files(), [""; 0]);
}

#[test]
fn programs_that_vigil_starts_have_their_own_limits() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitattributes", "filtered filter=told\n");
    sandbox.write("filtered", "one\n");
    sandbox.run_script("git add . && git commit -q -m filtered");
    sandbox.write("filtered", "two\n");
    let filter = "grep -E '^Sig(Ign|Cgt)' /proc/self/status >../told; cat";
    sandbox.run_script(&format!("git config filter.told.clean \"{filter}\""));
    let signals = |prelude: &str, program: &str| {
        sandbox.write("filtered", format!("{}\n", program.get(..3).unwrap()));
        let told = sandbox.run_script(&format!("{prelude} exec {program} status"));
        assert!(told.status.success(), "{told:?}");
        std::fs::read_to_string(sandbox.root().join("told")).unwrap()
    };
    // The signal's bit in the masks of ignored and of caught signals.
    let bits = |prelude: &str, program: &str| {
        let told = signals(prelude, program);
        let masks = told.lines().map(|line| line.rsplit('\t').next().unwrap());
        let bit = |mask| u64::from_str_radix(mask, 16).unwrap() >> (25 - 1) & 1;
        masks.map(bit).collect::<Vec<u64>>()
    };
    for (prelude, expected) in [("", [0, 0]), ("trap '' XFSZ;", [1, 0])] {
        for program in ["$VIGIL", "git"] {
            assert_eq!(bits(prelude, program), expected, "{prelude} {program}");
        }
    }
}

#[test]
fn under_tight_limits_commands_fail_in_an_orderly_way() {
    let sandbox = Sandbox::new();
    let id = String::from_utf8(sandbox.run_script("git rev-parse HEAD").stdout).unwrap();
    sandbox.run_script("git repack -q -a -d");
    let questions = [
        "status --porcelain",
        "cat-file --batch-all-objects --batch --unordered",
        "describe --all --dirty",
    ];
    let whole =
        questions.map(|question| sandbox.run_script(&format!("git {question} | sort")).stdout);
    let descriptors = (3..24).map(|count| format!("ulimit -n {count}"));
    let memory = (8..48).map(|count| format!("ulimit -v {}", count * 1000));
    let (mut answered, mut refused) = (0, 0);
    for limit in descriptors.chain(memory) {
        for (question, whole) in questions.iter().zip(&whole) {
            let script = format!("rm -rf .git/vigil; {limit} && exec $VIGIL {question}");
            let told = sandbox.run_script(&script);
            assert_ne!(
                told.status.code(),
                Some(PANIC_EXIT_CODE),
                "{limit} {question}: {told:?}"
            );
            if told.status.code() == Some(0) {
                let mut lines: Vec<&[u8]> =
                    told.stdout.split_inclusive(|byte| *byte == b'\n').collect();
                lines.sort_unstable();
                assert_eq!(lines.concat(), *whole, "{limit} {question} {id}");
                answered += 1;
            } else {
                refused += 1;
            }
            // What a killed process leaves behind is removed by the next writer.
            let left = sandbox.state_files();
            let is_killed = told.status.code().is_none();
            assert!(
                is_killed || matches!(left.len(), 0 | 2),
                "{limit} {question}: {left:?}"
            );
        }
    }
    assert!(answered > 30 && refused > 0, "{answered} {refused}");
}

#[test]
fn a_file_too_large_for_memory_ends_a_command_with_a_message() {
    const LONG: u64 = 20 << 30;
    let sandbox = Sandbox::new();
    for name in [
        ".git/packed-refs",
        ".git/config",
        ".gitignore",
        ".git/info/exclude",
    ] {
        let path = sandbox.top().join(name);
        let before = std::fs::read(&path).ok();
        let file = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path);
        file.unwrap().set_len(LONG).unwrap();
        for limit in [300_000, 2_000_000] {
            for question in ["status", "describe --always", "cat-file -t HEAD"] {
                let script = format!("ulimit -v {limit} && exec $VIGIL {question}");
                let told = sandbox.run_script(&script);
                assert!(
                    matches!(told.status.code(), Some(0 | 128)),
                    "{name} {limit} {question}: {told:?}"
                );
            }
        }
        match before {
            Some(before) => std::fs::write(path, before).unwrap(),
            None => std::fs::remove_file(path).unwrap(),
        }
    }
}

/// An object for which there is too little memory ends a command, but not before earlier answers are written.
#[test]
fn an_object_too_large_for_memory_ends_a_batch_with_a_message() {
    let sandbox = Sandbox::new();
    sandbox.run_script(
        "{ git cat-file commit HEAD && head -c 268435456 /dev/zero; } >../large &&
         git hash-object -t commit -w --literally --stdin <../large >../id && rm ../large",
    );
    let id = std::fs::read_to_string(sandbox.root().join("id")).unwrap();
    let batch = "cat-file --batch <../questions";
    let questions = format!("HEAD^{{tree}}\n{id}HEAD^{{tree}}\n");
    std::fs::write(sandbox.root().join("questions"), questions).unwrap();
    for pack in [
        "true",
        "git repack -q -a -d && git pack-objects -q .git/objects/pack/pack <../id",
    ] {
        sandbox.run_script(&format!("{pack} && git prune-packed -q"));
        for question in [
            batch,
            &format!("cat-file -p {id}"),
            &format!("cat-file commit {id}"),
        ] {
            let question = question.trim_end();
            let told = sandbox.run_script(&format!("ulimit -v 200000 && exec $VIGIL {question}"));
            let stderr = String::from_utf8(told.stderr).unwrap();
            assert_eq!(told.status.code(), Some(128), "{question}: {stderr}");
            assert!(
                stderr.starts_with("fatal: Out of memory, malloc failed"),
                "{stderr}"
            );
            let is_answered = told.stdout.windows(6).any(|text| text == b" tree ");
            assert_eq!(is_answered, question == batch);
        }
    }
}

#[test]
fn room_for_more_bases_than_there_is_memory_does_no_harm() {
    let sandbox = Sandbox::new();
    let lines: String = (0..200_000).map(|line| format!("{line}\n")).collect();
    for last in 0..5 {
        sandbox.write("long", format!("{lines}{last}\n"));
        sandbox.run_script("git add long && git commit -q -m long");
    }
    sandbox.run_script("git repack -q -a -d -f");
    for arguments in [
        "--batch",
        "--batch --batch-all-objects",
        "--batch --batch-all-objects --unordered",
    ] {
        let list = "git rev-list --objects --all | cut -d' ' -f1";
        let ask = |program: &str| {
            sandbox.run_script(&format!(
                "{list} | {program} cat-file {arguments} | sort | sha1sum"
            ))
        };
        let expected = ask("git");
        for room in ["1000g", "9223372036854775807", "18446744073709551615"] {
            let told = ask(&format!("$VIGIL -c core.deltaBaseCacheLimit={room}"));
            assert_eq!(told, expected, "{arguments} {room}");
        }
    }
}

#[test]
fn a_log_of_empty_lines_is_read_in_little_memory() {
    let sandbox = Sandbox::new();
    sandbox.write(".git/logs/HEAD", vec![b'\n'; 16 << 20]);
    let told = sandbox.run_script("ulimit -v 200000 && exec $VIGIL cat-file -t '@{-1}'");
    assert_eq!(
        String::from_utf8_lossy(&told.stderr),
        "fatal: Not a valid object name @{-1}\n"
    );
    assert_eq!(told.status.code(), Some(128));
}
