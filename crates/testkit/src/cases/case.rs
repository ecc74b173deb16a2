//! One state, and the questions about it.

use super::builder::Builder;
use crate::invocation::Invocation;
use crate::scenario::{Item, Question, Scenario, ServerOptions, Step};

/// A named repository state.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The name.
    pub name: &'static str,
    /// The directory of the questions, relative to the sandbox's root.
    pub directory: &'static str,
    /// Builds the state.
    build: fn(&mut Builder),
}

impl Case {
    pub(super) const fn new(
        name: &'static str,
        directory: &'static str,
        build: fn(&mut Builder),
    ) -> Self {
        Self {
            name,
            directory,
            build,
        }
    }

    /// The state and all questions about it, as a scenario.
    pub fn scenario(&self, prompts: bool) -> Scenario {
        let mut builder = Builder::default();
        (self.build)(&mut builder);
        let mut items = vec![Item::Step(Step {
            name: self.name,
            actions: builder.actions,
        })];
        let ask = |invocation| Item::Ask(Question::Status(invocation));
        if prompts {
            items.push(Item::Ask(Question::Prompt(self.directory.into())));
        } else {
            items.extend(
                INVOCATIONS
                    .iter()
                    .map(|options| ask(Invocation::new(self.directory, options))),
            );
            let below = format!("{}/dir", self.directory);
            items.push(ask(Invocation::new(&below, &["-s", "-b", "--ignored"])));
            items.push(ask(Invocation::new(&below, &["--porcelain=v1", "-uall"])));
            let mut literal =
                Invocation::new(self.directory, &["-uall", "-vv", "--ignore-submodules=all"]);
            literal.variables = vec![("GIT_LITERAL_PATHSPECS".into(), "1".into())];
            items.push(ask(literal));
            let mut limited =
                Invocation::new(self.directory, &["--porcelain=v2", "--ignored", "-uall"]);
            limited.pathspecs = vec!["dir".into()];
            items.push(ask(limited.clone()));
            limited.options = vec!["--long".into(), "-v".into()];
            limited.pathspecs = vec!["other/g".into()];
            items.push(ask(limited.clone()));
            limited.options = vec!["-vv".into()];
            limited.pathspecs = vec!["dir/no/such/file".into()];
            items.push(ask(limited));
            for pathspecs in PATHSPECS {
                let mut limited = Invocation::new(self.directory, &["--porcelain=v1", "--ignored"]);
                limited.pathspecs = pathspecs
                    .iter()
                    .map(|pathspec| (*pathspec).into())
                    .collect();
                items.push(ask(limited));
            }
        }
        let server = prompts.then_some(ServerOptions { recurse: false });
        Scenario {
            name: format!("case {}", self.name),
            server,
            items,
        }
    }
}

/// The rows of a table. A row names a directory other than `work` after `in`.
macro_rules! cases {
    ($($name:literal $(in $directory:literal)?, $build:expr;)*) => {
        /// The states of this subject.
        pub(super) const CASES: &[crate::cases::case::Case] = &[
            $(crate::cases::case::Case::new($name, cases!(@directory $($directory)?), $build)),*
        ];
    };
    (@directory) => { "work" };
    (@directory $directory:literal) => { $directory };
}
pub(super) use cases;

/// The options asked about in every state.
const INVOCATIONS: &[&[&str]] = &[
    &["--porcelain=v2", "--branch", "--show-stash", "-z"],
    &[
        "--porcelain=v2",
        "--branch",
        "--no-ahead-behind",
        "-uno",
        "--no-renames",
    ],
    &["--porcelain=v2", "-uall", "--ignored=matching", "-z"],
    &["--porcelain=v2", "--ignored=matching"],
    &[
        "--porcelain=v2",
        "--ignore-submodules=dirty",
        "--find-renames=20%",
    ],
    &["--porcelain=v1", "-uall", "--ignored"],
    &["--porcelain=v1", "-z", "--ignored=traditional"],
    &["--porcelain=v1", "-b", "--ignore-submodules=untracked"],
    &["-s", "-b"],
    &["-s", "--ignore-submodules=all"],
    &[],
    &["--long", "-uall", "--ignored", "--show-stash"],
    &["-uno", "-v"],
    &["-vv"],
    &["-uno", "-vv", "--ignore-submodules=dirty"],
];

/// The pathspecs asked about in every state, each for one way in which git walks.
const PATHSPECS: &[&[&str]] = &[
    &[":(icase)DIR/NEW", ":(icase)n*"],
    &["dir/no/such/file"],
    &["dir/new/", "."],
    &["dir/new/", "dir/c/"],
    &[":!dir/*"],
    &["other/deep/f"],
    &["other/g"],
];
