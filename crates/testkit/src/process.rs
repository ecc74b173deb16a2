//! Runs a program to its end, with a limit of time.

use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It exited with this code.
    Exit(i32),
    /// It was killed by this signal.
    Signal(i32),
    /// It did not end in time and was killed.
    TimedOut,
}

/// What a program said, and how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// How it ended.
    pub ending: Ending,
    /// All of its standard output.
    pub stdout: Vec<u8>,
    /// All of its standard error.
    pub stderr: Vec<u8>,
}

impl Outcome {
    /// Whether it exited with code 0.
    pub fn success(&self) -> bool {
        self.ending == Ending::Exit(0)
    }
}

/// Runs `command` with `input` on its standard input and collects what it says.
///
/// `input` must fit in a pipe (64 KiB), since it is written before anything is read. The program runs in a process
/// group of its own, which is killed when `limit` has passed.
///
/// # Errors
/// When the program cannot be started, or its pipes fail.
pub fn run(command: &mut Command, input: Option<&[u8]>, limit: Duration) -> io::Result<Outcome> {
    command
        .stdin(if input.is_some() {
            Stdio::piped()
        } else {
            Stdio::null()
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let mut child = command.spawn()?;
    if let (Some(bytes), Some(mut pipe)) = (input, child.stdin.take()) {
        // A program that does not read its input is no fault of ours.
        let _ = pipe.write_all(bytes);
    }
    let deadline = Instant::now() + limit;
    let mut stdout = Vec::new();
    let mut stderr = Vec::new();
    let in_time = drain(&mut child, &mut stdout, &mut stderr, deadline)?;
    if !in_time {
        kill_group(&child);
        child.wait()?;
        return Ok(Outcome {
            ending: Ending::TimedOut,
            stdout,
            stderr,
        });
    }
    let status = child.wait()?;
    let ending = match (status.code(), status.signal()) {
        (Some(code), _) => Ending::Exit(code),
        (None, signal) => Ending::Signal(signal.unwrap_or_default()),
    };
    Ok(Outcome {
        ending,
        stdout,
        stderr,
    })
}

/// Kills the process group that `child` leads.
pub(crate) fn kill_group(child: &Child) {
    if let Ok(id) = i32::try_from(child.id())
        && let Some(group) = rustix::process::Pid::from_raw(id)
    {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}

/// How long until `deadline`, as the kernel wants it.
pub(crate) fn remaining(deadline: Instant) -> Timespec {
    let left = deadline.saturating_duration_since(Instant::now());
    Timespec {
        tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(left.subsec_nanos()),
    }
}

/// Reads both pipes to their ends; `false` when the deadline passed before.
fn drain(
    child: &mut Child,
    stdout: &mut Vec<u8>,
    stderr: &mut Vec<u8>,
    deadline: Instant,
) -> io::Result<bool> {
    let (Some(mut out), Some(mut err)) = (child.stdout.take(), child.stderr.take()) else {
        return Err(io::Error::other("a pipe of the child is missing"));
    };
    let (mut out_open, mut err_open) = (true, true);
    let mut buffer = vec![0; 1 << 16];
    while out_open || err_open {
        let (out_ready, err_ready) = {
            let mut fds = [
                PollFd::new(
                    &out,
                    if out_open {
                        PollFlags::IN
                    } else {
                        PollFlags::empty()
                    },
                ),
                PollFd::new(
                    &err,
                    if err_open {
                        PollFlags::IN
                    } else {
                        PollFlags::empty()
                    },
                ),
            ];
            if poll(&mut fds, Some(&remaining(deadline)))? == 0 {
                return Ok(false);
            }
            let [first, second] = fds;
            (!first.revents().is_empty(), !second.revents().is_empty())
        };
        if out_open && out_ready {
            out_open = read_some(&mut out, &mut buffer, stdout)?;
        }
        if err_open && err_ready {
            err_open = read_some(&mut err, &mut buffer, stderr)?;
        }
        if Instant::now() > deadline {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Reads once; `false` at the end.
fn read_some(pipe: &mut impl Read, buffer: &mut [u8], into: &mut Vec<u8>) -> io::Result<bool> {
    let length = pipe.read(buffer)?;
    into.extend_from_slice(buffer.get(..length).unwrap_or_default());
    Ok(length > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, input: Option<&[u8]>, limit: Duration) -> Outcome {
        run(Command::new("sh").args(["-c", script]), input, limit).unwrap()
    }

    #[test]
    fn both_outputs_the_code_and_the_input_arrive() {
        let outcome = sh(
            "cat; echo e >&2; exit 3",
            Some(b"in"),
            Duration::from_secs(20),
        );
        assert_eq!(outcome.ending, Ending::Exit(3));
        assert_eq!(outcome.stdout, b"in");
        assert_eq!(outcome.stderr, b"e\n");
    }

    #[test]
    fn a_signal_is_told_from_an_exit() {
        assert_eq!(
            sh("kill -9 $$", None, Duration::from_secs(20)).ending,
            Ending::Signal(9)
        );
    }

    #[test]
    fn a_program_that_hangs_is_killed() {
        let outcome = sh(
            "echo a; cat <&1 >/dev/null; read x < /proc/self/fd/1",
            None,
            Duration::ZERO,
        );
        assert_eq!(outcome.ending, Ending::TimedOut);
    }
}
