//! The process that serves one user: it lets in who is that user, and answers.
//!
//! Whoever sends half a message, reads nothing, sends garbage or only stays costs one of a bounded number of connections, and
//! his question alone. A thread is busy only with a question.

mod at_work;
mod connection;
mod connections;
mod conversation;
mod lateness;
mod subscribers;
mod workers;

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::thread::Builder;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{AddressFamily, SocketFlags, SocketType, accept_with, bind, listen, socket_with};
use rustix::process::geteuid;
use vigil_linux::inotify::Queue;
use vigil_linux::{ending, memory, mounts};

use self::connection::Connection;
use self::conversation::Host;
use self::lateness::Lateness;
use self::workers::Workers;
use crate::answers::{Answers, StatusWriter};
use crate::audit::Auditor;
use crate::panics;
use crate::place::{FileError, Folder, Lock, SocketId};
use crate::stream::timespec;
use crate::work_ahead;

/// How many may wait to be let in.
const BACKLOG: i32 = 128;

/// How long a connection has for the rest of a message, and for taking an answer, at least.
const MESSAGE_TIME: Duration = Duration::from_secs(5);

/// How often it is looked at whether something is idle, in the time that makes it so.
const ROUNDS: u32 = 60;

/// How long whatever nobody asks for is kept, if nothing else is said.
pub const IDLE_MAX: Duration = Duration::from_secs(3600);

