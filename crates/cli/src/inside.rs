//! What commands share: they run inside a repository, and Vigil's own commands ask the engine about its working tree.

use vigil_engine::session::{Session, SessionError};
use vigil_git::child::FilterStderr;
use vigil_git::environment::Environment;
use vigil_git::repository::settings::{CommandScope, Settings};
use vigil_git::repository::{Repository, discover};

use crate::globals;
use crate::options::Given;
use crate::output::Presentation;
use crate::output::color::hint_color;
use crate::pager;
use crate::reply::{Reply, bytes};

/// Finds the repository around the working directory, or the one that `environment` names. From then on output goes to the
/// pager, if one is wanted there.
///
/// # Errors
/// There is no repository, git refuses it, or the pager cannot be run.
pub(crate) fn find(environment: &Environment) -> Result<Repository, Reply> {
    let mut repository = discover(environment, &globals::current_directory(environment)?)
        .map_err(|error| Reply::fatal_after(error.messages(), &error))?;
    pager::begin(&mut repository)?;
    Ok(repository)
}

/// Answers a request for the usage text alone. git's commands look for a repository even then, though they can do without.
/// `reads_settings` says that the command also reads the settings of every command.
///
/// # Errors
/// There is a repository that git refuses.
pub(crate) fn usage(
    text: Vec<u8>,
    environment: &Environment,
    reads_settings: bool,
) -> Result<Reply, Reply> {
    let usage = Reply::printed(text, 0);
    let mut repository = match discover(environment, &globals::current_directory(environment)?) {
        Ok(repository) => repository,
        Err(error) if error.is_of_no_repository() => {
            pager::begin_outside(environment)?;
            return Ok(usage.after(error.messages()));
        }
        Err(error) => return Err(Reply::fatal_after(error.messages(), &error)),
    };
    pager::begin(&mut repository)?;
    if reads_settings {
        Settings::of_any_command(&repository, CommandScope::References, hint_color)
            .map_err(|error| Reply::fatal_after(error.messages(), &error))?;
    }
    Ok(usage.after(repository.config.messages()))
}

/// Finds the repository around the working directory and changes to the top of its working tree.
///
/// # Errors
/// As for `vigil status`.
pub(crate) fn repository(environment: &Environment) -> Result<Repository, Reply> {
    let repository = find(environment)?;
    enter(&repository)?;
    Ok(repository)
}

/// Changes the process's directory to the top of the working tree of `repository`.
///
/// # Errors
/// There is no working tree, or it cannot be entered.
pub(crate) fn enter(repository: &Repository) -> Result<(), Reply> {
    // Programs that the engine starts run at the top of the working tree, like those that git starts.
    let top = repository
        .require_work_tree()
        .map_err(|error| Reply::fatal_after(error.messages(), &error))?;
    std::env::set_current_dir(top)
        .map_err(|_| Reply::fatal("this operation must be run in a work tree"))
}

/// Opens a session for the working tree around the working directory.
///
/// # Errors
/// As for `vigil status`.
pub(crate) fn session(environment: &Environment) -> Result<Session, Reply> {
    let repository = repository(environment)?;
    let session = Session::open(repository, false, FilterStderr::Inherit);
    session.map_err(refuse)
}

/// Ends with `error` as git would.
pub(crate) fn refuse(error: SessionError) -> Reply {
    Reply::gave_up(&error.messages(), error.label(), &error)
}

/// How paths are shown for `session`: as in `vigil status`.
pub(crate) fn presentation(session: &Session) -> Presentation {
    let settings = session.settings();
    Presentation {
        prefix: match settings.relative_paths {
            true => session.repository().prefix.clone(),
            false => Default::default(),
        },
        quote_high_bytes: settings.quote_path,
        ..Presentation::default()
    }
}

/// Returns whether `--format` asks for JSON, the only format that it may ask for, or `--json` does.
///
/// # Errors
/// The format is another one.
pub(crate) fn is_json(given: Given<'_>) -> Result<bool, Reply> {
    let formats = [("json", ())];
    Ok(given == Given::Bare || format_among(&formats, given)?.is_some())
}

/// Returns the one of `formats`, each with its name, that `--format` asks for.
///
/// # Errors
/// The format is missing or none of them.
pub(crate) fn format_among<T: Copy>(
    formats: &[(&str, T)],
    given: Given<'_>,
) -> Result<Option<T>, Reply> {
    let name = match given {
        Given::Negated => return Ok(None),
        Given::Bare => return Err(Reply::usage_error("option `format' requires a value")),
        Given::With(name) => name,
    };
    match formats.iter().find(|(known, _)| name == known) {
        Some((_, format)) => Ok(Some(*format)),
        None => Err(Reply::fatal(bytes!["unsupported format '", name, "'"])),
    }
}
