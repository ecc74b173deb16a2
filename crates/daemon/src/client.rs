//! Asking a daemon, within the time that the client can wait. Without an answer, the client computes it itself.

mod subscription;

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use bstr::{BString, ByteSlice};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};
use rustix::process::geteuid;
use vigil_git::environment::Environment;
use vigil_linux::socket::peer;
use vigil_model::raw_text::raw;

use crate::protocol::{
    self, Hello, REQUEST_LEN_MAX, RESPONSE_LEN_MAX, Request, Response, is_older,
};
use crate::runtime_folder::{FolderError, RuntimePath};
use crate::stream::{Broken, Stream};
use crate::view;

pub use subscription::Subscription;

/// How long a client that can compute the answer itself waits, by default.
pub const PATIENCE: Duration = Duration::from_millis(250);

/// The total wait of a client that hears that its answer is being worked on, as a multiple of its patience.
const AT_WORK_TIMES: u32 = 16;

/// How long the user wants clients to wait (`VIGIL_DAEMON_PATIENCE_MS`), if that is set.
pub fn patience(environment: &Environment) -> Option<Duration> {
    let value = environment.get("VIGIL_DAEMON_PATIENCE_MS")?;
    Some(Duration::from_millis(value.to_str().ok()?.parse().ok()?))
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Unanswered {
    /// No daemon runs.
    #[error("no daemon is running")]
    Absent,
    /// The folder in which its socket should be cannot be trusted.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The socket is served by another user.
    #[error("the socket in {path} is served by user {uid}", path = .runtime_path.path().display())]
    Foreign {
        /// The folder.
        runtime_path: RuntimePath,
        /// The user.
        uid: u32,
    },
    /// There was no answer in time.
    #[error("the daemon{} does not answer", in_brackets(*.pid))]
    Late {
        /// The process, or 0 if it is not known.
        pid: u32,
    },
    /// There was no answer in time for another command, a moment ago.
    #[error("the daemon was too slow just now, and is left alone for a while")]
    WasSlow,
    /// The connection ended before there was an answer.
    #[error("the daemon hung up")]
    Broken,
    /// The daemon refuses the client.
    #[error("the daemon{} refuses: {reason}", in_brackets(*.pid), reason = raw(reason))]
    Refused {
        /// The process, or 0 if it is not known.
        pid: u32,
        /// The reason.
        reason: BString,
    },
    /// The daemon is of another version: its answers may differ in their bytes.
    #[error(
        "the daemon (pid {pid}) is version {program}, and this is {}",
        raw(&protocol::program()), program = raw(program)
    )]
    Version {
        /// The process.
        pid: u32,
        /// Its version.
        program: BString,
    },
    /// It cannot be determined whether the daemon sees the same files.
    #[error("cannot tell which files the daemon sees")]
    NoView,
    /// The question, with what the client says of itself, has more bytes than a daemon accepts.
    #[error("the question is too long")]
    TooLong,
    /// The end of the wait lies further in the future than the clock can tell.
    #[error("the time to wait for the daemon is too long")]
    TooPatient,
}

impl Unanswered {
    /// Whether a daemon should be started: none is running, or one that is older than this program, which the new one makes end.
    pub fn calls_for_start(&self) -> bool {
        matches!(self, Self::Absent) || self.is_of_older()
    }

    /// Whether a daemon is running that is older than this program.
    pub fn is_of_older(&self) -> bool {
        match self {
            Self::Version { program, .. } => is_older(program, protocol::program()),
            _ => false,
        }
    }
}

/// ` (pid N)` for a message, or nothing if the process is not known.
fn in_brackets(pid: u32) -> String {
    match pid {
        0 => String::new(),
        pid => format!(" (pid {pid})"),
    }
}

/// A daemon's answer, and which daemon gave it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DaemonAnswer {
    /// Its answer.
    pub response: Response,
    /// The process.
    pub pid: u32,
}

