//! Many concurrent clients of a daemon with injected faults, over a long time: every answer is compared with git's, and the
//! daemon's memory is measured.
//!
//! Several repositories change by random operations. After each operation, all questions about its repository are asked at
//! once, by commands and by a shell, and a fault may be injected meanwhile. In the first half a fault may end the daemon. In
//! the second half it survives all faults, so that growing memory can be detected.

mod faults;
mod memory;

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bstr::{BStr, ByteSlice};
use rustix::process::Signal;

use crate::campaign::describe_differences;
use crate::daemon::runtime_folder;
use crate::gitstatusd::compare_prompt;
use crate::gitstatusd::oracle::GitAnswers;
use crate::gitstatusd::server::Server;
use crate::random::rng::Rng;
use crate::random::{ScenarioPlan, scenario};
use crate::sandbox::{Sandbox, SandboxError};
use crate::scenario::{Item, Question, ServerOptions, describe};
use crate::settings::Settings;
use crate::status_comparison::StatusComparison;
use crate::verdict::Verdict;
pub use faults::Fault;
use faults::{Victim, signal};
pub use memory::MemoryTrend;

/// The longest event queue that is made to overflow.
const QUEUE_MAX: u32 = 100_000;

/// The extent of a run.
#[derive(Clone, Debug)]
pub struct Soak {
    /// The seed of the first repository. Later ones use the following numbers.
    pub seed: u64,
    /// The maximum number of repositories.
    pub repositories: u64,
    /// No repository is begun after this time.
    pub time_max: Duration,
    /// The number of repositories at a time.
    pub jobs: usize,
    /// The probability, in percent, of a fault while the daemon is asked.
    pub faults_percent: u64,
    /// The run stops after this many wrong answers.
    pub wrong_max: usize,
    /// The plan of the operations and questions.
    pub plan: ScenarioPlan,
}

/// The results of a run.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The number of answers compared.
    pub comparisons: usize,
    /// The number of answers that could not be judged.
    pub unjudged: usize,
    /// Descriptions of the wrong answers.
    pub wrong: Vec<String>,
    /// Errors of the tester itself.
    pub errors: Vec<String>,
    /// The number of faults of each kind.
    pub faults: BTreeMap<Fault, usize>,
    /// The number of questions that daemons answered, as far as it is known.
    pub answered: u64,
    /// The number of daemon processes.
    pub daemons: usize,
    /// The memory of the daemon that lived longest.
    pub memory: MemoryTrend,
}

impl Report {
    /// Whether nothing went wrong, the daemon answered, and its memory does not grow.
    pub fn is_good(&self) -> bool {
        let is_right = self.wrong.is_empty() && self.errors.is_empty();
        is_right && self.answered > 0 && !self.memory.grows
    }

    /// The last lines of the output.
    pub fn summary(&self) -> String {
        let MemoryTrend {
            samples,
            start_kib,
            middle_kib,
            end_kib,
            grows,
        } = self.memory;
        let verdict = if grows {
            "it grows"
        } else {
            "it does not grow"
        };
        format!(
            "{} comparisons, {} wrong answers, {} not judged, {} errors\n\
             {} questions answered by {} daemons; faults: {:?}\n\
             memory at the start {start_kib} KiB, in the middle {middle_kib} KiB, at the end {end_kib} KiB; \
             {verdict} ({samples} looks)\n",
            self.comparisons,
            self.wrong.len(),
            self.unjudged,
            self.errors.len(),
            self.answered,
            self.daemons,
            self.faults,
        )
    }
}

/// The state shared by the threads.
struct Shared<'s> {
    settings: Settings,
    soak: &'s Soak,
    begin: Instant,
    next: AtomicU64,
    stop: AtomicBool,
    victim: Mutex<Victim>,
    report: Mutex<Report>,
}

/// Runs everything.
///
/// # Errors
/// The folder of the daemon cannot be created.
pub fn run(settings: &Settings, soak: &Soak) -> io::Result<Report> {
    let folder = tempfile::Builder::new()
        .prefix("vigil-soak-")
        .tempdir_in(&settings.parent)?;
    let mut settings = settings.clone();
    settings.runtime_folder = Some(runtime_folder(folder.path()));
    // The same patience as for a user: a client of a halted daemon must compute its answer itself.
    let patience = ("VIGIL_DAEMON_PATIENCE_MS".into(), "250".into());
    settings.candidate_variables.push(patience);
    let victim = Victim::new(&settings.candidate, folder.path());
    let shared = Shared {
        settings,
        soak,
        begin: Instant::now(),
        next: AtomicU64::new(0),
        stop: AtomicBool::new(false),
        victim: Mutex::new(victim),
        report: Mutex::default(),
    };
    std::thread::scope(|scope| {
        for _ in 0..soak.jobs.max(1) {
            scope.spawn(|| shared.work());
        }
    });
    let mut report = shared
        .report
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    let mut victim = shared
        .victim
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    victim.record_status();
    report.faults.clone_from(&victim.faults);
    report.answered = victim.question_count();
    report.daemons = victim.process_count();
    report.memory = victim.samples.trend();
    Ok(report)
}

