//! `vigil daemon run`: this process becomes the daemon.

use std::time::{Duration, Instant};

use bstr::ByteSlice;
use vigil_daemon::DECLINED_REST;
use vigil_daemon::audit::SAMPLE_REST;
use vigil_daemon::client::{self, Client, Unanswered};
use vigil_daemon::protocol::{Request, Response, is_older, program};
use vigil_daemon::runtime_folder::{Folder, Lock, RuntimePath};
use vigil_daemon::server::{IDLE_MAX, Intervals, Server};
use vigil_daemon::start;
use vigil_git::environment::Environment;
use vigil_linux::{Errno, errno};

use super::{control, socket_activation};
use crate::reply::Reply;
use crate::say::{say, write};
use crate::status::DaemonStatusWriter;

/// How long another daemon may take to appear or to end.
const PATIENCE: Duration = Duration::from_secs(5);

/// The interval at which this is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The shortest time to be idle before this process exits, so that whoever started it can ask.
const IDLE_MIN: Duration = Duration::from_secs(1);

/// Serves until told to end, and returns the exit code. `is_detached` says that nobody waits for this process once it has
/// printed the line that says that it serves.
pub(super) fn serve(environment: &Environment, is_detached: bool) -> u8 {
    let served = try_serve(environment, is_detached);
    match served {
        Ok(()) => 0,
        Err(complaint) => say(&complaint),
    }
}

fn try_serve(environment: &Environment, is_detached: bool) -> Result<(), Reply> {
    if is_detached {
        start::detach().map_err(|error| failed("leave the session", error))?;
    } else {
        // Do not keep anyone from removing or unmounting the current directory.
        let _ = std::env::set_current_dir("/");
    }
    let runtime_path = RuntimePath::of(environment);
    let inherited = match is_detached {
        true => None,
        false => socket_activation::socket(environment, &runtime_path)
            .map_err(|error| Reply::error(&error))?,
    };
    let folder = runtime_path
        .make()
        .map_err(|error| Reply::error(&error.to_string()))?;
    let lock = lock(environment, &folder)?;
    let seconds = |name: &str| {
        let value = environment.get(name)?;
        Some(Duration::from_secs(value.to_str().ok()?.parse().ok()?))
    };
    let idle_max = seconds("VIGIL_DAEMON_IDLE_S");
    let intervals = Intervals {
        idle_max: idle_max.unwrap_or(IDLE_MAX).max(IDLE_MIN),
        sample_rest: seconds("VIGIL_DAEMON_SAMPLE_S").unwrap_or(SAMPLE_REST),
        declined_rest: seconds("VIGIL_DAEMON_REST_S").unwrap_or(DECLINED_REST),
        patience: client::patience(environment).unwrap_or(client::PATIENCE),
    };
    let server = Server::new(
        folder,
        lock,
        inherited,
        Box::new(DaemonStatusWriter),
        intervals,
    );
    let server = server.map_err(|error| Reply::error(&error.to_string()))?;
    let line = format!(
        "serving on {} as pid {}\n",
        runtime_path.socket().display(),
        std::process::id()
    );
    // The process that started this one may be gone.
    let _ = write(rustix::stdio::stdout(), line.as_bytes());
    if is_detached {
        start::discard_output().map_err(|error| failed("write to /dev/null", error))?;
    }
    server
        .serve()
        .map_err(|error| Reply::error(&error.to_string()))
}

fn failed(operation: &str, error: Errno) -> Reply {
    Reply::error(&format!("cannot {operation}: {}", errno::text(error)))
}

/// Takes the lock, which only one daemon holds. A running daemon of an older version is asked to end.
fn lock(environment: &Environment, folder: &Folder) -> Result<Lock, Reply> {
    let client = Client::for_daemon(environment, PATIENCE);
    let end = Instant::now().checked_add(PATIENCE);
    loop {
        let lock = folder.lock();
        let lock = lock.map_err(|error| Reply::error(&error.to_string()))?;
        if let Some(lock) = lock {
            return Ok(lock);
        }
        match client.ask_any(&Request::Describe) {
            Ok(answer) => match answer.response {
                Response::Description(other) if is_older(&other.program, program()) => {
                    control::end(&client).map_err(|error| Reply::error(&error))?;
                }
                _ => return Err(runs_already(answer.pid)),
            },
            // The other daemon holds the lock but has no socket, either not yet or no longer.
            Err(Unanswered::Absent | Unanswered::Broken) => {}
            Err(error) => return Err(Reply::error(&error.to_string())),
        }
        if end.is_none_or(|end| Instant::now() >= end) {
            let message = control::held_lock_message(client.runtime_path());
            return Err(Reply::error(&message));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

fn runs_already(pid: u32) -> Reply {
    Reply::error(&format!("a daemon is already running (pid {pid})"))
}
