//! Objects in sound and damaged repositories, as `cat-file` prints them: a candidate compared with git.
//!
//! A case is a pure function of its seed: a repository of some shape, damage to its files, and questions about it.

mod crafted;
pub mod damage;
pub mod question;
pub mod repositories;

use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use self::damage::Damage;
use self::question::CatFileCall;
use self::repositories::{SHAPES, SoundRepositories, SoundRepository};
use crate::process::{self, Ending, Outcome};
use crate::random::rng::Rng;
use crate::sandbox::{Sandbox, SandboxError, while_doing};
use crate::shell;
use crate::shrink::shrink;

/// The number of questions in one case.
const QUESTIONS: usize = 3;
/// The candidate's time limit as a multiple of git's, which only serves to detect that git hangs.
const CANDIDATE_LIMIT_FACTOR: u32 = 10;
/// The maximum number of tries to reduce a failure.
const SHRINK_TRIES_MAX: usize = 60;
/// The number of differing lines shown for each side.
const LINES_SHOWN_MAX: usize = 4;
/// `SIGPIPE`, the signal for writing to a pipe that nobody reads.
const SIGPIPE: i32 = 13;

/// The programs that are compared, and the extent of the test.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The program under test.
    pub candidate: PathBuf,
    /// The git whose answers are right.
    pub oracle: PathBuf,
    /// The folder for sandboxes.
    pub parent: PathBuf,
    /// The time limit for an answer.
    pub limit: Duration,
    /// The seed of the first case. Later cases use the following numbers.
    pub seed: u64,
    /// The number of cases.
    pub cases: u64,
    /// No case starts after this many failures.
    pub failures_max: u64,
    /// The number of threads.
    pub jobs: usize,
    /// Whether objects are named only by their full ids.
    pub ids_only: bool,
    /// Whether the oracle is older than the git that the candidate imitates (2.55). Then nothing is damaged, and only
    /// questions that it supports are asked.
    pub is_old: bool,
    /// The shapes of repositories to leave out.
    pub without: Vec<String>,
    /// The folder in which the repositories of failures are kept, if any.
    pub kept: Option<PathBuf>,
}

/// The results of a run.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// The number of equal answers.
    pub comparisons: u64,
    /// The number of questions that git left unanswered, because it crashed or did not end.
    pub unjudged: u64,
    /// The number of answers that differ.
    pub mismatches: u64,
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            comparisons,
            unjudged,
            mismatches,
        } = self;
        write!(
            f,
            "{comparisons} answers alike, {mismatches} mismatches ({unjudged} not judged: git itself crashed)"
        )
    }
}

/// A case: damage, and then questions.
struct Case {
    seed: u64,
    damages: Vec<Damage>,
    questions: Vec<CatFileCall>,
    /// Whether standard error is compared.
    compares_stderr: bool,
}

impl Case {
    fn new(
        seed: u64,
        repositories: &SoundRepositories,
        settings: &Settings,
    ) -> Result<(Self, Arc<SoundRepository>), SandboxError> {
        let mut rng = Rng::new(seed);
        let mut shapes = SHAPES.to_vec();
        shapes.retain(|shape| !settings.without.iter().any(|without| without == shape));
        // Releases differ in which of several copies is meant.
        let is_simple = |shape: &str| shape != "crafted" && !repositories::has_copies(shape);
        shapes.retain(|shape| !settings.is_old || is_simple(shape));
        let shape = rng.pick(&shapes);
        let hash = rng.pick(&["sha1", "sha1", "sha256"]);
        // Other stocks include the ids of its objects.
        repositories.get("loose", hash)?;
        let repository = repositories.get(shape, hash)?;
        let mut damages =
            damage::random(&mut rng, &repository).map_err(while_doing("reading a repository"))?;
        if settings.is_old {
            damages.clear();
        }
        let allowed = question::AllowedQuestions {
            lists: damages.is_empty()
                || !repository.has_copies() && !damages.iter().any(Damage::is_of_index),
            ids_only: settings.ids_only,
        };
        let questions = (0..QUESTIONS).map(|_| question::random(&mut rng, &repository, allowed));
        let mut questions: Vec<CatFileCall> = questions.collect();
        if settings.is_old {
            questions.iter_mut().for_each(CatFileCall::make_old);
        }
        Ok((
            Self {
                compares_stderr: damages.is_empty() || !repository.has_copies(),
                seed,
                damages,
                questions,
            },
            repository,
        ))
    }
}