/// A client of the daemon.
#[derive(Clone, Debug)]
pub struct Client {
    runtime_path: RuntimePath,
    patience: Duration,
    /// Whether the answer depends on how this process sees files.
    is_about_files: bool,
    /// Whether the client can compute the answer itself.
    has_fallback: bool,
}

impl Client {
    /// Creates a client that can compute the answer itself. Waits `VIGIL_DAEMON_PATIENCE_MS`, or else [`PATIENCE`].
    pub fn for_command(environment: &Environment) -> Self {
        Self {
            runtime_path: RuntimePath::of(environment),
            patience: patience(environment).unwrap_or(PATIENCE),
            is_about_files: true,
            has_fallback: true,
        }
    }

    /// Creates a client that asks about the daemon itself, and waits for `patience`.
    pub fn for_daemon(environment: &Environment, patience: Duration) -> Self {
        Self {
            runtime_path: RuntimePath::of(environment),
            patience,
            is_about_files: false,
            has_fallback: false,
        }
    }

    /// Creates a client that asks about files, cannot compute the answer itself, and waits for `patience`.
    pub fn for_files(environment: &Environment, patience: Duration) -> Self {
        Self {
            runtime_path: RuntimePath::of(environment),
            patience,
            is_about_files: true,
            has_fallback: false,
        }
    }

    /// Where the client looks for the daemon.
    pub fn runtime_path(&self) -> &RuntimePath {
        &self.runtime_path
    }

    /// Sends `request` and returns the answer, which must come from this version of the program.
    ///
    /// # Errors
    /// There is no answer.
    pub fn ask(&self, request: &Request) -> Result<DaemonAnswer, Unanswered> {
        self.converse(request, true)
    }

    /// As [`Self::ask`], for one of many commands in a script, or prompts in a row: if there is no answer in time, all of them
    /// leave the daemon alone for a while, so that only one has waited.
    ///
    /// # Errors
    /// There is no answer.
    pub fn ask_unless_slow(&self, request: &Request) -> Result<DaemonAnswer, Unanswered> {
        if self.runtime_path.was_slow() {
            return Err(Unanswered::WasSlow);
        }
        let answer = self.ask(request);
        if let Err(Unanswered::Late { .. }) = answer {
            self.runtime_path.note_slow();
        }
        answer
    }

    /// Does the same as [`Self::ask`] with a daemon of any version.
    ///
    /// # Errors
    /// There is no answer.
    pub fn ask_any(&self, request: &Request) -> Result<DaemonAnswer, Unanswered> {
        self.converse(request, false)
    }

    fn converse(&self, request: &Request, same_program: bool) -> Result<DaemonAnswer, Unanswered> {
        let deadline = self.deadline()?;
        let mut connection = self.greet(&request.to_frame(), same_program, &deadline)?;
        let response = connection.read(&deadline)?;
        let pid = connection.pid;
        Ok(DaemonAnswer { response, pid })
    }

    /// The deadline of the wait that begins now.
    fn deadline(&self) -> Result<Deadline, Unanswered> {
        let last = self.patience.checked_mul(AT_WORK_TIMES);
        let last = last.and_then(|last| Instant::now().checked_add(last));
        Ok(Deadline {
            patience: self.patience,
            last: last.ok_or(Unanswered::TooPatient)?,
            heard_at: Instant::now(),
        })
    }

    /// Opens a connection and sends `request` on it.
    fn greet(
        &self,
        request: &[u8],
        same_program: bool,
        deadline: &Deadline,
    ) -> Result<Connection, Unanswered> {
        let mut connection = self.connect()?;
        let view = match self.is_about_files {
            true => view::of_process().ok_or(Unanswered::NoView)?,
            false => BString::default(),
        };
        let hello = Request::Hello(Hello::new(view)).to_frame();
        if hello.len() > REQUEST_LEN_MAX {
            return Err(Unanswered::TooLong);
        }
        let written = connection.write(&[hello.as_slice(), request].concat(), deadline.first());
        let welcome = written.and_then(|()| connection.read(deadline));
        let Response::Welcome { program, pid } = welcome.map_err(|error| match error {
            Unanswered::Late { .. } => Unanswered::Late {
                pid: self.who_serves(&connection),
            },
            Unanswered::Refused { reason, .. } => Unanswered::Refused {
                pid: self.who_serves(&connection),
                reason,
            },
            error => error,
        })?
        else {
            return Err(Unanswered::Broken);
        };
        connection.pid = pid;
        if same_program && program != *protocol::program() {
            return Err(Unanswered::Version { pid, program });
        }
        Ok(connection)
    }

