//! Compares what a candidate's `hg status` says with what Mercurial says, over random operations, see `--help`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Duration;

use vigil_testkit::hg::{self, Settings};
use vigil_testkit::sandbox::default_parent;

const USAGE: &str = "usage: hg-tester --vigil PATH [--hg PATH] [option]...

Compares standard output, standard error and exit code of hg status.

  --seed N             the first seed (1)
  --seeds N            how many are played (100)
  --steps N            operations of each (60)
  --questions N        questions after each operation (3)
  --jobs J             threads (2)
  --max-failures N     begin no seed after this many failures (5)
  --minutes N          begin no seed after this time (60)
  --dirstate V         1 or 2 (by turns)
  --daemon             ask through a daemon
  --root DIR           where working copies are made (/dev/shm)
";

fn main() -> ExitCode {
    let settings = match parse(std::env::args().skip(1)) {
        Ok(settings) => settings,
        Err(message) => {
            eprint!("hg-tester: {message}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match hg::run(&settings, &Mutex::new(std::io::stdout())) {
        Ok(totals) => {
            println!("{totals}");
            ExitCode::from(u8::from(totals.mismatches > 0))
        }
        Err(error) => {
            eprintln!("hg-tester: {error}");
            ExitCode::FAILURE
        }
    }
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Settings, String> {
    let mut settings = Settings {
        candidate: PathBuf::new(),
        oracle: "hg".into(),
        parent: default_parent(),
        seed: 1,
        seeds: 100,
        steps: 60,
        questions: 3,
        jobs: 2,
        failures_max: 5,
        time: Duration::from_secs(3600),
        dirstate_v2: None,
        daemon: false,
    };
    while let Some(name) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{name} needs a value"));
        match name.as_str() {
            "--vigil" => settings.candidate = program(&value()?),
            "--hg" => settings.oracle = program(&value()?),
            "--seed" => settings.seed = number(&value()?)?,
            "--seeds" => settings.seeds = number(&value()?)?,
            "--steps" => settings.steps = number(&value()?)?,
            "--questions" => settings.questions = number(&value()?)?,
            "--jobs" => settings.jobs = number(&value()?)?,
            "--max-failures" => settings.failures_max = number(&value()?)?,
            "--minutes" => {
                let minutes: u64 = number(&value()?)?;
                settings.time = Duration::from_secs(minutes.saturating_mul(60));
            }
            "--dirstate" => settings.dirstate_v2 = Some(value()? == "2"),
            "--daemon" => settings.daemon = true,
            "--root" => settings.parent = value()?.into(),
            other => return Err(format!("unknown argument {other}")),
        }
    }
    match settings.candidate.as_os_str().is_empty() {
        true => Err("--vigil is missing".to_owned()),
        false => Ok(settings),
    }
}

/// An absolute path of a program, so that it is found from any directory.
fn program(name: &str) -> PathBuf {
    let path = PathBuf::from(name);
    match name.contains('/') {
        true => std::path::absolute(&path).unwrap_or(path),
        false => path,
    }
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{text} is no number"))
}
