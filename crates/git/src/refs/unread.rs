//! How often something could not be read that may be readable the next time.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use vigil_linux::Errno;
use vigil_linux::errno::{is_lasting, is_shortage};

/// Counts failures to read references that may pass. As with git, what could not be read counts as broken or empty, but that
/// must not be remembered: nothing on the disk will change.
#[derive(Debug, Default)]
pub(super) struct Unread {
    failures: AtomicUsize,
    /// Whether one was a shortage of this process.
    is_short: AtomicBool,
}

impl Unread {
    /// The failures so far.
    pub(super) fn count(&self) -> usize {
        self.failures.load(Ordering::Relaxed)
    }

    /// Whether a failure since the last call was a shortage of this process.
    pub(super) fn take_shortage(&self) -> bool {
        self.is_short.swap(false, Ordering::Relaxed)
    }

    /// Counts this failure, if it may pass.
    pub(super) fn note(&self, error: Errno) {
        if !is_lasting(error) {
            self.failures.fetch_add(1, Ordering::Relaxed);
        }
        if is_shortage(error) {
            self.is_short.store(true, Ordering::Relaxed);
        }
    }
}
