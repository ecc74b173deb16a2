//! Starting a daemon that outlives the process that starts it.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bstr::BStr;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use vigil_git::config;
use vigil_git::environment::Environment;
use vigil_linux::ending;

use crate::stream::timespec;
use crate::variables;

/// The option that tells `vigil daemon run` that it was started here.
pub const DETACHED: &str = "--detached";

/// Whether the user wants a daemon, by `VIGIL_NO_DAEMON`, and by `vigil.daemon` in the user's and the system's configuration.
/// Errors there are reported when the configuration is read for an answer.
pub fn is_wanted(environment: &Environment) -> bool {
    if variables::is_off(environment) {
        return false;
    }
    let configured = config::trusted(environment).map(|config| config.boolean("vigil.daemon"));
    !matches!(configured, Ok(Ok(Some(false))))
}

/// Variables that a daemon inherits besides Vigil's own: those by which it finds its folder and the system's programs. Variables
/// that an answer depends on come with each question.
const VARIABLES: [&str; 6] = [
    "HOME",
    "LOGNAME",
    "PATH",
    "TMPDIR",
    "USER",
    "XDG_RUNTIME_DIR",
];

/// Starts `vigil daemon run` from this very executable, and does not wait for it.
///
/// # Errors
/// The process cannot be started.
pub fn spawn(environment: &Environment) -> io::Result<Child> {
    command(environment).spawn()
}

/// Does the same, with a pipe as standard output, on which the daemon reports that it is ready, and one as standard
/// error, on which it says why it is not.
///
/// # Errors
/// The process cannot be started.
pub fn spawn_with_output(environment: &Environment) -> io::Result<Child> {
    command(environment)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
}

fn command(environment: &Environment) -> Command {
    // Not the file's path: it may have been replaced since, and the new daemon must be the running version.
    let mut command = Command::new("/proc/self/exe");
    command
        .arg0("vigil")
        .args(["daemon", "run", DETACHED])
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let is_kept = |name: &BStr| {
        VARIABLES.iter().any(|known| name == *known)
            || (name.starts_with(b"VIGIL_") && name != "VIGIL_NO_DAEMON")
    };
    for (name, value) in environment.variables().filter(|(name, _)| is_kept(name)) {
        command.env(OsStr::from_bytes(name), OsStr::from_bytes(value));
    }
    command
}

/// The least time between two starts: where no daemon can live, each start would be in vain.
const PAUSE: Duration = Duration::from_secs(30);

/// Starts daemons for a long-lived client, but not one after the other in vain.
#[derive(Debug)]
pub struct Starter {
    environment: Environment,
    /// When the last one was started.
    started_at: Option<Instant>,
    /// The processes that have not been seen to end.
    started: Vec<Child>,
}

impl Starter {
    /// Creates a starter that has started none yet.
    pub fn new(environment: Environment) -> Self {
        Self {
            environment,
            started_at: None,
            started: Vec::new(),
        }
    }

    /// Starts a daemon, unless one was started a moment ago. A failure is not reported: the client does without it anyway.
    pub fn start(&mut self) {
        self.start_by(spawn);
    }

    /// Does the same, and waits for at most `time` until the new daemon is ready, or has ended because another one was first.
    /// Returns whether either has happened.
    pub(crate) fn start_and_wait(&mut self, time: Duration) -> bool {
        let started = self.start_by(spawn_with_output);
        let Some(output) = started.and_then(|child| child.stdout.take()) else {
            return false;
        };
        let mut waiting = [PollFd::new(&output, PollFlags::IN)];
        poll(&mut waiting, Some(&timespec(time))) == Ok(1)
    }

    /// Starts a daemon by `spawn`, unless one was started a moment ago.
    fn start_by(&mut self, spawn: fn(&Environment) -> io::Result<Child>) -> Option<&mut Child> {
        // Reaps those that have ended, so that no zombie is left.
        self.started
            .retain_mut(|child| !matches!(child.try_wait(), Ok(Some(_))));
        if self.started_at.is_some_and(|then| then.elapsed() < PAUSE) {
            return None;
        }
        self.started_at = Some(Instant::now());
        self.started.push(spawn(&self.environment).ok()?);
        self.started.last_mut()
    }
}

/// Leaves the session of the parent process, closes all inherited descriptors but the standard streams, and takes the name
/// under which a user looks for this process. Must be called before this process opens anything.
///
/// # Errors
/// A system call failed.
pub fn detach() -> Result<(), Errno> {
    ending::close_inherited();
    // The system named it after the link by which it was started. Threads that have no name of their own get this one.
    rustix::thread::set_name(c"vigil")?;
    // A process that leads its group already, because it was started otherwise, stays in its session.
    match rustix::process::setsid() {
        Ok(_) | Err(Errno::PERM) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Redirects standard output and standard error to /dev/null.
///
/// # Errors
/// A system call failed.
pub fn discard_output() -> Result<(), Errno> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let sink = open("/dev/null", flags, Mode::empty())?;
    rustix::stdio::dup2_stdout(&sink)?;
    rustix::stdio::dup2_stderr(&sink)
}

#[cfg(test)]
mod tests {
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

    use super::*;

    #[test]
    fn no_process_that_was_started_is_left_as_a_zombie() {
        let mut starter = Starter::new(Environment::default());
        let mut start = || {
            starter.started_at = None;
            let child = starter.start_by(|_| Command::new("cat").stdin(Stdio::piped()).spawn());
            let child = child.unwrap();
            (Pid::from_child(child), child.stdin.take())
        };
        let (first, input) = start();
        let (_, _other_input) = start();
        let wait = || {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            waitid(WaitId::Pid(first), options).map(|status| status.is_some())
        };
        drop(input);
        assert_eq!(wait(), Ok(true));
        let _last = start();
        assert_eq!(wait(), Err(Errno::CHILD));
    }
}
