//! Answers that come too late for clients, and the note by which a client tells others that the daemon is slow.

use std::time::Duration;

use crate::runtime_folder::{FileError, SlowNote};
use crate::statistics::Statistics;

/// What to do about late answers.
#[derive(Debug)]
pub(super) struct Lateness {
    /// The note that tells other clients that the daemon is slow.
    pub(super) note: SlowNote,
    /// The least time that clients wait.
    pub(super) patience: Duration,
}

impl Lateness {
    /// Considers an answer that took `time`, about a working copy whose earlier answers are in `former`. If it was late, what it
    /// looked at is in memory now, so the client may ask again: the note is removed, unless the previous one was late.
    pub(super) fn answered(&self, former: &Statistics, time: Duration) {
        if time >= self.patience && former.last().is_none_or(|last| last < self.patience) {
            // If the note cannot be removed, it keeps others from asking for a few seconds.
            let _ = self.forget();
        }
    }

    /// Removes the note that this daemon is slow.
    ///
    /// # Errors
    /// The note exists and cannot be removed.
    pub(super) fn forget(&self) -> Result<(), FileError> {
        self.note.forget()
    }
}
