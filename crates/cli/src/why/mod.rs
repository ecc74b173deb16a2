//! `vigil why`: explains, path by path, what a status is based on.

mod by_daemon;
mod json;
mod known;
mod mercurial;
mod sentences;

use bstr::BString;
use vigil_engine::session::SessionError;
use vigil_git::environment::Environment;

use crate::command::Command;
use crate::hg;
use crate::inside;
use crate::options::{OptionEntry, OptionTable, OwnOptions, Value, parse, usage, with_usage};
use crate::reply::Reply;

#[derive(Clone, Copy)]
enum Key {
    Format,
}

const TABLE: OptionTable<Key> = OptionTable {
    synopsis: "vigil why [--format=json] [--] <path>...",
    headings: &[],
    entries: &[OptionEntry::json_format(Key::Format)],
};

/// The command as it is listed and described.
pub(crate) const COMMAND: Command = Command {
    name: "why",
    summary: "Explain what 'vigil status' says of paths",
    options: &TABLE,
    arguments: Some(Value::Path),
    subcommands: &[],
    prose: include_str!("../../pages/why.txt"),
};

/// Runs the command with `arguments`, the words after its name.
pub(crate) fn run(arguments: &[BString], environment: &Environment) -> Reply {
    answer(arguments, environment).unwrap_or_else(|complaint| complaint)
}

fn answer(arguments: &[BString], environment: &Environment) -> Result<Reply, Reply> {
    if arguments == ["--help"] {
        return Ok(Reply::printed(usage(&TABLE, OwnOptions::IfVigil), 0));
    }
    let mut is_json = false;
    let paths = parse(&TABLE, arguments, |key, given| {
        match key {
            Key::Format => is_json = inside::is_json(given)?,
        }
        Ok(())
    })?;
    if paths.is_empty() {
        return Err(with_usage(&TABLE, b"need a path"));
    }
    if hg::is_mercurial(environment) {
        return mercurial::run(&paths, is_json, environment);
    }
    let mut session = inside::session(environment)?;
    let messages = session.repository().config.messages().to_vec();
    let mut all = session.why(&paths);
    // Attributes are missing that a partial clone left out. git fetches them, and so does a status.
    if all.as_ref().is_err_and(SessionError::is_of_fetching) {
        session.fetch_missing().map_err(inside::refuse)?;
        all = session.why(&paths);
    }
    let all = all.map_err(inside::refuse)?;
    let paths = all.iter().map(|why| BString::clone(&why.path)).collect();
    let known = by_daemon::ask(paths, false, environment);
    let stdout = match is_json {
        true => json::write(&all, &known),
        false => sentences::write(&all, &known, &session),
    };
    Ok(Reply::printed(stdout, 0).after(&messages))
}
