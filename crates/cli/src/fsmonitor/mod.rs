//! `vigil fsmonitor`: answers git's questions to a file system monitor, and configures git to ask.

mod config;
mod gits;
mod hook;
mod install;
mod socket;
mod state;

use std::ffi::OsStr;
use std::path::Path;

use bstr::{BStr, BString, ByteSlice};
use vigil_daemon::variables;
use vigil_git::environment::Environment;
use vigil_git::repository::{self, Repository};

pub(crate) use self::install::is_left_behind;
use crate::command::{Command, Subcommand};
use crate::options::{
    Given, OptionEntry, OptionTable, Value, other_than_subcommand, parse, refuse_others,
    subcommand, with_usage,
};
use crate::reply::{Reply, bytes, escaped_line};
use crate::say::say;

const SYNOPSIS: &str = "\
vigil fsmonitor install [--global] [--hook | --socket]
   or: vigil fsmonitor uninstall [--global]
   or: vigil fsmonitor start
   or: vigil fsmonitor stop
   or: vigil fsmonitor status
   or: vigil fsmonitor query [<token>]
   or: vigil fsmonitor hook <version> <token>";

/// The name of the link to this program that git runs. git needs no shell for that unless the path has special characters.
pub(crate) const HOOK: &str = "vigil-fsmonitor-hook";

/// The options of `vigil fsmonitor install` and `uninstall`.
#[derive(Clone, Copy)]
enum Key {
    Global,
    Hook,
    Socket,
}

const INSTALL: OptionTable<Key> = OptionTable {
    synopsis: SYNOPSIS,
    headings: &[],
    entries: &[
        OptionEntry::flag(Key::Global, "global", "for all repositories of the user"),
        OptionEntry::flag(
            Key::Hook,
            "hook",
            "make git run a hook, whatever its version",
        ),
        OptionEntry::flag(
            Key::Socket,
            "socket",
            "make git ask at the socket of its builtin monitor",
        ),
    ],
};

const UNINSTALL: OptionTable<Key> = OptionTable {
    synopsis: SYNOPSIS,
    headings: &[],
    entries: &[OptionEntry::flag(
        Key::Global,
        "global",
        "for all repositories of the user",
    )],
};

/// The table of commands without options.
const PLAIN: OptionTable<Key> = OptionTable::without_options(SYNOPSIS);

/// Returns whether git ran this program as a hook, by the name of its link.
pub(crate) fn is_hook(program: &OsStr) -> bool {
    Path::new(program).file_name() == Some(OsStr::new(HOOK))
}

/// Returns whether the command `hook`, possibly quoted for a shell, is the one that `vigil fsmonitor install` sets.
pub(crate) fn is_our_hook(hook: &BStr) -> bool {
    let hook = hook.strip_suffix(b"'").unwrap_or(hook);
    hook.ends_with(HOOK.as_bytes())
}

/// Runs the hook with git's arguments, and returns the exit code.
pub(crate) fn run_hook(arguments: &[BString], environment: &Environment) -> u8 {
    hook::run(arguments, environment)
}

/// The command as it is listed and described.
pub(crate) const COMMAND: Command = Command {
    name: "fsmonitor",
    summary: "Let git itself ask the daemon what changed",
    options: &PLAIN,
    arguments: None,
    subcommands: &[
        Subcommand {
            options: &INSTALL,
            ..Subcommand::plain(
                "install",
                "Make git ask, in a way that every git here supports",
            )
        },
        Subcommand {
            options: &UNINSTALL,
            ..Subcommand::plain("uninstall", "Restore the former configuration")
        },
        Subcommand::plain("start", "Make the daemon serve the socket where git asks"),
        Subcommand::plain("stop", "Make the daemon stop serving it"),
        Subcommand::plain("status", "Show whether git asks, and who answers"),
        Subcommand {
            arguments: Some(Value::Any),
            ..Subcommand::plain("query", "Show what git would be told")
        },
        Subcommand {
            arguments: Some(Value::Any),
            ..Subcommand::plain("hook", "Answer git, which runs this as its hook")
        },
    ],
    prose: include_str!("../../pages/fsmonitor.txt"),
};

