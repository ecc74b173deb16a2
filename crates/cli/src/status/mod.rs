//! `vigil status`: the options, configuration and output formats of `git status`.

mod arguments;
mod column_style;
mod daemon_writer;
mod installed_git;
mod plan;
mod progress;
mod settings;

#[cfg(test)]
mod oracle_tests;

use bstr::BString;
use vigil_engine::session::{Session, SessionError};
use vigil_git::child::FilterStderr;
use vigil_git::environment::Environment;
use vigil_git::repository::Repository;
use vigil_git::repository::settings::Settings;

use crate::command::Command;
use crate::inside;
use crate::options::{OwnOptions, Value, usage};
use crate::output;
use crate::output::color::lines_with_hints;
use crate::reply::Reply;
use crate::terminal;

pub(crate) use daemon_writer::DaemonStatusWriter;

use arguments::{Arguments, TABLE};
use plan::StatusPlan;
use progress::Display;
pub(crate) use settings::PrintSettings;

/// The command as it is listed and described.
pub(crate) const COMMAND: Command = Command {
    name: "status",
    summary: "Show what changed in the working tree, in the formats of 'git status'",
    options: &TABLE,
    arguments: Some(Value::Path),
    subcommands: &[],
    prose: include_str!("../../pages/status.txt"),
};

/// Runs the command with `arguments`, the words after its name. The session holds what was learned, and may be saved once the
/// reply is written.
pub(crate) fn run(arguments: &[BString], environment: &Environment) -> (Reply, Option<Session>) {
    let mut session = None;
    let reply = answer(arguments, environment, &mut session);
    (reply.unwrap_or_else(|complaint| complaint), session)
}

/// Follows git's order of steps, since the first problem is the one that is reported.
fn answer(
    arguments: &[BString],
    environment: &Environment,
    session: &mut Option<Session>,
) -> Result<Reply, Reply> {
    match arguments
        .iter()
        .map(AsRef::as_ref)
        .collect::<Vec<&[u8]>>()
        .as_slice()
    {
        [b"-h"] => {
            return inside::usage(usage(&TABLE, OwnOptions::IfVigil), environment, false);
        }
        [b"--help-all"] | [b"--help", ..] => {
            return Ok(Reply::printed(usage(&TABLE, OwnOptions::Shown), 0));
        }
        _ => {}
    }
    let repository = inside::find(environment)?;
    let messages = repository.config.messages().to_vec();
    let reply = answer_in(repository, arguments, session).unwrap_or_else(|complaint| complaint);
    Ok(reply.after(&messages))
}

/// Answers for `repository`, after any messages from its discovery.
fn answer_in(
    repository: Repository,
    arguments: &[BString],
    kept: &mut Option<Session>,
) -> Result<Reply, Reply> {
    // Programs that the engine starts run at the top of the working tree, like those that git starts.
    inside::enter(&repository)?;
    let (settings, print) = PrintSettings::read(&repository)
        .map_err(|error| Reply::fatal_after(error.messages(), &error))?;
    let warnings = settings.warnings.clone();
    let reply = answer_with(repository, settings, &print, arguments, kept);
    Ok(reply.unwrap_or_else(|complaint| complaint).after(&warnings))
}

/// Answers by these settings, after any messages about them.
fn answer_with(
    repository: Repository,
    settings: Settings,
    print: &PrintSettings,
    arguments: &[BString],
    kept: &mut Option<Session>,
) -> Result<Reply, Reply> {
    // git checks the whole configuration before it looks at the command line.
    let session = Session::open_with(repository, settings, false, FilterStderr::Inherit)
        .map_err(inside::refuse)?;
    let session = kept.insert(session);
    session.check_in_submodules(PrintSettings::check);
    let repository = session.repository();
    let mut plan = StatusPlan::new(
        Arguments::parse(arguments)?,
        session.settings(),
        print,
        repository.prefix.as_ref(),
        &repository.environment,
        terminal::of_process(&repository.environment),
    )?;
    plan.check_locking(&repository.config);
    let progress = plan.request.progress.clone();
    let display = progress.map(|progress| Display::start(progress, &repository.environment));
    let mut status = session.status(&plan.request);
    // Attributes or rules for submodules are missing that a partial clone left out. git fetches them.
    if status.as_ref().is_err_and(SessionError::is_of_fetching) {
        session.fetch_missing().map_err(inside::refuse)?;
        // The second look has the messages of the first again.
        session.take_messages();
        status = session.status(&plan.request);
    }
    drop(display);
    if let Some(refusal) = plan.refusal
        && !matches!(
            status,
            Err(SessionError::Pathspec(_) | SessionError::Index(_))
        )
    {
        return Err(refusal);
    }
    let status = status.map_err(|error| {
        let mut reply = inside::refuse(error);
        reply.stderr.splice(
            ..0,
            lines_with_hints(&session.take_messages(), plan.hint_colors.as_ref()),
        );
        reply
    })?;
    let mut stderr = lines_with_hints(&status.warnings, plan.hint_colors.as_ref());
    if let Some(cut_short) = &status.cut_short {
        let reply = Reply::gave_up(&cut_short.messages, cut_short.label, &cut_short.text);
        stderr.extend(reply.stderr);
        return Ok(Reply {
            stdout: match plan.format.is_own() {
                true => Vec::new(),
                false => output::write(plan.format, &status, &plan.presentation),
            },
            stderr,
            code: reply.code,
        });
    }
    let wanted = plan.wanted;
    let additions = wanted.get(session, &status, &mut stderr);
    plan.presentation.long.additions = match additions {
        Ok(additions) => additions,
        Err(mut reply) => {
            reply.stderr.splice(..0, stderr);
            return Err(reply);
        }
    };
    Ok(Reply {
        stdout: output::write(plan.format, &status, &plan.presentation),
        stderr,
        code: plan.presentation.long.additions.code(),
    })
}