    /// Finds the process that serves `connection`, which has not told its pid. 0 if it is not certain.
    fn who_serves(&self, connection: &Connection) -> u32 {
        let holder = self
            .runtime_path
            .open()
            .ok()
            .and_then(|one| one.last_holder());
        let socket_creator = Some(connection.socket_creator)
            .filter(|socket_creator| Some(*socket_creator) == holder);
        socket_creator.unwrap_or_default()
    }

    /// Creates a socket to connect by. A client that can do without the daemon does not wait if the daemon's backlog is full.
    fn socket(&self) -> Result<OwnedFd, Errno> {
        let flags = match self.has_fallback {
            true => SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
            false => SocketFlags::CLOEXEC,
        };
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        if !self.has_fallback {
            set_socket_timeout(&socket, Timeout::Send, Some(self.patience))?;
        }
        Ok(socket)
    }

    /// Connects to a process of this user.
    fn connect(&self) -> Result<Connection, Unanswered> {
        let folder = self.runtime_path.open().map_err(|error| match error {
            FolderError::Unusable {
                source: Errno::NOENT,
                ..
            } => Unanswered::Absent,
            error => error.into(),
        })?;
        let failed = |_: Errno| Unanswered::Broken;
        let address = folder.address().map_err(failed)?;
        let socket = self.socket().map_err(failed)?;
        match connect(&socket, &address) {
            Ok(()) => {}
            Err(Errno::NOENT | Errno::CONNREFUSED) => return Err(Unanswered::Absent),
            // The backlog is full.
            Err(Errno::AGAIN) => {
                let holder = (!self.has_fallback).then(|| folder.holder());
                let pid = holder.flatten().unwrap_or_default();
                return Err(Unanswered::Late { pid });
            }
            Err(_) => return Err(Unanswered::Broken),
        }
        if !self.has_fallback {
            ioctl_fionbio(&socket, true).map_err(failed)?;
        }
        let peer = peer(&socket).map_err(failed)?;
        if peer.uid != geteuid().as_raw() {
            return Err(Unanswered::Foreign {
                runtime_path: self.runtime_path.clone(),
                uid: peer.uid,
            });
        }
        let stream = Stream::new(socket, RESPONSE_LEN_MAX);
        Ok(Connection {
            stream,
            socket_creator: peer.pid.unwrap_or_default().unsigned_abs(),
            pid: 0,
        })
    }
}

/// A client that asks often, and keeps its connection.
#[derive(Debug)]
pub(crate) struct Caller {
    client: Client,
    kept: Option<Connection>,
    /// A connection on which a late answer is still to come.
    late: Option<Connection>,
}

impl Caller {
    /// Creates a caller that asks as `client` would.
    pub(crate) fn new(client: Client) -> Self {
        Self {
            client,
            kept: None,
            late: None,
        }
    }

    /// Sends `request` and returns the answer, which must come from this version of the program. If the connection has ended
    /// since the last question, or ends before the answer, a new one is tried once.
    ///
    /// # Errors
    /// There is no answer.
    pub(crate) fn ask(&mut self, request: &Request) -> Result<DaemonAnswer, Unanswered> {
        let (request, deadline) = (request.to_frame(), self.client.deadline()?);
        if let Some(kept) = self.kept.take() {
            kept.write(&request, deadline.first())?;
            match self.answer_on(kept, &deadline) {
                Err(Unanswered::Broken) => {}
                answered => return answered,
            }
        }
        let connection = self.client.greet(&request, true, &deadline)?;
        self.answer_on(connection, &deadline)
    }

