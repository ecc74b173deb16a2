//! How far a scan has come, for those who wait for it.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts the tracked files that were looked at. Can be read from any thread at any time.
#[derive(Debug, Default)]
pub struct Progress {
    seen: AtomicUsize,
    total: AtomicUsize,
}

impl Progress {
    /// The number of tracked files looked at, and their total: 0 of 0 until that is known.
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
