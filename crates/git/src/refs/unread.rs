//! How often something could not be read that may be readable the next time.

use std::sync::atomic::{AtomicUsize, Ordering};

use vigil_linux::Errno;
use vigil_linux::errno::is_lasting;

/// Counts failures to read references that may pass. As with git, what could not be read counts as broken or empty, but that
/// must not be remembered: nothing on the disk will change.
#[derive(Debug, Default)]
pub(super) struct Unread(AtomicUsize);

impl Unread {
    /// The failures so far.
    pub(super) fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// Counts this failure, if it may pass.
    pub(super) fn note(&self, error: Errno) {
        if !is_lasting(error) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}
