//! A process that works for a shell without being its job, its child or in one of its process groups. The shell opens the
//! process's standard input and output by their paths in `/proc`, so no file can be left behind.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use vigil_linux::stat::{Stat, stat_fd, stat_path};

use super::options::threads_of_plugins;

/// The id of a request that ends a background process.
pub(super) const STOP_REQUEST_ID: &str = "}bye";

/// Starts a background process that serves with `arguments`, and returns its pid once its standard input and output can be
/// opened: both are pipes whose other ends are closed.
///
/// # Errors
/// A system call failed, or the shell could not open the pipes, or would open another process's files in their place.
pub(super) fn start(arguments: &[OsString]) -> io::Result<u32> {
    let (requests, _) = pipe_with(PipeFlags::CLOEXEC)?;
    let (_, responses) = pipe_with(PipeFlags::CLOEXEC)?;
    // In both directions, so that reading does not end before the shell has opened it.
    let requests = reopen(requests.as_fd(), OFlags::RDWR)?;
    let made = stat_fd(requests.as_fd())?;
    let mut child = command(arguments)
        .current_dir("/")
        .stdin(Stdio::from(requests))
        .stdout(Stdio::from(responses))
        .spawn()?;
    if let Err(error) = check_shown(child.id(), made) {
        child.kill()?;
        child.wait()?;
        return Err(error);
    }
    Ok(child.id())
}

/// Checks that the shell will find the pipe `made` as the standard input of the process `pid`. A process whose executable the user
/// may not read hides its descriptors, and the shell would start another one each time. If /proc belongs to another pid name
/// space, the number is that of another process there, and the shell would write to that one's input.
fn check_shown(pid: u32, made: Stat) -> io::Result<()> {
    let shown = stat_path(Path::new(&format!("/proc/{pid}/fd/0")))?;
    if (shown.dev, shown.ino) == (made.dev, made.ino) {
        return Ok(());
    }
    Err(io::Error::other("/proc shows other processes"))
}

/// Starts a process with `arguments` that prints nothing here, and returns its pid.
///
/// # Errors
/// A system call failed.
pub(super) fn start_alone(arguments: &[OsString]) -> io::Result<u32> {
    let mut command = command(arguments);
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
    Ok(child.id())
}

fn command(arguments: &[OsString]) -> Command {
    let threads = threads_of_plugins().to_string();
    let others = arguments
        .iter()
        .filter(|one| *one != OsStr::new("--background"));
    // Not the file's path: it may have been replaced since, and the new process must be the running version.
    let mut command = Command::new("/proc/self/exe");
    command
        .arg0("vigil")
        .args(["gitstatusd", "--attached", "-t", &threads])
        .args(others)
        .stderr(Stdio::null());
    command
}

/// Makes standard input end when the shell closes it. Call this once the shell has opened it, as a request proves.
///
/// # Errors
/// A system call failed.
pub(super) fn end_input_with_shell(input: BorrowedFd<'_>) -> Result<(), Errno> {
    rustix::stdio::dup2_stdin(reopen(input, OFlags::RDONLY)?)
}

/// Opens the pipe behind `fd` again, in another direction.
fn reopen(fd: BorrowedFd<'_>, direction: OFlags) -> Result<OwnedFd, Errno> {
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    open(path, direction | OFlags::CLOEXEC, Mode::empty())
}
