//! Answers that come too late for those who asked, and what these may have noted then.

use std::time::Duration;

use crate::place::{FileError, SlowNote};
use crate::statistics::Statistics;

/// What is done about late answers.
#[derive(Debug)]
pub(super) struct Lateness {
    /// What others go by.
    pub(super) note: SlowNote,
    /// How long they wait at the least.
    pub(super) patience: Duration,
}

impl Lateness {
    /// An answer about a working copy whose former answers are in `former` has been found out in `time`. What was looked at for it
    /// is in memory now, so that whoever gave it up may ask again; unless the one before took too long as well.
    pub(super) fn answered(&self, former: &Statistics, time: Duration) {
        if time >= self.patience && former.last().is_none_or(|last| last < self.patience) {
            // Left there, it keeps others from asking for a few seconds.
            let _ = self.forget();
        }
    }

    /// Forgets that anybody thought this daemon slow.
    ///
    /// # Errors
    /// It was noted, and cannot be removed.
    pub(super) fn forget(&self) -> Result<(), FileError> {
        self.note.forget()
    }
}
