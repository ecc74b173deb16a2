//! Asking the user's daemon, if one runs, since it may have the working copy in memory.

use std::os::fd::AsFd;
use std::path::Path;

use bstr::BString;
use rustix::fs::{CWD, Mode, OFlags, openat};
use vigil_daemon::client::Client;
use vigil_daemon::protocol::{Request, Response, StatusQuestion, Terminal};
use vigil_daemon::variables;
use vigil_git::environment::Environment;
use vigil_linux::stat::{stat_fd, stat_path};

use crate::pager;
use crate::reply::Reply;
use crate::terminal;

/// Returns the daemon's answer to `vigil status` with `arguments`. `None` if there is none, for whatever reason: then this
/// process computes the answer, and reports any error, itself.
pub(crate) fn ask(arguments: &[BString], environment: &Environment) -> Option<Reply> {
    if !pager::is_decided_by_configuration("status") {
        return None;
    }
    ask_for(question(arguments, environment)?, environment)
}

/// Returns whether a daemon may be asked at all.
pub(crate) fn may_answer(environment: &Environment) -> bool {
    // A daemon is told the variables only.
    let is_told_all = environment.get("VIGIL_DEBUG").is_none() && !environment.is_bare();
    is_told_all && !variables::is_off(environment)
}

/// As [`ask`], for a question that is already put together.
pub(crate) fn ask_for(question: StatusQuestion, environment: &Environment) -> Option<Reply> {
    if !may_answer(environment) {
        return None;
    }
    let client = Client::for_command(environment);
    if !client.runtime_path().socket().exists() {
        return None;
    }
    let directory_id = match question.directory == environment.working_directory() {
        true => current_directory_id()?,
        false => question.directory_id,
    };
    let said = client.ask_unless_slow(&Request::Status(StatusQuestion {
        directory_id,
        terminal: terminal::of_process(environment),
        ..question
    }));
    match said.ok()?.response {
        Response::Answer {
            stdout,
            stderr,
            code,
        } => Some(Reply {
            stdout,
            stderr,
            code,
        }),
        _ => None,
    }
}

/// Device and inode of the directory the command runs in: the directory's name may lead to another one by now.
fn current_directory_id() -> Option<(u64, u64)> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = openat(CWD, ".", flags, Mode::empty()).ok()?;
    let directory = stat_fd(directory.as_fd()).ok()?;
    Some((directory.dev, directory.ino))
}

/// The question to the daemon for `vigil status` with `arguments`, without a terminal. It is about the directory that now has
/// the working directory's name. `None` if there is none.
pub(crate) fn question(arguments: &[BString], environment: &Environment) -> Option<StatusQuestion> {
    question_about(environment.working_directory(), arguments, environment)
}

/// As [`question`], about `directory`.
pub(crate) fn question_about(
    directory: &Path,
    arguments: &[BString],
    environment: &Environment,
) -> Option<StatusQuestion> {
    if !directory.is_absolute() {
        return None;
    }
    let found = stat_path(directory).ok()?;
    Some(StatusQuestion {
        arguments: arguments.to_vec(),
        directory: directory.to_owned(),
        directory_id: (found.dev, found.ino),
        variables: variables::to_send(environment),
        terminal: Terminal::default(),
        is_of_mercurial: false,
    })
}
