//! Staying awake while somebody asks one question after the other: a core that went to sleep takes longer to wake up
//! than an answer takes to find.

use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::process::{allowed_cores, run_on_idle_cores};

/// How long the next question is looked out for without sleeping: about what it costs to be woken up.
const AWAKE_MAX: Duration = Duration::from_micros(50);
/// How often that may be in vain in a row before whoever asks counts as slow.
const VAIN_MAX: u32 = 4;
/// Each so many questions, it is found out whether a slow one is quicker now.
const SLOW_STEP: u32 = 64;
/// After so many questions that came at once, the core of whoever asks is kept awake, too.
const TALKATIVE_MIN: u32 = 8;
/// How long one answer keeps it awake. Whoever waits longer does not notice the time to wake up.
const COMPANY_MAX: Duration = Duration::from_micros(500);
/// How often the watcher turns around before it looks at the clock.
const TURNS: u32 = 64;

/// Looks out for the next question.
#[derive(Default)]
pub struct Lookout {
    /// How often nothing came in a row.
    vain: u32,
    /// How many questions came at once.
    at_once: u32,
    company: Option<Company>,
}

impl Lookout {
    /// A lookout, unless there is one core only: whoever is to ask next would have to wait until nobody looks out for it.
    pub fn new() -> Option<Self> {
        (allowed_cores() > 1).then(Self::default)
    }

    /// Waits for `input` once the last question is answered, but not for long; returns whether there is something to read.
    pub fn wait(&mut self, input: BorrowedFd<'_>) -> bool {
        if self.vain > VAIN_MAX && !self.vain.is_multiple_of(SLOW_STEP) {
            self.vain = self.vain.wrapping_add(1);
            return false;
        }
        let start = Instant::now();
        let mut watched = [PollFd::new(&input, PollFlags::IN)];
        while poll(&mut watched, Some(&Timespec::default())) == Ok(0) {
            if start.elapsed() >= AWAKE_MAX {
                self.vain = self.vain.wrapping_add(1);
                if let Some(company) = &self.company {
                    company.rest();
                }
                return false;
            }
        }
        self.vain = 0;
        self.at_once = self.at_once.saturating_add(1);
        if self.at_once == TALKATIVE_MIN {
            self.company = Company::new();
        }
        if let Some(company) = &mut self.company {
            company.keep_awake();
        }
        true
    }
}

/// A thread that keeps the other core awake while its process waits for an answer: it does nothing there, at a priority
/// (`SCHED_IDLE` in sched(7)) at which it yields to anybody.
struct Company {
    turn: Arc<AtomicU32>,
    thread: Thread,
    last: u32,
}

/// The thread sleeps, or is about to. Any other value of the turn is a question's number.
const ASLEEP: u32 = 0;

impl Company {
    /// The thread, where there are two cores. Among more it could be on any but the one that matters.
    fn new() -> Option<Self> {
        if allowed_cores() != 2 {
            return None;
        }
        let turn = Arc::new(AtomicU32::new(ASLEEP));
        let shared = turn.clone();
        let run = move || {
            // Time that a control group grants is not spent on nothing (`cpu.max` in cgroups(7)).
            let is_granted = thread::available_parallelism().is_ok_and(|cores| cores.get() > 1);
            if !is_granted || run_on_idle_cores().is_err() {
                return;
            }
            loop {
                turn_around(&shared);
                thread::park();
            }
        };
        let spawned = thread::Builder::new().spawn(run).ok()?;
        Some(Self {
            turn,
            thread: spawned.thread().clone(),
            last: ASLEEP,
        })
    }

    /// For the next answer.
    fn keep_awake(&mut self) {
        self.last = self.last.wrapping_add(1).max(ASLEEP + 1);
        // The turn tells nothing about other memory.
        if self.turn.swap(self.last, Ordering::Relaxed) == ASLEEP {
            self.thread.unpark();
        }
    }

    /// Until the next question.
    fn rest(&self) {
        self.turn.store(ASLEEP, Ordering::Relaxed);
    }
}

/// Turns around until it is time to sleep.
fn turn_around(turn: &AtomicU32) {
    let mut start = Instant::now();
    let mut last = turn.load(Ordering::Relaxed);
    loop {
        for _ in 0..TURNS {
            std::hint::spin_loop();
        }
        let now = turn.load(Ordering::Relaxed);
        if now == ASLEEP {
            return;
        }
        if now != last {
            (start, last) = (Instant::now(), now);
        } else if start.elapsed() >= COMPANY_MAX {
            // Unless a question came just now.
            let slept = turn.compare_exchange(now, ASLEEP, Ordering::Relaxed, Ordering::Relaxed);
            if slept.is_ok() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_kept_awake_for_longer_than_anybody_waits() {
        let turn = AtomicU32::new(7);
        turn_around(&turn);
        assert_eq!(turn.into_inner(), ASLEEP);
    }

    #[test]
    fn each_question_begins_a_turn_of_its_own() {
        let mut company = Company {
            turn: Arc::new(AtomicU32::new(ASLEEP)),
            thread: thread::current(),
            last: u32::MAX - 1,
        };
        let turn = |company: &Company| company.turn.load(Ordering::Relaxed);
        company.keep_awake();
        assert_eq!(turn(&company), u32::MAX);
        company.keep_awake();
        assert_ne!(turn(&company), ASLEEP, "it would not turn around");
        assert_ne!(turn(&company), u32::MAX);
        company.rest();
        assert_eq!(turn(&company), ASLEEP);
        turn_around(&company.turn);
    }
}
