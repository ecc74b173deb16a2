//! Compares a candidate's `hg status` with Mercurial's, over random operations; see `--help`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Duration;

use vigil_testkit::command_line::{self, Words};
use vigil_testkit::hg::{self, Settings};
use vigil_testkit::sandbox::default_parent;

const USAGE: &str = "usage: hg-tester --vigil PATH [--hg PATH] [option]...

Compares standard output, standard error and exit code of hg status.

  --rhg PATH           have this program, Mercurial's in Rust, ask for the status now and then
  --seed N             the first seed (1)
  --seeds N            how many are played (100)
  --steps N            operations of each (60)
  --questions N        questions after each operation (3)
  --jobs J             threads (2)
  --max-failures N     begin no seed after this many failures (5)
  --minutes N          begin no seed after this time (60)
  --dirstate V         1 or 2 (by turns)
  --format N           of which of the rare formats the store is, from 0 (one in four is of any)
  --daemon             ask through a daemon
  --sparse             in sparse working copies
  --narrow             in narrow repositories
  --root DIR           where working copies are made (/dev/shm)
";

fn main() -> ExitCode {
    let settings = match command_line::read("hg-tester", USAGE, parse) {
        Ok(settings) => settings,
        Err(code) => return code,
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

fn parse(words: &mut Words) -> Result<Settings, String> {
    let mut settings = Settings {
        candidate: PathBuf::new(),
        oracle: "hg".into(),
        rhg: None,
        parent: default_parent(),
        seed: 1,
        seeds: 100,
        steps: 60,
        questions: 3,
        jobs: 2,
        failures_max: 5,
        time: Duration::from_secs(3600),
        dirstate_v2: None,
        format: None,
        daemon: false,
        partial: hg::PartialCheckouts::default(),
    };
    while let Some(name) = words.option() {
        match name.as_str() {
            "--vigil" => settings.candidate = words.program()?,
            "--hg" => settings.oracle = words.program_as_called()?,
            "--rhg" => settings.rhg = Some(words.program_as_called()?),
            "--seed" => settings.seed = words.number()?,
            "--seeds" => settings.seeds = words.number()?,
            "--steps" => settings.steps = words.number()?,
            "--questions" => settings.questions = words.number()?,
            "--jobs" => settings.jobs = words.number()?,
            "--max-failures" => settings.failures_max = words.number()?,
            "--minutes" => settings.time = words.minutes()?,
            "--dirstate" => settings.dirstate_v2 = Some(words.value()? == "2"),
            "--format" => settings.format = Some(words.number()?),
            "--daemon" => settings.daemon = true,
            "--sparse" => settings.partial.sparse = true,
            "--narrow" => settings.partial.narrow = true,
            "--root" => settings.parent = words.value()?.into(),
            other => return Err(format!("unknown argument {other}")),
        }
    }
    match settings.candidate.as_os_str().is_empty() {
        true => Err("--vigil is missing".to_owned()),
        false => Ok(settings),
    }
}