/// Plays all cases, and writes each failure to `output` as soon as it is found.
///
/// # Errors
/// A repository cannot be created, or a program cannot be started.
pub fn run(settings: &Settings, output: &Mutex<dyn Write + Send>) -> Result<Totals, SandboxError> {
    let repositories = SoundRepositories::new(&settings.parent, &settings.oracle)?;
    let next = AtomicU64::new(0);
    let stop = AtomicBool::new(false);
    let totals = Mutex::new(Totals::default());
    let work = |job: usize| {
        let runner = CaseRunner {
            settings,
            sandbox: repositories.sandbox(),
            folder: repositories.sandbox().path_from_root(format!("case-{job}")),
        };
        while !stop.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= settings.cases {
                break;
            }
            let (case, repository) =
                Case::new(settings.seed.wrapping_add(number), &repositories, settings)?;
            let one = runner.play(&case, &repository, output)?;
            if let Ok(mut totals) = totals.lock() {
                totals.comparisons += one.comparisons;
                totals.unjudged += one.unjudged;
                totals.mismatches += one.mismatches;
                if totals.mismatches >= settings.failures_max {
                    stop.store(true, Ordering::Relaxed);
                }
            }
        }
        Ok(())
    };
    let result: Result<(), SandboxError> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..settings.jobs.max(1))
            .map(|job| scope.spawn(move || work(job)))
            .collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().unwrap_or(Ok(())))
    });
    result?;
    Ok(totals.into_inner().unwrap_or_default())
}

/// The place where one thread plays its cases.
struct CaseRunner<'a> {
    settings: &'a Settings,
    sandbox: &'a Sandbox,
    folder: PathBuf,
}

/// The result of comparing two answers.
enum Verdict {
    Same,
    Unjudged,
    /// A description of the differences.
    Different(String),
}

