//! What work there is before anybody asks: once what happened in a working copy has settled, the last questions about it are
//! answered again, so that whoever asks next finds it done.

use std::time::{Duration, Instant};

use vigil_engine::session::Heard;

use crate::protocol::{MonitorQuestion, PromptQuestion, StatusQuestion};

/// How long nothing must have happened before work begins,
const QUIET: Duration = Duration::from_millis(20);

/// but after so long it does though things go on.
const LONGEST: Duration = Duration::from_secs(1);

/// After work there is rest for so many times as long: less than a fifth of a core is taken.
const REST: u32 = 5;

/// For whoever has not asked for so long, nothing is done ahead.
const ASKED_MAX: Duration = Duration::from_secs(600);

/// How many questions about one working copy are answered ahead.
const QUESTIONS_MAX: usize = 3;

/// A question that may come again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    Status(StatusQuestion),
    Prompt(PromptQuestion),
    Monitor(MonitorQuestion),
}

/// What there is to do ahead for one working copy.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    /// The last questions, the last one last.
    asked: Vec<Asked>,
    asked_at: Option<Instant>,
    /// On what the last answer rests,
    heard: Heard,
    /// and how many there were.
    answers: u64,
    /// How often there was work.
    done: u64,
    changes: Option<Changing>,
    rests_until: Option<Instant>,
}

/// What happened since the last answer.
#[derive(Clone, Copy, Debug)]
struct Changing {
    first_at: Instant,
    last_at: Instant,
    /// How much was heard.
    count: u64,
}

/// Work that has begun.
pub(crate) struct Work {
    pub(crate) questions: Vec<Asked>,
    until_now: Heard,
    answers: u64,
    began_at: Instant,
}

impl Ahead {
    /// Somebody asked.
    pub(crate) fn asked(&mut self, mut question: Asked, now: Instant) {
        match &mut question {
            // Each has a name of its own.
            Asked::Prompt(question) => question.id.clear(),
            // Only the way to the answer is the same.
            Asked::Monitor(question) => question.token.clear(),
            Asked::Status(_) => {}
        }
        self.asked.retain(|asked| *asked != question);
        self.asked.push(question);
        let surplus = self.asked.len().saturating_sub(QUESTIONS_MAX);
        self.asked.drain(..surplus);
        self.asked_at = Some(now);
    }

    /// Somebody waits for the next answer: there is work however long ago it was that somebody asked.
    pub(crate) fn is_waited_for(&mut self, now: Instant) {
        self.asked_at = Some(now);
    }

    /// There was an answer, which rests on `heard`.
    pub(crate) fn answered(&mut self, heard: Heard) {
        self.heard = heard;
        self.answers = self.answers.wrapping_add(1);
        self.changes = None;
    }

    /// Nothing is known any more of what was asked.
    pub(crate) fn rest(&mut self) {
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
        if count == 0 || !self.asked_at.is_some_and(is_active) {
            return None;
        }
        let changes = match self.changes {
            Some(before) if before.count == count => before,
            before => Changing {
                first_at: before.map_or(now, |before| before.first_at),
                last_at: now,
                count,
            },
        };
        self.changes = Some(changes);
        let settled = changes.last_at.checked_add(QUIET)?;
        let latest = changes.first_at.checked_add(LONGEST)?;
        Some(settled.min(latest).max(self.rests_until.unwrap_or(now)))
    }

    /// How often there was work.
    pub(crate) fn done(&self) -> u64 {
        self.done
    }

    /// Begins to work.
    pub(crate) fn begin(&self, now: Instant) -> Work {
        Work {
            questions: self.asked.clone(),
            until_now: self.heard.until_now(),
            answers: self.answers,
            began_at: now,
        }
    }

    /// The work is done, at `now`.
    pub(crate) fn finish(&mut self, work: Work, now: Instant) {
        if self.answers == work.answers {
            // There is no answer: it is not tried again before something else happens.
            self.answered(work.until_now);
        }
        self.done = self.done.saturating_add(1);
        let cost = now.saturating_duration_since(work.began_at);
        self.rests_until = now.checked_add(cost.saturating_mul(REST));
    }
}
