//! Asking a daemon, for no longer than whoever asks can wait: without an answer he finds out by himself.

use std::time::{Duration, Instant};

use bstr::{BString, ByteSlice};
use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};
use rustix::process::geteuid;
use vigil_git::environment::Environment;

use crate::place::{Place, PlaceError};
use crate::protocol::{
    self, Hello, REQUEST_LEN_MAX, RESPONSE_LEN_MAX, Request, Response, is_older,
};
use crate::stream::{Broken, Stream};
use crate::view;

/// How long whoever can answer by himself waits, if nothing else is said.
const PATIENCE: Duration = Duration::from_millis(250);

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Unanswered {
    /// No daemon runs.
    #[error("no daemon runs")]
    Absent,
    /// The folder in which its socket should be is not to be trusted.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// The socket belongs to somebody else.
    #[error("the socket in {path} is served by user {uid}", path = .place.path().display())]
    Foreign {
        /// Where it is.
        place: Place,
        /// Whose it is.
        uid: u32,
    },
    /// It takes too long.
    #[error("the daemon (pid {pid}) does not answer")]
    Late {
        /// The process, 0 where that is not known.
        pid: u32,
    },
    /// The connection ended before there was an answer.
    #[error("the daemon hung up")]
    Broken,
    /// It does not talk to us.
    #[error("the daemon (pid {pid}) refuses: {reason}")]
    Refused {
        /// The process.
        pid: u32,
        /// Why.
        reason: BString,
    },
    /// It is of another version: its answers may be other bytes.
    #[error(
        "the daemon (pid {pid}) is version {program}, and this is {}",
        protocol::program()
    )]
    Version {
        /// The process.
        pid: u32,
        /// Its version.
        program: BString,
    },
    /// It cannot be told whether it sees the same files.
    #[error("it cannot be told which files the daemon sees")]
    NoView,
    /// The question cannot be asked.
    #[error("the question is too long")]
    TooLong,
}

impl Unanswered {
    /// Whether a daemon runs that is older than this program.
    pub fn is_of_older(&self) -> bool {
        match self {
            Self::Version { program, .. } => is_older(program, protocol::program()),
            _ => false,
        }
    }
}

/// What a daemon said, and who it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Its answer.
    pub response: Response,
    /// The process.
    pub pid: u32,
}

/// Whoever asks.
#[derive(Clone, Debug)]
pub struct Client {
    place: Place,
    patience: Duration,
    /// Whether the answer depends on which files are seen.
    is_about_files: bool,
}

impl Client {
    /// One who can answer by himself: he waits no longer than `VIGIL_DAEMON_PATIENCE_MS` says, 250 if nothing does.
    pub fn of_command(environment: &Environment) -> Self {
        let patience = environment
            .get("VIGIL_DAEMON_PATIENCE_MS")
            .and_then(|value| value.to_str().ok()?.parse().ok())
            .map_or(PATIENCE, Duration::from_millis);
        Self {
            place: Place::of(environment),
            patience,
            is_about_files: true,
        }
    }

    /// One who asks about the daemon itself, and waits for `patience`.
    pub fn of_daemon(environment: &Environment, patience: Duration) -> Self {
        Self {
            place: Place::of(environment),
            patience,
            is_about_files: false,
        }
    }

    /// Where the daemon is looked for.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Asks for `request`, whose answer must be of this version of the program.
    ///
    /// # Errors
    /// There is none.
    pub fn ask(&self, request: &Request) -> Result<Said, Unanswered> {
        self.converse(request, true)
    }

    /// The same, whatever the version.
    ///
    /// # Errors
    /// There is no answer.
    pub fn ask_any(&self, request: &Request) -> Result<Said, Unanswered> {
        self.converse(request, false)
    }

    fn converse(&self, request: &Request, same_program: bool) -> Result<Said, Unanswered> {
        let end = Instant::now()
            .checked_add(self.patience)
            .ok_or(Unanswered::TooLong)?;
        let (mut stream, pid) = self.connect()?;
        let view = match self.is_about_files {
            true => view::of_process().ok_or(Unanswered::NoView)?,
            false => BString::default(),
        };
        let hello = Hello::new(view);
        let frames = [Request::Hello(hello).to_frame(), request.to_frame()];
        if frames.iter().any(|frame| frame.len() > REQUEST_LEN_MAX) {
            return Err(Unanswered::TooLong);
        }
        let unanswered = |broken| match broken {
            Broken::Late => Unanswered::Late { pid },
            Broken::Protocol(_) | Broken::Closed | Broken::System(_) => Unanswered::Broken,
        };
        // Who refuses does so before he has read all: what he says counts.
        let written = stream.write(&frames.concat(), end);
        if let Err(broken @ Broken::Late) = written {
            return Err(unanswered(broken));
        }
        let mut read = || {
            let (kind, body) = stream.read(end)?;
            Ok(Response::from_frame(kind, &body)?)
        };
        match read().map_err(unanswered)? {
            Response::Welcome(program) if same_program && program != *protocol::program() => {
                Err(Unanswered::Version { pid, program })
            }
            Response::Welcome(_) => match read().map_err(unanswered)? {
                Response::Refused(reason) => Err(Unanswered::Refused { pid, reason }),
                response => Ok(Said { response, pid }),
            },
            Response::Refused(reason) => Err(Unanswered::Refused { pid, reason }),
            _ => Err(Unanswered::Broken),
        }
    }

    /// The connection, and the process at its other end, which is this user's.
    fn connect(&self) -> Result<(Stream, u32), Unanswered> {
        let folder = self.place.open().map_err(|error| match error {
            PlaceError::Unusable {
                source: Errno::NOENT,
                ..
            } => Unanswered::Absent,
            error => error.into(),
        })?;
        let failed = |_: Errno| Unanswered::Broken;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket =
            socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).map_err(failed)?;
        let address = folder.address().map_err(failed)?;
        match connect(&socket, &address) {
            Ok(()) => {}
            Err(Errno::NOENT | Errno::CONNREFUSED) => return Err(Unanswered::Absent),
            // As many wait to be let in as may.
            Err(Errno::AGAIN) => return Err(Unanswered::Late { pid: 0 }),
            Err(_) => return Err(Unanswered::Broken),
        }
        let peer = socket_peercred(&socket).map_err(failed)?;
        if peer.uid != geteuid() {
            return Err(Unanswered::Foreign {
                place: self.place.clone(),
                uid: peer.uid.as_raw(),
            });
        }
        let pid = u32::try_from(peer.pid.as_raw_nonzero().get()).unwrap_or_default();
        Ok((Stream::new(socket, RESPONSE_LEN_MAX), pid))
    }
}
