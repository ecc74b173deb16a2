//! All connections. Those on which nothing happens cost a descriptor each, and no thread: whoever is free takes the next one on
//! which something does.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;

use super::connection::Connection;

/// The most connections at a time. For one more, the one is closed on which nothing has happened for longest: a shell that
/// sleeps connects again when it has a question.
pub(super) const CONNECTIONS_MAX: usize = 256;

/// The most bytes of answers that wait for those who do not read them, all together.
const UNSENT_MAX: usize = 32 << 20;

/// The connections.
pub(super) struct Connections {
    epoll: OwnedFd,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// Those on which nobody works.
    resting: HashMap<u64, Resting>,
    /// How many are worked on.
    taken: usize,
    /// The name of the next one. None is used twice: what the kernel tells of one that is gone is about no other.
    next: u64,
}

struct Resting {
    connection: Connection,
    since: Instant,
}

/// A connection that one thread works on.
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

    /// Lets one in. Where all others are worked on and there is no room, it is closed.
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
            inner.rest(id, connection);
        }
        drop(inner);
        drop(closed);
    }

    /// Waits for a connection on which something happens, which is the caller's until he gives it back or drops it.
    ///
    /// # Errors
    /// The system.
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
            // It may have been closed for another one.
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

    /// Has somebody work on the connection `id` as soon as it takes what is sent, if nobody works on it: there is news.
    pub(super) fn wake(&self, id: u64) {
        let inner = self.inner.lock();
        if let Some(resting) = inner.resting.get(&id) {
            let (connection, data) = (&resting.connection, EventData::new_u64(id));
            // One that cannot be waited for ends when something is sent to it the next time.
            let _ = epoll::modify(&self.epoll, connection.socket(), data, wanted(connection));
        }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.inner.lock().len()
    }

    /// How many of them are worked on.
    pub(super) fn taken(&self) -> usize {
        self.inner.lock().taken
    }

    /// Closes the one on which nothing has happened for longest. Returns whether there was one.
    pub(super) fn close_oldest(&self) -> bool {
        let oldest = self.inner.lock().remove_oldest();
        oldest.is_some()
    }

    /// Closes those who owe the rest of a message, or a greeting, or do not read their answer, for `time` or longer.
    pub(super) fn close_unfinished(&self, time: Duration) {
        let is_late =
            |resting: &Resting| !resting.connection.is_at_rest() && resting.since.elapsed() >= time;
        let mut inner = self.inner.lock();
        inner.resting.retain(|_, resting| !is_late(resting));
    }
}

impl Inner {
    fn len(&self) -> usize {
        self.resting.len().saturating_add(self.taken)
    }

    fn rest(&mut self, id: u64, connection: Connection) {
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

    /// Gives the connection back: it rests until something happens on it.
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
            inner.rest(self.id, connection);
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

/// What is to happen before somebody works on `connection`; it is told once.
fn wanted(connection: &Connection) -> EventFlags {
    // Who does not read his answers is asked for no more questions.
    let wanted = match connection.unsent() {
        0 if connection.has_news() => EventFlags::IN | EventFlags::OUT,
        0 => EventFlags::IN,
        _ => EventFlags::OUT,
    };
    wanted | EventFlags::ONESHOT
}
