//! Compares a candidate with git; see `--help`.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use vigil_testkit::campaign::{self, Campaign};
use vigil_testkit::cases;
use vigil_testkit::command_line::{self, Words};
use vigil_testkit::daemon::Daemon;
use vigil_testkit::monitor::{Monitor, Transport};
use vigil_testkit::player::Settings;
use vigil_testkit::random::operations::GROUPS as OPERATION_GROUPS;
use vigil_testkit::random::questions::GROUPS as OPTION_GROUPS;
use vigil_testkit::random::{ScenarioPlan, scenario};
use vigil_testkit::scenario::describe;

const USAGE: &str = "usage: random-tester --vigil PATH [--git PATH]... [option]...

Compares what --vigil says with what the first --git says about the same working copy.
An answer that only a further --git gives is counted apart and is no mismatch.

  --mode status|gitstatusd|cases|prompt-cases|fsmonitor   what is asked (status); with fsmonitor, the first --git
                       asks the monitor of --vigil, and is compared with itself without one
  --monitor hook|socket how it asks (hook)
  --seed N             seed of the first run (1)
  --runs R             number of runs, each of a seed of its own (10; without limit if --comparisons or --minutes is given)
  --daemon             ask through a daemon that is started for this; fails if that answers nothing
  --comparisons N      begin no run after this many comparisons
  --minutes N          begin no run after this many minutes
  --steps S            operations per run (40)
  --questions Q        questions after each operation (4)
  --jobs J             threads (2)
  --options full|LIST  groups of options that occur (full); the list is separated by commas
  --without LIST       groups of operations or options, or single operations, that do not occur
  --case TEXT          with the modes of cases: only those whose name contains TEXT
  --replay SEED        play this one run, as --seed SEED --runs 1
  --list               print the run of --seed, or the names of the groups without --vigil, and do nothing
  --max-failures N     begin no run after this many failures (5)
  --no-shrink          report failures as they were found
  --shrink-tries N     the most tries per failure and phase (400)
  --stderr             compare standard error, too
  --env NAME=VALUE     a variable for the candidate alone
  --root DIR           where sandboxes are made (/dev/shm)
  --limit SECONDS      how long an answer may take (20)
  --keep               leave the sandboxes of failures on disk
";

/// The parsed command line.
struct Arguments {
    mode: String,
    list: bool,
    daemon: bool,
    case: String,
    settings: Settings,
    campaign: Campaign,
}

fn main() -> ExitCode {
    match command_line::read("random-tester", USAGE, parse) {
        Ok(parsed) if parsed.list => list_operations(&parsed),
        Ok(parsed) if parsed.daemon => through_a_daemon(parsed),
        Ok(parsed) => start(&parsed),
        Err(code) => code,
    }
}

fn parse(words: &mut Words) -> Result<Arguments, String> {
    let plan = ScenarioPlan {
        steps: 40,
        questions: 4,
        without: BTreeSet::new(),
        reftable: true,
        prompts: false,
    };
    let mut campaign = Campaign {
        seed: 1,
        runs: 10,
        comparisons_max: usize::MAX,
        time_max: Duration::MAX,
        failures_max: 5,
        jobs: 2,
        plan,
        reduces_failures: true,
        keeps_sandboxes: false,
    };
    let mut settings = Settings::new("", "git");
    let mut gits: Vec<PathBuf> = Vec::new();
    let mut runs = None;
    let mut daemon = false;
    let (mut mode, mut case, mut list) = ("status".to_owned(), String::new(), false);
    let mut transport = Transport::Hook;
    while let Some(name) = words.option() {
        match name.as_str() {
            "--vigil" => settings.candidate = words.program()?,
            "--git" => gits.push(words.program()?),
            "--mode" => mode = words.value()?,
            "--seed" => campaign.seed = words.number()?,
            "--runs" => runs = Some(words.number()?),
            "--comparisons" => campaign.comparisons_max = words.number()?,
            "--minutes" => campaign.time_max = words.minutes()?,
            "--steps" => campaign.plan.steps = words.number()?,
            "--questions" => campaign.plan.questions = words.number()?,
            "--jobs" => campaign.jobs = words.number()?,
            "--options" => keep_only_groups(&mut campaign.plan, &words.value()?)?,
            "--without" => leave_out_groups(&mut campaign.plan, &words.value()?)?,
            "--replay" => {
                campaign.seed = words.number()?;
                runs = Some(1);
            }
            "--case" => case = words.value()?,
            "--monitor" => {
                transport = match words.value()?.as_str() {
                    "hook" => Transport::Hook,
                    "socket" => Transport::Socket,
                    other => return Err(format!("there is no monitor {other}")),
                }
            }
            "--daemon" => daemon = true,
            "--list" => list = true,
            "--max-failures" => campaign.failures_max = words.number()?,
            "--no-shrink" => campaign.reduces_failures = false,
            "--shrink-tries" => settings.shrink_tries_max = words.number()?,
            "--stderr" => settings.compare_errors = true,
            "--env" => {
                let pair = words.value()?;
                let (name, value) = pair.split_once('=').ok_or("--env needs NAME=VALUE")?;
                settings
                    .candidate_variables
                    .push((name.into(), value.into()));
            }
            "--root" => settings.parent = words.value()?.into(),
            "--limit" => settings.limit = words.seconds()?,
            "--keep" => campaign.keeps_sandboxes = true,
            other => return Err(format!("unknown argument {other}")),
        }
    }
    if settings.candidate.as_os_str().is_empty() && !list {
        return Err("--vigil is missing".to_owned());
    }
    campaign.runs = match runs {
        Some(runs) => runs,
        None if campaign.comparisons_max < usize::MAX || campaign.time_max < Duration::MAX => {
            u64::MAX
        }
        None => campaign.runs,
    };
    let mut gits = gits.into_iter();
    settings.oracle = gits.next().unwrap_or_else(|| "git".into());
    settings.accepted_gits = gits.collect();
    if mode == "fsmonitor" {
        let program = std::mem::replace(&mut settings.candidate, settings.oracle.clone());
        settings.monitor = Some(Monitor { program, transport });
        daemon = true;
    }
    settings.may_write = git_version(&settings.candidate).is_some();
    settings.skip_long_format = !campaign.plan.has("long");
    campaign.plan.prompts = mode == "gitstatusd";
    campaign.plan.reftable =
        knows_reftable(&settings.oracle) && knows_reftable(&settings.candidate);
    Ok(Arguments {
        mode,
        list,
        daemon,
        case,
        settings,
        campaign,
    })
}

