//! Plays a scenario: performs its steps, and compares the answers to its questions.

use std::ops::ControlFlow;
use std::time::Instant;

use crate::gitstatusd::oracle::GitAnswers;
use crate::gitstatusd::{compare_prompt, server::Server};
use crate::monitor::Monitor;
use crate::sandbox::{Sandbox, SandboxError};
use crate::scenario::{Item, Question, Scenario, Step};
pub use crate::settings::Settings;
use crate::status_comparison::StatusComparison;
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
    let mut play = Play::begin(settings, scenario, compared)?;
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
        let flow = match item {
            Item::Step(step) => {
                play.perform(step);
                ControlFlow::Continue(())
            }
            Item::Ask(question) if is_left_out(settings, question) => ControlFlow::Continue(()),
            Item::Ask(question) => play.ask(settings, index, question)?,
        };
        if flow.is_break() {
            break;
        }
    }
    Ok(play.result)
}

/// Whether the answers to `question` cannot be compared with these settings.
fn is_left_out(settings: &Settings, question: &Question) -> bool {
    match question {
        Question::Status(invocation) => {
            settings.monitor.is_some() && !Monitor::is_comparable(invocation)
                || settings.skip_long_format && invocation.may_be_long()
        }
        Question::Prompt(_) => false,
    }
}

/// A scenario that is being played.
struct Play<'a> {
    settings: &'a Settings,
    compared: ComparedAnswers,
    /// The index of the last item.
    last: usize,
    is_cached: bool,
    server: Option<Server>,
    /// git's answers about the state since the last step.
    known: GitAnswers,
    /// The questions that were asked since the last step.
    asked: Vec<&'a Question>,
    result: PlayResult,
}

impl<'a> Play<'a> {
    fn begin(
        settings: &'a Settings,
        scenario: &'a Scenario,
        compared: ComparedAnswers,
    ) -> Result<Self, SandboxError> {
        let mut sandbox = Sandbox::in_folder(&settings.parent, &settings.oracle)?;
        if let (Some(monitor), Some(folder)) = (&settings.monitor, &settings.runtime_folder) {
            monitor.set_up(&mut sandbox, folder)?;
        }
        let server = match scenario.server {
            Some(options) => Some(Server::start(settings, &sandbox, options)?),
            None => None,
        };
        let mut name = scenario.name.bytes();
        Ok(Self {
            settings,
            compared,
            last: scenario.items.len().saturating_sub(1),
            // Every other seed uses the untracked cache.
            is_cached: name.next_back().is_some_and(|digit| digit % 2 == 0),
            server,
            known: GitAnswers::new(),
            asked: Vec::new(),
            result: PlayResult {
                comparisons: 0,
                version_differences: 0,
                git_faults: 0,
                unjudged: 0,
                mismatches: Vec::new(),
                hung: Vec::new(),
                failed_actions: Vec::new(),
                sandbox,
            },
        })
    }

    fn perform(&mut self, step: &Step) {
        self.known.clear();
        self.asked.clear();
        let result = &mut self.result;
        for action in &step.actions {
            if let Err(error) = result.sandbox.act(action) {
                let text = format!("{}: {error}", step.name);
                if matches!(error, SandboxError::Hung { .. }) {
                    result.hung.push(text.clone());
                }
                result.failed_actions.push(text);
            }
        }
        if let Some(monitor) = &self.settings.monitor {
            monitor.configure_git(&result.sandbox, &self.settings.oracle, self.is_cached);
        }
    }

    /// Asks `question`, the item `index`, and counts the verdict. Breaks if nothing more is to be asked.
    fn ask(
        &mut self,
        settings: &Settings,
        index: usize,
        question: &'a Question,
    ) -> Result<ControlFlow<()>, SandboxError> {
        let is_compared = self.compared != ComparedAnswers::Last || index == self.last;
        let began = Instant::now();
        let Some(verdict) = self.verdict(settings, question, is_compared)? else {
            return Ok(ControlFlow::Continue(()));
        };
        // The same question about the same state counts once.
        let count = usize::from(!self.asked.contains(&question));
        self.asked.push(question);
        let result = &mut self.result;
        result.comparisons += count;
        let ends = match verdict {
            Verdict::Same => false,
            Verdict::SameAsOther => {
                result.version_differences += count;
                false
            }
            Verdict::SameWithoutMonitor => {
                result.git_faults += count;
                false
            }
            Verdict::Unjudged => {
                result.unjudged += count;
                // If git does not end, each further question would take as long.
                began.elapsed() >= settings.limit
            }
            Verdict::Different(differences) => {
                result.mismatches.push((index, differences));
                self.compared != ComparedAnswers::All
            }
        };
        Ok(match ends {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    }

    /// Asks `question`. `None` if the answer is not compared.
    fn verdict(
        &mut self,
        settings: &Settings,
        question: &Question,
        is_compared: bool,
    ) -> Result<Option<Verdict>, SandboxError> {
        let sandbox = &self.result.sandbox;
        match (question, &mut self.server) {
            (Question::Status(invocation), _) => {
                let comparison = StatusComparison {
                    settings,
                    sandbox,
                    invocation,
                };
                if !is_compared {
                    comparison.ask_candidate(&settings.oracle)?;
                    return Ok(None);
                }
                let checks_for_writes = self.compared == ComparedAnswers::Last
                    || self.result.comparisons.is_multiple_of(LISTING_PERIOD);
                comparison.verdict(checks_for_writes).map(Some)
            }
            (Question::Prompt(directory), Some(server)) => {
                let answer = server.ask(&sandbox.nearest_directory(directory));
                if !is_compared {
                    return Ok(None);
                }
                let (directory, options) = (directory.as_ref(), server.options());
                let known = &mut self.known;
                compare_prompt(settings, sandbox, directory, options, answer, known).map(Some)
            }
            (Question::Prompt(_), None) => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::action::Action;
    use crate::invocation::Invocation;

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
}
