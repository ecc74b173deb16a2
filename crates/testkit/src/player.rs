//! Plays a scenario: performs its steps, and compares the answers to its questions.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use bstr::ByteSlice;

use crate::broken_index;
use crate::git_without_monitor::{PriorState, UntrackedSource};
use crate::gitstatusd::oracle::GitAnswers;
use crate::gitstatusd::{compare_prompt, server::Server};
use crate::invocation::Invocation;
use crate::monitor::Monitor;
use crate::process::{self, Ending, Outcome};
use crate::sandbox::{Sandbox, SandboxError, while_doing};
use crate::scenario::{Item, Question, Scenario};
pub use crate::settings::Settings;
pub use crate::verdict::{Difference, Verdict};

/// The whole sandbox is checked for files written by the candidate once in this many comparisons.
const LISTING_PERIOD: usize = 16;

/// Which answers are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparedAnswers {
    /// All, until one differs.
    UntilMismatch,
    /// All.
    All,
    /// Only the last. The candidate is asked the other questions too, since it may keep state.
    Last,
}

/// The result of playing a scenario.
#[derive(Debug)]
pub struct PlayResult {
    /// The number of compared answers, not counting a question repeated without a step in between.
    pub comparisons: usize,
    /// The number of answers that equal another git's, but not the oracle's.
    pub version_differences: usize,
    /// The number of wrong answers of a git with a monitor that git alone gives too.
    pub git_faults: usize,
    /// The number of answers that could not be judged, because git itself crashed or has no answer.
    pub unjudged: usize,
    /// The indexes of the questions with wrong answers, and the differences.
    pub mismatches: Vec<(usize, Vec<Difference>)>,
    /// Commands that did not end in time.
    pub hung: Vec<String>,
    /// Actions that were not possible, including those that did not end in time.
    pub failed_actions: Vec<String>,
    /// The sandbox as it was left.
    pub sandbox: Sandbox,
}

/// Plays `scenario` in a new sandbox.
///
/// # Errors
/// The sandbox cannot be created, or a program cannot be started.
pub fn play(
    settings: &Settings,
    scenario: &Scenario,
    compared: ComparedAnswers,
) -> Result<PlayResult, SandboxError> {
    let mut sandbox = Sandbox::in_folder(&settings.parent, &settings.oracle)?;
    if let (Some(monitor), Some(folder)) = (&settings.monitor, &settings.runtime_folder) {
        monitor.set_up(&mut sandbox, folder)?;
    }
    // Every other seed uses the untracked cache.
    let is_cached = scenario
        .name
        .bytes()
        .next_back()
        .is_some_and(|digit| digit % 2 == 0);
    let mut played = PlayResult {
        comparisons: 0,
        version_differences: 0,
        git_faults: 0,
        unjudged: 0,
        mismatches: Vec::new(),
        hung: Vec::new(),
        failed_actions: Vec::new(),
        sandbox,
    };
    let mut server = None;
    // git's answers about the state since the last step.
    let mut known = GitAnswers::new();
    let mut asked: Vec<&Question> = Vec::new();
    if let Some(options) = scenario.server {
        server = Some(Server::start(settings, &played.sandbox, options)?);
    }
    let last = scenario.items.len().saturating_sub(1);
    let without_daemon = Settings {
        runtime_folder: None,
        ..settings.clone()
    };
    for (index, item) in scenario.items.iter().enumerate() {
        // So that each reads what the other wrote, some questions are asked without the daemon.
        let settings = match index % 4 == 3 && settings.monitor.is_none() {
            true => &without_daemon,
            false => settings,
        };
        match item {
            Item::Step(step) => {
                known.clear();
                asked.clear();
                for action in &step.actions {
                    if let Err(error) = played.sandbox.act(action) {
                        if matches!(error, SandboxError::Hung { .. }) {
                            played.hung.push(format!("{}: {error}", step.name));
                        }
                        played
                            .failed_actions
                            .push(format!("{}: {error}", step.name));
                    }
                }
                if let Some(monitor) = &settings.monitor {
                    monitor.configure_git(&played.sandbox, &settings.oracle, is_cached);
                }
            }
            Item::Ask(Question::Status(invocation))
                if settings.monitor.is_some() && !Monitor::is_comparable(invocation) => {}
            Item::Ask(Question::Status(invocation))
                if settings.skip_long_format && invocation.may_be_long() => {}
            Item::Ask(question) => {
                let is_compared = compared != ComparedAnswers::Last || index == last;
                let checks_for_writes = compared == ComparedAnswers::Last
                    || played.comparisons.is_multiple_of(LISTING_PERIOD);
                let sandbox = &played.sandbox;
                let began = Instant::now();
                let verdict = match (question, &mut server) {
                    (Question::Status(invocation), _) if is_compared => {
                        compare_status(settings, sandbox, invocation, checks_for_writes)?
                    }
                    (Question::Status(invocation), _) => {
                        ask_candidate(settings, sandbox, invocation, &settings.oracle)?;
                        continue;
                    }
                    (Question::Prompt(directory), Some(server)) => {
                        let answer = server.ask(&sandbox.nearest_directory(directory));
                        if !is_compared {
                            continue;
                        }
                        compare_prompt(
                            settings,
                            sandbox,
                            directory.as_ref(),
                            server.options(),
                            answer,
                            &mut known,
                        )?
                    }
                    (Question::Prompt(_), None) => continue,
                };
                // The same question about the same state counts once.
                let count = usize::from(!asked.contains(&question));
                asked.push(question);
                played.comparisons += count;
                match verdict {
                    Verdict::Same => {}
                    Verdict::SameAsOther => played.version_differences += count,
                    Verdict::SameWithoutMonitor => played.git_faults += count,
                    Verdict::Unjudged => {
                        played.unjudged += count;
                        // If git does not end, each further question would take as long.
                        if began.elapsed() >= settings.limit {
                            return Ok(played);
                        }
                    }
                    Verdict::Different(differences) => {
                        played.mismatches.push((index, differences));
                        if compared != ComparedAnswers::All {
                            return Ok(played);
                        }
                    }
                }
            }
        }
    }
    Ok(played)
}