impl Shared<'_> {
    /// Plays one repository after the other.
    fn work(&self) {
        while !self.stop.load(Ordering::Relaxed) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= self.soak.repositories || self.begin.elapsed() >= self.soak.time_max {
                return;
            }
            let seed = self.soak.seed.wrapping_add(number);
            if let Err(error) = self.play(seed, number) {
                self.update_report(|report| report.errors.push(format!("seed {seed}: {error}")));
            }
            if let Ok(mut victim) = self.victim.try_lock() {
                victim.record_status();
            }
        }
    }

    fn update_report(&self, change: impl FnOnce(&mut Report)) {
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut report);
        if report.wrong.len() >= self.soak.wrong_max || report.errors.len() > 10 {
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    /// Whether half of the run is done.
    fn is_second_half(&self, number: u64) -> bool {
        let is_late = self.begin.elapsed() >= self.soak.time_max / 2;
        is_late || number >= self.soak.repositories / 2
    }

    fn play(&self, seed: u64, number: u64) -> Result<(), SandboxError> {
        let scenario = scenario(seed, &self.soak.plan);
        let sandbox = Sandbox::in_folder(&self.settings.parent, &self.settings.oracle)?;
        let mut shell = Server::start(&self.settings, &sandbox, ServerOptions { recurse: false })?;
        // Separate from the generator of the scenario, so that faults do not change the scenario.
        let mut rng = Rng::new(!seed);
        let mut items = scenario.items.as_slice();
        let is_step = |item: &Item| matches!(item, Item::Step(_));
        while !items.is_empty() && !self.stop.load(Ordering::Relaxed) {
            let steps = items.iter().take_while(|item| is_step(item)).count();
            let (steps, rest) = items.split_at(steps);
            let questions = rest.iter().take_while(|item| !is_step(item)).count();
            let (questions, rest) = rest.split_at(questions);
            items = rest;
            for step in steps {
                if let Item::Step(step) = step {
                    // Impossible actions are skipped.
                    step.actions
                        .iter()
                        .for_each(|action| drop(sandbox.act(action)));
                }
            }
            let last = steps.iter().rev().find_map(|item| match item {
                Item::Step(step) => Some(step.name),
                Item::Ask(_) => None,
            });
            let name = format!("{}, after {:?}", scenario.name, last.unwrap_or("nothing"));
            let fault = rng
                .chance(self.soak.faults_percent)
                .then(|| Fault::random(&mut rng, !self.is_second_half(number)));
            self.ask_all(&sandbox, &mut shell, questions, fault, &name)?;
        }
        Ok(())
    }

    /// Asks all `questions` at once, and a prompt, while `fault` is injected into the daemon.
    fn ask_all(
        &self,
        sandbox: &Sandbox,
        shell: &mut Server,
        questions: &[Item],
        fault: Option<Fault>,
        name: &str,
    ) -> Result<(), SandboxError> {
        // Only one fault at a time.
        let victim = fault.and_then(|fault| Some((fault, self.victim.try_lock().ok()?)));
        let (fault, mut victim) = victim.unzip();
        if fault == Some(Fault::Flooded) {
            let halted = victim.as_mut().and_then(|it| it.inject(Fault::Flooded));
            flood(sandbox);
            if let Some(pid) = halted {
                signal(pid, Signal::CONT);
            }
        }
        let verdicts = std::thread::scope(|scope| {
            let asking: Vec<_> = questions
                .iter()
                .filter_map(|item| match item {
                    Item::Ask(Question::Status(invocation))
                        if !(self.settings.skip_long_format && invocation.may_be_long()) =>
                    {
                        let comparison = StatusComparison {
                            settings: &self.settings,
                            sandbox,
                            invocation,
                        };
                        let compare = move || comparison.verdict(false);
                        Some((describe(std::slice::from_ref(item)), scope.spawn(compare)))
                    }
                    _ => None,
                })
                .collect();
            let prompting = scope.spawn(|| {
                let answer = shell.ask(&sandbox.nearest_directory(b"work"));
                let (options, mut known) = (shell.options(), GitAnswers::new());
                let directory = BStr::new("work");
                compare_prompt(
                    &self.settings,
                    sandbox,
                    directory,
                    options,
                    answer,
                    &mut known,
                )
            });
            let halted = match (fault, &mut victim) {
                (None | Some(Fault::Flooded), _) | (_, None) => None,
                (Some(fault), Some(victim)) => victim.inject(fault),
            };
            let asked = asking
                .into_iter()
                .chain([("  ? prompt in work\n".to_owned(), prompting)]);
            let verdicts: Vec<_> = asked.map(|(what, thread)| (what, thread.join())).collect();
            if let Some(pid) = halted {
                signal(pid, Signal::CONT);
            }
            verdicts
        });
        drop(victim);
        for (question, verdict) in verdicts {
            let Ok(verdict) = verdict else {
                self.update_report(|report| {
                    report.errors.push(format!("{name}: a thread panicked"))
                });
                continue;
            };
            let verdict = verdict?;
            self.update_report(|report| {
                report.comparisons += 1;
                match verdict {
                    Verdict::Same | Verdict::SameAsOther | Verdict::SameWithoutMonitor => {}
                    Verdict::Unjudged => report.unjudged += 1,
                    Verdict::Different(differences) => report.wrong.push(format!(
                        "WRONG in {name}, fault {fault:?}\n{question}{}",
                        describe_differences(&differences)
                    )),
                }
            });
        }
        Ok(())
    }
}

/// Causes more events in the working tree than the kernel queues for a process that does not read them.
fn flood(sandbox: &Sandbox) {
    let limit = std::fs::read("/proc/sys/fs/inotify/max_queued_events").unwrap_or_default();
    let limit = limit
        .trim()
        .to_str()
        .ok()
        .and_then(|text| text.parse().ok());
    // Each file causes at least three events: it is created, closed, and deleted.
    let count = limit.unwrap_or(0u32).min(QUEUE_MAX) / 3 + 1;
    let file = |number: u32| sandbox.path_from_root(format!("work/flood-{number}"));
    // In the top directory, since only watched folders cause events. If it is missing, nothing is watched.
    if sandbox.path_from_root("work").is_dir() {
        for deed in [
            |path| std::fs::write(path, ""),
            std::fs::remove_file::<PathBuf>,
        ] {
            let _ = (0..count).try_for_each(|number| deed(file(number)));
        }
    }
}
