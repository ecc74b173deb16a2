//! Compares a candidate's `cat-file` with git's, in sound and damaged repositories; see `--help`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use vigil_testkit::command_line::{self, Words};
use vigil_testkit::objects::{self, Settings};
use vigil_testkit::sandbox::default_parent;

const USAGE: &str = "usage: object-tester --vigil PATH [--git PATH] [option]...

Compares standard output, standard error and exit code of cat-file.

  --seed N             seed of the first case (1)
  --cases N            number of cases, each of a seed of its own and with a few questions (1000)
  --jobs J             threads (2)
  --max-failures N     begin no case after this many failures (5)
  --ids-only           ask by full ids alone
  --old                damage nothing, and ask only what older gits know
  --without LIST       shapes of repositories that do not occur, separated by commas
  --root DIR           where repositories are made (/dev/shm)
  --limit SECONDS      how long an answer may take (3)
  --keep DIR           leave the repositories of failures there
";

fn main() -> ExitCode {
    let settings = match command_line::read("object-tester", USAGE, parse) {
        Ok(settings) => settings,
        Err(code) => return code,
    };
    let begin = Instant::now();
    let totals = match objects::run(&settings, &Mutex::new(std::io::stdout())) {
        Ok(totals) => totals,
        Err(error) => {
            eprintln!("object-tester: {error}");
            return ExitCode::FAILURE;
        }
    };
    eprintln!("{:.1} s", begin.elapsed().as_secs_f64());
    println!("{totals}");
    ExitCode::from(u8::from(totals.mismatches > 0))
}

fn parse(words: &mut Words) -> Result<Settings, String> {
    let mut settings = Settings {
        candidate: PathBuf::new(),
        oracle: "git".into(),
        parent: default_parent(),
        limit: Duration::from_secs(3),
        seed: 1,
        cases: 1000,
        failures_max: 5,
        jobs: 2,
        ids_only: false,
        is_old: false,
        without: Vec::new(),
        kept: None,
    };
    while let Some(name) = words.option() {
        match name.as_str() {
            "--vigil" => settings.candidate = words.program()?,
            "--git" => settings.oracle = words.program()?,
            "--seed" => settings.seed = words.number()?,
            "--cases" => settings.cases = words.number()?,
            "--jobs" => settings.jobs = words.number()?,
            "--max-failures" => settings.failures_max = words.number()?,
            "--ids-only" => settings.ids_only = true,
            "--old" => settings.is_old = true,
            "--without" => {
                settings.without = words.value()?.split(',').map(str::to_owned).collect()
            }
            "--root" => settings.parent = words.value()?.into(),
            "--limit" => settings.limit = words.seconds()?,
            "--keep" => settings.kept = Some(words.value()?.into()),
            other => return Err(format!("unknown argument {other}")),
        }
    }
    match settings.candidate.as_os_str().is_empty() {
        true => Err("--vigil is missing".to_owned()),
        false => Ok(settings),
    }
}
