//! Asks a candidate and git the same `status`, and judges whether the answers are the same.

use std::path::Path;
use std::process::Command;

use bstr::ByteSlice;

use crate::broken_index;
use crate::git_without_monitor::{PriorState, UntrackedSource};
use crate::invocation::Invocation;
use crate::monitor::Monitor;
use crate::process::{self, Ending, Outcome};
use crate::sandbox::{Sandbox, SandboxError, while_doing};
use crate::settings::Settings;
use crate::verdict::{Difference, Verdict};
use crate::written_files::{FilesBefore, written_by_candidate};

/// One `status` command in one sandbox, and who is asked.
#[derive(Clone, Copy)]
pub(crate) struct StatusComparison<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) sandbox: &'a Sandbox,
    pub(crate) invocation: &'a Invocation,
}

/// Two answers to the same question.
struct Answers {
    candidate: Outcome,
    right: Outcome,
}

impl StatusComparison<'_> {
    /// Compares the answers. If they differ, and one of them took so long that it shows, both are asked again, because the machine
    /// may have stood still. With `checks_for_writes`, no file may be written.
    pub(crate) fn verdict(&self, checks_for_writes: bool) -> Result<Verdict, SandboxError> {
        let verdict = self.verdict_at_once(checks_for_writes)?;
        let took_long = |text: &[u8]| text == b"TimedOut" || text.contains_str("\nIt took ");
        match &verdict {
            Verdict::Different(differences)
                if differences
                    .iter()
                    .any(|it| took_long(&it.candidate) || took_long(&it.oracle)) =>
            {
                self.verdict_at_once(checks_for_writes)
            }
            _ => Ok(verdict),
        }
    }

    /// Asks the candidate, then the oracle. Neither may write. The candidate goes first, so it sees the tree as it was left.
    fn verdict_at_once(&self, checks_for_writes: bool) -> Result<Verdict, SandboxError> {
        let Self {
            settings,
            sandbox,
            invocation,
        } = *self;
        // The installed git, which supplies patches, writes the trees that it needs for a sparse index.
        let may_write = settings.may_write || invocation.may_be_long();
        let before = FilesBefore::record(sandbox, checks_for_writes && !may_write);
        let monitor = settings.monitor.as_ref();
        let asked = monitor.map(|_| PriorState::record(sandbox));
        let candidate = self.ask_candidate(&settings.oracle)?;
        let mut differences = Vec::new();
        if !settings.may_write && before.is_index_written(sandbox) {
            differences.push(written_by_candidate("the index changed"));
        }
        if let Some(path) = before.written_path(sandbox) {
            differences.push(written_by_candidate(&path.display().to_string()));
        }
        let right = self.ask_git(&settings.oracle)?;
        let mut answers = Answers { candidate, right };
        if answers.are_same(settings) {
            return Ok(match differences.is_empty() {
                true => Verdict::Same,
                false => Verdict::Different(differences),
            });
        }
        if differences.is_empty() {
            if answers.recurse_into_themselves() {
                return Ok(Verdict::Unjudged);
            }
            if self.is_same_as_other(&mut answers)? {
                return Ok(Verdict::SameAsOther);
            }
        }
        if let Some(asked) = &asked {
            let is_git_fault = asked.is_git_fault(sandbox, |untracked| {
                let alone = self.ask_git_without_monitor(untracked)?;
                Ok::<_, SandboxError>(is_same(settings, &answers.candidate, &alone))
            });
            if is_git_fault? {
                return Ok(Verdict::SameWithoutMonitor);
            }
        }
        let Answers { candidate, right } = &answers;
        if settings.monitor.is_some() && is_crash(right) && is_crash(candidate) {
            return Ok(Verdict::Unjudged);
        }
        if differences.is_empty() && self.is_unjudged(&answers) {
            return Ok(Verdict::Unjudged);
        }
        answers.add_differences(&mut differences);
        Ok(Verdict::Different(differences))
    }

    /// Whether the candidate agrees with a git of another version, or with the oracle without its untracked cache. Replaces the
    /// answers by those of a version that knows better than the oracle.
    fn is_same_as_other(&self, answers: &mut Answers) -> Result<bool, SandboxError> {
        let settings = self.settings;
        for git in &settings.accepted_gits {
            let candidate = match self.invocation.may_be_long() {
                true => self.ask_candidate(git)?,
                false => answers.candidate.clone(),
            };
            let right = self.ask_git(git)?;
            let other = Answers { candidate, right };
            if other.are_same(settings) {
                return Ok(true);
            }
            // If the newest git gives up or crashes by mistake, an older one that does not know the options decides nothing.
            let knows_no_better =
                |it: &Outcome, than: &Outcome| it.ending == Ending::Exit(129) && is_crash(than);
            let decides = !knows_no_better(&other.right, &answers.right);
            if decides
                && (is_crash(&answers.right)
                    || lacks_attribute_source(&other.right)
                    || knows_no_better(&answers.right, &other.right))
            {
                *answers = other;
            }
        }
        // With its untracked cache, git continues to list a directory that once contained a repository.
        let mut uncached = self.invocation.clone();
        let name = "GIT_DISABLE_UNTRACKED_CACHE".into();
        uncached.variables.push((name, "1".into()));
        let uncached = StatusComparison {
            invocation: &uncached,
            ..*self
        };
        let uncached = uncached.ask_git(&settings.oracle)?;
        Ok(is_same(settings, &answers.candidate, &uncached))
    }

    /// Whether git gave no answer that can be compared, and the candidate gave one.
    fn is_unjudged(&self, answers: &Answers) -> bool {
        let Answers { candidate, right } = answers;
        let is_lost = is_crash(right)
            || lacks_attribute_source(right)
            || broken_index::is_misread(self.settings, self.sandbox, self.invocation);
        is_lost && matches!(candidate.ending, Ending::Exit(0..=1 | 128..=129))
    }

    fn ask_git(&self, program: &Path) -> Result<Outcome, SandboxError> {
        let mut invocation = self.invocation.clone();
        if self.settings.monitor.is_some() {
            Monitor::switch_off(&mut invocation, UntrackedSource::Scanned);
        }
        let run = || {
            let command = invocation.command(self.sandbox, program);
            run(self.settings, program, command)
        };
        match run()? {
            // A timeout may be due to a machine that stood still.
            outcome if outcome.ending == Ending::TimedOut => run(),
            outcome => Ok(outcome),
        }
    }

    /// Asks the oracle without a monitor, but lets it write, as the candidate may.
    fn ask_git_without_monitor(&self, untracked: UntrackedSource) -> Result<Outcome, SandboxError> {
        let mut invocation = self.invocation.clone();
        Monitor::switch_off(&mut invocation, untracked);
        let oracle = &self.settings.oracle;
        let mut command = invocation.command(self.sandbox, oracle);
        command.env_remove("GIT_OPTIONAL_LOCKS");
        run(self.settings, oracle, command)
    }

    /// Asks the candidate, with `git` as the installed git, which supplies the patches.
    pub(crate) fn ask_candidate(&self, git: &Path) -> Result<Outcome, SandboxError> {
        let (settings, sandbox) = (self.settings, self.sandbox);
        let mut invocation = self.invocation.clone();
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
}

