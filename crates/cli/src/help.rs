//! What `vigil` says of itself.

use bstr::BStr;

use crate::reply::{Reply, bytes};

const SYNOPSIS: &str = "\
vigil [-v | --version] [-h | --help] [-C <path>] [-c <name>=<value>]
             [--exec-path=<path>] [-p | --paginate | -P | --no-pager]
             [--no-replace-objects] [--no-lazy-fetch] [--no-optional-locks]
             [--no-advice] [--bare] [--git-dir=<path>] [--work-tree=<path>]
             [--namespace=<name>] [--config-env=<name>=<envvar>]
             [--attr-source=<tree-ish>] <command> [<args>]";

const COMMANDS: &str = "\
These are the commands:
   status       Show what changed in the working tree, in the formats of 'git status'
   watch        Show in a line what changed, now and each time that it does
   why          Explain what 'vigil status' says of single paths
   cat-file     Print objects and what is known of them, as 'git cat-file'
   describe     Name a commit by the nearest tag, as 'git describe'
   state        Show, verify or drop what Vigil keeps on disk of a working copy
   daemon       Start, stop or show the process that answers from memory
   fsmonitor    Have git itself ask that process what changed
   doctor       Tell what is slow here, and the command that mends it
   gitstatusd   Answer prompts on standard input and output, as gitstatusd does
   help         Show this text, or the options of a command
   version      Show the version

'vigil status -h' lists the options of 'vigil status', and so for the others.
";

/// `usage: ...`, for standard error after a wrong command line.
pub(crate) fn usage_line() -> String {
    format!("usage: {SYNOPSIS}\n")
}

/// The text of `vigil help`.
pub(crate) fn overview(code: u8) -> Reply {
    Reply::printed(format!("usage: {SYNOPSIS}\n\n{COMMANDS}"), code)
}

/// After a wrong command line of `vigil help`.
pub(crate) fn usage_of_help() -> Reply {
    Reply::complained("usage: vigil help [<command>]\n", Reply::USAGE)
}

/// The version, in the form of `git version`.
pub(crate) fn version() -> Reply {
    Reply::printed(
        concat!("vigil version ", env!("CARGO_PKG_VERSION"), "\n"),
        0,
    )
}

/// A command that does not exist.
pub(crate) fn unknown_command(name: &BStr) -> Reply {
    let text = bytes![
        "vigil: '",
        name,
        "' is not a vigil command. See 'vigil --help'.\n"
    ];
    Reply::complained(text, 1)
}
