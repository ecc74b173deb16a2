//! `vigil completions`: scripts that complete command lines, made from the same tables that the parsers use.
//!
//! A script contains all its words, so that it works silently where Vigil cannot be found.

mod bash;
mod fish;
mod position;
mod zsh;

use bstr::BString;

use crate::command::{Command, Options};
use crate::options::{OptionTable, Value, parse, with_usage};
use crate::reply::{Reply, bytes};
use position::Position;

const TABLE: OptionTable<()> =
    OptionTable::without_options("vigil completions (bash | fish | zsh)");

/// The command as it is listed and described.
pub(crate) const COMMAND: Command = Command {
    name: "completions",
    summary: "Print a script that completes command lines in a shell",
    options: &TABLE,
    arguments: Some(Value::Words(&["bash", "fish", "zsh"])),
    subcommands: &[],
    prose: include_str!("../../pages/completions.txt"),
};

/// Prints the script for a shell. It completes the `commands` and the options before them.
pub(crate) fn run(
    arguments: &[BString],
    commands: &[&Command],
    globals: &'static dyn Options,
) -> Reply {
    let others = match parse(&TABLE, arguments, |(), _| Ok(())) {
        Ok(others) => others,
        Err(reply) => return reply,
    };
    let root = Position::root(commands, globals);
    let script = match others.as_slice() {
        [shell] if shell == "bash" => bash::script(&root),
        [shell] if shell == "fish" => fish::script(&root),
        [shell] if shell == "zsh" => zsh::script(&root),
        [] => return with_usage(&TABLE, b"need a shell"),
        [other] => return with_usage(&TABLE, &bytes!["no script for '", other, "'"]),
        _ => return with_usage(&TABLE, b"too many arguments"),
    };
    Reply::printed(script, 0)
}
