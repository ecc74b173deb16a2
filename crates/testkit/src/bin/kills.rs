//! Kills the daemon that git asks as its monitor; see `--help`.

use std::path::PathBuf;
use std::process::ExitCode;

use vigil_testkit::command_line::{self, Words};
use vigil_testkit::kills::{KillSettings, run};
use vigil_testkit::monitor::{Monitor, Transport};

const USAGE: &str = "usage: kills --vigil PATH [option]...

git asks the daemon what changed, which is killed at random moments between its commands and during them; each time `git status` is
compared with that of a git without a monitor. Ends with 1 when it is wrong, or git is held up by what the daemon left.

  --git PATH           the git that asks (git)
  --way hook|socket    how it asks (hook); the socket needs git 2.55
  --count N            kills (1000)
  --seed N             of chance (1)
  --root DIR           where the sandbox is made (/dev/shm)
";

fn main() -> ExitCode {
    let kills = match command_line::read("kills", USAGE, parse) {
        Ok(parsed) => parsed,
        Err(code) => return code,
    };
    match run(&kills) {
        Ok(report) => {
            for text in &report.failures {
                println!("{text}");
            }
            println!(
                "{} kills, {} of them while git ran; {} comparisons, {} wrong, {} as git alone is; {} questions answered",
                report.kills,
                report.kills_during_git,
                report.comparisons,
                report.failures.len(),
                report.git_faults,
                report.answered
            );
            match report.is_good() {
                true => ExitCode::SUCCESS,
                false => ExitCode::FAILURE,
            }
        }
        Err(error) => {
            eprintln!("kills: {error}");
            ExitCode::FAILURE
        }
    }
}

fn parse(words: &mut Words) -> Result<KillSettings, String> {
    let mut kills = KillSettings {
        monitor: Monitor {
            program: PathBuf::new(),
            transport: Transport::Hook,
        },
        git: "git".into(),
        seed: 1,
        count: 1000,
        parent: "/dev/shm".into(),
    };
    while let Some(name) = words.option() {
        match name.as_str() {
            "--vigil" => kills.monitor.program = words.program()?,
            "--git" => kills.git = words.program()?,
            "--way" => {
                kills.monitor.transport = match words.value()?.as_str() {
                    "hook" => Transport::Hook,
                    "socket" => Transport::Socket,
                    other => return Err(format!("--way is hook or socket, not {other}")),
                }
            }
            "--count" => kills.count = words.number()?,
            "--seed" => kills.seed = words.number()?,
            "--root" => kills.parent = words.value()?.into(),
            other => return Err(format!("unknown argument {other}")),
        }
    }
    match kills.monitor.program.as_os_str().is_empty() {
        true => Err("--vigil is missing".to_owned()),
        false => Ok(kills),
    }
}
