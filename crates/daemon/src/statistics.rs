//! What a daemon has done so far.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Of so many answers the times are known.
const TIMES_MAX: usize = 128;

/// The number of questions, and how long answers took of late.
pub(crate) struct Statistics {
    since: Instant,
    inner: Mutex<Inner>,
}

struct Inner {
    asked_at: Instant,
    questions: u64,
    declined: u64,
    times: VecDeque<Duration>,
}

/// What there is to tell of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Summary {
    pub(crate) questions: u64,
    pub(crate) declined: u64,
    pub(crate) median: Duration,
    pub(crate) last: Duration,
    pub(crate) running: Duration,
    /// Since when nobody asked.
    pub(crate) idle: Duration,
}

impl Statistics {
    pub(crate) fn new() -> Self {
        let now = Instant::now();
        Self {
            since: now,
            inner: Mutex::new(Inner {
                asked_at: now,
                questions: 0,
                declined: 0,
                times: VecDeque::new(),
            }),
        }
    }

    /// A question came at `start` and has its answer now, or was left to whoever asked.
    pub(crate) fn note(&self, start: Instant, is_answered: bool) {
        let mut inner = self.inner.lock();
        inner.asked_at = Instant::now();
        if !is_answered {
            inner.declined = inner.declined.saturating_add(1);
            return;
        }
        inner.questions = inner.questions.saturating_add(1);
        if inner.times.len() >= TIMES_MAX {
            inner.times.pop_front();
        }
        inner.times.push_back(start.elapsed());
    }

    pub(crate) fn summary(&self) -> Summary {
        let inner = self.inner.lock();
        let mut times: Vec<Duration> = inner.times.iter().copied().collect();
        times.sort_unstable();
        let median = times.get(times.len() / 2).copied();
        Summary {
            questions: inner.questions,
            declined: inner.declined,
            median: median.unwrap_or_default(),
            last: inner.times.back().copied().unwrap_or_default(),
            running: self.since.elapsed(),
            idle: inner.asked_at.elapsed(),
        }
    }
}
