//! Having the user's daemon answer, if one runs: it has the working copy in memory.

use std::path::PathBuf;

use bstr::BString;
use vigil_daemon::client::{Client, Unanswered};
use vigil_daemon::protocol::StatusQuestion;
use vigil_daemon::{start, variables};
use vigil_git::environment::Environment;
use vigil_hg::bytes::of_path;
use vigil_hg::config::Surroundings;
use vigil_hg::repository;

use super::arguments::Arguments;
use super::nearest::{OwnFormat, as_of_mercurial, is_mercurial};
use super::{open, surroundings};
use crate::by_daemon;
use crate::reply::Reply;

/// The answer of the daemon to the command line `arguments`, which was read as `parsed`, where `surroundings` is the place in which
/// it counts. `None` where there is none, for whatever reason: then this process finds out by itself.
pub(super) fn ask(
    parsed: &Arguments,
    arguments: &[BString],
    surroundings: &Surroundings<'_>,
    environment: &Environment,
) -> Option<Reply> {
    if !parsed.is_for_a_daemon() || !by_daemon::may_answer(environment) {
        return None;
    }
    let question = question(parsed, arguments, surroundings, environment)?;
    by_daemon::ask_for(question, environment)
}

fn question(
    parsed: &Arguments,
    arguments: &[BString],
    surroundings: &Surroundings<'_>,
    environment: &Environment,
) -> Option<StatusQuestion> {
    let standing = &surroundings.cwd;
    let own = parsed.own.map_or("", OwnFormat::name);
    let mut all = vec![own.into(), of_path(standing).into()];
    all.extend_from_slice(arguments);
    let question = match elsewhere(parsed, surroundings) {
        Some(root) => by_daemon::question_about(&root, &all, environment)?,
        None => by_daemon::question_about(standing, &all, environment)?,
    };
    Some(StatusQuestion {
        is_of_mercurial: true,
        ..question
    })
}

/// The top of the working copy that is asked about, where that is not the one around the working directory.
fn elsewhere(parsed: &Arguments, surroundings: &Surroundings<'_>) -> Option<PathBuf> {
    let named = parsed.repository.last().filter(|named| !named.is_empty());
    let inferred = || match &parsed.patterns[..] {
        [] => None,
        _ if repository::find(&surroundings.cwd).is_some() => None,
        patterns => repository::inferred(&surroundings.cwd, patterns),
    };
    let named = named.cloned().or_else(inferred)?;
    repository::locate(surroundings, Some(&named)).ok()
}

/// What `vigil watch` asks, whose status has these `arguments`, where it stands in a working copy of Mercurial's.
pub(crate) fn watched(arguments: &[BString], environment: &Environment) -> Option<StatusQuestion> {
    if !is_mercurial(environment) {
        return None;
    }
    let (arguments, own) = as_of_mercurial(arguments)?;
    let mut parsed = Arguments::parse(&arguments).ok()?;
    parsed.own = own;
    let variable = |name: &str| environment.get(name).map(BString::from);
    let surroundings = surroundings(&parsed, &variable, environment).ok()?;
    question(&parsed, &arguments, &surroundings, environment)
}

/// Whether the user wants a daemon: `VIGIL_NO_DAEMON`, and `vigil.daemon` in Mercurial's configuration.
pub(crate) fn wants_daemon(environment: &Environment) -> bool {
    !variables::is_off(environment) && open::is_wanted(environment, "daemon")
}

/// Starts a daemon for the next question, where none runs that could answer and one is wanted.
pub(crate) fn start_for(environment: &Environment) {
    if !wants_daemon(environment) {
        return;
    }
    let client = Client::of_command(environment);
    let asked = client.ask(&vigil_daemon::protocol::Request::Ping);
    if let Err(error) = asked
        && (matches!(error, Unanswered::Absent) || error.is_of_older())
    {
        // Who does without asks again.
        let _ = start::spawn(environment);
    }
}