fn ask_git(
    settings: &Settings,
    sandbox: &Sandbox,
    invocation: &Invocation,
    program: &Path,
) -> Result<Outcome, SandboxError> {
    let mut invocation = invocation.clone();
    if settings.monitor.is_some() {
        Monitor::switch_off(&mut invocation, UntrackedSource::Scanned);
    }
    let run = || run(settings, program, invocation.command(sandbox, program));
    match run()? {
        // A timeout may be due to a machine that stood still.
        outcome if outcome.ending == Ending::TimedOut => run(),
        outcome => Ok(outcome),
    }
}

/// Asks the oracle without a monitor, but lets it write, as the candidate may.
fn ask_git_without_monitor(
    settings: &Settings,
    sandbox: &Sandbox,
    invocation: &Invocation,
    untracked: UntrackedSource,
) -> Result<Outcome, SandboxError> {
    let mut invocation = invocation.clone();
    Monitor::switch_off(&mut invocation, untracked);
    let mut command = invocation.command(sandbox, &settings.oracle);
    command.env_remove("GIT_OPTIONAL_LOCKS");
    run(settings, &settings.oracle, command)
}

/// Asks the candidate, with `git` as the installed git, which supplies the patches.
fn ask_candidate(
    settings: &Settings,
    sandbox: &Sandbox,
    invocation: &Invocation,
    git: &Path,
) -> Result<Outcome, SandboxError> {
    let mut invocation = invocation.clone();
    if settings.monitor.is_some() {
        Monitor::make_comparable(&mut invocation);
    }
    let mut command = invocation.command(sandbox, &settings.candidate);
    let folder = git.parent().filter(|folder| folder.is_absolute());
    if let (Some(folder), Some(others)) = (folder, std::env::var_os("PATH")) {
        let folders = std::iter::once(folder.to_owned()).chain(std::env::split_paths(&others));
        if let Ok(folders) = std::env::join_paths(folders) {
            command.env("PATH", folders);
        }
    }
    settings.set_variables(sandbox, &mut command);
    run(settings, &settings.candidate, command)
}

fn run(settings: &Settings, program: &Path, mut command: Command) -> Result<Outcome, SandboxError> {
    process::run(&mut command, None, settings.limit)
        .map_err(while_doing(format!("starting {}", program.display())))
}

