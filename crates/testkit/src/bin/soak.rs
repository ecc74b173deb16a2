//! Asks a daemon while faults are injected; see `--help`.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use vigil_testkit::command_line::{self, Words};
use vigil_testkit::player::Settings;
use vigil_testkit::random::ScenarioPlan;
use vigil_testkit::soak::{self, Soak};

const USAGE: &str = "usage: soak --vigil PATH [--git PATH]... [option]...

Several repositories change at random, and are asked about by many at once through one daemon, which is killed, halted,
replaced, flooded with events, and loses its folder. Ends with 1 when an answer is wrong or the daemon's memory grows.

  --minutes N          begin no repository after this many minutes (90)
  --repositories N     begin no repository after this many
  --seed N             seed of the first repository (1)
  --jobs J             repositories at a time (3)
  --steps S            operations per repository (40)
  --questions Q        questions after each operation (3), all at once; a shell asks one more
  --faults PERCENT     how likely a fault is after an operation (25)
  --root DIR           where repositories are made (/dev/shm)
";

fn main() -> ExitCode {
    let (settings, soak) = match command_line::read("soak", USAGE, parse) {
        Ok(parsed) => parsed,
        Err(code) => return code,
    };
    let begin = Instant::now();
    let report = match soak::run(&settings, &soak) {
        Ok(report) => report,
        Err(error) => {
            eprintln!("soak: {error}");
            return ExitCode::FAILURE;
        }
    };
    for text in report.wrong.iter().chain(&report.errors) {
        println!("{text}");
    }
    eprintln!("{:.1} s", begin.elapsed().as_secs_f64());
    print!("{}", report.summary());
    match report.is_good() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

fn parse(words: &mut Words) -> Result<(Settings, Soak), String> {
    let mut settings = Settings::new("", "git");
    let mut gits = Vec::new();
    let mut soak = Soak {
        seed: 1,
        repositories: u64::MAX,
        time_max: Duration::from_secs(90 * 60),
        jobs: 3,
        faults_percent: 25,
        wrong_max: 5,
        plan: ScenarioPlan {
            steps: 40,
            questions: 3,
            without: Default::default(),
            reftable: false,
            prompts: false,
        },
    };
    while let Some(name) = words.option() {
        match name.as_str() {
            "--vigil" => settings.candidate = words.program()?,
            "--git" => gits.push(words.program()?),
            "--minutes" => soak.time_max = words.minutes()?,
            "--repositories" => soak.repositories = words.number()?,
            "--seed" => soak.seed = words.number()?,
            "--jobs" => soak.jobs = words.number()?,
            "--steps" => soak.plan.steps = words.number()?,
            "--questions" => soak.plan.questions = words.number()?,
            "--faults" => soak.faults_percent = words.number()?,
            "--root" => settings.parent = words.value()?.into(),
            other => return Err(format!("unknown argument {other}")),
        }
    }
    if settings.candidate.as_os_str().is_empty() {
        return Err("--vigil is missing".to_owned());
    }
    let mut gits = gits.into_iter();
    settings.oracle = gits.next().unwrap_or_else(|| "git".into());
    settings.accepted_gits = gits.collect();
    soak.plan.without = settings.options_unsupported_by_oracle();
    Ok((settings, soak))
}
