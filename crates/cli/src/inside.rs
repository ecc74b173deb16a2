//! What commands have in common: they stand in a repository, and Vigil's own ones ask its engine of the working copy.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bstr::BStr;
use vigil_engine::session::{Session, SessionError};
use vigil_git::convert::FilterStderr;
use vigil_git::environment::Environment;
use vigil_git::repository::settings::{Reads, Settings};
use vigil_git::repository::{Repository, discover};

use crate::globals;
use crate::options::Given;
use crate::output::Presentation;
use crate::output::color::hint_color;
use crate::pager;
use crate::reply::Reply;

/// The repository in which the caller stands, or that `environment` names. From then on the answer goes to the pager
/// that is wanted there.
///
/// # Errors
/// There is none, or git refuses it, or the pager cannot be run.
pub(crate) fn find(environment: &Environment) -> Result<Repository, Reply> {
    let mut repository = discover(environment, &globals::standing_in(environment)?)
        .map_err(|error| Reply::fatal_after(error.said(), &error))?;
    pager::begin(&mut repository)?;
    Ok(repository)
}

/// What a command of git says of its options when it is asked for them alone: git looks for a repository first, if only
/// to do without. `reads_settings` if it reads those of every command, too.
///
/// # Errors
/// There is one that git refuses.
pub(crate) fn usage(
    text: Vec<u8>,
    environment: &Environment,
    reads_settings: bool,
) -> Result<Reply, Reply> {
    let usage = Reply::printed(text, 0);
    let mut repository = match discover(environment, &globals::standing_in(environment)?) {
        Ok(repository) => repository,
        Err(error) if error.is_of_no_repository() => {
            pager::begin_outside(environment)?;
            return Ok(usage.after(error.said()));
        }
        Err(error) => return Err(Reply::fatal_after(error.said(), &error)),
    };
    pager::begin(&mut repository)?;
    if reads_settings {
        Settings::of_any_command(&repository, Reads::References, hint_color)
            .map_err(|error| Reply::fatal_after(error.said(), &error))?;
    }
    Ok(usage.after(repository.config.said()))
}

/// The repository in whose working tree the caller stands, and the process with him at its top.
///
/// # Errors
/// As for `vigil status`.
pub(crate) fn repository(environment: &Environment) -> Result<Repository, Reply> {
    let repository = find(environment)?;
    enter(&repository)?;
    Ok(repository)
}

/// Takes the process to the top of the working tree of `repository`.
///
/// # Errors
/// There is none, or it cannot be entered.
pub(crate) fn enter(repository: &Repository) -> Result<(), Reply> {
    // What the engine starts stands at the top of the working tree, as what git starts does.
    let top = repository
        .require_work_tree()
        .map_err(|error| Reply::fatal_after(error.said(), &error))?;
    std::env::set_current_dir(top)
        .map_err(|_| Reply::fatal("this operation must be run in a work tree"))
}

/// A session with the working copy in which the caller stands.
///
/// # Errors
/// As for `vigil status`.
pub(crate) fn session(environment: &Environment) -> Result<Session, Reply> {
    let repository = repository(environment)?;
    let session = Session::open(repository, false, FilterStderr::Inherit);
    session.map_err(refuse)
}

/// `error` as git would end with it.
pub(crate) fn refuse(error: SessionError) -> Reply {
    Reply::gave_up(&error.said(), error.label(), &error)
}

/// How paths are shown for `session`: as `vigil status` shows them.
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

/// Whether `--format` asks for JSON.
///
/// # Errors
/// Another format, or none.
pub(crate) fn is_json(given: Given<'_>) -> Result<bool, Reply> {
    match given {
        Given::Negated => Ok(false),
        Given::With(name) if name == "json" => Ok(true),
        Given::With(name) => Err(Reply::fatal(crate::reply::bytes![
            "unsupported format '",
            name,
            "'"
        ])),
        Given::Bare => Err(Reply::usage_error("option `format' requires a value")),
    }
}

/// The bytes of a path.
pub(crate) fn path_bytes(path: &Path) -> &BStr {
    BStr::new(path.as_os_str().as_bytes())
}
