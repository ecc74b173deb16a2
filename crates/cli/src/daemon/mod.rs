//! `vigil daemon`: starts, stops and shows the user's daemon.

mod audit;
mod control;
mod run;
mod show;
mod socket_activation;

use bstr::BString;
use vigil_git::environment::Environment;

use crate::command::{Command, Subcommand};
use crate::inside;
use crate::options::{
    OptionEntry, OptionTable, other_than_subcommand, parse, refuse_all, refuse_others, subcommand,
    with_usage,
};
use crate::reply::Reply;
use crate::say::say;

const SYNOPSIS: &str = "\
vigil daemon run
   or: vigil daemon start
   or: vigil daemon stop
   or: vigil daemon restart
   or: vigil daemon status [--format=json | --json]
   or: vigil daemon audit";

/// The options of `vigil daemon status`.
#[derive(Clone, Copy)]
enum Key {
    Json,
}

const STATUS: OptionTable<Key> = OptionTable {
    synopsis: SYNOPSIS,
    headings: &[],
    entries: &[
        OptionEntry::json_format(Key::Json),
        OptionEntry::json(Key::Json),
    ],
};

/// The table of commands without options.
const PLAIN: OptionTable<Key> = OptionTable::without_options(SYNOPSIS);

/// The command as it is listed and described.
pub(crate) const COMMAND: Command = Command {
    name: "daemon",
    summary: "Manage the daemon, which answers from memory",
    options: &PLAIN,
    arguments: None,
    subcommands: &[
        Subcommand::plain("run", "Serve in this process, until idle for long enough"),
        Subcommand::plain("start", "Start the daemon, unless it is running"),
        Subcommand::plain("stop", "Stop the daemon"),
        Subcommand::plain("restart", "Stop the daemon and start it again"),
        Subcommand {
            options: &STATUS,
            ..Subcommand::plain("status", "Show what the daemon keeps, and what that costs")
        },
        Subcommand::plain(
            "audit",
            "Compare everything that the daemon keeps with the disk",
        ),
    ],
    prose: include_str!("../../pages/daemon.txt"),
};

/// Runs the command with `arguments`, the words after its name, and returns the exit code.
pub(crate) fn run(arguments: &[BString], environment: &Environment) -> u8 {
    match arguments {
        [command, option] if command == "run" && option == vigil_daemon::start::DETACHED => {
            run::serve(environment, true)
        }
        [command] if command == "run" => run::serve(environment, false),
        _ => say(&answer(arguments, environment).unwrap_or_else(|complaint| complaint)),
    }
}

/// Does what `vigil daemon start` does.
pub(crate) fn start(environment: &Environment) -> Reply {
    control::start(environment)
}

fn answer(arguments: &[BString], environment: &Environment) -> Result<Reply, Reply> {
    let (command, arguments) = subcommand(&STATUS, arguments)?;
    match command.as_slice() {
        b"status" => {
            let mut json = false;
            let others = parse(&STATUS, arguments, |Key::Json, given| {
                json = inside::is_json(given)?;
                Ok(())
            })?;
            refuse_others(&STATUS, &others)?;
            Ok(show::run(environment, json))
        }
        // Without arguments the daemon runs and never gets here, so there is an argument.
        b"run" => {
            refuse_all(&PLAIN, arguments)?;
            Err(with_usage(&PLAIN, b"too many arguments"))
        }
        b"start" => {
            refuse_all(&PLAIN, arguments)?;
            Ok(control::start(environment))
        }
        b"stop" => {
            refuse_all(&PLAIN, arguments)?;
            Ok(control::stop(environment))
        }
        b"restart" => {
            refuse_all(&PLAIN, arguments)?;
            Ok(control::restart(environment))
        }
        b"audit" => {
            refuse_all(&PLAIN, arguments)?;
            Ok(audit::run(environment))
        }
        _ => other_than_subcommand(&STATUS, command),
    }
}
