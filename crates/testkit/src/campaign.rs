//! Many scenarios, played by several threads, with a report of every failure.

use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bstr::{BString, ByteSlice};

use crate::invocation::Invocation;
use crate::player::{ComparedAnswers, Difference, Settings, play};
use crate::random::{ScenarioPlan, scenario};
use crate::sandbox::SandboxError;
use crate::scenario::{Item, Question, Scenario, Step, describe};
use crate::shell;
use crate::shrink::shrink;

/// A line of progress is written to standard error after this many comparisons.
const PROGRESS_PERIOD: usize = 5_000;

/// The number of equal lines shown before and after those that differ.
const LINES_ALIKE_MAX: usize = 6;

/// The extent of a campaign.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// The seed of the first run. Later runs use the following numbers.
    pub seed: u64,
    /// The maximum number of runs.
    pub runs: u64,
    /// No run starts after this many comparisons.
    pub comparisons_max: usize,
    /// No run starts after this time.
    pub time_max: Duration,
    /// No run starts after this many failures.
    pub failures_max: usize,
    /// The number of threads.
    pub jobs: usize,
    /// What scenarios consist of.
    pub plan: ScenarioPlan,
    /// Whether failures are reduced.
    pub reduces_failures: bool,
    /// Whether the sandboxes of failures are kept on disk.
    pub keeps_sandboxes: bool,
}

/// A failure, reduced as far as possible.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The scenario as it was found.
    pub found: String,
    /// The reduced scenario.
    pub scenario: Scenario,
    /// The differences between the answers in it.
    pub differences: Vec<Difference>,
    /// Whether the failure could be reproduced.
    pub is_repeatable: bool,
}

/// The results of a campaign.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// The number of answers compared.
    pub comparisons: usize,
    /// The number of answers that equal another git's, but not the oracle's.
    pub version_differences: usize,
    /// The number of wrong answers of a git with a monitor that git alone gives too.
    pub git_faults: usize,
    /// The number of answers that could not be judged, because git itself crashed or has no answer.
    pub unjudged: usize,
    /// The number of runs that failed.
    pub mismatches: usize,
    /// The failures.
    pub failures: Vec<Failure>,
    /// Operations of git that did not end in time.
    pub hung: Vec<String>,
    /// Errors of the tester itself.
    pub errors: Vec<String>,
}

impl Totals {
    /// The last line of a report.
    pub fn summary(&self) -> String {
        let mut line = format!(
            "{} comparisons, {} mismatches",
            self.comparisons, self.mismatches
        );
        if self.version_differences > 0 {
            line.push_str(&format!(
                " ({} more answers are another git's)",
                self.version_differences
            ));
        }
        if self.git_faults > 0 {
            line.push_str(&format!(
                " ({} more answers are as git alone gives them)",
                self.git_faults
            ));
        }
        if self.unjudged > 0 {
            line.push_str(&format!(
                " ({} not judged: git itself crashed or has no answer)",
                self.unjudged
            ));
        }
        line
    }
}

