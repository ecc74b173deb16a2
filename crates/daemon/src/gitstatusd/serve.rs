//! The main loop: reads requests, writes responses, and checks that the client is alive.

use std::os::fd::{AsFd, BorrowedFd, RawFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, retry_on_intr};
use vigil_git::environment::Environment;
use vigil_linux::blocking::write_all;
use vigil_linux::errno::is_shortage;
use vigil_linux::process::{die_of_broken_pipe, is_locked};
use vigil_linux::process_handle::ProcessHandle;

use super::background;
use super::daemon::Daemon;
use super::drawing::Drawer;
use super::log::{Level, Log};
use super::options::Options;
use super::parent::{self, Parent};
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
    let environment = of_user(environment);
    if options.is_attached
        && let Some(pid) = options.parent_pid
        && let Ok(parent) = ProcessHandle::open(pid)
    {
        // Checks between answers are not enough: a filter may take any time. If this fails, they are all there is.
        let _ = parent::end_with(Arc::new(parent));
    }
    let mut server = Server {
        options,
        drawer,
        input,
        output,
        log: Log {
            least: options.log_level,
        },
        lock: options.lock_fd.map(LockFile::new),
        parent: options.parent_pid.map(Parent::new),
        is_opened: !options.is_attached,
        checks: 0,
        daemon: Daemon::new(options, &environment),
        repositories: Repositories::new(options, environment),
        records: Records::default(),
    };
    match server.run() {
        Stop::NoClient => 0,
        Stop::Failed => 1,
    }
}

/// Why no more requests are answered. The log says more.
enum Stop {
    NoClient,
    Failed,
}

/// A process that answers the requests of one client.
struct Server<'s> {
    options: &'s Options,
    drawer: Option<&'s Drawer>,
    input: BorrowedFd<'s>,
    output: BorrowedFd<'s>,
    log: Log,
    lock: Option<LockFile>,
    parent: Option<Parent>,
    /// Whether the client has opened the input: in the background, only once it has sent something.
    is_opened: bool,
    /// The number of times that no request came within [`IDLE`].
    checks: u32,
    daemon: Daemon,
    repositories: Repositories,
    records: Records,
}

impl Server<'_> {
    fn run(&mut self) -> Stop {
        loop {
            if let Err(stop) = self.answer_requests().and_then(|()| self.receive()) {
                return stop;
            }
        }
    }

    /// Answers the requests that have been received completely.
    fn answer_requests(&mut self) -> Result<(), Stop> {
        let log = self.log;
        while let Some(record) = self.records.next() {
            let Some(request) = Request::parse(record) else {
                log.say(Level::Error, format_args!("malformed request: {record:?}"));
                continue;
            };
            if self.options.is_attached && request.id == background::STOP_REQUEST_ID {
                return Err(Stop::NoClient);
            }
            let response = match self.daemon.ask(&request) {
                Some(response) => {
                    self.repositories.forget_all();
                    response
                }
                None => answer(self.options, &mut self.repositories, &request, log),
            };
            let response = match self.drawer {
                Some(draw) => draw(request.whereabouts(), response),
                None => response,
            };
            match write_all(self.output, &response) {
                Ok(()) => {}
                Err(Errno::PIPE) => die_of_broken_pipe(),
                Err(error) => return Err(self.failed("write a response", error)),
            }
            self.repositories
                .save(|line| log.say(Level::Debug, format_args!("{line}")));
            self.repositories.tidy_up(|git_dir| {
                log.say(Level::Info, format_args!("forgot {}", git_dir.display()));
            });
        }
        Ok(())
    }

    /// Waits for input, and reads it. While there is none, checks every [`IDLE`] that the client is there.
    fn receive(&mut self) -> Result<(), Stop> {
        let mut waiting = [PollFd::new(&self.input, PollFlags::IN)];
        let time = self.daemon.ask_missed_after().map(timespec);
        match poll(&mut waiting, Some(time.as_ref().unwrap_or(&IDLE))) {
            Ok(0) if time.is_some() => {
                self.daemon.ask_missed();
                Ok(())
            }
            Ok(0) => self.check_client(),
            Ok(_) => self.read(),
            Err(Errno::INTR) => Ok(()),
            Err(error) => Err(self.failed("wait for requests", error)),
        }
    }

    /// Checks that the client is there, and drops repositories that nobody has asked about for long.
    fn check_client(&mut self) -> Result<(), Stop> {
        let log = self.log;
        let gone = |reason: &str| {
            log.say(Level::Info, reason);
            Err(Stop::NoClient)
        };
        if self.lock.as_ref().is_some_and(|lock| !lock.is_held()) {
            return gone("the lock is gone");
        }
        let strictly = self.options.is_attached;
        let parent = self.parent.as_ref();
        if parent.is_some_and(|parent| !parent.is_there(strictly)) {
            return gone("the parent is gone");
        }
        self.checks = self.checks.saturating_add(1);
        if !self.is_opened && self.checks >= CHECKS_MAX {
            return gone("nobody asks");
        }
        if let Some(ttl_s) = self.options.repo_ttl_s {
            let ttl = Duration::from_secs(ttl_s);
            self.repositories.drop_idle(ttl, |git_dir| {
                log.say(Level::Info, format_args!("forgot {}", git_dir.display()));
            });
        }
        Ok(())
    }

    fn read(&mut self) -> Result<(), Stop> {
        let mut buffer = [0u8; 4096];
        match rustix::io::read(self.input, &mut buffer) {
            Ok(0) => Err(Stop::NoClient),
            Ok(len) => {
                self.records.feed(buffer.get(..len).unwrap_or_default());
                if !std::mem::replace(&mut self.is_opened, true)
                    && let Err(error) = background::end_input_with_shell(self.input)
                {
                    let log = self.log;
                    log.say(Level::Error, format_args!("cannot reopen input: {error}"));
                }
                Ok(())
            }
            Err(Errno::INTR | Errno::AGAIN) => Ok(()),
            Err(error) => Err(self.failed("read requests", error)),
        }
    }

    fn failed(&self, operation: &str, error: Errno) -> Stop {
        self.log
            .say(Level::Fatal, format_args!("cannot {operation}: {error}"));
        Stop::Failed
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

/// A file, inherited as a descriptor, on which the shell holds a lock while it lives.
struct LockFile(PathBuf);

impl LockFile {
    fn new(fd: RawFd) -> Self {
        Self(PathBuf::from(format!("/proc/self/fd/{fd}")))
    }

    /// Whether the lock is held. A file that cannot be opened any more has no lock, unless no file can be opened right now.
    fn is_held(&self) -> bool {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let opened = retry_on_intr(|| open(&self.0, flags, Mode::empty()));
        opened
            .and_then(|file| is_locked(file.as_fd()))
            .unwrap_or_else(is_shortage)
    }
}
