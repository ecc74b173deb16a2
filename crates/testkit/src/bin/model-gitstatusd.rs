//! Answers the gitstatusd protocol by asking git, slowly: a candidate that is right by construction, or, with
//! `--fault FIELD`, wrong in one field. It proves that the tester of the protocol works.

use std::io::{self, BufRead, Write};
use std::path::Path;
use std::process::{Command, ExitCode};

use vigil_testkit::gitstatusd::oracle::{Expected, expected_response};
use vigil_testkit::scenario::ServerOptions;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let after = |name: &str| {
        let index = arguments.iter().position(|argument| argument == name)?;
        arguments.get(index + 1).cloned()
    };
    let fault: Option<usize> = after("--fault").and_then(|field| field.parse().ok());
    let git = after("--git").unwrap_or_else(|| "git".to_owned());
    let options = ServerOptions {
        recurse: arguments.iter().any(|argument| argument == "-e"),
    };
    match serve(&git, options, fault) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Answers until the input ends.
fn serve(git: &str, options: ServerOptions, fault: Option<usize>) -> io::Result<()> {
    let mut input = io::stdin().lock();
    let mut request = Vec::new();
    while input.read_until(0x1e, &mut request)? > 0 {
        request.pop();
        let mut parts = request.split(|byte| *byte == 0x1f);
        let id = parts.next().unwrap_or_default();
        let directory = parts.next().unwrap_or_default();
        let directory =
            Path::new(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(directory));
        let command = || {
            let mut command = Command::new(git);
            command.current_dir(directory);
            command
        };
        let mut response = id.to_vec();
        match expected_response(&command, options) {
            Ok(Expected::Fields(accepted)) => {
                response.extend_from_slice(b"\x1f1");
                for (number, field) in accepted.into_iter().enumerate() {
                    response.push(0x1f);
                    response.extend(field.into_iter().next().unwrap_or_default());
                    if fault == Some(number + 3) {
                        response.push(b'1');
                    }
                }
            }
            _ => response.extend_from_slice(b"\x1f0"),
        }
        response.push(0x1e);
        io::stdout().lock().write_all(&response)?;
        io::stdout().lock().flush()?;
        request.clear();
    }
    Ok(())
}
