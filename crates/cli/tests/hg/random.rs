//! A few random operations, including seeds that once made a difference.

use std::sync::Mutex;
use std::time::Duration;

use vigil_testkit::hg::{PartialCheckouts, Settings, run};
use vigil_testkit::sandbox::default_parent;

use super::sandbox::hg_programs;

#[test]
fn random_operations_are_answered_as_mercurial_does() {
    run_tester(false, PartialCheckouts::default());
}

#[test]
fn random_operations_on_parts_of_repositories_are_answered_as_mercurial_does() {
    for sparse in [true, false] {
        let narrow = !sparse;
        run_tester(false, PartialCheckouts { sparse, narrow });
    }
}

#[test]
fn random_operations_are_answered_as_mercurial_does_through_a_daemon() {
    run_tester(true, PartialCheckouts::default());
}

fn run_tester(daemon: bool, partial: PartialCheckouts) {
    for oracle in hg_programs() {
        let settings = Settings {
            candidate: env!("CARGO_BIN_EXE_vigil").into(),
            oracle,
            rhg: None,
            parent: default_parent(),
            // For the daemon, seeds whose ignore files are without errors, so that it answers many questions.
            seed: if daemon { 504 } else { 10 },
            seeds: 4,
            steps: 40,
            questions: 2,
            jobs: 2,
            failures_max: 1,
            time: Duration::from_secs(600),
            dirstate_v2: None,
            format: None,
            daemon,
            partial,
        };
        let report = Mutex::new(Vec::new());
        let totals = run(&settings, &report).unwrap();
        let output = String::from_utf8_lossy(&report.into_inner().unwrap()).into_owned();
        assert_eq!(totals.mismatches, 0, "{output}");
        assert!(totals.same > totals.left_to_mercurial, "{totals}");
        assert!(!daemon || totals.by_daemon > 20, "{totals}");
    }
}
