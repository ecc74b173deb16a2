//! One connection, as the daemon has it: it is read from and written to as far as that goes at once, and nobody waits for it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use super::subscribers::Subscription;
use crate::doors::Door;
use crate::fsmonitor::packets::{PacketError, Packets};
use crate::protocol::{Frames, ProtocolError, REQUEST_LEN_MAX};
use crate::stream::Broken;

/// A client's connection, whose socket does not block.
#[derive(Debug)]
pub(super) struct Connection {
    socket: Arc<OwnedFd>,
    frames: Frames,
    /// What is to go out, of which the first `sent` bytes have gone.
    outgoing: Vec<u8>,
    sent: usize,
    greeting: Greeting,
    /// What it is told of without being asked.
    subscription: Option<Subscription>,
    /// Where git came in, and what it says.
    git: Option<(Arc<Door>, Packets)>,
}

/// What is known of who is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Greeting {
    /// Nothing yet.
    Awaited,
    /// One who sees files as this process does,
    Alike,
    /// or otherwise.
    Otherwise,
}

impl Connection {
    pub(super) fn new(socket: OwnedFd) -> Self {
        Self {
            socket: Arc::new(socket),
            frames: Frames::new(REQUEST_LEN_MAX),
            outgoing: Vec::new(),
            sent: 0,
            greeting: Greeting::Awaited,
            subscription: None,
            git: None,
        }
    }

    /// One of git, which came in by `door` and says nothing of itself.
    pub(super) fn of_git(socket: OwnedFd, door: Arc<Door>) -> Self {
        Self {
            git: Some((door, Packets::default())),
            ..Self::new(socket)
        }
    }

    /// Where git came in, if it is there.
    pub(super) fn door(&self) -> Option<Arc<Door>> {
        self.git.as_ref().map(|(door, _)| door.clone())
    }

    /// The next whole message of git.
    ///
    /// # Errors
    /// What came is none.
    pub(super) fn take_of_git(&mut self) -> Result<Option<Vec<u8>>, PacketError> {
        match &mut self.git {
            Some((_, packets)) => packets.take(),
            None => Ok(None),
        }
    }

    pub(super) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// The socket, for one who sends there while nothing else is sent.
    pub(super) fn shared_socket(&self) -> Arc<OwnedFd> {
        self.socket.clone()
    }

    pub(super) fn greeting(&self) -> Greeting {
        self.greeting
    }

    pub(super) fn greet(&mut self, greeting: Greeting) {
        self.greeting = greeting;
    }

    /// From now on it is told of what `subscription` is about, and of nothing else.
    pub(super) fn subscribe(&mut self, subscription: Option<Subscription>) {
        self.subscription = subscription;
    }

    /// Whether there is something to tell that was not asked for.
    pub(super) fn has_news(&self) -> bool {
        self.subscription
            .as_ref()
            .is_some_and(Subscription::has_news)
    }

    /// Sends what there is to tell, unless what was sent before waits to be read.
    ///
    /// # Errors
    /// The connection has ended.
    pub(super) fn tell_news(&mut self) -> Result<(), Broken> {
        if self.unsent() > 0 {
            return Ok(());
        }
        let Some(news) = self.subscription.as_ref().and_then(Subscription::take_news) else {
            return Ok(());
        };
        if news.is_last {
            self.subscription = None;
        }
        self.send(news.frame.to_vec())
    }

    /// How many bytes wait for whoever is there to read.
    pub(super) fn unsent(&self) -> usize {
        self.outgoing.len().saturating_sub(self.sent)
    }

    /// Whether nothing is under way, in either direction.
    pub(super) fn is_at_rest(&self) -> bool {
        let has_said_all = match &self.git {
            Some(_) => false,
            None => self.greeting != Greeting::Awaited && self.frames.is_empty(),
        };
        has_said_all && self.unsent() == 0
    }

    /// Takes what has come, a part of it if it is much.
    ///
    /// # Errors
    /// The connection has ended.
    pub(super) fn receive(&mut self) -> Result<(), Broken> {
        let mut buffer = [0; 16 * 1024];
        match recv(&self.socket, &mut buffer[..], RecvFlags::empty()) {
            Ok((_, 0)) | Err(Errno::CONNRESET) => Err(Broken::Closed),
            Ok((_, len)) => {
                let received = buffer.get(..len).unwrap_or_default();
                match &mut self.git {
                    Some((_, packets)) => packets.feed(received),
                    None => self.frames.feed(received),
                }
                Ok(())
            }
            Err(Errno::INTR | Errno::AGAIN) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The next whole frame of what was received: its kind and its body.
    ///
    /// # Errors
    /// What came is none.
    pub(super) fn take(&mut self) -> Result<Option<(u8, Vec<u8>)>, ProtocolError> {
        self.frames.take()
    }

    /// Sends `frame`, and keeps what does not go out at once.
    ///
    /// # Errors
    /// The connection has ended.
    pub(super) fn send(&mut self, frame: Vec<u8>) -> Result<(), Broken> {
        if self.outgoing.is_empty() {
            self.outgoing = frame;
        } else {
            self.outgoing.drain(..self.sent);
            self.sent = 0;
            self.outgoing.extend_from_slice(&frame);
        }
        self.flush()
    }

    /// Sends of what was kept as much as goes.
    ///
    /// # Errors
    /// The connection has ended.
    pub(super) fn flush(&mut self) -> Result<(), Broken> {
        loop {
            let rest = self.outgoing.get(self.sent..).unwrap_or_default();
            if rest.is_empty() {
                self.outgoing = Vec::new();
                self.sent = 0;
                return Ok(());
            }
            match send(&self.socket, rest, SendFlags::NOSIGNAL) {
                Ok(len) => self.sent = self.sent.saturating_add(len),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::PIPE | Errno::CONNRESET) => return Err(Broken::Closed),
                Err(error) => return Err(error.into()),
            }
        }
    }
}
