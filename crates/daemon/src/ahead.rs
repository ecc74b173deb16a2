//! Work that is done before anybody asks: once a working copy has settled after changes, its last questions are answered
//! again, so that the next client finds the work done.

use std::time::{Duration, Instant};

use vigil_engine::session::WatchPositions;

use crate::protocol::{MonitorQuestion, PromptQuestion, StatusQuestion};

/// How long nothing must have happened before work begins, and for how long work is put off each time.
const SETTLE_TIME: Duration = Duration::from_millis(20);

/// How long after the first change work begins even if changes go on, unless it is put off.
const DELAY_MAX: Duration = Duration::from_secs(1);

/// After work there is rest for this many times as long: less than a fifth of a core is used.
const REST_FACTOR: u32 = 5;

/// Work that takes longer than this waits for a disk, most of the time.
const COST_MAX: Duration = Duration::from_secs(10);

/// Nothing is done ahead for a working copy that nobody has asked about for this long.
const ASKED_MAX: Duration = Duration::from_secs(600);

/// The number of questions about one working copy that are answered ahead.
const QUESTIONS_MAX: usize = 3;

/// A question that may come again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RepeatableQuestion {
    Status(StatusQuestion),
    Prompt(PromptQuestion),
    Monitor(MonitorQuestion),
}

/// The work to be done ahead for one working copy.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    /// The latest questions, the newest last.
    asked: Vec<RepeatableQuestion>,
    asked_at: Option<Instant>,
    /// What the last answer rests on.
    heard: WatchPositions,
    /// The number of answers.
    answers: u64,
    /// How many times work was done.
    done: u64,
    changes: Option<ChangeBurst>,
    not_before: Option<Instant>,
    /// Whether work has begun and is not finished.
    is_at_work: bool,
}

/// The changes since the last answer.
#[derive(Clone, Copy, Debug)]
struct ChangeBurst {
    first_at: Instant,
    last_at: Instant,
    /// How many changes were heard of.
    count: u64,
}

/// Work that has begun.
pub(crate) struct Work {
    pub(crate) questions: Vec<RepeatableQuestion>,
    until_now: WatchPositions,
    answers: u64,
    began_at: Instant,
}

impl Work {
    /// Whether a command is likely to be changing the working copy, so that the work would have to be done again. The disk that
    /// this depends on may hang.
    pub(crate) fn is_premature(&self) -> bool {
        self.until_now.is_being_changed()
    }
}

impl Ahead {
    /// Records that `question` was asked.
    pub(crate) fn asked(&mut self, mut question: RepeatableQuestion, now: Instant) {
        match &mut question {
            // Each request has an id of its own.
            RepeatableQuestion::Prompt(question) => question.id.clear(),
            // The token differs each time; only the work for the answer is the same.
            RepeatableQuestion::Monitor(question) => question.token.clear(),
            RepeatableQuestion::Status(_) => {}
        }
        self.asked.retain(|asked| *asked != question);
        self.asked.push(question);
        let surplus = self.asked.len().saturating_sub(QUESTIONS_MAX);
        self.asked.drain(..surplus);
        self.asked_at = Some(now);
    }

    /// Records that somebody waits for the next answer, so there is work however long ago the last question was.
    pub(crate) fn keep_active(&mut self, now: Instant) {
        self.asked_at = Some(now);
    }

    /// Records an answer, which rests on `heard`.
    pub(crate) fn answered(&mut self, heard: WatchPositions) {
        self.heard = heard;
        self.answers = self.answers.wrapping_add(1);
        self.changes = None;
    }

    /// Forgets the questions and changes, because the session is not kept any more.
    pub(crate) fn forget_questions(&mut self) {
        *self = Self {
            answers: self.answers,
            done: self.done,
            ..Self::default()
        };
    }

    /// When work is to begin, if there is any.
    pub(crate) fn due_at(&mut self, now: Instant) -> Option<Instant> {
        let is_active = |at: Instant| now.saturating_duration_since(at) < ASKED_MAX;
        let count = self.heard.since();
        if count == 0 || self.is_at_work || !self.asked_at.is_some_and(is_active) {
            return None;
        }
        let changes = match self.changes {
            Some(before) if before.count == count => before,
            before => ChangeBurst {
                first_at: before.map_or(now, |before| before.first_at),
                last_at: now,
                count,
            },
        };
        self.changes = Some(changes);
        let settled = changes.last_at.checked_add(SETTLE_TIME)?;
        let latest = changes.first_at.checked_add(DELAY_MAX)?;
        Some(settled.min(latest).max(self.not_before.unwrap_or(now)))
    }

    /// How many times work was done.
    pub(crate) fn done(&self) -> u64 {
        self.done
    }

    /// Whether work has begun and is not finished.
    pub(crate) fn is_at_work(&self) -> bool {
        self.is_at_work
    }

    /// Begins the work. There is no more of it until this is finished.
    pub(crate) fn begin(&mut self, now: Instant) -> Work {
        self.is_at_work = true;
        Work {
            questions: self.asked.clone(),
            until_now: self.heard.until_now(),
            answers: self.answers,
            began_at: now,
        }
    }

    /// Puts off, a little at `now`, the work that was about to begin. Returns until when.
    pub(crate) fn put_off(&mut self, now: Instant) -> Instant {
        self.is_at_work = false;
        *self
            .not_before
            .insert(now.checked_add(SETTLE_TIME).unwrap_or(now))
    }

    /// Records that the work was finished at `now`.
    pub(crate) fn finish(&mut self, work: Work, now: Instant) {
        if self.answers == work.answers {
            // There was no answer: it is not tried again before something else happens.
            self.answered(work.until_now);
        }
        self.is_at_work = false;
        self.done = self.done.saturating_add(1);
        let cost = cost_until(now, work.began_at);
        self.not_before = now.checked_add(cost.saturating_mul(REST_FACTOR));
    }
}

/// How long work took that began at `began_at` and is finished `now`, as far as it counts.
pub(crate) fn cost_until(now: Instant, began_at: Instant) -> Duration {
    now.saturating_duration_since(began_at).min(COST_MAX)
}