/// Compares the answers to a `status` command. If they differ, and one of them took so long that it shows, both are asked
/// again, because the machine may have stood still.
pub(crate) fn compare_status(
    settings: &Settings,
    sandbox: &Sandbox,
    invocation: &Invocation,
    checks_for_writes: bool,
) -> Result<Verdict, SandboxError> {
    let verdict = compare_status_once(settings, sandbox, invocation, checks_for_writes)?;
    let took_long = |text: &[u8]| text == b"TimedOut" || text.contains_str("\nIt took ");
    match &verdict {
        Verdict::Different(differences)
            if differences
                .iter()
                .any(|it| took_long(&it.candidate) || took_long(&it.oracle)) =>
        {
            compare_status_once(settings, sandbox, invocation, checks_for_writes)
        }
        _ => Ok(verdict),
    }
}

/// Asks the candidate, then the oracle. Neither may write. The candidate goes first, so it sees the tree as it was left.
fn compare_status_once(
    settings: &Settings,
    sandbox: &Sandbox,
    invocation: &Invocation,
    checks_for_writes: bool,
) -> Result<Verdict, SandboxError> {
    // The installed git, which supplies patches, writes the trees that it needs for a sparse index.
    let may_write = settings.may_write || invocation.may_be_long();
    let before = (checks_for_writes && !may_write).then(|| facts_of_files(sandbox.root()));
    let index = sandbox.path_from_root("work/.git/index");
    let index_before = std::fs::read(&index).ok();
    let asked = settings
        .monitor
        .as_ref()
        .map(|_| PriorState::record(sandbox));
    let mut candidate = ask_candidate(settings, sandbox, invocation, &settings.oracle)?;
    let mut differences = Vec::new();
    if !settings.may_write && index_before != std::fs::read(&index).ok() {
        differences.push(written_by_candidate("the index changed"));
    }
    if let Some(before) = before {
        let after = facts_of_files(sandbox.root());
        if before != after {
            let changed = after
                .iter()
                .find(|entry| before.get(entry.0) != Some(entry.1))
                .or_else(|| before.iter().find(|entry| !after.contains_key(entry.0)))
                .map_or_else(String::new, |entry| entry.0.display().to_string());
            differences.push(written_by_candidate(&changed));
        }
    }
    let oracle = ask_git(settings, sandbox, invocation, &settings.oracle)?;
    if is_same(settings, &candidate, &oracle) {
        return Ok(if differences.is_empty() {
            Verdict::Same
        } else {
            Verdict::Different(differences)
        });
    }
    if differences.is_empty() && recurses_into_itself(&oracle, &candidate) {
        return Ok(Verdict::Unjudged);
    }
    let mut right = oracle;
    for other in &settings.accepted_gits {
        if !differences.is_empty() {
            break;
        }
        let other_candidate = match invocation.may_be_long() {
            true => ask_candidate(settings, sandbox, invocation, other)?,
            false => candidate.clone(),
        };
        let other = ask_git(settings, sandbox, invocation, other)?;
        if is_same(settings, &other_candidate, &other) {
            return Ok(Verdict::SameAsOther);
        }
        // If the newest git gives up or crashes by mistake, an older one that does not know the options decides nothing.
        let knows_no_better =
            |it: &Outcome, than: &Outcome| it.ending == Ending::Exit(129) && is_crash(than);
        let decides = !knows_no_better(&other, &right);
        if decides
            && (is_crash(&right)
                || lacks_attribute_source(&other)
                || knows_no_better(&right, &other))
        {
            (right, candidate) = (other, other_candidate);
        }
    }
    // With its untracked cache, git continues to list a directory that once contained a repository.
    if differences.is_empty() {
        let mut uncached = invocation.clone();
        let name = "GIT_DISABLE_UNTRACKED_CACHE".into();
        uncached.variables.push((name, "1".into()));
        let uncached = ask_git(settings, sandbox, &uncached, &settings.oracle)?;
        if is_same(settings, &candidate, &uncached) {
            return Ok(Verdict::SameAsOther);
        }
    }
    if let Some(asked) = &asked {
        let is_git_fault = asked.is_git_fault(sandbox, |untracked| {
            let alone = ask_git_without_monitor(settings, sandbox, invocation, untracked)?;
            Ok::<_, SandboxError>(is_same(settings, &candidate, &alone))
        });
        if is_git_fault? {
            return Ok(Verdict::SameWithoutMonitor);
        }
    }
    if settings.monitor.is_some() && is_crash(&right) && is_crash(&candidate) {
        return Ok(Verdict::Unjudged);
    }
    if differences.is_empty()
        && (is_crash(&right)
            || lacks_attribute_source(&right)
            || broken_index::is_misread(settings, sandbox, invocation))
        && matches!(candidate.ending, Ending::Exit(0..=1 | 128..=129))
    {
        return Ok(Verdict::Unjudged);
    }
    let mut compare = |what: &str, candidate: &[u8], oracle: &[u8]| {
        if candidate != oracle {
            let (candidate, oracle) = (candidate.to_vec(), oracle.to_vec());
            differences.push(Difference {
                what: what.to_owned(),
                candidate,
                oracle,
            });
        }
    };
    compare("stdout", &candidate.stdout, &right.stdout);
    compare(
        "ending",
        candidate.ending.to_string().as_bytes(),
        right.ending.to_string().as_bytes(),
    );
    compare("stderr", &candidate.stderr, &right.stderr);
    Ok(Verdict::Different(differences))
}

