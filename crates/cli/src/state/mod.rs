//! `vigil state`: shows, verifies or drops what Vigil keeps on disk about a working copy.

mod json;
mod show;
mod unkept;
mod verify;
mod verify_mercurial;
mod words;

use bstr::BString;
use vigil_git::environment::Environment;
use vigil_git::state_place::{left_by_older_versions, places_even_if_off};
use vigil_store::{RemoveOutcome, Store};

pub(crate) use self::unkept::why_unkept;
use crate::command::{Command, Subcommand};
use crate::hg;
use crate::inside;
use crate::options::{
    Argument, Given, OptionEntry, OptionTable, Value, other_than_subcommand, parse, refuse_all,
    refuse_others, subcommand,
};
use crate::reply::{Reply, bytes, escaped_line, labelled};
use vigil_stamp::paths::bytes_of;

/// The options of `vigil state show`.
#[derive(Clone, Copy)]
enum Key {
    Directories,
    Format,
}

const SYNOPSIS: &str = "\
vigil state show [-v | --directories] [--format=json]
   or: vigil state verify
   or: vigil state drop";

const SHOW: OptionTable<Key> = OptionTable {
    synopsis: SYNOPSIS,
    headings: &[],
    entries: &[
        OptionEntry {
            key: Key::Directories,
            short: Some(b'v'),
            long: "directories",
            argument: Argument::None,
            value: Value::Any,
            negatable: true,
            help: "show what is recorded of each directory",
            is_own: false,
        },
        OptionEntry::json_format(Key::Format),
    ],
};

/// The table of commands without options.
const PLAIN: OptionTable<Key> = OptionTable::without_options(SYNOPSIS);

/// The command as it is listed and described.
pub(crate) const COMMAND: Command = Command {
    name: "state",
    summary: "Show, verify or drop what Vigil keeps on disk of a working copy",
    options: &PLAIN,
    arguments: None,
    subcommands: &[
        Subcommand {
            options: &SHOW,
            ..Subcommand::plain("show", "Show where it is, and which parts are still valid")
        },
        Subcommand::plain(
            "verify",
            "Compare it with a look at the disk that does not use it",
        ),
        Subcommand::plain("drop", "Remove it"),
    ],
    prose: include_str!("../../pages/state.txt"),
};

/// Runs the command with `arguments`, the words after its name.
pub(crate) fn run(arguments: &[BString], environment: &Environment) -> Reply {
    answer(arguments, environment).unwrap_or_else(|complaint| complaint)
}

fn answer(arguments: &[BString], environment: &Environment) -> Result<Reply, Reply> {
    let (command, arguments) = subcommand(&SHOW, arguments)?;
    match command.as_slice() {
        b"show" => {
            let (mut directories, mut json) = (false, false);
            let others = parse(&SHOW, arguments, |key, given| {
                match key {
                    Key::Directories => directories = given != Given::Negated,
                    Key::Format => json = inside::is_json(given)?,
                }
                Ok(())
            })?;
            refuse_others(&SHOW, &others)?;
            show::run(environment, directories, json)
        }
        b"verify" => {
            refuse_all(&PLAIN, arguments)?;
            if hg::is_mercurial(environment) {
                return verify_mercurial::run(environment);
            }
            verify::run(environment)
        }
        b"drop" => {
            refuse_all(&PLAIN, arguments)?;
            remove_state(environment)
        }
        _ => other_than_subcommand(&SHOW, command),
    }
}

/// Removes the state from every place where it may be, even if none is kept any more.
fn remove_state(environment: &Environment) -> Result<Reply, Reply> {
    if hg::is_mercurial(environment) {
        return Ok(drop_all(&hg::state_places(environment)?));
    }
    let repository = inside::find(environment)?;
    let messages = repository.config.messages().to_vec();
    // Older versions used another folder, the common one.
    let mut stores = left_by_older_versions(&repository);
    let reply = match places_even_if_off(&repository) {
        Err(reason) if stores.iter().all(|store| !store.folder().exists()) => {
            // Inside `.git`, there may be one all the same, which only its working tree leads to.
            inside::enter(&repository)?;
            Reply::printed(why_unkept(reason), 0)
        }
        others => {
            stores.extend(others.unwrap_or_default());
            drop_all(&stores)
        }
    };
    Ok(reply.after(&messages))
}

fn drop_all(stores: &[Store]) -> Reply {
    let mut reply = Reply::default();
    for store in stores {
        let folder = bytes_of(store.folder());
        match store.remove_state() {
            Ok(RemoveOutcome::Absent) => {}
            Ok(RemoveOutcome::Removed) => {
                let line = escaped_line(&bytes!["removed ", folder]);
                reply.stdout.extend(line);
            }
            Ok(RemoveOutcome::Emptied) => {
                let rest = "; the folder stays, because it holds something else";
                let line = escaped_line(&bytes!["removed the state in ", folder, rest]);
                reply.stdout.extend(line);
            }
            Ok(RemoveOutcome::Busy) => {
                let text = bytes![folder, " is being written; nothing was removed"];
                reply.stderr.extend(labelled("error: ", &text));
                reply.code = 1;
            }
            Err(error) => {
                reply
                    .stderr
                    .extend(labelled("error: ", error.to_string().as_bytes()));
                reply.code = 1;
            }
        }
    }
    if reply == Reply::default() {
        reply.stdout.extend_from_slice(b"there is no state\n");
    }
    reply
}
