//! `vigil daemon start`, `stop` and `restart`: has another process start or stop serving.

use std::io::Read;
use std::process::Child;
use std::time::{Duration, Instant};

use bstr::ByteSlice;
use rustix::io::Errno;
use rustix::process::Signal;
use vigil_daemon::client::{Client, Unanswered};
use vigil_daemon::protocol::Request;
use vigil_daemon::runtime_folder::RuntimePath;
use vigil_daemon::start;
use vigil_git::environment::Environment;
use vigil_linux::errno;
use vigil_linux::process_handle::ProcessHandle;

use crate::reply::{Reply, bytes};

/// How long a daemon may take to answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);

/// How long a daemon may take to appear or to end before it counts as hung.
const START_STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// The interval at which this is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The most of a new daemon's error that is shown, in bytes.
const ERROR_LEN_MAX: u64 = 1 << 16;

/// The message about a process that has held the lock in `runtime_path` for too long, and cannot be asked.
pub(super) fn held_lock_message(runtime_path: &RuntimePath) -> String {
    let lock = runtime_path.lock_file();
    let holder = runtime_path.holder().map(|pid| format!(" (pid {pid})"));
    let holder = holder.unwrap_or_default();
    format!(
        "another process{holder} holds {}, but does not serve",
        lock.display()
    )
}

pub(super) fn start(environment: &Environment) -> Reply {
    let client = Client::for_daemon(environment, PATIENCE);
    match client.ask(&Request::Ping) {
        Ok(answer) => Reply::printed(
            format!("a daemon is already running (pid {})\n", answer.pid),
            0,
        ),
        // A daemon that is about to end hangs up.
        Err(Unanswered::Absent | Unanswered::Broken) => start_new(environment, &client),
        // The new daemon makes the old one end.
        Err(older) if older.is_of_older() => start_new(environment, &client),
        Err(error) => Reply::error(&error.to_string()),
    }
}

