//! The process that serves one user: it accepts connections of that user, and answers.
//!
//! A client that sends half a message, reads nothing, sends garbage or merely stays costs one of a bounded number of connections,
//! and only its own question. A thread is busy only with a question.

mod at_work;
mod connection;
mod connections;
mod conversation;
mod lateness;
mod subscribers;
mod workers;

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;
use vigil_linux::inotify::Queue;
use vigil_linux::process::thread_builder;
use vigil_linux::{ending, errno, memory, mounts};

use self::connection::Connection;
use self::conversation::Host;
use self::lateness::Lateness;
use self::workers::Workers;
use crate::accept::accept_own;
use crate::answers::{Answers, StatusWriter};
use crate::audit::Auditor;
use crate::panics;
use crate::runtime_folder::{FileError, Folder, Lock, SocketId};
use crate::stream::timespec;
use crate::work_ahead;

/// The least time that a connection has for the rest of a message, and for reading an answer.
const MESSAGE_TIME: Duration = Duration::from_secs(5);

/// The number of checks for idleness within the idle time.
const ROUNDS: u32 = 60;

/// How long a session, and the daemon itself, stays without a question, by default.
pub const IDLE_MAX: Duration = Duration::from_secs(3600);

/// Why a daemon cannot serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// A system call failed.
    #[error("cannot serve: {}", vigil_linux::errno::text(*.0))]
    System(#[from] Errno),
    /// A file in its folder could not be used.
    #[error("cannot serve: {0}")]
    File(#[from] FileError),
}

/// The socket to which clients connect.
struct ListeningSocket {
    listener: OwnedFd,
    /// The identity of the socket file, as found by its path.
    id: Option<SocketId>,
    /// Whether another process created the socket, and keeps it when this one ends.
    is_inherited: bool,
}

/// How often things are done unasked, and how soon clients expect answers.
#[derive(Clone, Copy, Debug)]
pub struct Intervals {
    /// How long a session, and the daemon itself, stays without a question.
    pub idle_max: Duration,
    /// The least time between two samples that compare what is kept with the disk.
    pub sample_rest: Duration,
    /// How long a working copy is not tried again after it had no answer.
    pub declined_rest: Duration,
    /// The least time that a client waits. A client whose answer took longer may have noted that this daemon is slow.
    pub patience: Duration,
}

/// A daemon that is ready to serve.
pub struct Server {
    listening_socket: ListeningSocket,
    folder: Folder,
    lock: Lock,
    ends: OwnedFd,
    host: Arc<Host>,
    idle_max: Duration,
}

impl Server {
    /// Listens in `folder`, whose `lock` this process holds. `writer` formats the answers of `vigil status`. `inherited` is the
    /// listening socket if another process has created it, and keeps it. From now on, a signal that would end this process makes
    /// [`Self::serve`] return.
    ///
    /// # Errors
    /// A system call failed, or a file in the folder could not be used.
    pub fn new(
        folder: Folder,
        lock: Lock,
        inherited: Option<OwnedFd>,
        writer: Box<dyn StatusWriter>,
        intervals: Intervals,
    ) -> Result<Self, ServeError> {
        panics::silence();
        memory::return_freed_memory();
        let ends = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        ending::redirect_signals_to(rustix::io::fcntl_dupfd_cloexec(&ends, 3)?)?;
        let slow_note = folder.slow_note(&lock)?;
        slow_note.forget()?;
        let is_inherited = inherited.is_some();
        let listener = match inherited {
            Some(listener) => listener,
            None => folder.listen(&lock)?,
        };
        let listening_socket = ListeningSocket {
            listener,
            id: folder.socket(),
            is_inherited,
        };
        let auditor = Auditor::new(folder.log()?, intervals.sample_rest);
        let lateness = Lateness {
            note: slow_note,
            patience: intervals.patience,
        };
        let answers = Answers::new(writer, intervals.declined_rest)?;
        let told_to_end = rustix::io::fcntl_dupfd_cloexec(&ends, 3)?;
        let host = Host::new(answers, told_to_end, auditor, lateness)?;
        Ok(Self {
            listening_socket,
            folder,
            lock,
            ends,
            host: Arc::new(host),
            idle_max: intervals.idle_max,
        })
    }

    /// Answers until a signal or a message tells it to end, or nobody has asked for long. Then removes the socket and the lock.
    ///
    /// # Errors
    /// A system call failed, or a file in the folder could not be removed.
    pub fn serve(self) -> Result<(), ServeError> {
        let served = self.serve_on();
        self.host.answers().git_sockets().close_all();
        self.answer_last_gits();
        let forgotten = self.host.lateness().forget();
        // If another socket is in its place by now, that belongs to another process.
        let removed = match !self.listening_socket.is_inherited && self.is_in_place() {
            true => self.folder.remove_socket(&self.lock),
            false => Ok(()),
        };
        // The socket goes before the lock: clients find no socket from now on, and a daemon that starts finds no lock.
        let unlocked = match self.lock.is_in_place() {
            true => self.folder.remove_lock(self.lock),
            false => Ok(()),
        };
        served?;
        removed.and(forgotten)?;
        Ok(unlocked?)
    }

    /// Starts the threads that answer, work ahead, read events and keep clients waiting. Only those that answer are needed.
    fn start_threads(&self) -> Result<(), Errno> {
        let host = self.host.clone();
        let workers = Workers::new(move |begin| host.attend_to_next(begin));
        if !workers.start() {
            return Err(Errno::AGAIN);
        }
        let host = self.host.clone();
        // Without this thread, each question does its own work, and those that wait for changes look for them by themselves.
        let ahead = thread_builder().name("ahead".to_owned()).spawn(move || {
            work_ahead::run(host.answers(), &|deputy| host.inform_and_audit(deputy))
        });
        if ahead.is_err() {
            self.host.inform_nobody();
        }
        let host = self.host.clone();
        // Without this thread, events are only read for a question, and those that wait for changes ask none.
        let events = thread_builder()
            .name("events".to_owned())
            .spawn(move || work_ahead::read_events(host.answers()));
        if events.is_err() {
            self.host.inform_nobody();
        }
        let host = self.host.clone();
        // Without this thread, clients that wait for long compute the answer themselves.
        let _ = thread_builder()
            .name("at work".to_owned())
            .spawn(move || while host.at_work().inform_clients() {});
        Ok(())
    }

    fn serve_on(&self) -> Result<(), Errno> {
        self.start_threads()?;
        let round = self.idle_max / ROUNDS;
        let mut looked_at = Instant::now();
        // Without these, a removed or hidden folder is only noticed in the next round.
        let mut changes = self.folder.changes();
        let mounts = mounts::Changes::new().ok();
        // What was removed earlier causes no event.
        if !self.is_in_place() {
            return Ok(());
        }
        loop {
            let (listener, ends) = (self.listening_socket.listener.as_fd(), self.ends.as_fd());
            let git_sockets = self.host.answers().git_sockets().waiting();
            let folder = changes.as_ref().map_or(ends, Queue::as_fd);
            let mounted = mounts.as_ref().map_or(ends, mounts::Changes::as_fd);
            let mut waiting = [
                PollFd::new(&listener, PollFlags::IN),
                PollFd::new(&ends, PollFlags::IN),
                PollFd::new(&git_sockets, PollFlags::IN),
                PollFd::from_borrowed_fd(folder, PollFlags::IN),
                PollFd::from_borrowed_fd(mounted, mounts::Changes::POLL_FLAGS),
            ];
            let rest = round.saturating_sub(looked_at.elapsed());
            match poll(&mut waiting, Some(&timespec(rest))) {
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error),
            }
            let [listening, ending, at_git_sockets, in_folder, mounting] =
                waiting.map(|fd| fd.revents());
            // A signal sent before a client connected may be handled only after poll(2) has reported the client.
            if !ending.is_empty() || self.is_to_end() {
                return Ok(());
            }
            if !in_folder.is_empty()
                && let Some(queue) = &mut changes
            {
                queue.drain(|_| ())?;
            }
            let may_be_gone = !in_folder.is_empty() || mounts::Changes::are_reported_by(mounting);
            if may_be_gone && !self.is_in_place() {
                return Ok(());
            }
            if !listening.is_empty() {
                self.accept_client();
            }
            if !at_git_sockets.is_empty() {
                self.accept_git();
            }
            if looked_at.elapsed() >= round {
                looked_at = Instant::now();
                if !self.is_in_place() || self.host.is_idle_for(self.idle_max) {
                    return Ok(());
                }
                self.host.connections().close_unfinished(MESSAGE_TIME);
                self.host.tidy_up(self.idle_max);
            }
        }
    }

    /// Whether processes that look for a daemon find this one.
    fn is_in_place(&self) -> bool {
        self.lock.is_in_place() && self.folder.socket() == self.listening_socket.id
    }

    /// Accepts a waiting connection.
    fn accept_client(&self) {
        let accepted = accept_own(self.listening_socket.listener.as_fd());
        self.add(accepted.map(|socket| socket.map(Connection::new)));
    }

    /// Accepts a waiting connection at a socket for git.
    fn accept_git(&self) {
        let accepted = self.host.answers().git_sockets().accept();
        let of_git = |(connection, socket)| Connection::of_git(connection, socket);
        self.add(accepted.map(|accepted| accepted.map(of_git)));
    }

    /// Answers each git that has connected by now, for a short time at most: cut off, git would complain, or die of SIGPIPE.
    fn answer_last_gits(&self) {
        const ALL_IN: Duration = Duration::from_millis(250);
        const MOMENT: Duration = Duration::from_millis(1);
        let start = Instant::now();
        let sockets = self.host.answers().git_sockets();
        while start.elapsed() < ALL_IN {
            if sockets.are_waiting_at_shut() {
                self.accept_git();
            } else if self.host.connections().are_awaited() {
                std::thread::sleep(MOMENT);
            } else {
                break;
            }
        }
    }

    /// Adds the connection that was accepted, if there is one. If there was no room for it, makes room.
    fn add(&self, accepted: Result<Option<Connection>, Errno>) {
        let connections = self.host.connections();
        match accepted {
            Ok(Some(connection)) => connections.add(connection),
            Ok(None) => {}
            // Each connection takes some of what is short.
            Err(error) if errno::is_shortage(error) && connections.close_oldest() => {}
            // The connection stays in the backlog, so poll(2) would report it again at once.
            Err(_) => self.pause(),
        }
    }

    /// Whether the daemon has been told to end.
    fn is_to_end(&self) -> bool {
        self.ends_within(Duration::ZERO)
    }

    /// Waits for a moment, unless the daemon is told to end.
    fn pause(&self) {
        const MOMENT: Duration = Duration::from_millis(10);
        self.ends_within(MOMENT);
    }

    /// Whether the daemon is told to end before `time` is over.
    fn ends_within(&self, time: Duration) -> bool {
        let ends = self.ends.as_fd();
        let mut waiting = [PollFd::new(&ends, PollFlags::IN)];
        matches!(poll(&mut waiting, Some(&timespec(time))), Ok(1..))
    }
}
