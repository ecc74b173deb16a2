//! Kills the daemon that git asks what changed, see `--help`.

use std::path::PathBuf;
use std::process::ExitCode;

use vigil_testkit::kills::{Kills, run};
use vigil_testkit::monitor::{Monitor, Way};

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
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|it| it == "--help" || it == "-h") {
        print!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let kills = match parse(&arguments) {
        Ok(kills) => kills,
        Err(message) => {
            eprint!("kills: {message}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match run(&kills) {
        Ok(report) => {
            for text in &report.wrong {
                println!("{text}");
            }
            println!(
                "{} kills, {} of them while git ran; {} comparisons, {} wrong, {} as git alone is; {} questions answered",
                report.kills,
                report.during,
                report.comparisons,
                report.wrong.len(),
                report.gits_own,
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

fn parse(arguments: &[String]) -> Result<Kills, String> {
    let mut kills = Kills {
        monitor: Monitor {
            program: PathBuf::new(),
            way: Way::Hook,
        },
        git: "git".into(),
        seed: 1,
        count: 1000,
        parent: "/dev/shm".into(),
    };
    let mut rest = arguments.iter();
    while let Some(name) = rest.next() {
        let value = rest.next().ok_or_else(|| format!("{name} needs a value"))?;
        let number = || value.parse().map_err(|_| format!("{value} is no number"));
        match name.as_str() {
            "--vigil" => kills.monitor.program = program(value),
            "--git" => kills.git = program(value),
            "--way" => {
                kills.monitor.way = match value.as_str() {
                    "hook" => Way::Hook,
                    "socket" => Way::Socket,
                    _ => return Err(format!("{value} is no way")),
                }
            }
            "--count" => kills.count = number()?,
            "--seed" => kills.seed = number()? as u64,
            "--root" => kills.parent = value.into(),
            other => return Err(format!("unknown argument {other}")),
        }
    }
    match kills.monitor.program.as_os_str().is_empty() {
        true => Err("--vigil is missing".to_owned()),
        false => Ok(kills),
    }
}

/// An absolute path of a program, so that it is found from any directory.
fn program(name: &str) -> PathBuf {
    let path = PathBuf::from(name);
    path.canonicalize().unwrap_or(path)
}
