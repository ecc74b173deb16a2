//! Being told each time that an answer changes.

use std::os::fd::BorrowedFd;
use std::time::Instant;

use super::{Client, Connection, End, Unanswered};
use crate::protocol::{Request, Response, StatusQuestion};

/// A connection on which a daemon says what `vigil status` says, now and each time that it says something else.
#[derive(Debug)]
pub struct Subscription {
    connection: Connection,
}

impl Client {
    /// Asks to be told what `vigil status` says, as long as the connection lasts. The answers have yet to come.
    ///
    /// # Errors
    /// No daemon of this version is there, or it does not say so in time.
    pub fn subscribe(&self, question: StatusQuestion) -> Result<Subscription, Unanswered> {
        let request = Request::Watch(question).to_frame();
        let connection = self.greet(&request, true, &self.end()?)?;
        Ok(Subscription { connection })
    }
}

impl Subscription {
    /// To wait for what comes.
    pub fn socket(&self) -> BorrowedFd<'_> {
        self.connection.stream.socket()
    }

    /// What has come by now, if anything has: an answer, the word that whoever asks has to find out by himself from now on, or
    /// what follows a [ping](Self::ping).
    ///
    /// # Errors
    /// Nothing more will come.
    pub fn receive(&mut self) -> Result<Option<Response>, Unanswered> {
        match self.connection.read(&End::now()) {
            Ok(response) => Ok(Some(response)),
            Err(Unanswered::Late { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Asks for a sign of life.
    ///
    /// # Errors
    /// It cannot be asked for: there is none.
    pub fn ping(&self) -> Result<(), Unanswered> {
        self.connection
            .write(&Request::Ping.to_frame(), Instant::now())
    }
}
