//! How far a look at a working tree has come, for those who wait for it.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts the tracked files that were looked at. It may be read from another thread at any time.
#[derive(Debug, Default)]
pub struct Progress {
    seen: AtomicUsize,
    total: AtomicUsize,
}

impl Progress {
    /// How many tracked files were looked at, and how many there are: 0 of 0 until that is known.
    pub fn counts(&self) -> (usize, usize) {
        let total = self.total.load(Ordering::Relaxed);
        (self.seen.load(Ordering::Relaxed).min(total), total)
    }

    pub(crate) fn begin(&self, total: usize) {
        self.total.store(total, Ordering::Relaxed);
    }

    pub(crate) fn add(&self, count: usize) {
        self.seen.fetch_add(count, Ordering::Relaxed);
    }
}