fn written_by_candidate(what: &str) -> Difference {
    Difference {
        what: "written by the candidate".to_owned(),
        candidate: what.into(),
        oracle: Vec::new(),
    }
}

fn is_same(settings: &Settings, candidate: &Outcome, oracle: &Outcome) -> bool {
    let (mut candidate, mut oracle) = (usage_as_complaint(candidate), usage_as_complaint(oracle));
    if settings.monitor.is_some() {
        for outcome in [&mut candidate, &mut oracle] {
            outcome.stdout = Monitor::without_sparse_message(&outcome.stdout);
        }
    }
    let (candidate, oracle) = (&candidate, &oracle);
    !matches!(candidate.ending, Ending::Signal(_) | Ending::WroteTooMuch)
        && candidate.ending == oracle.ending
        && (candidate.stdout == oracle.stdout
            || without_state(&candidate.stdout) == without_state(&oracle.stdout))
        && (!settings.compare_errors || messages(candidate) == messages(oracle))
}

/// The output without the state files, which a daemon may write at any moment. They show if the repository's folder lies in a
/// working tree under another name than `.git`.
fn without_state(shown: &[u8]) -> Vec<&[u8]> {
    let entries = shown.split_inclusive(|byte| matches!(byte, b'\n' | b'\0'));
    entries
        .filter(|entry| !entry.contains_str("/vigil/state"))
        .collect()
}

/// Turns a usage text into an error message with its exit code. Releases of git differ in where they print it, and in whether
/// asking for it is a failure.
fn usage_as_complaint(outcome: &Outcome) -> Outcome {
    let mut outcome = outcome.clone();
    if matches!(outcome.ending, Ending::Exit(_)) && outcome.stdout.starts_with(b"usage: ") {
        outcome.stderr.append(&mut outcome.stdout);
        outcome.ending = Ending::Exit(129);
    }
    outcome
}

/// The messages on standard error. After a success, they are sorted and duplicates removed, because threads and a different
/// order of steps change that. Omits advice, whose words differ by release, and git's own messages about unmerged entries.
fn messages(outcome: &Outcome) -> Vec<&[u8]> {
    let lines = outcome.stderr.lines();
    let mut lines: Vec<&[u8]> = lines
        .filter(|line| !line.contains_str(": unmerged (") && !line.contains_str("hint:"))
        .collect();
    if outcome.ending == Ending::Exit(0) {
        lines.sort_unstable();
        lines.dedup();
    }
    lines
}

/// Whether a program aborted because of its own bug: git's `BUG()` aborts, and git reports as an error when another git that
/// it started did so.
pub fn is_crash(outcome: &Outcome) -> bool {
    matches!(outcome.ending, Ending::Signal(_))
        || outcome
            .stderr
            .lines()
            .any(|line| line.starts_with(b"BUG: "))
}