/// Starts a daemon and waits until it, or one that was started at the same time, can be asked.
fn start_new(environment: &Environment, client: &Client) -> Reply {
    // Report problems with the folder here: the daemon has nobody to tell.
    if let Err(error) = client.runtime_path().make() {
        return Reply::error(&error.to_string());
    }
    let mut child = match start::spawn_with_output(environment) {
        Ok(child) => child,
        Err(error) => {
            let reason = errno::text_of(&error);
            return Reply::error(&format!("cannot run /proc/self/exe as a daemon: {reason}"));
        }
    };
    let mut is_ready = false;
    if let Some(mut lines) = child.stdout.take() {
        // Reads one line, or the end of the stream if the child is not a daemon.
        is_ready = lines.read(&mut [0; 1]).is_ok_and(|len| len > 0);
    }
    let end = Instant::now().checked_add(START_STOP_TIMEOUT);
    loop {
        // It may end after it was ready, for want of memory.
        let has_ended = !is_ready || matches!(child.try_wait(), Ok(Some(_)));
        match client.ask(&Request::Ping) {
            Ok(answer) if answer.pid == child.id() => {
                return Reply::printed(format!("started (pid {})\n", answer.pid), 0);
            }
            Ok(answer) => {
                // Another daemon was first.
                let _ = child.wait();
                return Reply::printed(
                    format!("a daemon is already running (pid {})\n", answer.pid),
                    0,
                );
            }
            Err(Unanswered::Absent | Unanswered::Broken) if has_ended => {
                return not_started(child);
            }
            Err(Unanswered::Absent | Unanswered::Broken) => {}
            Err(error) => return Reply::error(&error.to_string()),
        }
        if end.is_none_or(|end| Instant::now() >= end) {
            return Reply::error("the daemon did not start");
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Says why `child`, which has ended, is not a daemon.
fn not_started(mut child: Child) -> Reply {
    let mut said = Vec::new();
    if let Some(errors) = child.stderr.take() {
        let _ = errors.take(ERROR_LEN_MAX).read_to_end(&mut said);
    }
    let _ = child.wait();
    let said = said.trim_end_with(|end| end == '\n');
    match said.strip_prefix(b"error: ").unwrap_or(said) {
        [] => Reply::error("the daemon did not start"),
        reason => Reply::complained(bytes!["error: the daemon did not start: ", reason, "\n"], 1),
    }
}

pub(super) fn stop(environment: &Environment) -> Reply {
    match end(&Client::for_daemon(environment, PATIENCE)) {
        Ok(Some(pid)) => Reply::printed(format!("stopped (pid {pid})\n"), 0),
        Ok(None) => Reply::printed("no daemon is running\n", 0),
        Err(text) => Reply::error(&text),
    }
}

pub(super) fn restart(environment: &Environment) -> Reply {
    match end(&Client::for_daemon(environment, PATIENCE)) {
        Ok(_) => start(environment),
        Err(text) => Reply::error(&text),
    }
}

/// Has the daemon that `client` asks end, and waits for that. A daemon that does not respond is killed. Returns its process id
/// if there was one.
///
/// # Errors
/// The daemon cannot be ended; the text says why.
pub(super) fn end(client: &Client) -> Result<Option<u32>, String> {
    let until = Instant::now().checked_add(START_STOP_TIMEOUT);
    let is_over = || until.is_none_or(|until| Instant::now() >= until);
    let answer = loop {
        match client.ask_any(&Request::Ping) {
            // A daemon that is about to end hangs up,
            Err(Unanswered::Broken) if !is_over() => {}
            // and one that is about to serve holds the lock but has no socket yet.
            Err(Unanswered::Absent) if client.runtime_path().is_taken() => {
                if is_over() {
                    let Some(pid) = client.runtime_path().holder() else {
                        return Err(held_lock_message(client.runtime_path()));
                    };
                    // It hangs, and its socket is gone.
                    break Err(Unanswered::Late { pid });
                }
            }
            answer => break answer,
        }
        std::thread::sleep(POLL_INTERVAL);
    };
    // A daemon that hangs or is stopped obeys no request, and no signal but SIGKILL.
    let (pid, is_late) = match answer {
        Ok(answer) => (answer.pid, false),
        Err(Unanswered::Absent) => return Ok(None),
        Err(Unanswered::Late { pid }) if pid != 0 => (pid, true),
        Err(Unanswered::Refused { pid, .. }) if pid != 0 => (pid, false),
        Err(error) => return Err(error.to_string()),
    };
    let did_not_stop = || format!("the daemon (pid {pid}) did not stop");
    if !is_late && !client.runtime_path().is_held_by(pid) {
        // In another pid name space, that is the number of another process, which no signal may reach.
        let _ = client.ask_any(&Request::Stop);
        return match is_released(client.runtime_path()) {
            true => Ok(Some(pid)),
            false => Err(did_not_stop()),
        };
    }
    let failed = |error| format!("cannot stop process {pid}: {}", errno::text(error));
    let process = i32::try_from(pid).map_err(|_| Errno::SRCH);
    let process = match process.and_then(ProcessHandle::open) {
        Ok(process) => process,
        Err(Errno::SRCH) => return Ok(Some(pid)),
        Err(error) => return Err(failed(error)),
    };
    // The reply matters less than whether the process ends.
    if !is_late && client.ask_any(&Request::Stop).is_ok() && process.wait(Some(START_STOP_TIMEOUT))
    {
        return Ok(Some(pid));
    }
    let signals = [Signal::TERM, Signal::KILL];
    for signal in signals.into_iter().skip(usize::from(is_late)) {
        match process.signal(signal) {
            Ok(()) | Err(Errno::SRCH) => {}
            Err(error) => return Err(failed(error)),
        }
        if process.wait(Some(START_STOP_TIMEOUT)) {
            return Ok(Some(pid));
        }
    }
    Err(did_not_stop())
}

/// Waits until no process holds the lock at `path`. Returns whether that is so in time.
fn is_released(path: &RuntimePath) -> bool {
    let until = Instant::now().checked_add(START_STOP_TIMEOUT);
    while path.is_taken() {
        if until.is_none_or(|until| Instant::now() >= until) {
            return false;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    true
}