/// Runs the command with `arguments`, the words after its name, and returns the exit code.
pub(crate) fn run(arguments: &[BString], environment: &Environment) -> u8 {
    match arguments.split_first() {
        Some((command, arguments)) if command == "hook" => hook::run(arguments, environment),
        _ => say(&answer(arguments, environment).unwrap_or_else(|complaint| complaint)),
    }
}

fn answer(arguments: &[BString], environment: &Environment) -> Result<Reply, Reply> {
    let (command, arguments) = subcommand(&INSTALL, arguments)?;
    match command.as_slice() {
        b"install" => {
            let mut wanted = install::InstallOptions::default();
            let (mut is_hook, mut is_socket) = (false, false);
            let others = parse(&INSTALL, arguments, |key, given| {
                let is_set = given != Given::Negated;
                match key {
                    Key::Global => wanted.is_global = is_set,
                    Key::Hook => is_hook = is_set,
                    Key::Socket => is_socket = is_set,
                }
                Ok(())
            })?;
            refuse_others(&INSTALL, &others)?;
            if is_hook && is_socket {
                let both = b"options '--hook' and '--socket' cannot be used together";
                return Err(with_usage(&INSTALL, both));
            }
            wanted.mechanism = match (is_hook, is_socket) {
                (true, _) => Some(install::Mechanism::Hook),
                (_, true) => Some(install::Mechanism::Socket),
                _ => None,
            };
            install::install(environment, wanted)
        }
        b"uninstall" => {
            let mut is_global = false;
            let others = parse(&UNINSTALL, arguments, |_, given| {
                is_global = given != Given::Negated;
                Ok(())
            })?;
            refuse_others(&INSTALL, &others)?;
            install::uninstall(environment, is_global)
        }
        b"start" => {
            plain(arguments)?;
            repository(environment)?;
            Ok(socket::start(environment))
        }
        b"stop" => {
            plain(arguments)?;
            repository(environment)?;
            Ok(socket::stop(environment))
        }
        b"status" => {
            plain(arguments)?;
            status(environment)
        }
        b"query" => {
            let others = parse(&PLAIN, arguments, |_, _| Ok(()))?;
            let token = match others.as_slice() {
                [] => BStr::new(""),
                [token] => token.as_bstr(),
                _ => return Err(with_usage(&INSTALL, b"too many arguments")),
            };
            repository(environment)?;
            Ok(hook::query(token, environment))
        }
        _ => other_than_subcommand(&INSTALL, command),
    }
}

/// The repository around the working directory.
///
/// # Errors
/// As git complains where there is none.
fn repository(environment: &Environment) -> Result<Repository, Reply> {
    let found = repository::discover(environment, environment.working_directory());
    found.map_err(|error| Reply::fatal_after(error.messages(), &error))
}

/// Says whether git asks, and whether it gets an answer. The exit code is 0 if it would.
fn status(environment: &Environment) -> Result<Reply, Reply> {
    let config = repository(environment)?.config;
    let wanted = config.boolean("core.fsmonitor");
    if let Ok(Some(true)) = wanted {
        return Ok(socket::status(environment));
    }
    let value = config.string("core.fsmonitor").unwrap_or_default();
    if is_our_hook(value.as_bstr()) {
        let mut line = bytes!["git asks by the hook ", value];
        let obstacle = if is_left_behind(value.as_bstr()) {
            ", which is gone: run 'vigil fsmonitor install' or 'uninstall'"
        } else if variables::is_off(environment) {
            ", but VIGIL_NO_DAEMON is set, so nobody answers"
        } else if matches!(config.boolean("vigil.daemon"), Ok(Some(false))) {
            ", but vigil.daemon is false, so nobody answers"
        } else {
            ""
        };
        line.extend_from_slice(obstacle.as_bytes());
        let code = u8::from(!obstacle.is_empty());
        return Ok(Reply::printed(escaped_line(&line), code));
    }
    let line = match wanted {
        Err(_) => escaped_line(&bytes!["git asks another hook: ", value]),
        Ok(_) => bytes!["git does not ask: core.fsmonitor is not true\n"],
    };
    let mut reply = socket::status(environment);
    reply.stdout.splice(..0, line);
    Ok(reply)
}

fn plain(arguments: &[BString]) -> Result<(), Reply> {
    refuse_others(&INSTALL, &parse(&PLAIN, arguments, |_, _| Ok(()))?)
}