/// Plays a campaign and writes each failure to `output` as soon as it is found.
pub fn run(settings: &Settings, campaign: &Campaign, output: &Mutex<dyn Write + Send>) -> Totals {
    let next = AtomicU64::new(0);
    let done = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    let begin = Instant::now();
    let totals = Mutex::new(Totals::default());
    std::thread::scope(|scope| {
        for _ in 0..campaign.jobs.max(1) {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= campaign.runs
                        || done.load(Ordering::Relaxed) >= campaign.comparisons_max
                        || begin.elapsed() >= campaign.time_max
                    {
                        return;
                    }
                    let scenario = scenario(campaign.seed.wrapping_add(number), &campaign.plan);
                    let result = run_one(settings, campaign, &scenario, output);
                    let Ok(mut totals) = totals.lock() else {
                        return;
                    };
                    match result {
                        Ok(one) => {
                            totals.comparisons += one.comparisons;
                            totals.version_differences += one.version_differences;
                            totals.git_faults += one.git_faults;
                            totals.unjudged += one.unjudged;
                            totals.mismatches += one.mismatches;
                            totals.failures.extend(one.failures);
                            totals.hung.extend(one.hung);
                        }
                        Err(error) => totals.errors.push(format!("{}: {error}", scenario.name)),
                    }
                    let before = done.swap(totals.comparisons, Ordering::Relaxed);
                    if totals.comparisons / PROGRESS_PERIOD > before / PROGRESS_PERIOD {
                        let seconds = begin.elapsed().as_secs();
                        eprintln!("{}, {seconds} s: {}", scenario.name, totals.summary());
                    }
                    if totals.mismatches >= campaign.failures_max || totals.errors.len() > 10 {
                        stop.store(true, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    totals.into_inner().unwrap_or_default()
}

fn run_one(
    settings: &Settings,
    campaign: &Campaign,
    scenario: &Scenario,
    output: &Mutex<dyn Write + Send>,
) -> Result<Totals, SandboxError> {
    let mut played = play(settings, scenario, ComparedAnswers::UntilMismatch)?;
    let mut totals = Totals {
        comparisons: played.comparisons,
        version_differences: played.version_differences,
        git_faults: played.git_faults,
        hung: played
            .hung
            .iter()
            .map(|what| format!("{}: {what}", scenario.name))
            .collect(),
        unjudged: played.unjudged,
        ..Totals::default()
    };
    let Some((index, differences)) = played.mismatches.pop() else {
        return Ok(totals);
    };
    totals.mismatches = 1;
    if campaign.keeps_sandboxes {
        played.sandbox.keep();
    }
    let items: Vec<Item> = scenario.items.iter().take(index + 1).cloned().collect();
    let found = Scenario {
        items,
        ..scenario.clone()
    };
    let mut text = format!("\nMISMATCH in {}\n", found.name);
    if campaign.keeps_sandboxes {
        text.push_str(&format!("left in {}\n", played.sandbox.root().display()));
    }
    if !campaign.reduces_failures {
        text.push_str(&describe(&found.items));
        text.push_str(&describe_differences(&differences));
        write_report(output, &text);
        return Ok(totals);
    }
    drop(played);
    let question = found
        .items
        .last()
        .map(std::slice::from_ref)
        .map(describe)
        .unwrap_or_default();
    text.push_str(&format!(
        "first seen:\n{question}{}",
        describe_differences(&differences)
    ));
    let failure = reduce(settings, found, differences)?;
    if failure.is_repeatable {
        text.push_str(&format!(
            "cut down:\n{}",
            describe_differences(&failure.differences)
        ));
    } else {
        text.push_str("IT DID NOT HAPPEN AGAIN; the whole run:\n");
    }
    let script = failure.scenario.script(settings);
    text.push_str(&format!("----\n{}----\n", script.to_str_lossy()));
    write_report(output, &text);
    totals.failures.push(failure);
    Ok(totals)
}

fn write_report(output: &Mutex<dyn Write + Send>, text: &str) {
    if let Ok(mut output) = output.lock() {
        // A report that nobody reads is no reason to stop.
        let _ = output.write_all(text.as_bytes());
    }
}

/// The differences in readable form. Of long texts, only the part that differs is shown.
pub fn describe_differences(differences: &[Difference]) -> String {
    let mut out = String::new();
    for difference in differences {
        out.push_str(&format!("  {}\n", difference.what));
        let texts = [&difference.candidate, &difference.oracle].map(|text| shell::escaped(text));
        let [candidate, oracle] = texts
            .each_ref()
            .map(|text| text.lines().collect::<Vec<&str>>());
        let pairs = || candidate.iter().zip(&oracle);
        let is_same = |(left, right): &(&&str, &&str)| left == right;
        let before = pairs().take_while(is_same).count();
        let shortest = candidate.len().min(oracle.len());
        let after = candidate.iter().rev().zip(oracle.iter().rev());
        let after = after.take_while(is_same).take(shortest - before).count();
        for (who, lines) in [("candidate", &candidate), ("oracle", &oracle)] {
            out.push_str(&format!("    {who}:\n"));
            let first = before.saturating_sub(LINES_ALIKE_MAX);
            let last = lines
                .len()
                .saturating_sub(after.saturating_sub(LINES_ALIKE_MAX));
            for (number, line) in lines.iter().enumerate() {
                if (first..last).contains(&number) {
                    out.push_str(&format!("      {line}\n"));
                } else if number == 0 || number == last {
                    out.push_str("      (lines alike)\n");
                }
            }
        }
    }
    out
}

/// Reduces a failing scenario: first its questions, then steps, single actions, and the last
/// question itself.
///
/// # Errors
/// The sandbox cannot be created, or a program cannot be started.
pub fn reduce(
    settings: &Settings,
    found: Scenario,
    differences: Vec<Difference>,
) -> Result<Failure, SandboxError> {
    let mut trial = Trial {
        settings,
        scenario: found.clone(),
        differences,
        directory: BString::default(),
        error: None,
    };
    let Some((last, rest)) = found.items.split_last() else {
        return Err(SandboxError::Io {
            deed: "cutting down".to_owned(),
            source: std::io::Error::other("nothing"),
        });
    };
    let with_last = |items: &[Item]| [items, std::slice::from_ref(last)].concat();
    let only_steps: Vec<Item> = rest
        .iter()
        .filter(|item| matches!(item, Item::Step(_)))
        .cloned()
        .collect();
    // A racy failure may need a second try.
    let attempts = [
        with_last(&only_steps),
        found.items.clone(),
        with_last(&only_steps),
    ];
    let Some(items) = attempts.into_iter().find(|items| trial.fails(items)) else {
        return match trial.error {
            Some(error) => Err(error),
            None => Ok(Failure {
                found: found.name.clone(),
                differences: trial.differences,
                scenario: found,
                is_repeatable: false,
            }),
        };
    };
    let tries = settings.shrink_tries_max;
    let mut rest: Vec<Item> = items
        .iter()
        .take(items.len().saturating_sub(1))
        .cloned()
        .collect();
    rest = shrink(rest, tries, &mut |items| trial.fails(&with_last(items)));
    rest = Scenario::one_action_per_step(&rest);
    rest = shrink(rest, tries, &mut |items| trial.fails(&with_last(items)));
    let mut question = last.clone();
    if let Item::Ask(Question::Status(invocation)) = last {
        let mut invocation = invocation.clone();
        while let Some(simpler) = invocation.simpler().into_iter().find(|simpler| {
            let ask = Item::Ask(Question::Status(simpler.clone()));
            trial.fails(&[&rest[..], &[ask]].concat())
        }) {
            invocation = simpler;
        }
        question = Item::Ask(Question::Status(invocation));
        rest = shrink(rest, tries, &mut |items| {
            trial.fails(&[items, std::slice::from_ref(&question)].concat())
        });
    }
    rest.push(question);
    // The differences to report are those of the last failing trial, with exactly these items.
    let is_repeatable = trial.fails(&rest);
    // A directory that does not exist was replaced by its parent, which a script does not do.
    if let Some(Item::Ask(
        Question::Status(Invocation { directory, .. }) | Question::Prompt(directory),
    )) = rest.last_mut()
    {
        directory.clone_from(&trial.directory);
    }
    rest = merge_steps(rest);
    let scenario = Scenario {
        items: rest,
        ..found.clone()
    };
    match trial.error {
        Some(error) => Err(error),
        None => Ok(Failure {
            found: found.name,
            scenario,
            differences: trial.differences,
            is_repeatable,
        }),
    }
}

/// Joins adjacent steps of the same name.
fn merge_steps(items: Vec<Item>) -> Vec<Item> {
    let mut out: Vec<Item> = Vec::new();
    for item in items {
        match (out.last_mut(), item) {
            (Some(Item::Step(Step { name, actions })), Item::Step(step)) if *name == step.name => {
                actions.extend(step.actions);
            }
            (_, item) => out.push(item),
        }
    }
    out
}

struct Trial<'a> {
    settings: &'a Settings,
    scenario: Scenario,
    differences: Vec<Difference>,
    /// The directory in which the last question was actually asked.
    directory: BString,
    error: Option<SandboxError>,
}

impl Trial<'_> {
    /// Plays `items` and returns whether the answer to the last question is wrong.
    fn fails(&mut self, items: &[Item]) -> bool {
        self.scenario.items = items.to_vec();
        match play(self.settings, &self.scenario, ComparedAnswers::Last) {
            Ok(played) => match played.mismatches.into_iter().next() {
                Some((_, differences)) => {
                    self.differences = differences;
                    if let Some(Item::Ask(
                        Question::Status(Invocation { directory, .. })
                        | Question::Prompt(directory),
                    )) = items.last()
                    {
                        self.directory = played.sandbox.nearest(directory);
                    }
                    true
                }
                None => false,
            },
            Err(error) => {
                self.error = Some(error);
                false
            }
        }
    }
}
