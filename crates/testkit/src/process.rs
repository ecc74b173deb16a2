//! Runs a program to its end, with limits on time and output.

use std::ffi::{OsStr, c_char, c_int};
use std::fmt;
use std::io::{self, PipeWriter, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Access, access};
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};

/// Named so that it is linked: the standard library then starts programs in other folders by posix_spawn(3), without a copy of this
/// process.
#[used]
static STARTS_IN_A_FOLDER: unsafe extern "C" fn(
    *mut libc::posix_spawn_file_actions_t,
    *const c_char,
) -> c_int = libc::posix_spawn_file_actions_addchdir_np;

/// A command that runs `program`, where this process's `PATH` leads to. The standard library would have to fork this process to look
/// for a program in the `PATH` of a new environment.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let program = program.as_ref();
    let Some(found) = find_program(program) else {
        return Command::new(program);
    };
    let mut command = Command::new(found);
    command.arg0(program);
    command
}

/// Returns where the program of this name is, which may be a path.
pub fn find_program(name: &OsStr) -> Option<PathBuf> {
    if name.as_bytes().contains(&b'/') {
        return Some(name.into());
    }
    let folders = std::env::var_os("PATH")?;
    let mut places = std::env::split_paths(&folders).map(|folder| folder.join(name));
    places.find(|place| place.is_file() && access(place, Access::EXEC_OK).is_ok())
}

/// A program that writes more bytes than this is taken to write without end.
pub const WRITTEN_MAX: usize = 256 << 20;

/// The number of bytes kept of each output of such a program.
const KEPT_MAX: usize = 1 << 16;

/// Copies a program. Another process writes the copy: a test that runs beside this one may start a program just then, which would
/// inherit a file that is open for writing, and a program that is open for writing cannot be run (execve(2), `ETXTBSY`).
///
/// # Errors
/// It cannot be copied.
pub fn copy_program(program: &Path, copy: &Path) -> io::Result<()> {
    let status = Command::new("cp").arg(program).arg(copy).status()?;
    match status.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!("cp: {status}"))),
    }
}

/// Lets the process `pid` open at most `count` descriptors from now on; `None` for as many as this process may open.
///
/// # Errors
/// There is no such process.
pub fn limit_descriptors(pid: Pid, count: Option<u64>) -> io::Result<()> {
    let own = getrlimit(Resource::Nofile);
    let limit = Rlimit {
        current: count.or(own.current),
        ..own
    };
    prlimit(Some(pid), Resource::Nofile, limit)?;
    Ok(())
}

/// Whether a signal has halted the process `pid` (the state in `/proc/PID/stat`, proc(5)).
///
/// # Errors
/// There is no such process.
pub fn is_halted(pid: u32) -> io::Result<bool> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let after_name = stat.rsplit_once(") ").map(|(_, rest)| rest);
    Ok(after_name.is_some_and(|rest| rest.starts_with("T ")))
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It exited with this code.
    Exit(i32),
    /// It was killed by this signal.
    Signal(i32),
    /// It did not end in time and was killed.
    TimedOut,
    /// It wrote more than [`WRITTEN_MAX`] and was killed.
    WroteTooMuch,
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WroteTooMuch => write!(
                f,
                "it wrote more than {} MiB, and was killed",
                WRITTEN_MAX >> 20
            ),
            other => write!(f, "{other:?}"),
        }
    }
}

/// The output of a program, and how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// How the program ended.
    pub ending: Ending,
    /// The whole standard output; only the beginning if the program wrote too much.
    pub stdout: Vec<u8>,
    /// The same for standard error.
    pub stderr: Vec<u8>,
}

impl Outcome {
    /// Whether it exited with code 0.
    pub fn success(&self) -> bool {
        self.ending == Ending::Exit(0)
    }
}

/// Runs `command` with `input` on its standard input, and collects its output.
///
/// The program runs in its own process group, which is killed after `limit`, or when the program wrote more than
/// [`WRITTEN_MAX`].
///
/// # Errors
/// The program cannot be started, or its pipes fail.
pub fn run(command: &mut Command, input: Option<&[u8]>, limit: Duration) -> io::Result<Outcome> {
    let ended = run_to_end(command, input, Some(limit))?;
    let ending = match (ended.end, ended.status.code()) {
        (ReadEnd::TimedOut, _) => Ending::TimedOut,
        (ReadEnd::WroteTooMuch, _) => Ending::WroteTooMuch,
        (ReadEnd::Closed, Some(code)) => Ending::Exit(code),
        (ReadEnd::Closed, None) => Ending::Signal(ended.status.signal().unwrap_or_default()),
    };
    Ok(Outcome {
        ending,
        stdout: ended.stdout,
        stderr: ended.stderr,
    })
}

/// Completes `command`, which is script(1), to run the shell command `text` on a terminal of its own.
pub fn on_a_terminal(command: &mut Command, text: &str) {
    command
        .args(["-qec", text, "/dev/null"])
        .stdin(Stdio::null());
}

/// Runs `command` with `input` on its standard input, without a time limit.
///
/// # Errors
/// The program cannot be started, its pipes fail, or it writes more than [`WRITTEN_MAX`].
pub fn output(command: &mut Command, input: &[u8]) -> io::Result<Output> {
    let ended = run_to_end(command, Some(input), None)?;
    if matches!(ended.end, ReadEnd::WroteTooMuch) {
        let program = command.get_program().display();
        return Err(io::Error::other(format!(
            "{program}: {}",
            Ending::WroteTooMuch
        )));
    }
    Ok(Output {
        status: ended.status,
        stdout: ended.stdout,
        stderr: ended.stderr,
    })
}