impl CaseRunner<'_> {
    fn play(
        &self,
        case: &Case,
        repository: &SoundRepository,
        output: &Mutex<dyn Write + Send>,
    ) -> Result<Totals, SandboxError> {
        let mut totals = Totals::default();
        self.prepare(repository, &case.damages)?;
        for question in &case.questions {
            match self.ask(question, case.compares_stderr)? {
                Verdict::Same => totals.comparisons += 1,
                Verdict::Unjudged => totals.unjudged += 1,
                Verdict::Different(_) => {
                    totals.mismatches += 1;
                    let text = self.report(case, question, repository)?;
                    if let Ok(mut output) = output.lock() {
                        // A report that nobody reads is no reason to stop.
                        let _ = output.write_all(text.as_bytes());
                    }
                    break;
                }
            }
        }
        Ok(totals)
    }

    /// Recreates the repository with the given damage.
    fn prepare(
        &self,
        repository: &SoundRepository,
        damages: &[Damage],
    ) -> Result<(), SandboxError> {
        let prepare = || {
            match fs::remove_dir_all(&self.folder) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            repositories::copy(&repository.folder, &self.folder)?;
            damages
                .iter()
                .try_for_each(|damage| damage.apply(&self.folder))
        };
        prepare().map_err(while_doing("preparing a case"))
    }

    fn ask(&self, question: &CatFileCall, compares_stderr: bool) -> Result<Verdict, SandboxError> {
        let limit = self.settings.limit;
        let theirs = self.answer(&self.settings.oracle, question, limit)?;
        if !matches!(theirs.ending, Ending::Exit(_) | Ending::Signal(SIGPIPE)) {
            return Ok(Verdict::Unjudged);
        }
        let ours = self.answer(
            &self.settings.candidate,
            question,
            limit * CANDIDATE_LIMIT_FACTOR,
        )?;
        let [ours, theirs] = [ours, theirs].map(|outcome| Outcome {
            stderr: match compares_stderr {
                true => comparable(&outcome.stderr, self.settings.is_old),
                false => Vec::new(),
            },
            ..outcome
        });
        if ours == theirs {
            return Ok(Verdict::Same);
        }
        let ending = |outcome: &Outcome| format!("{}\n", outcome.ending).into_bytes();
        let differences = [
            (
                "standard output",
                ours.stdout.clone(),
                theirs.stdout.clone(),
            ),
            ("standard error", ours.stderr.clone(), theirs.stderr.clone()),
            ("end", ending(&ours), ending(&theirs)),
        ];
        let mut text = String::new();
        for (what, ours, theirs) in differences {
            describe(what, &ours, &theirs, &mut text);
        }
        Ok(Verdict::Different(text))
    }

    fn answer(
        &self,
        program: &Path,
        question: &CatFileCall,
        limit: Duration,
    ) -> Result<Outcome, SandboxError> {
        let mut command = self.sandbox.isolated(program, b".");
        command
            .arg("cat-file")
            .args(&question.arguments)
            .current_dir(self.folder.join("work"))
            .envs(Sandbox::reading_variables())
            .envs(question.variables.iter().map(|(name, value)| (name, value)));
        process::run(&mut command, Some(&question.input()), limit)
            .map_err(while_doing("starting a program"))
    }

    /// Reduces the failure and describes it.
    fn report(
        &self,
        case: &Case,
        question: &CatFileCall,
        repository: &SoundRepository,
    ) -> Result<String, SandboxError> {
        let mut error = None;
        let mut fails = |damages: &[Damage], question: &CatFileCall| {
            let asked = self
                .prepare(repository, damages)
                .and_then(|()| self.ask(question, case.compares_stderr));
            match asked {
                Ok(Verdict::Different(differences)) => Some(differences),
                Ok(_) => None,
                Err(found) => {
                    error = Some(found);
                    None
                }
            }
        };
        let damages = shrink(case.damages.clone(), SHRINK_TRIES_MAX, &mut |damages| {
            fails(damages, question).is_some()
        });
        let with_lines = |lines: &[String]| CatFileCall {
            lines: lines.to_vec(),
            ..question.clone()
        };
        let lines = shrink(question.lines.clone(), SHRINK_TRIES_MAX, &mut |lines| {
            !lines.is_empty() && fails(&damages, &with_lines(lines)).is_some()
        });
        let question = with_lines(&lines);
        let differences = fails(&damages, &question);
        if let Some(error) = error {
            return Err(error);
        }
        let mut text = format!(
            "\nMISMATCH with seed {} ({})\n",
            case.seed, repository.shape
        );
        for damage in &damages {
            text.push_str(&format!("  {damage}\n"));
        }
        text.push_str(&format!("  {}\n", question.command("git")));
        match differences {
            Some(differences) => text.push_str(&differences),
            None => text.push_str("IT DID NOT HAPPEN AGAIN\n"),
        }
        if let Some(kept) = &self.settings.kept {
            let kept = kept.join(case.seed.to_string());
            text.push_str(&format!("  left in {}\n", kept.display()));
            let copied = repositories::copy(&self.folder, &kept);
            copied.map_err(while_doing("keeping a failure"))?;
        }
        Ok(text)
    }
}

/// The part of standard error that must be the same. These differences are accepted:
/// - git looks an object up for its header, and again for its contents, and reports each time what it comes across; a
///   candidate that looks it up once reports it once. So each line counts once.
/// - Errors in a compressed stream are reported in the words of a library.
/// - Bytes from damaged files that are not UTF-8 may be replaced.
/// - For an object that is not a commit, an old git names what the tags end at, and later ones where they begin.
fn comparable(stderr: &[u8], is_old: bool) -> Vec<u8> {
    let text = String::from_utf8_lossy(stderr);
    let mut lines: Vec<&str> = Vec::new();
    for line in text.lines() {
        let line = match line.split_once(" (") {
            Some((line, _)) if line.starts_with("error: inflate: ") => line,
            _ => line,
        };
        let line = match line.rsplit_once(", not a ") {
            Some((_, "commit")) if is_old => "not a commit",
            _ => line,
        };
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines.join("\n").into_bytes()
}

/// Appends the first lines in which both differ.
fn describe(what: &str, ours: &[u8], theirs: &[u8], text: &mut String) {
    if ours == theirs {
        return;
    }
    let [ours, theirs] = [ours, theirs].map(shell::escaped);
    let same = ours.lines().zip(theirs.lines());
    let same = same.take_while(|(ours, theirs)| ours == theirs).count();
    text.push_str(&format!("  {what} from line {same} on\n"));
    for (who, output) in [("candidate", &ours), ("oracle", &theirs)] {
        for line in output
            .lines()
            .skip(same.saturating_sub(1))
            .take(LINES_SHOWN_MAX)
        {
            text.push_str(&format!("    {who:9} {line}\n"));
        }
    }
}
