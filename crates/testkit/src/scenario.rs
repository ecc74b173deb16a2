//! Scenarios: steps and questions, in order.

use bstr::{BString, ByteSlice};

use crate::action::Action;
use crate::invocation::Invocation;
use crate::sandbox::Sandbox;
use crate::settings::Settings;
use crate::shell;

/// An operation on the sandbox: a name and its actions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The name of the operation.
    pub name: &'static str,
    /// Its actions.
    pub actions: Vec<Action>,
}

/// A question for the candidate and the oracle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// A `status` command.
    Status(Invocation),
    /// A request of the gitstatusd protocol for this directory, relative to the root.
    Prompt(BString),
}

/// One item of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// An operation.
    Step(Step),
    /// A question.
    Ask(Question),
}

/// How the long-lived process is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerOptions {
    /// `-e`: count the files within untracked directories.
    pub recurse: bool,
}

/// All steps and questions of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// Its origin: a seed or the name of a case.
    pub name: String,
    /// The options of the long-lived process, if prompts are asked for.
    pub server: Option<ServerOptions>,
    /// The steps and questions.
    pub items: Vec<Item>,
}

impl Scenario {
    /// A bash script that plays the scenario and shows both answers to the last question.
    ///
    /// The programs are those of `settings`, unless the variables `CANDIDATE` and `GIT` name others.
    pub fn script(&self, settings: &Settings) -> BString {
        let (candidate, oracle) = (settings.candidate.display(), settings.oracle.display());
        let mut out = BString::from("#!/bin/bash\n");
        let mut line = |text: &[u8]| {
            out.extend_from_slice(text);
            out.push(b'\n');
        };
        line(&[b"# ", self.name.as_bytes()].concat());
        line(shell::PRELUDE.as_bytes());
        line(format!(": \"${{CANDIDATE:={candidate}}}\" \"${{GIT:={oracle}}}\"").as_bytes());
        line(b"ROOT=$(realpath \"$(mktemp -d)\"); cd \"$ROOT\" && mkdir home || exit 1");
        for (name, value) in Sandbox::variables() {
            line(
                &[
                    b"export ",
                    name.as_bytes(),
                    b"=",
                    &shell::word(value.as_bytes()),
                ]
                .concat(),
            );
        }
        line(
            &[
                &shell::print(Sandbox::home_config().as_bytes())[..],
                b" > home/.gitconfig",
            ]
            .concat(),
        );
        if settings.runtime_folder.is_some() {
            line(b"unset VIGIL_NO_DAEMON; export VIGIL_DAEMON_PATIENCE_MS=20000 VIGIL_DAEMON_REST_S=0 VIGIL_RUNTIME_DIR=$(mktemp -d)");
            line(b"coproc \"$CANDIDATE\" daemon run; read -r -u \"${COPROC[0]}\" _; trap '\"$CANDIDATE\" daemon stop >/dev/null' EXIT");
        }
        let last = self
            .items
            .iter()
            .rposition(|item| matches!(item, Item::Ask(_)));
        for (index, item) in self.items.iter().enumerate() {
            match item {
                Item::Step(step) => {
                    line(&[b"# ", step.name.as_bytes()].concat());
                    for action in &step.actions {
                        line(&action.script());
                    }
                }
                Item::Ask(question) => {
                    self.script_question(question, Some(index) == last, settings, &mut line)
                }
            }
        }
        out
    }

    fn script_question(
        &self,
        question: &Question,
        is_last: bool,
        settings: &Settings,
        line: &mut dyn FnMut(&[u8]),
    ) {
        match question {
            Question::Status(invocation) => {
                let mut asked = invocation.script("CANDIDATE");
                if !is_last {
                    asked.extend_from_slice(b" > /dev/null 2>&1");
                    return line(&asked);
                }
                asked.extend_from_slice(b" > candidate.out; echo \"exit $?\" >> candidate.out");
                line(&asked);
                let mut judged = invocation.script("GIT");
                judged.extend_from_slice(b" > git.out; echo \"exit $?\" >> git.out");
                line(&judged);
                line(b"diff -a git.out candidate.out && echo same");
            }
            Question::Prompt(directory) => {
                let start = shell::word(&[b"{ROOT}/", &directory[..]].concat());
                if !is_last && settings.runtime_folder.is_none() {
                    return line(b"# (here the long-lived process was asked, too)");
                }
                let recurse = if self.server.is_some_and(|server| server.recurse) {
                    " -e"
                } else {
                    ""
                };
                let shown = if is_last {
                    "tr '\\036\\037' '\\n|'"
                } else {
                    "cat > /dev/null"
                };
                line(&[b"printf 'id\\037%s\\036' ", &start[..], b" | \\"].concat());
                line(
                    format!(
                        "  \"$CANDIDATE\" gitstatusd -s -1 -u -1 -c -1 -d -1{recurse} | {shown}"
                    )
                    .as_bytes(),
                );
                if !is_last {
                    return;
                }
                line(&[b"cd ", &start[..]].concat());
                line(b"GIT_OPTIONAL_LOCKS=0 \"$GIT\" status --porcelain=v2 --branch --show-stash --no-renames -unormal");
            }
        }
    }

    /// Splits each step into steps of one action, so that the scenario can be reduced further.
    pub fn one_action_per_step(items: &[Item]) -> Vec<Item> {
        let mut out = Vec::new();
        for item in items {
            match item {
                Item::Step(step) => out.extend(step.actions.iter().map(|action| {
                    Item::Step(Step {
                        name: step.name,
                        actions: vec![action.clone()],
                    })
                })),
                Item::Ask(_) => out.push(item.clone()),
            }
        }
        out
    }
}

/// Describes each step and question on a line, for a person to read.
pub fn describe(items: &[Item]) -> String {
    let mut out = String::new();
    for item in items {
        match item {
            Item::Step(step) => {
                out.push_str(&format!("  {}:\n", step.name));
                for action in &step.actions {
                    out.push_str(&format!("      {}\n", action.script().to_str_lossy()));
                }
            }
            Item::Ask(Question::Status(invocation)) => {
                out.push_str(&format!("  ? {}\n", invocation.script("P").to_str_lossy()));
            }
            Item::Ask(Question::Prompt(directory)) => {
                out.push_str(&format!("  ? prompt in {}\n", shell::escaped(directory)));
            }
        }
    }
    out
}
