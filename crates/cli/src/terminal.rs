//! The terminal to which this process writes, if it is one.

use std::io::IsTerminal;

use vigil_daemon::protocol::Terminal;
use vigil_git::environment::Environment;

use crate::pager;

/// Describes the terminal. If a pager is wanted, call this only once it runs, since it replaces standard output.
pub(crate) fn of_process(environment: &Environment) -> Terminal {
    let width = pager::terminal_width(environment);
    Terminal {
        is_output: std::io::stdout().is_terminal(),
        is_errors: std::io::stderr().is_terminal(),
        width: width.map(|width| u32::try_from(width).unwrap_or(u32::MAX)),
    }
}
