//! All connections. An idle one costs a descriptor, and no thread: any free thread takes the next active one.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;

use super::connection::Connection;

/// The most connections at a time. To make room for one more, the one that has been idle for longest is closed: a sleeping
/// shell connects again when it has a question.
pub(super) const CONNECTIONS_MAX: usize = 256;

/// The most unsent bytes of answers on all connections together.
const UNSENT_MAX: usize = 32 << 20;

/// The connections.
pub(super) struct Connections {
    epoll: OwnedFd,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// Connections on which no thread works.
    resting: HashMap<u64, Resting>,
    /// The number of connections on which a thread works.
    taken: usize,
    /// The id of the next connection. Ids are never reused, so that a late event for a closed connection is not taken for
    /// another one's.
    next: u64,
}

struct Resting {
    connection: Connection,
    since: Instant,
}

/// A connection on which one thread works.
pub(super) struct Turn<'a> {
    connections: &'a Connections,
    id: u64,
    connection: Option<Connection>,
    is_over: bool,
}

impl Connections {
    pub(super) fn new() -> Result<Self, Errno> {
        Ok(Self {
            epoll: epoll::create(CreateFlags::CLOEXEC)?,
            inner: Mutex::default(),
        })
    }

    /// Adds a connection. If there is no room and all others are being worked on, it is closed.
    pub(super) fn add(&self, connection: Connection) {
        let mut inner = self.inner.lock();
        let closed = match inner.len() >= CONNECTIONS_MAX {
            true => inner.remove_oldest(),
            false => None,
        };
        if inner.len() >= CONNECTIONS_MAX {
            return;
        }
        let id = inner.next;
        inner.next = inner.next.wrapping_add(1);
        let data = EventData::new_u64(id);
        let added = epoll::add(&self.epoll, connection.socket(), data, wanted(&connection));
        if added.is_ok() {
            inner.add_resting(id, connection);
        }
        drop(inner);
        drop(closed);
    }

    /// Waits for a connection on which something happens. It is the caller's until it is given back or dropped.
    ///
    /// # Errors
    /// A system call failed.
    pub(super) fn next(&self) -> Result<Turn<'_>, Errno> {
        loop {
            let mut events = [Event {
                flags: EventFlags::empty(),
                data: EventData::new_u64(0),
            }];
            match epoll::wait(&self.epoll, &mut events, None) {
                Ok(1..) => {}
                Ok(_) | Err(Errno::INTR) => continue,
                Err(error) => return Err(error),
            }
            let [event] = events;
            let data = event.data;
            let id = data.u64();
            let mut inner = self.inner.lock();
            // It may have been closed to make room.
            if let Some(resting) = inner.resting.remove(&id) {
                inner.taken = inner.taken.saturating_add(1);
                return Ok(Turn {
                    connections: self,
                    id,
                    connection: Some(resting.connection),
                    is_over: false,
                });
            }
        }
    }

    /// Has a thread send the news on the connection `id` once the client can take it. Does nothing while a thread works on it.
    pub(super) fn wake(&self, id: u64) {
        let inner = self.inner.lock();
        if let Some(resting) = inner.resting.get(&id) {
            let (connection, data) = (&resting.connection, EventData::new_u64(id));
            // If that fails, the connection ends the next time something is sent on it.
            let _ = epoll::modify(&self.epoll, connection.socket(), data, wanted(connection));
        }
    }

    /// The number of connections.
    pub(super) fn len(&self) -> usize {
        self.inner.lock().len()
    }

    /// The number of connections on which a thread works.
    pub(super) fn taken(&self) -> usize {
        self.inner.lock().taken
    }

    /// Whether a thread works on a connection, or a git is connected: it leaves once it has its answer.
    pub(super) fn are_awaited(&self) -> bool {
        let inner = self.inner.lock();
        let mut resting = inner.resting.values();
        inner.taken > 0 || resting.any(|one| one.connection.git_socket().is_some())
    }

    /// Closes the connection that has been idle for longest. Returns whether there was one.
    pub(super) fn close_oldest(&self) -> bool {
        let oldest = self.inner.lock().remove_oldest();
        oldest.is_some()
    }

    /// Closes connections that for `time` or longer have owed the rest of a message or a greeting, or not read their answer.
    pub(super) fn close_unfinished(&self, time: Duration) {
        let is_late = |resting: &Resting| {
            !resting.connection.has_nothing_pending() && resting.since.elapsed() >= time
        };
        let mut inner = self.inner.lock();
        inner.resting.retain(|_, resting| !is_late(resting));
    }
}

impl Inner {
    fn len(&self) -> usize {
        self.resting.len().saturating_add(self.taken)
    }

    fn add_resting(&mut self, id: u64, connection: Connection) {
        let since = Instant::now();
        self.resting.insert(id, Resting { connection, since });
    }

    fn unsent(&self) -> usize {
        let unsent = self.resting.values().map(|one| one.connection.unsent());
        unsent.sum()
    }

    fn remove_oldest(&mut self) -> Option<Connection> {
        let oldest = self.resting.iter().min_by_key(|(_, one)| one.since);
        let id = *oldest?.0;
        self.resting.remove(&id).map(|one| one.connection)
    }
}

impl Turn<'_> {
    pub(super) fn connection(&mut self) -> Option<(u64, &mut Connection)> {
        let id = self.id;
        self.connection.as_mut().map(|connection| (id, connection))
    }

    /// Gives the connection back, to rest until something happens on it.
    pub(super) fn give_back(mut self) {
        let Some(connection) = self.connection.take() else {
            return;
        };
        let mut inner = self.connections.inner.lock();
        self.is_over = true;
        inner.taken = inner.taken.saturating_sub(1);
        let unsent = connection.unsent();
        if unsent > 0 && inner.unsent().saturating_add(unsent) > UNSENT_MAX {
            return;
        }
        let (epoll, data) = (&self.connections.epoll, EventData::new_u64(self.id));
        if epoll::modify(epoll, connection.socket(), data, wanted(&connection)).is_ok() {
            inner.add_resting(self.id, connection);
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            let mut inner = self.connections.inner.lock();
            inner.taken = inner.taken.saturating_sub(1);
        }
    }
}

/// The events after which a thread is to work on `connection`. They are reported once.
fn wanted(connection: &Connection) -> EventFlags {
    // No further questions are read from a client that does not read its answers.
    let wanted = match connection.unsent() {
        0 if connection.has_news() => EventFlags::IN | EventFlags::OUT,
        0 => EventFlags::IN,
        _ => EventFlags::OUT,
    };
    wanted | EventFlags::ONESHOT
}
