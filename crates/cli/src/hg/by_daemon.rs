//! Asks the user's daemon, if one runs: it has the working copy in memory.

use std::io::IsTerminal;
use std::path::PathBuf;

use bstr::BString;
use vigil_daemon::client::Client;
use vigil_daemon::protocol::{Request, StatusQuestion};
use vigil_daemon::{start, variables};
use vigil_git::environment::Environment;
use vigil_hg::abort::Abort;
use vigil_hg::config::ProcessContext;
use vigil_hg::repository;
use vigil_stamp::paths::bytes_of;

use super::arguments::Arguments;
use super::configuration;
use super::own_commands::{OwnFormat, is_mercurial, to_hg_arguments};
use super::paging::{Paging, paging};
use super::settings::{self, Settings};
use super::{Outcome, defaults_and_aliases, open, process_context};
use crate::{by_daemon, pager};

/// Returns the daemon's answer to the command line `arguments`, which was parsed as `parsed` and applies in
/// `process`. Returns `None` if there is no answer, for whatever reason: then this process computes it.
pub(super) fn ask(
    parsed: &Arguments,
    arguments: &[BString],
    process: &ProcessContext<'_>,
    environment: &Environment,
) -> Option<Outcome> {
    if !parsed.is_for_a_daemon() || !by_daemon::may_answer(environment) {
        return None;
    }
    let question = question(parsed, arguments, process, environment)?;
    let is_terminal = std::io::stdout().is_terminal();
    let reply = by_daemon::ask_for(question, environment)?;
    let paging = match is_terminal || pager::choice().is_some() {
        true => paging_of(parsed, process, is_terminal).ok()?,
        false => None,
    };
    Some(Outcome {
        paging,
        ..reply.into()
    })
}

/// Returns the pager for the answer. The daemon only sends the answer's bytes.
fn paging_of(
    parsed: &Arguments,
    process: &ProcessContext<'_>,
    is_terminal: bool,
) -> Result<Option<Paging>, Abort> {
    let layers = configuration::of_user(process, &parsed.config, &mut Ok(false))?;
    let root = match other_root(parsed, process) {
        Some(root) => Some(root),
        None => repository::find(&process.cwd),
    };
    let config = match root {
        Some(root) => repository::configure(layers, &root)?,
        None => layers.finish(),
    };
    let config = config.config;
    let merged = defaults_and_aliases::with_configured(&config, parsed, process);
    let merged = merged.map_err(|wrong| wrong.abort)?;
    let arguments = merged.as_ref().unwrap_or(parsed);
    let is_debug = Settings::new(&config, arguments, process.is_plain(None))?.debug;
    let is_formatted = settings::is_formatted(&config, process, is_terminal)?;
    paging(&config, arguments, is_formatted, is_debug)
}

fn question(
    parsed: &Arguments,
    arguments: &[BString],
    process: &ProcessContext<'_>,
    environment: &Environment,
) -> Option<StatusQuestion> {
    let working_directory = &process.cwd;
    let own = parsed.own.map_or("", OwnFormat::name);
    let paths = [working_directory, &process.started_in].map(|path| BString::from(bytes_of(path)));
    let mut all = vec![own.into()];
    all.extend(paths);
    all.extend_from_slice(arguments);
    let question = match other_root(parsed, process) {
        Some(root) => by_daemon::question_about(&root, &all, environment)?,
        None => by_daemon::question_about(working_directory, &all, environment)?,
    };
    Some(StatusQuestion {
        is_of_mercurial: true,
        ..question
    })
}

/// Returns the top of the working copy in question, if that is not the one around the working directory.
fn other_root(parsed: &Arguments, process: &ProcessContext<'_>) -> Option<PathBuf> {
    let named = parsed.repository.last().filter(|named| !named.is_empty());
    let inferred = || match &parsed.patterns[..] {
        [] => None,
        _ if repository::find(&process.cwd).is_some() => None,
        patterns => repository::infer_root(&process.cwd, patterns),
    };
    let named = named.cloned().or_else(inferred)?;
    repository::locate(process, Some(&named)).ok()
}

/// Returns the question of `vigil watch` with these `arguments`, if the working directory is in a Mercurial working copy.
pub(crate) fn watched(arguments: &[BString], environment: &Environment) -> Option<StatusQuestion> {
    if !is_mercurial(environment) {
        return None;
    }
    let (arguments, own) = to_hg_arguments(arguments)?;
    let mut parsed = Arguments::parse(&arguments).ok()?;
    parsed.own = own;
    let variable = |name: &str| environment.get(name).map(BString::from);
    let process = process_context(&parsed, &variable, environment).ok()?;
    question(&parsed, &arguments, &process, environment)
}

/// Returns whether the user wants a daemon: `VIGIL_NO_DAEMON`, and `vigil.daemon` in Mercurial's configuration.
pub(crate) fn wants_daemon(environment: &Environment) -> bool {
    !variables::is_off(environment) && open::is_wanted(environment, "daemon")
}

/// Starts a daemon for the next question, if one is wanted and none runs that could answer.
pub(crate) fn start_for(environment: &Environment) {
    if !wants_daemon(environment) {
        return;
    }
    let client = Client::for_command(environment);
    let asked = client.ask(&Request::Ping);
    if let Err(error) = asked
        && error.calls_for_start()
    {
        // If this fails, the next question tries again.
        let _ = start::spawn(environment);
    }
}
