//! A process that answers as gitstatusd does, so that themes built on it work unchanged.
//!
//! The protocol, options, limits and exit codes are those of gitstatusd v1.5. Requests are read from standard
//! input and answered on standard output, one after the other.

mod daemon;
mod help;
mod log;
mod options;
mod repositories;
pub(crate) mod request;
pub(crate) mod response;
mod serve;
mod version;

use std::ffi::OsString;
use std::io::Write;
use std::os::fd::AsFd;

use vigil_git::environment::Environment;

pub use options::{KNOWN, Known, Options, Parsed, UsageError};
pub use version::VERSION;

/// Runs until standard input ends, the lock is lost or the parent is dead, and returns the exit code.
///
/// `name` is what the process is called in messages.
pub fn run(name: &str, arguments: &[OsString], environment: Environment) -> u8 {
    let options = match options::parse(name, arguments) {
        Ok(Parsed::Options(options)) => options,
        Ok(Parsed::Help) => return print(&help::text()),
        Ok(Parsed::Version) => return print(&format!("{VERSION}\n")),
        Err(error) => {
            // Where standard error is closed there is nobody to tell.
            let _ = writeln!(std::io::stderr(), "{error}");
            return error.exit_code();
        }
    };
    crate::panics::silence();
    let stdin = std::io::stdin();
    let stdout = std::io::stdout();
    serve::serve(&options, environment, stdin.as_fd(), stdout.as_fd())
}

fn print(text: &str) -> u8 {
    match std::io::stdout().write_all(text.as_bytes()) {
        Ok(()) => 0,
        Err(_) => 1,
    }
}
