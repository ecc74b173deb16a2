//! Named repository states, each compared with a list of invocations.

mod attributes;
mod builder;
mod case;
mod conflicts;
mod damage;
mod ignore;
mod index;
mod nested;
mod paths;
mod progress;
mod prompt;
mod racy;
mod references;
mod renames;
mod submodules;

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use bstr::ByteSlice;

use crate::campaign::describe_differences;
use crate::player::{ComparedAnswers, Difference, Settings, play};
use crate::sandbox::SandboxError;
use crate::scenario::Scenario;
pub use case::Case;

/// All states, by subject.
const GROUPS: &[&[Case]] = &[
    prompt::CASES,
    progress::CASES,
    conflicts::CASES,
    racy::CASES,
    ignore::CASES,
    submodules::CASES,
    nested::CASES,
    index::CASES,
    paths::CASES,
    attributes::CASES,
    renames::CASES,
    references::CASES,
    damage::CASES,
];

/// All states.
pub fn all() -> Vec<Case> {
    GROUPS.iter().copied().flatten().copied().collect()
}

/// A question with a wrong answer.
#[derive(Clone, Debug)]
pub struct CaseFailure {
    /// The state.
    pub case: &'static str,
    /// A scenario with only this question.
    pub scenario: Scenario,
    /// The differences between the answers.
    pub differences: Vec<Difference>,
}

/// The results of comparing states.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The number of answers compared.
    pub comparisons: usize,
    /// The number of answers that equal another git's, but not the oracle's.
    pub version_differences: usize,
    /// The number of questions that the candidate rejected more clearly than the oracle.
    pub clearer_refusals: usize,
    /// The number of answers that could not be judged, because git itself crashed or has no answer.
    pub unjudged: usize,
    /// The wrong answers.
    pub failures: Vec<CaseFailure>,
    /// States that could not be built, and why.
    pub broken: Vec<String>,
}

impl Report {
    /// Describes the wrong answers, with a script for the first of each state.
    pub fn describe(&self, settings: &Settings) -> String {
        let mut out = String::new();
        let mut seen = "";
        for failure in &self.failures {
            out.push_str(&format!("\nMISMATCH in case {}\n", failure.case));
            out.push_str(&crate::scenario::describe(
                failure.scenario.items.get(1..).unwrap_or_default(),
            ));
            out.push_str(&describe_differences(&failure.differences));
            if seen != failure.case {
                let script = failure.scenario.script(settings);
                out.push_str(&format!("----\n{}----\n", script.to_str_lossy()));
            }
            seen = failure.case;
        }
        for broken in &self.broken {
            out.push_str(&format!("BROKEN: {broken}\n"));
        }
        out.push_str(&format!(
            "{} comparisons, {} mismatches, {} refused more clearly than git, {} not judged\n",
            self.comparisons,
            self.failures.len(),
            self.clearer_refusals,
            self.unjudged
        ));
        out
    }
}

/// Compares the answers of two programs about all states.
///
/// # Errors
/// A sandbox cannot be created, or a program cannot be started.
pub fn compare_all_cases(candidate: &Path, oracle: &Path) -> Result<Report, SandboxError> {
    compare_cases(&Settings::new(candidate, oracle), &all(), false, 2)
}

/// Compares some states on `jobs` threads. With `prompts`, the gitstatusd protocol is used.
///
/// # Errors
/// A sandbox cannot be created, or a program cannot be started.
pub fn compare_cases(
    settings: &Settings,
    cases: &[Case],
    prompts: bool,
    jobs: usize,
) -> Result<Report, SandboxError> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(case) = cases.get(number) else {
                        return;
                    };
                    let result = compare_case(settings, case, prompts);
                    let Ok(mut results) = results.lock() else {
                        return;
                    };
                    results.push((number, result));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_default();
    results.sort_by_key(|(number, _)| *number);
    let mut report = Report::default();
    for (_, result) in results {
        let one = result?;
        report.comparisons += one.comparisons;
        report.version_differences += one.version_differences;
        report.clearer_refusals += one.clearer_refusals;
        report.unjudged += one.unjudged;
        report.failures.extend(one.failures);
        report.broken.extend(one.broken);
    }
    Ok(report)
}

fn compare_case(settings: &Settings, case: &Case, prompts: bool) -> Result<Report, SandboxError> {
    let scenario = case.scenario(prompts);
    let mut played = play(settings, &scenario, ComparedAnswers::All)?;
    let mut refused = 0;
    if CLEARER_REFUSALS.contains(&case.name) {
        let before = played.mismatches.len();
        played
            .mismatches
            .retain(|(_, differences)| !is_refusal(differences));
        refused = before - played.mismatches.len();
    }
    let state = scenario.items.first();
    let failures = played.mismatches.into_iter().map(|(index, differences)| {
        let items = state
            .into_iter()
            .chain(scenario.items.get(index))
            .cloned()
            .collect();
        CaseFailure {
            case: case.name,
            scenario: Scenario {
                items,
                ..scenario.clone()
            },
            differences,
        }
    });
    Ok(Report {
        comparisons: played.comparisons,
        version_differences: played.version_differences,
        clearer_refusals: refused,
        unjudged: played.unjudged,
        failures: failures.collect(),
        broken: played.failed_actions,
    })
}

/// States that the candidate rejects more clearly than git, which prints whatever it finds in
/// memory.
const CLEARER_REFUSALS: &[&str] = &["index cut in the middle"];

/// Whether the candidate's part of `differences` is an error with a reason, and nothing else.
fn is_refusal(differences: &[Difference]) -> bool {
    differences
        .iter()
        .all(|difference| match difference.what.as_str() {
            "stdout" => difference.candidate.is_empty(),
            "ending" => difference.candidate == b"Exit(128)",
            "stderr" => difference.candidate.starts_with(b"fatal: "),
            _ => false,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let mut names: Vec<&str> = all().iter().map(|case| case.name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(count >= 60, "{count}");
    }
}