impl Answers {
    fn are_same(&self, settings: &Settings) -> bool {
        is_same(settings, &self.candidate, &self.right)
    }

    /// Whether git did not end, and the candidate reports that a submodule is the repository around it. git then runs itself there
    /// over and over, and gives up when the system has no more processes.
    fn recurse_into_themselves(&self) -> bool {
        let is_in_itself = "fatal: a submodule of this repository is the repository itself";
        let mut output = self.candidate.stderr.lines();
        let is_found = output.any(|line| line == is_in_itself.as_bytes());
        self.right.ending == Ending::TimedOut && is_found
    }

    fn add_differences(&self, differences: &mut Vec<Difference>) {
        let Self { candidate, right } = self;
        let endings = [candidate, right].map(|outcome| outcome.ending.to_string());
        let [candidate_ending, right_ending] = endings.each_ref().map(String::as_bytes);
        for (what, candidate, oracle) in [
            ("stdout", &*candidate.stdout, &*right.stdout),
            ("ending", candidate_ending, right_ending),
            ("stderr", &*candidate.stderr, &*right.stderr),
        ] {
            if candidate != oracle {
                differences.push(Difference {
                    what: what.to_owned(),
                    candidate: candidate.to_vec(),
                    oracle: oracle.to_vec(),
                });
            }
        }
    }
}

fn run(settings: &Settings, program: &Path, mut command: Command) -> Result<Outcome, SandboxError> {
    process::run(&mut command, None, settings.limit)
        .map_err(while_doing(format!("starting {}", program.display())))
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
fn is_crash(outcome: &Outcome) -> bool {
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

fn last_line(text: &[u8]) -> &[u8] {
    text.lines().next_back().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