    /// Reads the answer on `connection`. Then keeps the connection, for the next question or for the late answer.
    fn answer_on(
        &mut self,
        mut connection: Connection,
        deadline: &Deadline,
    ) -> Result<DaemonAnswer, Unanswered> {
        let (answered, pid) = (connection.read(deadline), connection.pid);
        match &answered {
            Ok(_) => self.kept = Some(connection),
            Err(Unanswered::Late { .. }) => self.late = Some(connection),
            Err(_) => {}
        }
        answered.map(|response| DaemonAnswer { response, pid })
    }

    /// Sends `request` without waiting for the answer, so that the daemon has it in memory.
    ///
    /// # Errors
    /// The request could not be sent.
    pub(crate) fn ask_ahead(&mut self, request: &Request) -> Result<(), Unanswered> {
        let deadline = self.client.deadline()?;
        self.late = Some(self.client.greet(&request.to_frame(), true, &deadline)?);
        Ok(())
    }

    /// Whether a late answer has arrived by now. Then the daemon is alive, and can be asked again without risk.
    pub(crate) fn take_late_answer(&mut self) -> bool {
        let Some(mut late) = self.late.take() else {
            return false;
        };
        match late.read(&Deadline::now()) {
            // The answer is to an old question, and of no use.
            Ok(_) => {
                self.kept = Some(late);
                true
            }
            Err(Unanswered::Late { .. }) => {
                self.late = Some(late);
                false
            }
            Err(_) => false,
        }
    }
}

/// A connection.
#[derive(Debug)]
struct Connection {
    stream: Stream,
    /// The process that created the socket, which need not be the one that serves it.
    socket_creator: u32,
    /// The process that serves, or 0 until it has told its pid.
    pid: u32,
}

impl Connection {
    /// Sends `frames`. Errors other than lateness are ignored: a daemon that refuses the client may close before it has read
    /// everything, and its reply counts.
    fn write(&self, frames: &[u8], deadline: Instant) -> Result<(), Unanswered> {
        if frames.len() > REQUEST_LEN_MAX {
            return Err(Unanswered::TooLong);
        }
        match self.stream.write(frames, deadline) {
            Err(Broken::Late) => Err(Unanswered::Late { pid: self.pid }),
            _ => Ok(()),
        }
    }

    /// Reads the next message, skipping notices that the answer is being worked on. A refusal is an error.
    fn read(&mut self, deadline: &Deadline) -> Result<Response, Unanswered> {
        let (pid, mut until) = (self.pid, deadline.first());
        loop {
            let read = self
                .stream
                .read(until)
                .and_then(|(kind, body)| Ok(Response::from_frame(kind, &body)?));
            return match read {
                Ok(Response::AtWork) => {
                    until = deadline.later();
                    continue;
                }
                Ok(Response::Refused(reason)) => Err(Unanswered::Refused { pid, reason }),
                Ok(response) => Ok(response),
                Err(Broken::Late) => Err(Unanswered::Late { pid }),
                Err(Broken::Protocol(_) | Broken::Closed | Broken::System(_)) => {
                    Err(Unanswered::Broken)
                }
            };
        }
    }
}

/// Until when a client waits.
#[derive(Debug)]
struct Deadline {
    /// How long it waits for a sign of life.
    patience: Duration,
    heard_at: Instant,
    /// When it gives up in any case.
    last: Instant,
}

impl Deadline {
    /// Does not wait at all.
    fn now() -> Self {
        Self {
            patience: Duration::ZERO,
            heard_at: Instant::now(),
            last: Instant::now(),
        }
    }

    /// When the client gives up if it hears nothing.
    fn first(&self) -> Instant {
        let deadline = self.heard_at.checked_add(self.patience);
        deadline.map_or(self.last, |deadline| deadline.min(self.last))
    }