/// Why a daemon cannot serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The system.
    #[error("cannot serve: {}", vigil_linux::errno::text(*.0))]
    System(#[from] Errno),
    /// What is in its folder.
    #[error("cannot serve: {0}")]
    File(#[from] FileError),
}

/// Where those come in who ask.
struct Entrance {
    listener: OwnedFd,
    /// The socket by its name.
    id: Option<SocketId>,
    /// Whether another process made it, and has it when this one is gone.
    is_lent: bool,
}

/// How often what is done unasked, and by when there are to be answers.
#[derive(Clone, Copy, Debug)]
pub struct Rhythm {
    /// How long whatever nobody asks for is kept.
    pub idle_max: Duration,
    /// How long it is between two samples of what is kept, which are compared with what is there.
    pub sample_rest: Duration,
    /// How long nothing is tried again in a working copy where there was no answer.
    pub declined_rest: Duration,
    /// How long whoever asks waits at the least: whom a longer answer reaches too late may have noted that this daemon is slow.
    pub patience: Duration,
}

/// A daemon that can be asked.
pub struct Server {
    entrance: Entrance,
    folder: Folder,
    lock: Lock,
    ends: OwnedFd,
    host: Arc<Host>,
    idle_max: Duration,
}

impl Server {
    /// Listens in `folder`, whose `lock` this process holds, and has `writer` write what `vigil status` says. `lent` is the socket
    /// in it that somebody else has opened already, and keeps. From now on a signal that would end this process ends
    /// [`Self::serve`].
    ///
    /// # Errors
    /// The system.
    pub fn new(
        folder: Folder,
        lock: Lock,
        lent: Option<OwnedFd>,
        writer: Box<dyn StatusWriter>,
        rhythm: Rhythm,
    ) -> Result<Self, ServeError> {
        panics::silence();
        memory::free_for_others();
        let ends = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        ending::by_event(rustix::io::fcntl_dupfd_cloexec(&ends, 3)?)?;
        let slow_note = folder.slow_note(&lock)?;
        slow_note.forget()?;
        let is_lent = lent.is_some();
        let listener = match lent {
            Some(listener) => listener,
            None => make_socket(&folder, &lock)?,
        };
        let entrance = Entrance {
            listener,
            id: folder.socket(),
            is_lent,
        };
        let auditor = Auditor::new(folder.log()?, rhythm.sample_rest);
        let lateness = Lateness {
            note: slow_note,
            patience: rhythm.patience,
        };
        let answers = Answers::new(writer, rhythm.declined_rest)?;
        let told_to_end = rustix::io::fcntl_dupfd_cloexec(&ends, 3)?;
        let host = Host::new(answers, told_to_end, auditor, lateness)?;
        Ok(Self {
            entrance,
            folder,
            lock,
            ends,
            host: Arc::new(host),
            idle_max: rhythm.idle_max,
        })
    }

    /// Answers until it is told to end, by a signal or a message, or nobody has asked for long. Socket and lock are gone then.
    ///
    /// # Errors
    /// The system.
    pub fn serve(self) -> Result<(), ServeError> {
        let served = self.serve_on();
        self.host.answers().doors().close_all();
        let forgotten = self.host.lateness().forget();
        // Where there is another socket by now, that is somebody else's.
        let removed = match !self.entrance.is_lent && self.is_in_place() {
            true => self.folder.remove_socket(&self.lock),
            false => Ok(()),
        };
        // Who comes now finds no socket, and who locks now finds no lock.
        let unlocked = match self.lock.is_in_place() {
            true => self.folder.remove_lock(self.lock),
            false => Ok(()),
        };
        served?;
        removed.and(forgotten)?;
        Ok(unlocked?)
    }

    fn serve_on(&self) -> Result<(), Errno> {
        let host = self.host.clone();
        let workers = Workers::new(move |begin| host.attend_to_next(begin));
        if !workers.start() {
            return Err(Errno::AGAIN);
        }
        let host = self.host.clone();
        // Without it each question finds its own work to do.
        let _ = Builder::new()
            .name("ahead".to_owned())
            .spawn(move || work_ahead::run(host.answers(), &|| host.look_around()));
        let host = self.host.clone();
        // Without it who waits for long finds out by himself.
        let _ = Builder::new()
            .name("at work".to_owned())
            .spawn(move || while host.at_work().tell() {});
        let round = self.idle_max / ROUNDS;
        let mut looked_at = Instant::now();
        // Without these, what is taken away or hidden is missed in the next round.
        let mut changes = self.folder.changes();
        let mounts = mounts::Changes::new().ok();
        // What was taken away before is not heard of.
        if !self.is_in_place() {
            return Ok(());
        }
        loop {
            let (listener, ends) = (self.entrance.listener.as_fd(), self.ends.as_fd());
            let doors = self.host.answers().doors().waiting();
            let folder = changes.as_ref().map_or(ends, Queue::as_fd);
            let mounted = mounts.as_ref().map_or(ends, mounts::Changes::as_fd);
            let mut waiting = [
                PollFd::new(&listener, PollFlags::IN),
                PollFd::new(&ends, PollFlags::IN),
                PollFd::new(&doors, PollFlags::IN),
                PollFd::from_borrowed_fd(folder, PollFlags::IN),
                PollFd::from_borrowed_fd(mounted, mounts::Changes::TOLD),
            ];
            let rest = round.saturating_sub(looked_at.elapsed());
            match poll(&mut waiting, Some(&timespec(rest))) {
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error),
            }
            let [listening, ending, at_doors, in_folder, mounting] = waiting.map(|fd| fd.revents());
            // A signal that was sent before somebody came is handled after the call that tells of him.
            if !ending.is_empty() || self.is_to_end() {
                return Ok(());
            }
            if !in_folder.is_empty()
                && let Some(queue) = &mut changes
            {
                queue.drain(|_| ())?;
            }
            let may_be_gone = !in_folder.is_empty() || mounts::Changes::are_in(mounting);
            if may_be_gone && !self.is_in_place() {
                return Ok(());
            }
            if !listening.is_empty() {
                self.let_in()?;
            }
            if !at_doors.is_empty() {
                self.let_git_in();
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

    /// Whether those who look for a daemon find this one.
    fn is_in_place(&self) -> bool {
        self.lock.is_in_place() && self.folder.socket() == self.entrance.id
    }

    /// Lets in one who waits for it.
    fn let_in(&self) -> Result<(), Errno> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = match accept_with(&self.entrance.listener, flags) {
            Ok(socket) => socket,
            Err(Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOBUFS) => {
                // He stays at the door, so it would be asked again at once.
                if !self.host.connections().close_oldest() {
                    self.pause();
                }
                return Ok(());
            }
            // He did not wait.
            Err(_) => return Ok(()),
        };
        let is_ours = socket_peercred(&socket).is_ok_and(|peer| peer.uid == geteuid());
        if is_ours {
            self.host.connections().add(Connection::new(socket));
        }
        Ok(())
    }

    /// Lets in one who waits where git asks.
    fn let_git_in(&self) {
        match self.host.answers().doors().let_in() {
            Ok(Some((socket, door))) => {
                let connection = Connection::of_git(socket, door);
                self.host.connections().add(connection);
            }
            Ok(None) => {}
            Err(_) => {
                if !self.host.connections().close_oldest() {
                    self.pause();
                }
            }
        }
    }

    /// Whether it has been told to end.
    fn is_to_end(&self) -> bool {
        self.ends_within(Duration::ZERO)
    }

    /// Waits for a moment, unless it is to end.
    fn pause(&self) {
        const MOMENT: Duration = Duration::from_millis(10);
        self.ends_within(MOMENT);
    }

    /// Whether it is told to end before `time` is over.
    fn ends_within(&self, time: Duration) -> bool {
        let ends = self.ends.as_fd();
        let mut waiting = [PollFd::new(&ends, PollFlags::IN)];
        matches!(poll(&mut waiting, Some(&timespec(time))), Ok(1..))
    }
}

/// A socket in `folder` that listens, instead of one that is there and on which nobody does: whoever might has the lock.
fn make_socket(folder: &Folder, lock: &Lock) -> Result<OwnedFd, ServeError> {
    folder.remove_socket(lock)?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let listener = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    bind(&listener, &folder.address()?)?;
    listen(&listener, BACKLOG)?;
    Ok(listener)
}
