//! Statistics about the answers that a daemon has given.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// The number of answers whose times are kept.
const TIMES_MAX: usize = 128;

/// `time` in whole microseconds.
pub(crate) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// The number of questions, and the time that recent answers took.
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

/// A summary of the statistics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Summary {
    pub(crate) questions: u64,
    pub(crate) declined: u64,
    pub(crate) median: Duration,
    pub(crate) last: Duration,
    pub(crate) running: Duration,
    /// The time since the last question.
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

    /// Records a question that came at `start` and was answered just now, or left to the client.
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

    /// The time that the last answer took.
    pub(crate) fn last(&self) -> Option<Duration> {
        self.inner.lock().times.back().copied()
    }

    pub(crate) fn summary(&self) -> Summary {
        Self::summary_of([self])
    }

    /// Summarises several, as if all questions had been recorded in one.
    pub(crate) fn summary_of<'a>(all: impl IntoIterator<Item = &'a Self>) -> Summary {
        let mut summary = Summary::default();
        let mut times: Vec<Duration> = Vec::new();
        let mut asked_at = None;
        for one in all {
            let inner = one.inner.lock();
            summary.questions = summary.questions.saturating_add(inner.questions);
            summary.declined = summary.declined.saturating_add(inner.declined);
            summary.running = summary.running.max(one.since.elapsed());
            times.extend(&inner.times);
            if asked_at.is_none_or(|asked_at| asked_at <= inner.asked_at) {
                asked_at = Some(inner.asked_at);
                summary.last = inner.times.back().copied().unwrap_or(summary.last);
            }
        }
        times.sort_unstable();
        let median = times.get(times.len() / 2).copied();
        summary.median = median.unwrap_or_default();
        summary.idle = asked_at.map_or(Duration::ZERO, |asked_at| asked_at.elapsed());
        summary
    }
}

impl Default for Statistics {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_statistics_have_one_summary() {
        let [one, two, none] = [(); 3].map(|()| Statistics::new());
        // Minutes, so that the time that the test takes does not matter.
        let ago = |minutes| Instant::now() - Duration::from_mins(minutes);
        one.note(ago(3), true);
        one.note(ago(1), true);
        two.note(ago(2), true);
        two.note(ago(9), false);
        let summary = Statistics::summary_of([&two, &one]);
        assert_eq!((summary.questions, summary.declined), (3, 1));
        let minutes = |time: Duration| time.as_secs() / 60;
        assert_eq!((minutes(summary.median), minutes(summary.last)), (2, 2));
        assert_eq!(none.summary().median, Duration::ZERO);
    }
}
