//! Subscribing to an answer and its changes.

use std::os::fd::BorrowedFd;
use std::time::Instant;

use super::{Client, Connection, Deadline, Unanswered};
use crate::protocol::{Request, Response, StatusQuestion};

/// A connection on which the daemon sends what `vigil status` prints, now and whenever that changes.
#[derive(Debug)]
pub struct Subscription {
    connection: Connection,
}

impl Client {
    /// Subscribes to what `vigil status` prints, for as long as the connection lasts. Does not wait for the first answer.
    ///
    /// # Errors
    /// There is no daemon of this version, or it does not reply in time.
    pub fn subscribe(&self, question: StatusQuestion) -> Result<Subscription, Unanswered> {
        let request = Request::Watch(question).to_frame();
        let connection = self.greet(&request, true, &self.deadline()?)?;
        Ok(Subscription { connection })
    }
}

impl Subscription {
    /// The socket, to poll for input.
    pub fn socket(&self) -> BorrowedFd<'_> {
        self.connection.stream.socket()
    }

    /// Returns the next message if one has arrived: an answer, the reply that the client must compute it itself from now on,
    /// or the response to a [ping](Self::ping).
    ///
    /// # Errors
    /// Nothing more will come.
    pub fn receive(&mut self) -> Result<Option<Response>, Unanswered> {
        match self.connection.read(&Deadline::now()) {
            Ok(response) => Ok(Some(response)),
            Err(Unanswered::Late { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Asks for a sign of life.
    ///
    /// # Errors
    /// The request could not be sent: the daemon is gone.
    pub fn ping(&self) -> Result<(), Unanswered> {
        self.connection
            .write(&Request::Ping.to_frame(), Instant::now())
    }
}
