//! Many processes at once in one repository, some of which are killed: every answer is right, and in the end the state is
//! whole and nothing else is left.
//!
//! A run has twelve rounds; `VIGIL_CROWD_ROUNDS` gives another number.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "all of this file is tests"
)]

use std::path::Path;
use std::process::{Command, Stdio};
const VIGIL: &str = env!("CARGO_BIN_EXE_vigil");
const PROCESSES: usize = 10;
const QUESTIONS: [&[&str]; 4] = [
    &["status", "--porcelain=v2", "-z", "--no-renames"],
    &["status", "--porcelain", "-uall", "--no-renames"],
    &["status", "--porcelain", "--ignored", "--no-renames"],
    &["status", "--porcelain=v2", "-uno", "--no-renames"],
];

/// Numbers that look random (xorshift64).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(end).unwrap()).unwrap()
    }
}

fn command(program: &str, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir(folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("HOME", folder.parent().unwrap())
        .env_remove("GIT_CONFIG_GLOBAL")
        .env_remove("GIT_DIR");
    command
}

fn git(folder: &Path, arguments: &[&str]) -> Vec<u8> {
    let identity = ["-c", "user.name=a", "-c", "user.email=a@b"];
    let output = command("git", folder)
        .args(identity)
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    output.stdout
}

fn write(folder: &Path, name: &str, contents: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, contents).unwrap();
}

/// Changes something in the working tree or in the index.
fn change(folder: &Path, random: &mut Random, round: usize) {
    let (dir, file) = (random.below(12), random.below(12));
    let name = format!("d{dir}/e{}/f{file}", dir % 3);
    match random.below(7) {
        0 => write(folder, &name, &format!("{round}\n")),
        1 => drop(std::fs::remove_file(folder.join(&name))),
        2 => write(folder, &format!("d{dir}/new{round}"), ""),
        3 => write(folder, &format!("d{dir}/u{round}/x.o"), ""),
        4 => drop(git(folder, &["add", "-A", &format!("d{dir}")])),
        5 => drop(git(
            folder,
            &["commit", "-q", "--allow-empty", "-am", "round"],
        )),
        _ => write(
            folder,
            &format!("d{dir}/.gitignore"),
            &format!("*.o\nnew{round}\n"),
        ),
    }
}

/// Asks once, and kills the process if it is to be, after so many turns on which others may run. It may have answered then.
fn ask(folder: &Path, question: usize, expected: &[Vec<u8>], kill_after: Option<usize>) {
    let mut asked = command(VIGIL, folder);
    asked
        .args(QUESTIONS[question])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
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
fn a_crowd_of_which_some_are_killed_is_answered_rightly() {
    let rounds = std::env::var("VIGIL_CROWD_ROUNDS").map_or(12, |text| text.parse().unwrap());
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("repository");
    for dir in 0..12 {
        for file in 0..12 {
            write(
                &folder,
                &format!("d{dir}/e{}/f{file}", dir % 3),
                "recorded\n",
            );
        }
    }
    git(&folder, &["init", "-q"]);
    git(&folder, &["add", "."]);
    git(&folder, &["commit", "-qm", "all"]);
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for round in 0..rounds {
        change(&folder, &mut random, round);
        let expected: Vec<Vec<u8>> = QUESTIONS
            .iter()
            .map(|question| git(&folder, question))
            .collect();
        let mut plan = |_| {
            let turns = random.below(20_000);
            let kill_after = (random.below(3) == 0).then_some(turns);
            (random.below(QUESTIONS.len()), kill_after)
        };
        let plans: Vec<(usize, Option<usize>)> = (0..PROCESSES).map(&mut plan).collect();
        std::thread::scope(|scope| {
            for (question, kill_after) in &plans {
                scope.spawn(|| ask(&folder, *question, &expected, *kill_after));
            }
        });
    }
    // The next writer removes what those who were killed left behind.
    write(&folder, "last", "");
    let expected: Vec<Vec<u8>> = QUESTIONS
        .iter()
        .map(|question| git(&folder, question))
        .collect();
    for question in 0..QUESTIONS.len() {
        ask(&folder, question, &expected, None);
    }
    let files = std::fs::read_dir(folder.join(".git/vigil")).unwrap();
    let mut names: Vec<String> = files
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names.len(), 2, "{names:?}");
    assert_eq!(names[0], "state");
    assert!(!folder.join(".git/index.lock").exists());
}
