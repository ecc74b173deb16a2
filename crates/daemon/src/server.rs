//! The process that serves one user: it lets in who is that user, a thread for each, and answers.
//!
//! Whoever sends half a message, reads nothing or sends garbage costs one of a bounded number of threads for a bounded time,
//! and his question alone.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Builder;
use std::time::{Duration, Instant};

use bstr::BString;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{AddressFamily, SocketFlags, SocketType, accept_with, bind, listen, socket_with};
use rustix::process::geteuid;
use vigil_linux::{ending, memory};

use crate::answers::{Answers, StatusWriter};
use crate::panics;
use crate::place::{Folder, Lock};
use crate::protocol::{
    Description, ProtocolError, REQUEST_LEN_MAX, RESPONSE_LEN_MAX, Request, Response, program,
};
use crate::statistics::Statistics;
use crate::stream::{Broken, Stream, timespec};
use crate::view;

/// The most connections at a time. Others are closed as soon as they come.
const CONNECTIONS_MAX: usize = 64;

/// How many may wait to be let in.
const BACKLOG: i32 = 128;

/// How long a connection has for a message, and for taking an answer.
const MESSAGE_TIME: Duration = Duration::from_secs(5);

/// How often it is looked at whether something is idle.
const ROUND: Duration = Duration::from_secs(60);

/// How long whatever nobody asks for is kept, if nothing else is said.
pub const IDLE_MAX: Duration = Duration::from_secs(3600);

/// Why a daemon cannot serve.
#[derive(Debug, thiserror::Error)]
#[error("cannot serve: {}", vigil_linux::errno::text(*.0))]
pub struct ServeError(#[from] Errno);

/// A daemon that can be asked.
pub struct Server {
    listener: OwnedFd,
    folder: Folder,
    lock: Lock,
    ends: OwnedFd,
    inner: Arc<Inner>,
    idle_max: Duration,
}

/// What the threads share.
struct Inner {
    answers: Answers,
    statistics: Statistics,
    view: Option<BString>,
    connections: AtomicUsize,
    ends: OwnedFd,
}

impl Server {
    /// Listens in `folder`, whose `lock` this process holds, and has `writer` write what `vigil status` says. From now on
    /// a signal that would end this process ends [`Self::serve`].
    ///
    /// # Errors
    /// The system.
    pub fn new(
        folder: Folder,
        lock: Lock,
        writer: Box<dyn StatusWriter>,
        idle_max: Duration,
    ) -> Result<Self, ServeError> {
        panics::silence();
        let ends = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        ending::by_event(rustix::io::fcntl_dupfd_cloexec(&ends, 3)?)?;
        folder.remove_socket(&lock)?;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let listener = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        bind(&listener, &folder.address()?)?;
        listen(&listener, BACKLOG)?;
        let inner = Arc::new(Inner {
            answers: Answers::new(writer),
            statistics: Statistics::new(),
            view: view::of_process(),
            connections: AtomicUsize::new(0),
            ends: rustix::io::fcntl_dupfd_cloexec(&ends, 3)?,
        });
        Ok(Self {
            listener,
            folder,
            lock,
            ends,
            inner,
            idle_max,
        })
    }

    /// Answers until it is told to end, by a signal or a message, or nobody has asked for long. Socket and lock are gone then.
    ///
    /// # Errors
    /// The system.
    pub fn serve(self) -> Result<(), ServeError> {
        let served = self.serve_on();
        let removed = self.folder.remove_socket(&self.lock);
        // Who comes now finds no socket, and who locks now finds no lock.
        let unlocked = match self.lock.is_in_place() {
            true => self.folder.remove_lock(self.lock),
            false => Ok(()),
        };
        served?;
        removed?;
        Ok(unlocked?)
    }

    fn serve_on(&self) -> Result<(), Errno> {
        let round = ROUND.min(self.idle_max);
        loop {
            let (listener, ends) = (self.listener.as_fd(), self.ends.as_fd());
            let mut waiting = [
                PollFd::new(&listener, PollFlags::IN),
                PollFd::new(&ends, PollFlags::IN),
            ];
            match poll(&mut waiting, Some(&timespec(round))) {
                Ok(0) => {
                    if !self.lock.is_in_place() || self.is_idle() {
                        return Ok(());
                    }
                    self.inner.answers.sessions().drop_idle(self.idle_max);
                    continue;
                }
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error),
            }
            let [listening, ending] = waiting;
            if !ending.revents().is_empty() {
                return Ok(());
            }
            if !listening.revents().is_empty() {
                self.let_in()?;
            }
        }
    }

    fn is_idle(&self) -> bool {
        self.inner.connections.load(Ordering::Relaxed) == 0
            && self.inner.statistics.summary().idle >= self.idle_max
    }

    /// Lets in one who waits for it, if there is room.
    fn let_in(&self) -> Result<(), Errno> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = match accept_with(&self.listener, flags) {
            Ok(socket) => socket,
            Err(Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOBUFS) => {
                // He stays at the door, so it would be asked again at once.
                self.pause();
                return Ok(());
            }
            // He did not wait.
            Err(_) => return Ok(()),
        };
        let is_ours = socket_peercred(&socket).is_ok_and(|peer| peer.uid == geteuid());
        if !is_ours {
            return Ok(());
        }
        let Some(place) = Place::take(&self.inner) else {
            return Ok(());
        };
        let serve = move || place.inner.converse(socket);
        // Without a thread, the connection is closed.
        let _ = Builder::new().name("connection".into()).spawn(serve);
        Ok(())
    }

    /// Waits for a moment, unless it is to end.
    fn pause(&self) {
        const MOMENT: Duration = Duration::from_millis(10);
        let ends = self.ends.as_fd();
        let mut waiting = [PollFd::new(&ends, PollFlags::IN)];
        let _ = poll(&mut waiting, Some(&timespec(MOMENT)));
    }
}

