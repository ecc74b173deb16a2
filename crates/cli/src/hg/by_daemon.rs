//! Having the user's daemon answer, if one runs: it has the working copy in memory.

use bstr::BString;
use vigil_daemon::client::{Client, Unanswered};
use vigil_daemon::protocol::StatusQuestion;
use vigil_daemon::{start, variables};
use vigil_git::environment::Environment;

use super::arguments::Arguments;
use super::nearest::{OwnFormat, as_of_mercurial, is_mercurial};
use super::open;
use crate::by_daemon;
use crate::reply::Reply;

/// The answer of the daemon to the command line `arguments`, which was read as `parsed`. `None` where there is none, for whatever
/// reason: then this process finds out by itself.
pub(super) fn ask(
    parsed: &Arguments,
    arguments: &[BString],
    environment: &Environment,
) -> Option<Reply> {
    if !is_fit(parsed) {
        return None;
    }
    let question = question(parsed.own, arguments, environment)?;
    by_daemon::ask_for(question, environment)
}

/// Whether a daemon may answer: what is asked of the working copy around the working directory, of all of it or of what is named.
/// What patterns match may be anywhere: to look for it would keep others waiting, and some are in files.
pub(super) fn is_fit(parsed: &Arguments) -> bool {
    let is_name = |pattern: &BString| !pattern.contains(&b':') || pattern.starts_with(b"path:");
    let says_where = [
        &parsed.include,
        &parsed.exclude,
        &parsed.revisions,
        &parsed.repository,
        &parsed.cwd,
    ];
    says_where.iter().all(|said| said.is_empty())
        && parsed.patterns.iter().all(is_name)
        && parsed.change.is_none()
        && parsed.only_mercurial.is_none()
        && !parsed.subrepos
        && !parsed.verbose
        && !parsed.debug
}

fn question(
    own: Option<OwnFormat>,
    arguments: &[BString],
    environment: &Environment,
) -> Option<StatusQuestion> {
    let mut all = vec![BString::from(own.map_or("", OwnFormat::name))];
    all.extend_from_slice(arguments);
    Some(StatusQuestion {
        is_of_mercurial: true,
        ..by_daemon::question(&all, environment)?
    })
}

/// What `vigil watch` asks, whose status has these `arguments`, where it stands in a working copy of Mercurial's.
pub(crate) fn watched(arguments: &[BString], environment: &Environment) -> Option<StatusQuestion> {
    if !is_mercurial(environment) {
        return None;
    }
    let (arguments, own) = as_of_mercurial(arguments)?;
    question(own, &arguments, environment)
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