/// The version of a program, if it is a git.
fn git_version(program: &std::path::Path) -> Option<String> {
    let output = std::process::Command::new(program)
        .arg("--version")
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.strip_prefix("git version ").map(str::to_owned)
}

/// Whether a program supports reftable: a git before 2.45 does not.
fn knows_reftable(program: &std::path::Path) -> bool {
    let Some(version) = git_version(program) else {
        return true;
    };
    let mut parts = version
        .split('.')
        .map(|part| part.trim().parse::<u32>().unwrap_or(0));
    (parts.next(), parts.next()) >= (Some(2), Some(45))
}

fn leave_out_groups(plan: &mut ScenarioPlan, list: &str) -> Result<(), String> {
    for name in list.split(',').filter(|name| !name.is_empty()) {
        let is_option = OPTION_GROUPS.iter().any(|group| group.0 == name);
        let is_operation = OPERATION_GROUPS
            .iter()
            .any(|group| group.0 == name || group.1.iter().any(|operation| operation.name == name));
        if !is_option && !is_operation {
            return Err(format!("there is no group or operation {name}; see --list"));
        }
        plan.without.insert(name.to_owned());
    }
    Ok(())
}

fn keep_only_groups(plan: &mut ScenarioPlan, list: &str) -> Result<(), String> {
    if list == "full" {
        return Ok(());
    }
    let wanted: BTreeSet<&str> = list.split(',').collect();
    if let Some(name) = wanted
        .iter()
        .find(|name| !OPTION_GROUPS.iter().any(|group| group.0 == **name))
    {
        return Err(format!("there is no group of options {name}; see --list"));
    }
    for (name, _) in OPTION_GROUPS {
        if !wanted.contains(name) {
            plan.without.insert((*name).to_owned());
        }
    }
    Ok(())
}

fn list_operations(arguments: &Arguments) -> ExitCode {
    if !arguments.settings.candidate.as_os_str().is_empty() {
        print!(
            "{}",
            describe(&scenario(arguments.campaign.seed, &arguments.campaign.plan).items)
        );
        return ExitCode::SUCCESS;
    }
    println!("groups of options:");
    for (name, what) in OPTION_GROUPS {
        println!("  {name:18} {what}");
    }
    println!("groups of operations:");
    for (name, operations) in OPERATION_GROUPS {
        println!("  {name}");
        for operation in *operations {
            println!("    {}", operation.name);
        }
    }
    ExitCode::SUCCESS
}

/// Same as [`start`], through a daemon. Prints how many questions the daemon answered.
fn through_a_daemon(mut arguments: Arguments) -> ExitCode {
    let settings = &arguments.settings;
    let monitor = settings.monitor.as_ref();
    let program = monitor.map_or(&settings.candidate, |monitor| &monitor.program);
    let daemon = Daemon::start(program, &settings.parent);
    let served = daemon.and_then(|daemon| {
        arguments.settings.runtime_folder = Some(daemon.runtime_folder());
        let code = start(&arguments);
        Ok((code, daemon.final_status()?))
    });
    match served {
        Ok((code, status)) => {
            println!(
                "{} questions answered by the daemon, {} left to whoever asked",
                status.answered, status.left
            );
            code
        }
        Err(error) => {
            eprintln!("random-tester: {error}");
            ExitCode::FAILURE
        }
    }
}

fn start(arguments: &Arguments) -> ExitCode {
    let begin = Instant::now();
    let settings = &arguments.settings;
    let totals = match arguments.mode.as_str() {
        "status" | "gitstatusd" | "fsmonitor" => {
            let output = Mutex::new(std::io::stdout());
            campaign::run(settings, &arguments.campaign, &output)
        }
        "cases" | "prompt-cases" => {
            let mut cases = cases::all();
            cases.retain(|case| case.name.contains(&arguments.case));
            let prompts = arguments.mode == "prompt-cases";
            let jobs = arguments.campaign.jobs;
            return match cases::compare_cases(settings, &cases, prompts, jobs) {
                Ok(report) => {
                    eprintln!(
                        "{:.1} s, {} cases",
                        begin.elapsed().as_secs_f64(),
                        cases.len()
                    );
                    print!("{}", report.describe(settings));
                    ExitCode::from(u8::from(
                        !report.failures.is_empty() || !report.broken.is_empty(),
                    ))
                }
                Err(error) => {
                    eprintln!("random-tester: {error}");
                    ExitCode::FAILURE
                }
            };
        }
        other => {
            eprint!("random-tester: unknown mode {other}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    for error in totals.hung.iter().chain(&totals.errors) {
        eprintln!("random-tester: {error}");
    }
    let seconds = begin.elapsed().as_secs_f64();
    eprintln!("{seconds:.1} s");
    println!("{}", totals.summary());
    if totals.mismatches == 0 && totals.errors.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
