//! Starting a daemon that outlives whoever starts it.

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
use vigil_git::environment::Environment;
use vigil_linux::ending;

use crate::stream::timespec;

/// The option by which `vigil daemon run` knows that it was started here.
pub const DETACHED: &str = "--detached";

/// Variables that a daemon has from whoever starts it: those by which it finds its own folder and the system's programs. What
/// an answer rests on comes with each question.
const VARIABLES: [&str; 6] = [
    "HOME",
    "LOGNAME",
    "PATH",
    "TMPDIR",
    "USER",
    "XDG_RUNTIME_DIR",
];

/// Starts `vigil daemon run` by this very program, and does not wait for it.
///
/// # Errors
/// It cannot be started.
pub fn spawn(environment: &Environment) -> io::Result<Child> {
    command(environment).spawn()
}

/// The same; its standard output is a pipe, on which it says when it can be asked.
///
/// # Errors
/// It cannot be started.
pub fn spawn_heard(environment: &Environment) -> io::Result<Child> {
    command(environment).stdout(Stdio::piped()).spawn()
}

fn command(environment: &Environment) -> Command {
    // The file may have been replaced since: this is the one that runs.
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

/// How long it takes until a daemon is started again: where one cannot live, each start is in vain.
const PAUSE: Duration = Duration::from_secs(30);

/// Starts daemons for one who comes again, and not one after the other in vain.
#[derive(Debug)]
pub struct Starter {
    environment: Environment,
    /// When one was started last, and the process.
    started_at: Option<Instant>,
    started: Option<Child>,
}

impl Starter {
    /// Has started none yet.
    pub fn new(environment: Environment) -> Self {
        Self {
            environment,
            started_at: None,
            started: None,
        }
    }

    /// Starts one, unless one was started a moment ago. That none can be started is no news to whoever does without.
    pub fn start(&mut self) {
        self.start_by(spawn);
    }

    /// The same, and waits for at most `time` until it can be asked, or until it has ended since another one was first; whether
    /// either has come to pass.
    pub fn start_and_wait(&mut self, time: Duration) -> bool {
        let started = self.start_by(spawn_heard);
        let Some(output) = started.and_then(|child| child.stdout.take()) else {
            return false;
        };
        let mut waiting = [PollFd::new(&output, PollFlags::IN)];
        poll(&mut waiting, Some(&timespec(time))) == Ok(1)
    }

    /// The daemon, if one is started now.
    fn start_by(&mut self, spawn: fn(&Environment) -> io::Result<Child>) -> Option<&mut Child> {
        if let Some(child) = &mut self.started {
            // Who has ended is not to stay as a shadow of a process.
            let _ = child.try_wait();
        }
        if self.started_at.is_some_and(|then| then.elapsed() < PAUSE) {
            return None;
        }
        self.started_at = Some(Instant::now());
        self.started = spawn(&self.environment).ok();
        self.started.as_mut()
    }
}

/// Leaves the session of whoever started this process, and what he left open but the standard streams. To be called before
/// this process opens anything.
///
/// # Errors
/// The system refuses it.
pub fn detach() -> Result<(), Errno> {
    ending::close_inherited();
    // Who leads a group already, since he was started otherwise, stays in his session.
    match rustix::process::setsid() {
        Ok(_) | Err(Errno::PERM) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Lets go of standard output.
///
/// # Errors
/// The system refuses it.
pub fn fall_silent() -> Result<(), Errno> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let sink = open("/dev/null", flags, Mode::empty())?;
    rustix::stdio::dup2_stdout(&sink)
}
