//! How the time of a scan is spent.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long the workers of scans worked, in all, and to find what is not tracked.
#[derive(Debug, Default)]
pub struct Timing {
    all_ns: AtomicU64,
    others_ns: AtomicU64,
}

impl Timing {
    /// How much of the time, from 0 to 1, was taken to find what is not tracked; 0 where nothing was looked at.
    pub fn share_of_others(&self) -> f64 {
        let ns = |of: &AtomicU64| Duration::from_nanos(of.load(Ordering::Relaxed)).as_secs_f64();
        let (others, all) = (ns(&self.others_ns), ns(&self.all_ns));
        if all > 0.0 {
            (others / all).min(1.0)
        } else {
            0.0
        }
    }

    /// Does `work`, which is a task of a worker.
    pub(super) fn task<T>(timing: Option<&Self>, work: impl FnOnce() -> T) -> T {
        spend(timing.map(|timing| &timing.all_ns), work)
    }

    /// Does `work`, which is the part of a task that finds what is not tracked.
    pub(super) fn others<T>(timing: Option<&Self>, work: impl FnOnce() -> T) -> T {
        spend(timing.map(|timing| &timing.others_ns), work)
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
