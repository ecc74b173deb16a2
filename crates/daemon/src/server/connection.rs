//! One connection on the daemon's side. Reads and writes go as far as they can at once; nothing waits for the client.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use super::subscribers::Subscription;
use crate::fsmonitor::packets::{PacketError, Packets};
use crate::git_sockets::GitSocket;
use crate::protocol::{Frames, ProtocolError, REQUEST_LEN_MAX};
use crate::stream::Broken;

/// A client's connection, with a non-blocking socket.
#[derive(Debug)]
pub(super) struct Connection {
    socket: Arc<OwnedFd>,
    frames: Frames,
    /// The bytes to send, of which the first `sent` are gone.
    outgoing: Vec<u8>,
    sent: usize,
    greeting: Greeting,
    /// The answer about which it is kept informed.
    subscription: Option<Subscription>,
    /// The socket at which git connected, and the messages that it sends.
    git: Option<(Arc<GitSocket>, Packets)>,
}

/// What is known of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Greeting {
    /// Nothing yet.
    Awaited,
    /// The client sees files as this process does.
    SameView,
    /// The client sees other files than this process, or in other places.
    OtherView,
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

    /// Creates a connection of git, which came to `git_socket` and sends no greeting.
    pub(super) fn of_git(socket: OwnedFd, git_socket: Arc<GitSocket>) -> Self {
        Self {
            git: Some((git_socket, Packets::default())),
            ..Self::new(socket)
        }
    }

    /// The socket at which git connected, if this is git's connection.
    pub(super) fn git_socket(&self) -> Option<Arc<GitSocket>> {
        self.git.as_ref().map(|(git_socket, _)| git_socket.clone())
    }

    /// Returns the next complete message from git.
    ///
    /// # Errors
    /// The bytes are not a valid message.
    pub(super) fn take_of_git(&mut self) -> Result<Option<Vec<u8>>, PacketError> {
        match &mut self.git {
            Some((_, packets)) => packets.take(),
            None => Ok(None),
        }
    }

    pub(super) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// The socket, for a thread that sends while nothing else does.
    pub(super) fn shared_socket(&self) -> Arc<OwnedFd> {
        self.socket.clone()
    }

    pub(super) fn greeting(&self) -> Greeting {
        self.greeting
    }

    pub(super) fn greet(&mut self, greeting: Greeting) {
        self.greeting = greeting;
    }

    /// Informs the client about `subscription` from now on, in place of any earlier one.
    pub(super) fn subscribe(&mut self, subscription: Option<Subscription>) {
        self.subscription = subscription;
    }

    /// Whether there is news for a subscriber.
    pub(super) fn has_news(&self) -> bool {
        self.subscription
            .as_ref()
            .is_some_and(Subscription::has_news)
    }

    /// Sends the news, unless earlier bytes are still unsent.
    ///
    /// # Errors
    /// The connection has ended.
    pub(super) fn send_news(&mut self) -> Result<(), Broken> {
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

    /// The number of bytes that the client has yet to read before they can be sent.
    pub(super) fn unsent(&self) -> usize {
        self.outgoing.len().saturating_sub(self.sent)
    }

    /// Whether nothing is pending in either direction.
    pub(super) fn has_nothing_pending(&self) -> bool {
        let has_said_all = match &self.git {
            Some(_) => false,
            None => self.greeting != Greeting::Awaited && self.frames.is_empty(),
        };
        has_said_all && self.unsent() == 0
    }

    /// Receives what has arrived, or a part of it if it is much.
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

    /// Returns the kind and the body of the next complete frame.
    ///
    /// # Errors
    /// The bytes are not a valid frame.
    pub(super) fn take(&mut self) -> Result<Option<(u8, Vec<u8>)>, ProtocolError> {
        self.frames.take()
    }

    /// Sends `frame`, and keeps the part that cannot be sent at once.
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

    /// Sends as many of the kept bytes as possible.
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
