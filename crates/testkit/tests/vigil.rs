//! Compares `vigil` with git: named states and a few random runs.
//!
//! `VIGIL_BIN` names the program. Without it, the workspace's own is used, and built if it is missing.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that fails may panic"
)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use vigil_testkit::campaign::{Campaign, run};
use vigil_testkit::cases;
use vigil_testkit::daemon::Daemon;
use vigil_testkit::objects;
use vigil_testkit::player::Settings;
use vigil_testkit::random::ScenarioPlan;
use vigil_testkit::sandbox::{default_parent, git_is_at_least, vigil_program};
use vigil_testkit::soak::{self, Soak};

/// Returns the path of the program, which is built once if it is missing.
fn vigil() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        if let Some(program) = std::env::var_os("VIGIL_BIN") {
            return program.into();
        }
        let program = vigil_program();
        if !program.exists() {
            let built = Command::new(env!("CARGO"))
                .args(["build", "-q", "-p", "vigil"])
                .status()
                .unwrap();
            assert!(built.success());
        }
        program
    })
}

/// Returns settings with `VIGIL_ORACLE_GIT` as the oracle, or else the git on `PATH`. The wording of the long format follows
/// newer versions of git, so an old oracle does not judge it.
fn settings() -> Settings {
    let oracle = std::env::var_os("VIGIL_ORACLE_GIT").unwrap_or_else(|| "git".into());
    let is_new = git_is_at_least(&oracle, 46);
    Settings {
        shrink_tries_max: 100,
        skip_long_format: !is_new,
        ..Settings::new(vigil(), oracle)
    }
}

fn play(prompts: bool, seed: u64, comparisons_max: usize) {
    play_with(&settings(), prompts, seed, comparisons_max);
}

/// Like [`play`], through a daemon, which must answer most questions itself: those left to the client do not test it.
fn play_through_a_daemon(prompts: bool, seed: u64, comparisons_max: usize) {
    let mut settings = settings();
    let daemon = Daemon::start(&settings.candidate, &settings.parent).unwrap();
    settings.runtime_folder = Some(daemon.runtime_folder());
    play_with(&settings, prompts, seed, comparisons_max);
    let status = daemon.final_status().unwrap();
    assert!(status.answered > status.left, "{status:?}");
}

fn play_with(settings: &Settings, prompts: bool, seed: u64, comparisons_max: usize) {
    let plan = ScenarioPlan {
        steps: 25,
        questions: 4,
        without: settings.options_unsupported_by_oracle(),
        reftable: false,
        prompts,
    };
    let campaign = Campaign {
        seed,
        runs: u64::MAX,
        comparisons_max,
        time_max: Duration::MAX,
        failures_max: 1,
        jobs: 2,
        plan,
        reduces_failures: true,
        keeps_sandboxes: false,
    };
    let output: Mutex<Vec<u8>> = Mutex::new(Vec::new());
    let totals = run(settings, &campaign, &output);
    let report = String::from_utf8_lossy(&output.into_inner().unwrap()).into_owned();
    assert_eq!(totals.errors, Vec::<String>::new());
    assert_eq!(totals.mismatches, 0, "{report}");
    assert!(totals.comparisons >= comparisons_max);
}

fn compare_named_states(prompts: bool) {
    let mut settings = settings();
    settings.compare_errors = !settings.skip_long_format;
    let mut cases = cases::all();
    if !git_is_at_least(&settings.oracle, 55) {
        // Newer versions of git answer these differently.
        cases.retain(|case| {
            case.name != "git file to nowhere"
                && !case
                    .name
                    .starts_with("submodule whose repository moved away")
        });
    }
    let report = cases::compare_cases(&settings, &cases, prompts, 2).unwrap();
    assert!(
        report.failures.is_empty() && report.broken.is_empty(),
        "{}",
        report.describe(&settings)
    );
}

#[test]
fn named_states_are_answered_as_git_does() {
    compare_named_states(false);
}

#[test]
fn named_states_are_answered_over_the_protocol() {
    compare_named_states(true);
}

#[test]
fn random_states_are_answered_as_git_does() {
    play(false, 1000, 600);
}

#[test]
fn random_states_are_answered_over_the_protocol() {
    play(true, 1000, 150);
}

#[test]
fn random_states_are_answered_through_a_daemon_as_git_does() {
    play_through_a_daemon(false, 2000, 600);
}

#[test]
fn random_states_are_answered_over_the_protocol_through_a_daemon() {
    play_through_a_daemon(true, 2000, 150);
}

#[test]
fn whatever_happens_to_the_daemon_no_answer_is_wrong() {
    let soak = Soak {
        seed: 3000,
        repositories: 6,
        time_max: Duration::MAX,
        jobs: 2,
        faults_percent: 40,
        wrong_max: 1,
        plan: ScenarioPlan {
            steps: 8,
            questions: 2,
            without: settings().options_unsupported_by_oracle(),
            reftable: false,
            prompts: false,
        },
    };
    let report = soak::run(&settings(), &soak).unwrap();
    assert!(report.is_good(), "{report:#?}");
    assert!(report.faults.len() > 1 && report.daemons > 1, "{report:?}");
    assert!(report.comparisons >= 100, "{report:?}");
}

#[test]
fn damaged_objects_are_reported_as_by_git() {
    // git reads the objects that a name leads through in another way than those asked for by id. The difference shows only
    // if nothing in a pack makes sense.
    for (ids_only, without) in [(true, "alternates"), (false, "crafted")] {
        let settings = settings();
        let settings = objects::Settings {
            candidate: settings.candidate,
            is_old: !git_is_at_least(&settings.oracle, 55),
            oracle: settings.oracle,
            parent: default_parent(),
            limit: Duration::from_secs(60),
            seed: 1000,
            cases: 40,
            failures_max: 3,
            jobs: 2,
            ids_only,
            without: vec![without.to_owned()],
            kept: None,
        };
        let output: Mutex<Vec<u8>> = Mutex::new(Vec::new());
        let totals = objects::run(&settings, &output).unwrap();
        let report = String::from_utf8_lossy(&output.into_inner().unwrap()).into_owned();
        assert_eq!(totals.mismatches, 0, "{report}");
        assert!(totals.comparisons >= 100);
    }
}