/// Whether git gave up because the source of attributes is missing. It notices that when it first needs attributes, even for
/// internal purposes such as the untracked cache, so an answer without attributes is equally right.
fn lacks_attribute_source(outcome: &Outcome) -> bool {
    last_line(&outcome.stderr) == b"fatal: bad --attr-source or GIT_ATTR_SOURCE"
}

/// Whether git did not end, and the candidate reports that a submodule is the repository around it. git then runs itself there
/// over and over, and gives up when the system has no more processes.
fn recurses_into_itself(right: &Outcome, candidate: &Outcome) -> bool {
    let is_in_itself = "fatal: a submodule of this repository is the repository itself";
    let mut output = candidate.stderr.lines();
    right.ending == Ending::TimedOut && output.any(|line| line == is_in_itself.as_bytes())
}

fn last_line(text: &[u8]) -> &[u8] {
    text.lines().next_back().unwrap_or_default()
}

/// All files below `root`, with the facts that writing would change. Vigil's own state folders are omitted.
fn facts_of_files(root: &Path) -> BTreeMap<PathBuf, [i64; 5]> {
    let mut files = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        let Ok(entries) = std::fs::read_dir(&directory) else {
            continue;
        };
        for entry in entries.flatten() {
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            let may_hold_state = directory.ends_with(".cache") || directory.join("HEAD").exists();
            if entry.file_name() == "vigil" && metadata.is_dir() && may_hold_state {
                continue;
            }
            if metadata.is_dir() {
                open.push(entry.path());
            } else {
                let part = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
                // git itself touches shared indexes when it reads them, so that they do not expire.
                let is_touched = entry
                    .file_name()
                    .as_encoded_bytes()
                    .starts_with(b"sharedindex.");
                let (seconds, rest) = if is_touched {
                    (0, 0)
                } else {
                    (metadata.mtime(), metadata.mtime_nsec())
                };
                let facts = [
                    part(metadata.ino()),
                    part(metadata.size()),
                    i64::from(metadata.mode()),
                    seconds,
                    rest,
                ];
                files.insert(entry.path(), facts);
            }
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::action::Action;
    use crate::scenario::Step;

    #[test]
    fn a_question_of_the_same_state_counts_once() {
        let ask = |option: &str| {
            let invocation = Invocation::new("work", &[option]);
            Item::Ask(Question::Status(invocation))
        };
        let write = |data: &str| {
            Item::Step(Step {
                name: "write",
                actions: vec![Action::write("work/f", data)],
            })
        };
        let scenario = Scenario {
            name: "0".to_owned(),
            server: None,
            items: vec![
                write("1"),
                ask("-s"),
                ask("-b"),
                ask("-s"),
                write("2"),
                ask("-s"),
            ],
        };
        let settings = Settings::new("git", "git");
        let played = play(&settings, &scenario, ComparedAnswers::All).unwrap();
        assert_eq!((played.comparisons, played.mismatches.len()), (3, 0));
    }

    #[test]
    fn usage_is_a_complaint_wherever_it_is_printed() {
        let outcome = |stdout: &str, stderr: &str, code| Outcome {
            ending: Ending::Exit(code),
            stdout: stdout.into(),
            stderr: stderr.into(),
        };
        let usage = "usage: git status\n";
        let asked = [outcome(usage, "", 0), outcome(usage, "", 129)];
        assert_eq!(usage_as_complaint(&asked[0]), usage_as_complaint(&asked[1]));
        let complaint = format!("error: so\n{usage}");
        let unasked = outcome("", &complaint, 129);
        assert_eq!(
            usage_as_complaint(&outcome(usage, "error: so\n", 129)),
            unasked
        );
        assert_ne!(usage_as_complaint(&asked[0]), unasked);
        assert_eq!(usage_as_complaint(&unasked), unasked);
    }

    #[test]
    fn a_listing_notices_writes_but_not_the_state_folder() {
        let sandbox = Sandbox::new();
        let before = facts_of_files(sandbox.root());
        sandbox.write(".git/vigil/state", "x");
        assert_eq!(before, facts_of_files(sandbox.root()));
        sandbox.write(".git/info/exclude", "x");
        assert_ne!(before, facts_of_files(sandbox.root()));
    }
}
