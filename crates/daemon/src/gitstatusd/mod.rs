//! A process that answers as gitstatusd does, so that themes built on it work unchanged.
//!
//! The protocol, options, limits and exit codes are those of gitstatusd v1.5. Requests are read from standard
//! input and answered on standard output, one after the other.

mod background;
mod daemon;
mod drawing;
mod help;
mod late_answers;
mod log;
mod once;
mod options;
pub(crate) mod parent;
mod repositories;
pub(crate) mod request;
pub(crate) mod response;
mod serve;
mod version;

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bstr::{BStr, ByteSlice};
use vigil_git::environment::Environment;
use vigil_model::raw_text::{message_bytes, raw, text_bytes};

use crate::start;
use late_answers::WaitingShell;

pub use drawing::{Drawer, Drawers, Whereabouts};
pub use once::Answered;
pub use options::{KNOWN_OPTIONS, KnownOption, Options, Parsed, Recipient, UsageError};
pub use version::VERSION;

/// The exit code if there is no answer in time.
const EXIT_LATE: u8 = 75;

/// Runs until standard input ends, the lock is lost or the parent is dead, and returns the exit code.
///
/// `name` is the name of the process in messages. `drawers` returns the drawer for each shell.
pub fn run(
    name: &str,
    arguments: &[OsString],
    environment: Environment,
    drawers: Drawers<'_>,
) -> u8 {
    let options = match options::parse(name, arguments) {
        Ok(Parsed::Options(options)) => *options,
        Ok(Parsed::Help) => return print(help::text().as_bytes()),
        Ok(Parsed::Version) => return print(format!("{VERSION}\n").as_bytes()),
        Err(error) => return complain(&error, error.exit_code()),
    };
    let drawer = match &options.prompt_for {
        Some(shell) => match drawers(shell.as_ref(), &environment) {
            Some(drawer) => Some(drawer),
            None => {
                let error = UsageError::Argument(text_bytes(&format!(
                    "no such shell: {shell}",
                    shell = raw(&shell)
                )));
                return complain(&error, error.exit_code());
            }
        },
        None => None,
    };
    let to_leave = options.leave_for.filter(|_| !options.is_attached);
    if options.is_background || to_leave.is_some() {
        let started = match to_leave {
            Some(recipient) => late_answers::start_for(&environment, recipient, || {
                background::start_alone(arguments)
            }),
            None => background::start(arguments),
        };
        return match started {
            Ok(pid) => print(format!("{pid}\n").as_bytes()),
            Err(error) => complain(&format_args!("cannot start a process: {error}"), 1),
        };
    }
    crate::panics::silence();
    if let Some(recipient) = options.hold_for {
        return match late_answers::hold_signals(&environment, recipient) {
            Ok(()) => 0,
            Err(error) => complain(&format_args!("cannot hold the answer back: {error}"), 1),
        };
    }
    if let Some(recipient) = options.take_for {
        return match late_answers::take(&environment, recipient) {
            Some(lines) => print(&lines),
            None => 1,
        };
    }
    if options.is_attached
        && let Err(error) = start::detach()
    {
        return complain(&format_args!("cannot leave the session: {error}"), 1);
    }
    if let Some(place) = &options.ask {
        return print_answer(&options, environment, place.as_ref(), drawer.as_ref());
    }
    let (stdin, stdout) = (std::io::stdin(), std::io::stdout());
    let (input, output) = (stdin.as_fd(), stdout.as_fd());
    serve::serve(&options, environment, drawer.as_ref(), input, output)
}

/// Answers one question about the directory `place` or, after a `:`, about that GIT_DIR.
pub fn answer(
    options: &Options,
    environment: Environment,
    place: &BStr,
    skip_index: bool,
) -> Answered {
    let request = request::Request::about(place, environment.working_directory(), skip_index);
    once::ask(options, environment, &request)
}

/// Prints or leaves one answer, one field per line, and returns the exit code.
fn print_answer(
    options: &Options,
    environment: Environment,
    place: &BStr,
    drawer: Option<&Drawer>,
) -> u8 {
    let waiting = match options
        .leave_for
        .map(|one| WaitingShell::new(&environment, one))
    {
        None => None,
        Some(Ok(waiting)) => Some(waiting),
        Some(Err(error)) => return complain(&format_args!("no shell waits: {error}"), 1),
    };
    let standing = environment.working_directory().to_owned();
    let here = options.here.as_ref().map(|here| OsStr::from_bytes(here));
    let here = here.map(Path::new).unwrap_or(&standing);
    let request = request::Request::about(place, here, options.skip_index);
    let answered = match options.within {
        Some(within) => once::ask_within(options, environment, &request, drawer, within),
        None => Some(once::ask_and_draw(options, environment, &request, drawer)),
    };
    let Some(mut answered) = answered else {
        return EXIT_LATE;
    };
    let record = std::mem::take(&mut answered.record);
    // The id is empty, and no field contains a newline.
    let fields = record.strip_prefix(&[request::FIELD_SEPARATOR]);
    let lines = fields.unwrap_or_default().bytes().map(|byte| match byte {
        request::FIELD_SEPARATOR | request::RECORD_SEPARATOR => b'\n',
        other => other,
    });
    let lines: Vec<u8> = lines.collect();
    let code = match waiting {
        Some(waiting) => match waiting.leave(&lines) {
            Ok(()) => 0,
            Err(error) => complain(&format_args!("cannot leave the answer: {error}"), 1),
        },
        None => print(&lines),
    };
    answered.save();
    code
}

fn print(text: &[u8]) -> u8 {
    match std::io::stdout().write_all(text) {
        Ok(()) => 0,
        Err(_) => 1,
    }
}

/// Prints `error`, and returns the exit code.
fn complain(error: &dyn std::fmt::Display, code: u8) -> u8 {
    // If standard error is closed, there is nobody to tell.
    let mut line = message_bytes(error);
    line.push(b'\n');
    let _ = std::io::stderr().write_all(&line);
    code
}
