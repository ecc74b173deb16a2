//! A process that works for a shell to which it is nothing: no job, no child, in no process group of its. Where it serves, the shell
//! opens its standard input and output by their names in `/proc`, so there is no file that could be left behind.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use vigil_linux::process::cores;
use vigil_linux::stat::stat_path;

use crate::start;

/// The id of a request that ends a process which serves in the background.
pub(super) const FAREWELL: &str = "}bye";

/// The most threads of a scan, where the shell does not say: twice as many as there are cores, as gitstatus's plugins have it.
const THREADS_MAX: usize = 32;

/// Starts a process with `arguments` that serves in the background, and returns its number once its standard input and output
/// can be opened: both are pipes whose other ends nobody has.
///
/// # Errors
/// The system refuses it, or the shell could not open them.
pub(super) fn start(arguments: &[OsString]) -> io::Result<u32> {
    let (requests, _) = pipe_with(PipeFlags::CLOEXEC)?;
    let (_, responses) = pipe_with(PipeFlags::CLOEXEC)?;
    // With both directions, so that it is not at its end before the shell has opened it.
    let requests = reopen(requests.as_fd(), OFlags::RDWR)?;
    let mut child = command(arguments)
        .current_dir("/")
        .stdin(Stdio::from(requests))
        .stdout(Stdio::from(responses))
        .spawn()?;
    // Nobody may open what a process has open whose program he may not read. The shell would start another one each time.
    if let Err(error) = stat_path(Path::new(&format!("/proc/{}/fd/0", child.id()))) {
        child.kill()?;
        child.wait()?;
        return Err(error.into());
    }
    Ok(child.id())
}

/// Starts a process with `arguments` that is to say nothing here, and returns its number.
///
/// # Errors
/// The system refuses it.
pub(super) fn start_alone(arguments: &[OsString]) -> io::Result<u32> {
    let mut command = command(arguments);
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
    Ok(child.id())
}

fn command(arguments: &[OsString]) -> Command {
    let threads = cores().saturating_mul(2).min(THREADS_MAX).to_string();
    let others = arguments
        .iter()
        .filter(|one| *one != OsStr::new("--background"));
    // The file may have been replaced since: this is the one that runs.
    let mut command = Command::new("/proc/self/exe");
    command
        .arg0("vigil")
        .args(["gitstatusd", "--attached", "-t", &threads])
        .args(others)
        .stderr(Stdio::null());
    command
}

/// Leaves the session of the shell, and what it left open but the standard streams.
///
/// # Errors
/// The system refuses it.
pub(super) fn detach() -> Result<(), Errno> {
    start::detach()
}

/// Has standard input end when the shell closes it. To be called once the shell has opened it, as a request shows.
///
/// # Errors
/// The system refuses it.
pub(super) fn hear_of_the_end(input: BorrowedFd<'_>) -> Result<(), Errno> {
    rustix::stdio::dup2_stdin(reopen(input, OFlags::RDONLY)?)
}

/// The pipe behind `fd`, open in another direction.
fn reopen(fd: BorrowedFd<'_>, direction: OFlags) -> Result<OwnedFd, Errno> {
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    open(path, direction | OFlags::CLOEXEC, Mode::empty())
}
