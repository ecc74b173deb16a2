//! How the time of a scan is spent.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The time that the workers of scans spent: in all, and on what is not tracked.
#[derive(Debug, Default)]
pub struct Timing {
    all_ns: AtomicU64,
    non_tracked_ns: AtomicU64,
}

impl Timing {
    /// The share of the time, from 0 to 1, spent on finding what is not tracked; 0 if there was no scan.
    pub fn share_of_non_tracked(&self) -> f64 {
        let ns = |of: &AtomicU64| Duration::from_nanos(of.load(Ordering::Relaxed)).as_secs_f64();
        let (non_tracked, all) = (ns(&self.non_tracked_ns), ns(&self.all_ns));
        if all > 0.0 {
            (non_tracked / all).min(1.0)
        } else {
            0.0
        }
    }

    /// Runs `work`, a worker's task, and adds up its time.
    pub(super) fn task<T>(timing: Option<&Self>, work: impl FnOnce() -> T) -> T {
        spend(timing.map(|timing| &timing.all_ns), work)
    }

    /// Runs `work`, the part of a task that finds what is not tracked, and adds up its time.
    pub(super) fn non_tracked<T>(timing: Option<&Self>, work: impl FnOnce() -> T) -> T {
        spend(timing.map(|timing| &timing.non_tracked_ns), work)
    }
}

fn spend<T>(account: Option<&AtomicU64>, work: impl FnOnce() -> T) -> T {
    let Some(account) = account else {
        return work();
    };
    let start = Instant::now();
    let done = work();
    let took = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
    account.fetch_add(took, Ordering::Relaxed);
    done
}
