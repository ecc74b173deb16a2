//! The threads that answer: one for each open question, up to a limit, and a few that wait.

use std::sync::Arc;

use parking_lot::Mutex;
use vigil_linux::process::thread_builder;

/// The most threads.
const WORKERS_MAX: usize = 64;

/// The number of threads that wait for input: when one becomes busy, another is ready without being started first.
const WAITING_MIN: usize = 2;

/// Waits for a piece of work, calls its argument once there is one, and does the work. Returns false if no more will come.
type Work = dyn Fn(&dyn Fn()) -> bool + Send + Sync;

/// The threads for one kind of work.
pub(super) struct Workers {
    counts: Mutex<Counts>,
    work: Box<Work>,
}

#[derive(Default)]
struct Counts {
    all: usize,
    waiting: usize,
}

impl Workers {
    /// Creates threads that each call `work` repeatedly. It must wait for a piece of work, call its argument once there is
    /// one, and then do the work.
    pub(super) fn new(work: impl Fn(&dyn Fn()) -> bool + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            counts: Mutex::default(),
            work: Box::new(work),
        })
    }

    /// Starts threads until enough are waiting. Returns whether there is any thread.
    pub(super) fn start(self: &Arc<Self>) -> bool {
        loop {
            let mut counts = self.counts.lock();
            if counts.waiting >= WAITING_MIN || counts.all >= WORKERS_MAX {
                return true;
            }
            counts.all = counts.all.saturating_add(1);
            counts.waiting = counts.waiting.saturating_add(1);
            drop(counts);
            let workers = self.clone();
            let spawned = thread_builder()
                .name("worker".into())
                .spawn(move || workers.run());
            if spawned.is_err() {
                let mut counts = self.counts.lock();
                counts.all = counts.all.saturating_sub(1);
                counts.waiting = counts.waiting.saturating_sub(1);
                return counts.all > 0;
            }
        }
    }

    fn run(self: &Arc<Self>) {
        let begin = || {
            let mut counts = self.counts.lock();
            counts.waiting = counts.waiting.saturating_sub(1);
            let is_last = counts.waiting == 0;
            drop(counts);
            if is_last {
                self.start();
            }
        };
        while (self.work)(&begin) {
            let mut counts = self.counts.lock();
            if counts.waiting >= WAITING_MIN {
                counts.all = counts.all.saturating_sub(1);
                return;
            }
            counts.waiting = counts.waiting.saturating_add(1);
        }
    }
}
