//! Answers a status from a working copy that a daemon keeps, in the bytes that the command would write. Only the plain
//! case is answered.

use std::sync::atomic::{AtomicBool, Ordering};

use bstr::{BStr, BString};
use vigil_daemon::protocol::StatusQuestion;
use vigil_daemon::{Declined, Printed, variables};
use vigil_engine::hg_session::HgWorkingCopy;
use vigil_git::environment::Environment;
use vigil_hg::abort::Kind;
use vigil_hg::config::ProcessContext;
use vigil_stamp::file;
use vigil_stamp::paths::path_of;

use super::answer;
use super::arguments::Arguments;
use super::own_commands::OwnFormat;

/// Returns what the command would print for `question`, from the session of the `working_copy`.
///
/// # Errors
/// The command would write to standard error or exit with another code than 0, or the question is not one for a daemon.
pub(crate) fn answer_from_session(
    working_copy: &mut HgWorkingCopy,
    question: &StatusQuestion,
    environment: &Environment,
) -> Result<Printed, Declined> {
    let this_time = |reason: &str| Declined::ThisTime(reason.into());
    let not_plain = || this_time("the command line is not plain");
    let [own, working_directory, started_in, arguments @ ..] = question.arguments.as_slice() else {
        return Err(not_plain());
    };
    let mut parsed = Arguments::parse(arguments).map_err(|_| not_plain())?;
    parsed.own = match own.is_empty() {
        true => None,
        false => Some(OwnFormat::by_name(own).ok_or_else(not_plain)?),
    };
    if !parsed.is_for_a_daemon() {
        return Err(not_plain());
    }
    // The configuration may name any variable, but the client sends only some.
    let asks_for_unsent = AtomicBool::new(false);
    let variable = |name: &str| {
        if !variables::is_sent(BStr::new(name)) {
            asks_for_unsent.store(true, Ordering::Relaxed);
        }
        environment.get(name).map(BString::from)
    };
    let process = ProcessContext {
        variable: &variable,
        cwd: path_of(working_directory).to_owned(),
        started_in: path_of(started_in).to_owned(),
        uid: rustix::process::geteuid().as_raw(),
    };
    let is_terminal = question.terminal.is_output;
    let shortages = file::shortages();
    let mut detailed = Ok(false);
    let answered = answer::answer(&parsed, &process, &mut detailed, working_copy, is_terminal);
    if file::shortages() != shortages {
        // The client may have what was lacking, here or in another thread: what cannot be read often counts as missing.
        return Err(this_time("too many files are open"));
    }
    if asks_for_unsent.load(Ordering::Relaxed) {
        return Err(this_time(
            "the configuration names a variable that is not known here",
        ));
    }
    // A problem with one pattern or template says nothing about other questions.
    let declined = |reason: BString| match parsed.is_plain() {
        true => Err(Declined::ForNow(reason)),
        false => Err(Declined::ThisTime(reason)),
    };
    if answered.paging.is_some() && !is_terminal {
        // A client looks for a pager only on a terminal.
        return Err(this_time("a pager without a terminal"));
    }
    match answered.result {
        Ok(reply) if reply.code == 0 => Ok(Printed {
            stdout: reply.stdout,
            stderr: reply.stderr,
        }),
        Ok(_) => declined("there is something to say of it".into()),
        Err(failed) if failed.abort.kind == Kind::Unsupported => {
            Err(Declined::ThisTime(failed.abort.message))
        }
        Err(failed) => declined(failed.abort.message),
    }
}