    /// When the client gives up if it hears just now that its answer is being worked on.
    fn later(&self) -> Instant {
        let deadline = Instant::now().checked_add(self.patience);
        deadline.map_or(self.last, |deadline| deadline.min(self.last))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::sync::mpsc::{Receiver, channel};

    use super::*;

    /// Greets all connections, and hands them out.
    fn greet_all(listener: UnixListener) -> Receiver<UnixStream> {
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            let welcome = Response::Welcome {
                program: protocol::program().clone(),
                pid: 1,
            };
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                // The client may be gone.
                let _ = stream.write_all(&welcome.to_frame());
                if sender.send(stream).is_err() {
                    return;
                }
            }
        });
        receiver
    }

    #[test]
    fn an_answer_that_comes_late_shows_that_the_daemon_lives_and_is_no_answer_to_the_next_question()
    {
        let folder = tempfile::tempdir().unwrap();
        let private = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(folder.path(), private).unwrap();
        let listener = UnixListener::bind(folder.path().join("daemon.sock")).unwrap();
        let run = folder.path().to_str().unwrap();
        let variables = [
            ("VIGIL_RUNTIME_DIR", run),
            ("VIGIL_DAEMON_PATIENCE_MS", "1"),
        ];
        let variables = variables.map(|(name, value)| (name.into(), value.into()));
        let environment = Environment::new(variables, "/");
        let mut caller = Caller::new(Client::for_command(&environment));
        let greeted = greet_all(listener);
        // A client that was not greeted in time is late, too, and asks again.
        let (late, mut stream) = loop {
            let asked = caller.ask(&Request::Ping);
            let stream = greeted.recv().unwrap();
            match asked {
                Err(late) if caller.late.is_some() => break (late, stream),
                _ => {}
            }
        };
        assert!(matches!(late, Unanswered::Late { .. }), "{late}");
        assert!(!caller.take_late_answer());
        stream
            .write_all(&Response::Yourself("late".into()).to_frame())
            .unwrap();
        assert!(caller.take_late_answer());
        assert!(!caller.take_late_answer());
        stream.write_all(&Response::Done.to_frame()).unwrap();
        // The connection is ready for it.
        let answer = caller.ask(&Request::Ping).unwrap();
        assert_eq!(answer.response, Response::Done);
    }

    #[test]
    fn that_an_answer_is_being_found_out_is_no_answer() {
        let folder = tempfile::tempdir().unwrap();
        let private = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(folder.path(), private).unwrap();
        let listener = UnixListener::bind(folder.path().join("daemon.sock")).unwrap();
        let run = folder.path().to_str().unwrap();
        let variables = [("VIGIL_RUNTIME_DIR", run)];
        let variables = variables.map(|(name, value)| (name.into(), value.into()));
        let client = Client::for_daemon(&Environment::new(variables, "/"), Duration::from_secs(60));
        let greeted = greet_all(listener);
        let answers = std::thread::spawn(move || {
            let mut stream = greeted.recv().unwrap();
            for response in [Response::AtWork, Response::AtWork, Response::Done] {
                stream.write_all(&response.to_frame()).unwrap();
            }
        });
        let answer = client.ask(&Request::Ping).unwrap();
        assert_eq!(answer.response, Response::Done);
        answers.join().unwrap();
    }

    #[test]
    fn a_wait_without_end_is_not_mistaken_for_a_long_question() {
        let environment = Environment::new([], "/");
        let client = Client::for_daemon(&environment, Duration::MAX);
        let refused = client.ask(&Request::Ping).unwrap_err();
        assert!(matches!(refused, Unanswered::TooPatient), "{refused}");
    }

    #[test]
    fn a_sign_of_life_prolongs_a_wait_up_to_a_limit() {
        let now = Instant::now();
        let after = |ms| now.checked_add(Duration::from_millis(ms)).unwrap();
        let deadline = Deadline {
            patience: Duration::from_millis(100),
            heard_at: now,
            last: after(100_000),
        };
        assert_eq!(deadline.first(), after(100));
        assert!(deadline.later() >= deadline.first() && deadline.later() <= deadline.last);
        let deadline = Deadline {
            last: after(50),
            ..deadline
        };
        assert_eq!((deadline.first(), deadline.later()), (after(50), after(50)));
    }
}
