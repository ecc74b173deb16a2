//! All commands, in the order in which they are listed.

use bstr::BStr;

use crate::command::Command;
use crate::{
    cat_file, completions, daemon, describe, doctor, fsmonitor, gitstatusd, help, hg, init, prompt,
    state, status, watch, why,
};

/// The commands that are listed.
pub(crate) const LISTED: &[&Command] = &[
    &status::COMMAND,
    &watch::COMMAND,
    &why::COMMAND,
    &cat_file::COMMAND,
    &describe::COMMAND,
    &hg::COMMAND,
    &state::COMMAND,
    &daemon::COMMAND,
    &fsmonitor::COMMAND,
    &init::COMMAND,
    &prompt::COMMAND,
    &doctor::COMMAND,
    &gitstatusd::COMMAND,
    &completions::COMMAND,
    &help::COMMAND,
    &VERSION,
];

/// `vigil version`, which needs no prose.
const VERSION: Command = Command {
    name: "version",
    summary: "Show the version",
    options: &help::VERSION_TABLE,
    arguments: None,
    subcommands: &[],
    prose: "",
};

/// Finds the listed command called `name`.
pub(crate) fn find(name: &BStr) -> Option<&'static Command> {
    LISTED.iter().copied().find(|command| name == command.name)
}
