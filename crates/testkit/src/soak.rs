//! Many clients at once of a daemon that much befalls, for long: every answer is compared with git's, and the daemon's memory
//! is looked at.
//!
//! Several repositories change by random operations. After each, all questions about it are asked at once, by commands and by
//! a shell, and maybe something befalls the daemon meanwhile. In the first half it may be its end. What the second half has
//! in store it survives, so that its memory can be seen to grow or not.

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
use crate::long_lived::compare_prompt;
use crate::long_lived::oracle::Known;
use crate::long_lived::server::Server;
use crate::player::compare_status;
use crate::random::rng::Rng;
use crate::random::{Plan, scenario};
use crate::sandbox::{Sandbox, SandboxError};
use crate::scenario::{Item, Question, ServerOptions, describe};
use crate::settings::Settings;
use crate::verdict::Verdict;
pub use faults::Fault;
use faults::{Victim, signal};
pub use memory::Course;

/// The longest queue of events that is made to overflow.
const QUEUE_MAX: u32 = 100_000;

/// How much is done.
#[derive(Clone, Debug)]
pub struct Soak {
    /// The seed of the first repository; the others follow.
    pub seed: u64,
    /// The most repositories.
    pub repositories: u64,
    /// The time after which no repository is begun.
    pub time_max: Duration,
    /// How many repositories there are at a time.
    pub jobs: usize,
    /// How likely it is, in percent, that something befalls the daemon while it is asked.
    pub faults_percent: u64,
    /// How many wrong answers are enough.
    pub wrong_max: usize,
    /// What is done and asked.
    pub plan: Plan,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The answers that were compared.
    pub comparisons: usize,
    /// Those that could not be judged.
    pub unjudged: usize,
    /// The wrong answers, for people.
    pub wrong: Vec<String>,
    /// Errors of the tester itself.
    pub errors: Vec<String>,
    /// What befell the daemon, and how often.
    pub faults: BTreeMap<Fault, usize>,
    /// How many questions daemons answered, as far as that is known.
    pub answered: u64,
    /// How many daemons there were.
    pub daemons: usize,
    /// The memory of the one that lived longest.
    pub memory: Course,
}

impl Report {
    /// Whether all is as it should be.
    pub fn is_good(&self) -> bool {
        let is_right = self.wrong.is_empty() && self.errors.is_empty();
        is_right && self.answered > 0 && !self.memory.grows
    }

    /// The last lines, for people.
    pub fn summary(&self) -> String {
        let Course {
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

/// What the threads share.
struct Shared<'s> {
    settings: Settings,
    soak: &'s Soak,
    begin: Instant,
    next: AtomicU64,
    stop: AtomicBool,
    victim: Mutex<Victim>,
    report: Mutex<Report>,
}

/// Does all of it.
///
/// # Errors
/// The folder of the daemon cannot be made.
pub fn run(settings: &Settings, soak: &Soak) -> io::Result<Report> {
    let folder = tempfile::Builder::new()
        .prefix("vigil-soak-")
        .tempdir_in(&settings.parent)?;
    let mut settings = settings.clone();
    settings.runtime_folder = Some(runtime_folder(folder.path()));
    // As long as for a user: whoever asks one that is halted is to answer by itself.
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
    victim.look();
    report.faults.clone_from(&victim.faults);
    report.answered = victim.answered();
    report.daemons = victim.processes();
    report.memory = victim.samples.course();
    Ok(report)
}

impl Shared<'_> {
    /// One repository after the other.
    fn work(&self) {
        while !self.stop.load(Ordering::Relaxed) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= self.soak.repositories || self.begin.elapsed() >= self.soak.time_max {
                return;
            }
            let seed = self.soak.seed.wrapping_add(number);
            if let Err(error) = self.play(seed, number) {
                self.note(|report| report.errors.push(format!("seed {seed}: {error}")));
            }
            if let Ok(mut victim) = self.victim.try_lock() {
                victim.look();
            }
        }
    }

    fn note(&self, change: impl FnOnce(&mut Report)) {
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut report);
        if report.wrong.len() >= self.soak.wrong_max || report.errors.len() > 10 {
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    /// Whether half of all is done.
    fn is_second_half(&self, number: u64) -> bool {
        let is_late = self.begin.elapsed() >= self.soak.time_max / 2;
        is_late || number >= self.soak.repositories / 2
    }

    fn play(&self, seed: u64, number: u64) -> Result<(), SandboxError> {
        let scenario = scenario(seed, &self.soak.plan);
        let sandbox = Sandbox::in_folder(&self.settings.parent, &self.settings.oracle)?;
        let mut shell = Server::start(&self.settings, &sandbox, ServerOptions { recurse: false })?;
        // Apart from the one that makes the scenario, so that faults change nothing in that.
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
                    // What is not possible is not done.
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

    /// Asks all `questions` at once, and a prompt, while `fault` befalls the daemon.
    fn ask_all(
        &self,
        sandbox: &Sandbox,
        shell: &mut Server,
        questions: &[Item],
        fault: Option<Fault>,
        name: &str,
    ) -> Result<(), SandboxError> {
        // One thing befalls it at a time.
        let victim = fault.and_then(|fault| Some((fault, self.victim.try_lock().ok()?)));
        let (fault, mut victim) = victim.unzip();
        if fault == Some(Fault::Flooded) {
            let halted = victim.as_mut().and_then(|it| it.befall(Fault::Flooded));
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
                        if !(self.settings.without_long && invocation.may_be_long()) =>
                    {
                        let compare = || compare_status(&self.settings, sandbox, invocation, false);
                        Some((describe(std::slice::from_ref(item)), scope.spawn(compare)))
                    }
                    _ => None,
                })
                .collect();
            let prompting = scope.spawn(|| {
                let answer = shell.ask(&sandbox.nearest_directory(b"work"));
                let (options, mut known) = (shell.options(), Known::new());
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
                (Some(fault), Some(victim)) => victim.befall(fault),
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
                self.note(|report| report.errors.push(format!("{name}: a thread panicked")));
                continue;
            };
            let verdict = verdict?;
            self.note(|report| {
                report.comparisons += 1;
                match verdict {
                    Verdict::Same | Verdict::SameAsOther | Verdict::SameAsAlone => {}
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

/// Has more happen in the working tree than the kernel keeps for whoever does not listen.
fn flood(sandbox: &Sandbox) {
    let limit = std::fs::read("/proc/sys/fs/inotify/max_queued_events").unwrap_or_default();
    let limit = limit
        .trim()
        .to_str()
        .ok()
        .and_then(|text| text.parse().ok());
    // Each file is told of at least three times: it comes, is closed, and goes.
    let count = limit.unwrap_or(0u32).min(QUEUE_MAX) / 3 + 1;
    let file = |number: u32| sandbox.place(format!("work/flood-{number}"));
    // In the top directory, since only what is watched tells. Where that is none, there is nothing to tell.
    if sandbox.place("work").is_dir() {
        for deed in [
            |path| std::fs::write(path, ""),
            std::fs::remove_file::<PathBuf>,
        ] {
            let _ = (0..count).try_for_each(|number| deed(file(number)));
        }
    }
}
