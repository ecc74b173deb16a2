//! The long-lived process that answers prompts.

use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use bstr::ByteSlice;
use rustix::event::{PollFd, PollFlags, poll};

use crate::process::{Ending, WRITTEN_MAX, kill_group, time_left};
use crate::sandbox::{Sandbox, SandboxError};
use crate::scenario::ServerOptions;
use crate::settings::Settings;

/// A running `CANDIDATE gitstatusd`, which ends when this is dropped.
#[derive(Debug)]
pub struct Server {
    child: Child,
    requests: Option<ChildStdin>,
    responses: ChildStdout,
    options: ServerOptions,
    limit: Duration,
    asked: u32,
}

/// The number of times a question is repeated: enough to count as asked in a row.
const REPEATS: usize = 12;

impl Server {
    /// Starts the process without limits on its counts.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(
        settings: &Settings,
        sandbox: &Sandbox,
        options: ServerOptions,
    ) -> Result<Self, SandboxError> {
        let mut command = sandbox.isolated(&settings.candidate, b"");
        settings.set_variables(sandbox, &mut command);
        command.args(["gitstatusd", "-s", "-1", "-u", "-1", "-c", "-1", "-d", "-1"]);
        if options.recurse {
            command.arg("-e");
        }
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0);
        let failed = |source| SandboxError::Io {
            deed: format!("starting {}", settings.candidate.display()),
            source,
        };
        let mut child = command.spawn().map_err(failed)?;
        let (Some(requests), Some(responses)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed(std::io::Error::other(
                "a pipe of the child is missing",
            )));
        };
        Ok(Self {
            child,
            requests: Some(requests),
            responses,
            options,
            limit: settings.limit,
            asked: 0,
        })
    }

    /// The options it was started with.
    pub fn options(&self) -> ServerOptions {
        self.options
    }

    /// Asks about a directory, and then repeats the question, like a client that asks many in a row. Returns the
    /// response without its record separator.
    ///
    /// # Errors
    /// There is no response, or one to another request, or it changed on repetition; the text says which.
    pub fn ask(&mut self, directory: &Path) -> Result<Vec<u8>, String> {
        let first = self.ask_once(directory)?;
        let without_id =
            |response: &[u8]| response.splitn_str(2, b"\x1f").nth(1).map(<[u8]>::to_vec);
        for _ in 0..REPEATS {
            let again = self.ask_once(directory)?;
            if without_id(&again) != without_id(&first) {
                return Err(format!(
                    "the answer changed when the question was repeated: {} and {}",
                    crate::shell::escaped(&first),
                    crate::shell::escaped(&again)
                ));
            }
        }
        Ok(first)
    }

    fn ask_once(&mut self, directory: &Path) -> Result<Vec<u8>, String> {
        self.asked += 1;
        let id = format!("id {}", self.asked);
        let request = [
            id.as_bytes(),
            b"\x1f",
            directory.as_os_str().as_bytes(),
            b"\x1e",
        ]
        .concat();
        if let Some(pipe) = &mut self.requests {
            pipe.write_all(&request)
                .map_err(|error| format!("cannot send the request: {error}"))?;
        }
        let deadline = Instant::now() + self.limit;
        let mut response = Vec::new();
        let mut buffer = [0; 4096];
        while response.last() != Some(&0x1e) {
            let mut fds = [PollFd::new(&self.responses, PollFlags::IN)];
            if poll(&mut fds, Some(&time_left(deadline))).map_err(|error| error.to_string())? == 0 {
                return Err(format!("nothing came within {:?}", self.limit));
            }
            match self.responses.read(&mut buffer) {
                Ok(0) => return Err("the process ended".to_owned()),
                Ok(_) if response.len() > WRITTEN_MAX => {
                    return Err(Ending::WroteTooMuch.to_string());
                }
                Ok(length) => response.extend_from_slice(buffer.get(..length).unwrap_or_default()),
                Err(error) => return Err(error.to_string()),
            }
        }
        response.pop();
        if !response.starts_with(id.as_bytes()) {
            return Err(format!(
                "the response is for another request: {}",
                crate::shell::escaped(&response)
            ));
        }
        Ok(response)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The end of its input tells it to end. The signal is for a process that does not listen.
        drop(self.requests.take());
        kill_group(&self.child);
        let _ = self.child.wait();
    }
}
