//! `vigil daemon start`, `stop` and `restart`: another process serves, or no longer does.

use std::io::Read;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use vigil_daemon::client::{Client, Unanswered};
use vigil_daemon::protocol::Request;
use vigil_daemon::start;
use vigil_git::environment::Environment;
use vigil_linux::errno;

use crate::reply::Reply;

/// How long a daemon has for an answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);

/// How long one has to be there, or to be gone, before it is taken for hung.
const LIFE_TIME: Duration = Duration::from_secs(5);

/// What is said of a process that holds the lock for so long and cannot be asked.
pub(super) const IDLE_HOLDER: &str = "another one has the lock, and does not serve";

/// How often it is looked at whether it is there.
const MOMENT: Duration = Duration::from_millis(10);

pub(super) fn start(environment: &Environment) -> Reply {
    let client = Client::of_daemon(environment, PATIENCE);
    match client.ask(&Request::Ping) {
        Ok(said) => Reply::printed(format!("a daemon runs already (pid {})\n", said.pid), 0),
        // One that is about to end hangs up.
        Err(Unanswered::Absent | Unanswered::Broken) => start_new(environment, &client),
        // The new one has it end.
        Err(older) if older.is_of_older() => start_new(environment, &client),
        Err(error) => Reply::error(&error.to_string()),
    }
}

/// Starts one, and waits until it can be asked: it, or the one that was faster.
fn start_new(environment: &Environment, client: &Client) -> Reply {
    // What is wrong with the folder is said here: the daemon has nobody to tell.
    if let Err(error) = client.place().make() {
        return Reply::error(&error.to_string());
    }
    let mut child = match start::spawn_heard(environment) {
        Ok(child) => child,
        Err(error) => return Reply::error(&errno::text_of(&error)),
    };
    if let Some(mut lines) = child.stdout.take() {
        // One line, or the end of what is no daemon.
        let _ = lines.read(&mut [0; 1]);
    }
    let end = Instant::now().checked_add(LIFE_TIME);
    loop {
        match client.ask(&Request::Ping) {
            Ok(said) if said.pid == child.id() => {
                return Reply::printed(format!("started (pid {})\n", said.pid), 0);
            }
            Ok(said) => {
                // It was not the first.
                let _ = child.wait();
                return Reply::printed(format!("a daemon runs already (pid {})\n", said.pid), 0);
            }
            Err(Unanswered::Absent | Unanswered::Broken) => {}
            Err(error) => return Reply::error(&error.to_string()),
        }
        if end.is_none_or(|end| Instant::now() >= end) {
            return Reply::error("the daemon does not start");
        }
        std::thread::sleep(MOMENT);
    }
}

pub(super) fn stop(environment: &Environment) -> Reply {
    match end(&Client::of_daemon(environment, PATIENCE)) {
        Ok(Some(pid)) => Reply::printed(format!("stopped (pid {pid})\n"), 0),
        Ok(None) => Reply::printed("no daemon runs\n", 0),
        Err(text) => Reply::error(&text),
    }
}

pub(super) fn restart(environment: &Environment) -> Reply {
    match end(&Client::of_daemon(environment, PATIENCE)) {
        Ok(_) => start(environment),
        Err(text) => Reply::error(&text),
    }
}

/// Has the daemon that `client` asks end, and waits until it has: one that does not listen is killed. Returns the process, if
/// there was one.
///
/// # Errors
/// It cannot be ended, and why.
pub(super) fn end(client: &Client) -> Result<Option<u32>, String> {
    let until = Instant::now().checked_add(LIFE_TIME);
    let is_over = || until.is_none_or(|until| Instant::now() >= until);
    let said = loop {
        match client.ask_any(&Request::Ping) {
            // One that is about to end hangs up,
            Err(Unanswered::Broken) if !is_over() => {}
            // and one that is about to serve has the lock, and no socket yet.
            Err(Unanswered::Absent) if client.place().is_taken() => {
                if is_over() {
                    return Err(IDLE_HOLDER.to_owned());
                }
            }
            said => break said,
        }
        std::thread::sleep(MOMENT);
    };
    // One that hangs or is halted takes no word, and no signal but one.
    let (pid, is_late) = match said {
        Ok(said) => (said.pid, false),
        Err(Unanswered::Absent) => return Ok(None),
        Err(Unanswered::Late { pid }) if pid != 0 => (pid, true),
        Err(Unanswered::Refused { pid, .. }) if pid != 0 => (pid, false),
        Err(error) => return Err(error.to_string()),
    };
    let process = match process(pid) {
        Ok(process) => process,
        Err(Errno::SRCH) => return Ok(Some(pid)),
        Err(error) => return Err(errno::text(error)),
    };
    // What it says to that tells less than whether it ends.
    if !is_late && client.ask_any(&Request::Stop).is_ok() && has_ended(&process) {
        return Ok(Some(pid));
    }
    let signals = [Signal::TERM, Signal::KILL];
    for signal in signals.into_iter().skip(usize::from(is_late)) {
        match pidfd_send_signal(&process, signal) {
            Ok(()) | Err(Errno::SRCH) => {}
            Err(error) => return Err(errno::text(error)),
        }
        if has_ended(&process) {
            return Ok(Some(pid));
        }
    }
    Err(format!("the daemon (pid {pid}) does not end"))
}

fn process(pid: u32) -> Result<OwnedFd, Errno> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pidfd_open(pid.ok_or(Errno::SRCH)?, PidfdFlags::empty())
}

/// Whether `process` is gone, or goes soon.
fn has_ended(process: &OwnedFd) -> bool {
    let timeout = Timespec::try_from(LIFE_TIME).ok();
    let mut waiting = [PollFd::new(process, PollFlags::IN)];
    loop {
        match poll(&mut waiting, timeout.as_ref()) {
            Err(Errno::INTR) => {}
            polled => return matches!(polled, Ok(1..)),
        }
    }
}
