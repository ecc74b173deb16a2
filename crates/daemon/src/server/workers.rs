//! The threads that answer: a few wait, and as many more are there as there are questions at a time, up to a limit.

use std::sync::Arc;
use std::thread::Builder;

use parking_lot::Mutex;

/// So many threads may answer at a time.
const WORKERS_MAX: usize = 64;

/// So many wait for what comes next: one that is busy leaves another who need not be started first.
const WAITING_MIN: usize = 2;

/// Waits for a piece of work, calls what it is given once there is one, and does it; false where there will be none.
type Work = dyn Fn(&dyn Fn()) -> bool + Send + Sync;

/// The threads of one kind of work.
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
    /// Threads of which each calls `work` over and over, which waits for a piece of work, calls what it is given when it has
    /// one, and then does it.
    pub(super) fn new(work: impl Fn(&dyn Fn()) -> bool + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            counts: Mutex::default(),
            work: Box::new(work),
        })
    }

    /// Has as many wait as should. Returns whether there is any.
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
            let spawned = Builder::new()
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