/// Why reading ended.
#[derive(Clone, Copy)]
enum ReadEnd {
    /// Both pipes were closed.
    Closed,
    TimedOut,
    WroteTooMuch,
}

struct FinishedProgram {
    end: ReadEnd,
    status: ExitStatus,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

fn run_to_end(
    command: &mut Command,
    input: Option<&[u8]>,
    limit: Option<Duration>,
) -> io::Result<FinishedProgram> {
    command
        .stdin(match input {
            Some(_) => Stdio::piped(),
            None => Stdio::null(),
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let mut child = command.spawn()?;
    let deadline = limit.map(|limit| Instant::now() + limit);
    let stdin = child.stdin.take();
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    std::thread::scope(|scope| {
        if let (Some(bytes), Some(mut pipe)) = (input, stdin) {
            // A program need not read its input.
            scope.spawn(move || pipe.write_all(bytes).is_ok());
        }
        let end = read_outputs(&mut child, &mut stdout, &mut stderr, deadline);
        if !matches!(end, Ok(ReadEnd::Closed)) {
            kill_group(&child);
        }
        let status = child.wait()?;
        let end = end?;
        if matches!(end, ReadEnd::WroteTooMuch) {
            stdout.truncate(KEPT_MAX);
            stderr.truncate(KEPT_MAX);
        }
        Ok(FinishedProgram {
            end,
            status,
            stdout,
            stderr,
        })
    })
}

/// Returns the end for writing of a pipe that nobody reads. Another test may just be starting a program, which has the other end
/// for a moment, so this waits until it is gone everywhere.
///
/// # Errors
/// There is no pipe.
pub fn pipe_without_reader() -> io::Result<PipeWriter> {
    let (reader, writer) = io::pipe()?;
    drop(reader);
    poll(&mut [PollFd::new(&writer, PollFlags::empty())], None)?;
    Ok(writer)
}

/// Kills the process group that `child` leads.
pub(crate) fn kill_group(child: &Child) {
    if let Ok(id) = i32::try_from(child.id())
        && let Some(group) = Pid::from_raw(id)
    {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}

/// The time left until `deadline`, as poll(2) takes it.
pub(crate) fn time_left(deadline: Instant) -> Timespec {
    let left = deadline.saturating_duration_since(Instant::now());
    Timespec {
        tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(left.subsec_nanos()),
    }
}

/// Reads both pipes until they close, the deadline passes, or too much was written.
fn read_outputs(
    child: &mut Child,
    stdout: &mut Vec<u8>,
    stderr: &mut Vec<u8>,
    deadline: Option<Instant>,
) -> io::Result<ReadEnd> {
    let (Some(mut out), Some(mut err)) = (child.stdout.take(), child.stderr.take()) else {
        return Err(io::Error::other("a pipe of the child is missing"));
    };
    let (mut out_open, mut err_open) = (true, true);
    let mut buffer = vec![0; 1 << 16];
    while out_open || err_open {
        // A closed pipe is always ready, so it is left out, or else poll(2) would not wait.
        let pipes = [(out_open, out.as_fd()), (err_open, err.as_fd())];
        let open = pipes.iter().filter(|(is_open, _)| *is_open);
        let mut fds: Vec<PollFd<'_>> = open
            .map(|(_, pipe)| PollFd::from_borrowed_fd(*pipe, PollFlags::IN))
            .collect();
        let left = deadline.map(time_left);
        if poll(&mut fds, left.as_ref())? == 0 {
            return Ok(ReadEnd::TimedOut);
        }
        let mut ready = fds.iter().map(|fd| !fd.revents().is_empty());
        let out_ready = out_open && ready.next() == Some(true);
        let err_ready = err_open && ready.next() == Some(true);
        drop(ready);
        if out_ready {
            out_open = read_some(&mut out, &mut buffer, stdout)?;
        }
        if err_ready {
            err_open = read_some(&mut err, &mut buffer, stderr)?;
        }
        if stdout.len() + stderr.len() > WRITTEN_MAX {
            return Ok(ReadEnd::WroteTooMuch);
        }
        if deadline.is_some_and(|deadline| Instant::now() > deadline) {
            return Ok(ReadEnd::TimedOut);
        }
    }
    Ok(ReadEnd::Closed)
}

/// Reads once. Returns `false` at the end.
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

    #[test]
    fn more_input_than_a_pipe_holds_arrives() {
        let input = vec![b'x'; 1 << 20];
        let outcome = sh("cat", Some(&input), Duration::from_secs(20));
        assert!(outcome.stdout == input);
    }

    #[test]
    fn a_program_that_writes_without_end_is_killed() {
        for script in ["yes", "yes >&2"] {
            let outcome = sh(script, None, Duration::from_secs(600));
            assert_eq!(outcome.ending, Ending::WroteTooMuch);
            let kept = outcome.stdout.len() + outcome.stderr.len();
            assert_eq!(kept, KEPT_MAX, "{script}");
            assert_eq!(
                outcome.ending.to_string(),
                "it wrote more than 256 MiB, and was killed"
            );
        }
        let error = output(&mut Command::new("yes"), b"").unwrap_err();
        assert_eq!(
            error.to_string(),
            "yes: it wrote more than 256 MiB, and was killed"
        );
    }
}
