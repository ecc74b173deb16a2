//! `vigil watch`: prints the status now and whenever it changes.

mod follow;
mod look;

use bstr::BString;
use vigil_daemon::variables;
use vigil_git::environment::Environment;

use crate::command::Command;
use crate::hg;
use crate::inside;
use crate::options::{OptionEntry, OptionTable, OwnOptions, Value, parse, refuse_others, usage};
use crate::reply::Reply;
use crate::say::say;

#[derive(Clone, Copy)]
enum Key {
    Format,
}

const TABLE: OptionTable<Key> = OptionTable {
    synopsis: "vigil watch [--format=json]",
    headings: &[],
    entries: &[OptionEntry {
        value: Value::Words(&["json", "line"]),
        help: "print in the format 'json' or 'line'",
        ..OptionEntry::json_format(Key::Format)
    }],
};

/// The command as it is listed and described.
pub(crate) const COMMAND: Command = Command {
    name: "watch",
    summary: "Print the state as a line, now and whenever it changes",
    options: &TABLE,
    arguments: None,
    subcommands: &[],
    prose: include_str!("../../pages/watch.txt"),
};

/// Runs the command with `arguments`, the words after its name. Returns the exit code if it ends by itself.
pub(crate) fn run(arguments: &[BString], environment: &Environment) -> u8 {
    match prepare(arguments, environment) {
        Ok((arguments, wants_daemon)) => follow::run(&arguments, environment, wants_daemon),
        Err(reply) => say(&reply),
    }
}

/// The arguments of the watched status, and whether a daemon is wanted.
fn prepare(
    arguments: &[BString],
    environment: &Environment,
) -> Result<(Vec<BString>, bool), Reply> {
    if arguments == ["--help"] {
        return Err(Reply::printed(usage(&TABLE, OwnOptions::IfVigil), 0));
    }
    let mut format = None;
    let others = parse(&TABLE, arguments, |Key::Format, given| {
        let formats = [("json", "--format=json"), ("line", "--format=line")];
        format = inside::format_among(&formats, given)?;
        Ok(())
    })?;
    refuse_others(&TABLE, &others)?;
    let format = format.unwrap_or("--format=line");
    if hg::is_mercurial(environment) {
        return Ok((vec![format.into()], hg::wants_daemon(environment)));
    }
    let repository = inside::find(environment)?;
    let configured = repository.config.boolean("vigil.daemon");
    let configured = configured.map_err(|error| Reply::fatal_after(error.messages(), &error))?;
    let wants_daemon = !variables::is_off(environment) && configured != Some(false);
    Ok((vec![format.into()], wants_daemon))
}
