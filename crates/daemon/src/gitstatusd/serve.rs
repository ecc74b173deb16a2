//! The main loop: reads requests, writes responses, and checks that the client is alive.

use std::os::fd::{AsFd, BorrowedFd, RawFd};
use std::path::PathBuf;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use vigil_git::environment::Environment;
use vigil_linux::process::{die_of_broken_pipe, is_locked};

use super::background;
use super::daemon::Daemon;
use super::drawing::Drawer;
use super::log::{Level, Log};
use super::options::Options;
use super::parent::Parent;
use super::repositories::{Repositories, of_user};
use super::request::{Records, Request};
use super::response;
use crate::stream::timespec;

/// How long it waits for a request before it checks that the client is still there.
const IDLE: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};

/// The number of such checks, without a first request, after which a background process gives up.
const CHECKS_MAX: u32 = 30;

/// Answers requests from `input` on `output` until there is no client any more, and returns the exit code. The output of
/// `drawer` follows each answer.
pub(super) fn serve(
    options: &Options,
    environment: Environment,
    drawer: Option<&Drawer>,
    input: BorrowedFd<'_>,
    output: BorrowedFd<'_>,
) -> u8 {
    let log = Log {
        least: options.log_level,
    };
    let lock = options.lock_fd.map(LockFile::new);
    let parent = options.parent_pid.map(Parent::new);
    let mut is_opened = !options.is_attached;
    let mut checks = 0u32;
    let environment = of_user(environment);
    let mut daemon = Daemon::new(options, &environment);
    let mut repositories = Repositories::new(options, environment);
    let mut records = Records::default();
    let mut buffer = [0u8; 4096];
    loop {
        while let Some(record) = records.next() {
            let Some(request) = Request::parse(record) else {
                log.say(Level::Error, format_args!("malformed request: {record:?}"));
                continue;
            };
            if options.is_attached && request.id == background::STOP_REQUEST_ID {
                return 0;
            }
            let response = match daemon.ask(&request) {
                Some(response) => {
                    repositories.forget_all();
                    response
                }
                None => answer(options, &mut repositories, &request, log),
            };
            let response = match drawer {
                Some(draw) => draw(request.whereabouts(), response),
                None => response,
            };
            match write_all(output, &response) {
                Ok(()) => {}
                Err(Errno::PIPE) => die_of_broken_pipe(),
                Err(error) => {
                    log.say(
                        Level::Fatal,
                        format_args!("cannot write a response: {error}"),
                    );
                    return 1;
                }
            }
            repositories.save(|line| log.say(Level::Debug, format_args!("{line}")));
            repositories.tidy_up(|git_dir| {
                log.say(Level::Info, format_args!("forgot {}", git_dir.display()));
            });
        }
        let mut waiting = [PollFd::new(&input, PollFlags::IN)];
        let time = daemon.ask_missed_after().map(timespec);
        match poll(&mut waiting, Some(time.as_ref().unwrap_or(&IDLE))) {
            Ok(0) if time.is_some() => {
                daemon.ask_missed();
                continue;
            }
            Ok(0) => {
                if lock.as_ref().is_some_and(|lock| !lock.is_held()) {
                    log.say(Level::Info, "the lock is gone");
                    return 0;
                }
                let strictly = options.is_attached;
                if parent.as_ref().is_some_and(|one| !one.is_there(strictly)) {
                    log.say(Level::Info, "the parent is gone");
                    return 0;
                }
                checks = checks.saturating_add(1);
                if !is_opened && checks >= CHECKS_MAX {
                    log.say(Level::Info, "nobody asks");
                    return 0;
                }
                if let Some(ttl_s) = options.repo_ttl_s {
                    repositories.drop_idle(Duration::from_secs(ttl_s), |git_dir| {
                        log.say(Level::Info, format_args!("forgot {}", git_dir.display()));
                    });
                }
                continue;
            }
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(error) => {
                log.say(
                    Level::Fatal,
                    format_args!("cannot wait for requests: {error}"),
                );
                return 1;
            }
        }
        match rustix::io::read(input, &mut buffer) {
            Ok(0) => return 0,
            Ok(len) => {
                records.feed(buffer.get(..len).unwrap_or_default());
                if !std::mem::replace(&mut is_opened, true)
                    && let Err(error) = background::end_input_with_shell(input)
                {
                    log.say(Level::Error, format_args!("cannot reopen input: {error}"));
                }
            }
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(error) => {
                log.say(Level::Fatal, format_args!("cannot read requests: {error}"));
                return 1;
            }
        }
    }
}

/// Computes the response to `request` in this process.
pub(super) fn answer(
    options: &Options,
    repositories: &mut Repositories,
    request: &Request,
    log: Log,
) -> Vec<u8> {
    let id = request.id.as_ref();
    let Some(path) = request.path() else {
        return response::none(id);
    };
    match repositories.prompt(path, request.from_git_dir, request.skip_index) {
        Ok(Some(prompt)) => response::some(id, &prompt, options.summary_len_max),
        Ok(None) => response::none(id),
        Err(error) => {
            log.say(Level::Error, format_args!("{}: {error}", path.display()));
            response::none(id)
        }
    }
}

fn write_all(output: BorrowedFd<'_>, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match rustix::io::write(output, bytes) {
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                // A reader may have made the pipe non-blocking; it is waited for like any other.
                let mut full = [PollFd::new(&output, PollFlags::OUT)];
                match poll(&mut full, None) {
                    Ok(_) | Err(Errno::INTR) => {}
                    Err(error) => return Err(error),
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// A file, inherited as a descriptor, on which the shell holds a lock while it lives.
struct LockFile(PathBuf);

impl LockFile {
    fn new(fd: RawFd) -> Self {
        Self(PathBuf::from(format!("/proc/self/fd/{fd}")))
    }

    /// Whether the lock is held. A file that cannot be opened any more has no lock.
    fn is_held(&self) -> bool {
        std::fs::File::open(&self.0).is_ok_and(|file| is_locked(file.as_fd()).unwrap_or(false))
    }
}
