//! `vigil gitstatusd`: answers prompts as gitstatusd does. The code is in the daemon's crate.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bstr::BString;
use vigil_daemon::gitstatusd::{self, KNOWN_OPTIONS, KnownOption};
use vigil_git::environment::Environment;

use crate::command::{Command, Options};
use crate::options::{Argument, OptionEntry, Value};
use crate::prompt;

/// The command as it is listed and described.
pub(crate) const COMMAND: Command = Command {
    name: "gitstatusd",
    summary: "Answer prompts on standard input and output, as gitstatusd does",
    options: &OfGitstatusd,
    arguments: None,
    subcommands: &[],
    prose: include_str!("../pages/gitstatusd.txt"),
};

/// The options, which the daemon's crate defines.
struct OfGitstatusd;

impl Options for OfGitstatusd {
    fn synopsis(&self) -> &'static str {
        "vigil gitstatusd [<option>...]"
    }

    fn entries(&self) -> Vec<OptionEntry<()>> {
        KNOWN_OPTIONS.iter().map(entry).collect()
    }
}

fn entry(known: &KnownOption) -> OptionEntry<()> {
    OptionEntry {
        short: Some(known.letter),
        argument: known.argument.map_or(Argument::None, |argument| {
            Argument::Required(match argument {
                "NUM" => "n",
                _ => "text",
            })
        }),
        value: match known.letter {
            b'v' => Value::Words(&["DEBUG", "INFO", "WARN", "ERROR", "FATAL"]),
            _ => Value::Any,
        },
        negatable: false,
        ..OptionEntry::flag((), known.long, known.help)
    }
}

/// Returns whether the caller wants gitstatusd: it says so by the program's name, or by the option that gitstatus's plugins
/// put first and no other command has.
pub(crate) fn is_meant(program: &OsStr, arguments: &[BString]) -> bool {
    Path::new(program).file_name() == Some(OsStr::new("gitstatusd"))
        || arguments
            .first()
            .is_some_and(|first| first.starts_with(b"-G"))
}

/// Answers prompts until the caller is gone.
pub(crate) fn run(arguments: &[BString], environment: Environment) -> u8 {
    let arguments: Vec<OsString> = arguments
        .iter()
        .map(|argument| OsStr::from_bytes(argument).to_owned())
        .collect();
    gitstatusd::run("gitstatusd", &arguments, environment, &prompt::drawer)
}