/// One of the connections that may be at a time.
struct Place {
    inner: Arc<Inner>,
}

impl Place {
    fn take(inner: &Arc<Inner>) -> Option<Self> {
        let before = inner.connections.fetch_add(1, Ordering::Relaxed);
        let place = Self {
            inner: inner.clone(),
        };
        (before < CONNECTIONS_MAX).then_some(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.inner.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Inner {
    /// Answers on one connection until it ends, whyever.
    fn converse(&self, socket: OwnedFd) {
        let mut stream = Stream::new(socket, REQUEST_LEN_MAX);
        // A defect in one answer is caught where it is made; here it costs the connection.
        let _ = panics::catch(|| match self.answer_all(&mut stream) {
            Ok(()) | Err(Broken::Closed | Broken::Late | Broken::System(_)) => {}
            Err(Broken::Protocol(error)) => {
                let refused = Response::Refused(error.to_string().into());
                let _ = stream.write(&refused.to_frame(), deadline());
            }
        });
    }

    fn answer_all(&self, stream: &mut Stream) -> Result<(), Broken> {
        let (kind, body) = stream.read(deadline())?;
        let Request::Hello(hello) =
            Request::from_frame(kind, &body).map_err(|error| match error {
                // What begins otherwise is no client of any version.
                ProtocolError::Message(_) => ProtocolError::NoHello,
                error => error,
            })?
        else {
            return Err(ProtocolError::NoHello.into());
        };
        let is_alike = self.view.as_ref() == Some(&hello.view);
        stream.write(&Response::Welcome(program().clone()).to_frame(), deadline())?;
        loop {
            let (kind, body) = stream.read(deadline())?;
            let start = Instant::now();
            let request = Request::from_frame(kind, &body)?;
            drop(body);
            let answer = match &request {
                Request::Hello(_) => return Err(ProtocolError::Message(kind).into()),
                Request::Ping => {
                    stream.write(&Response::Done.to_frame(), deadline())?;
                    continue;
                }
                Request::Stop => {
                    let told = stream.write(&Response::Done.to_frame(), deadline());
                    rustix::io::write(&self.ends, &1u64.to_ne_bytes())?;
                    return told;
                }
                Request::Describe => {
                    let description = Response::Description(self.describe());
                    stream.write(&description.to_frame(), deadline())?;
                    continue;
                }
                Request::Status(_) | Request::Prompt(_) if !is_alike => None,
                Request::Status(question) => Some(self.answers.status(question)),
                Request::Prompt(question) => Some(self.answers.prompt(question)),
            };
            let Some(answer) = answer else {
                let elsewhere = Response::Yourself("files are seen otherwise here".into());
                self.statistics.note(start, false);
                stream.write(&elsewhere.to_frame(), deadline())?;
                continue;
            };
            let mut frame = answer.response.to_frame();
            let mut is_answered = !matches!(answer.response, Response::Yourself(_));
            if frame.len() > RESPONSE_LEN_MAX {
                frame = Response::Yourself("the answer is too long".into()).to_frame();
                is_answered = false;
            }
            drop(answer.response);
            self.statistics.note(start, is_answered);
            let written = stream.write(&frame, deadline());
            drop(frame);
            if let Some(slot) = answer.slot {
                slot.save();
            }
            written?;
        }
    }

    fn describe(&self) -> Description {
        let (repositories, files) = self.answers.sessions().sizes();
        let summary = self.statistics.summary();
        let us = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        Description {
            pid: std::process::id(),
            program: program().clone(),
            repositories: repositories as u64,
            files: files as u64,
            watches: self.answers.watches() as u64,
            memory: memory::resident().unwrap_or(0),
            questions: summary.questions,
            declined: summary.declined,
            median_us: us(summary.median),
            last_us: us(summary.last),
            running_s: summary.running.as_secs(),
        }
    }
}

fn deadline() -> Instant {
    let now = Instant::now();
    now.checked_add(MESSAGE_TIME).unwrap_or(now)
}
