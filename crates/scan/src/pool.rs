//! A pool for one scan: as many threads as there is work for.
//!
//! Tasks are taken last in, first out, so that a walk goes deep before it goes wide and few directories are open
//! at once. A worker keeps its tasks to itself and gives half of them away when another is idle. While the work is
//! CPU-bound, there are as many workers as cores. When the process is seen to sleep, as it does when directories
//! come from a disk, more are added.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::Scope;
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;
use parking_lot::{Condvar, Mutex};
use rustix::process::{Resource, getrlimit};
use vigil_linux::process::{Usage, cores, thread_builder, usage};

/// The maximum number of workers, however slow the disk is.
const WORKERS_MAX: usize = 64;
/// How often to check whether workers are waiting.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(2);
/// The minimum number of sleeps in that time if workers are waiting for the disk.
const WAITS_MIN: u64 = 4;
/// From this many workers per core on, more are added with reluctance.
const MANY_WORKERS_PER_CORE: u32 = 8;
/// With fewer tasks waiting than this, another worker would find nothing to do.
const BACKLOG_MIN: usize = 2;

/// What the workers of one scan share.
pub(super) struct Pool<T> {
    shared: Mutex<Vec<T>>,
    wake: Condvar,
    /// The number of tasks that are queued anywhere or running. It is written for most tasks, and the rest is read for each.
    pending: CachePadded<AtomicUsize>,
    idle: AtomicUsize,
    workers: AtomicUsize,
    workers_max: usize,
    stopped: AtomicBool,
    /// Set if a worker panicked: its tasks will never be done, so the others must not wait for them.
    broken: AtomicBool,
    sample: Mutex<Sample>,
}

struct Sample {
    at: Instant,
    /// What the process had used by then; unknown at the start of a small scan.
    usage: Option<Usage>,
}

/// Tells the other workers if the worker that holds it panics.
struct Alarm<'a, T>(&'a Pool<T>);

impl<T> Drop for Alarm<'_, T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stopped.store(true, Ordering::Relaxed);
            // Under the lock, so that no worker is between the check and the wait.
            let _shared = self.0.shared.lock();
            self.0.broken.store(true, Ordering::Release);
            self.0.wake.notify_all();
        }
    }
}

/// A worker's own queue.
pub(super) struct Local<T> {
    tasks: Vec<T>,
}

impl<T> Local<T> {
    pub(super) fn push(&mut self, task: T) {
        self.tasks.push(task);
    }
}

impl<T: Send> Pool<T> {
    /// Creates a pool of at most `threads_max` workers.
    pub(super) fn new(threads_max: Option<usize>) -> Self {
        Self {
            shared: Mutex::new(Vec::new()),
            wake: Condvar::new(),
            pending: AtomicUsize::new(0).into(),
            idle: AtomicUsize::new(0),
            workers: AtomicUsize::new(1),
            workers_max: threads_max.unwrap_or(WORKERS_MAX).clamp(1, WORKERS_MAX),
            stopped: AtomicBool::new(false),
            broken: AtomicBool::new(false),
            sample: Mutex::new(Sample {
                at: Instant::now(),
                usage: None,
            }),
        }
    }

    /// Makes the workers finish their current task and drop the rest.
    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Whether [`Pool::stop`] was called.
    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Runs `first` and every task that comes of it, and returns what each worker collected.
    ///
    /// If `is_small`, the calling thread starts alone: for small trees a thread costs more than the work.
    pub(super) fn run<W: Send>(
        &self,
        first: T,
        is_small: bool,
        new_worker: impl Fn() -> W + Sync,
        step: impl Fn(T, &mut W, &mut Local<T>) + Sync,
    ) -> Vec<W> {
        self.pending.store(1, Ordering::Relaxed);
        let workers_at_start = if is_small {
            1
        } else {
            self.sample.lock().usage = Some(usage());
            cores().min(self.workers_max)
        };
        self.shared.lock().push(first);
        self.workers.store(workers_at_start, Ordering::Relaxed);
        let collected = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            let shared = Shared {
                pool: self,
                new_worker: &new_worker,
                step: &step,
                collected: &collected,
            };
            for _ in 1..workers_at_start {
                shared.start(scope);
            }
            shared.work(scope);
        });
        collected.into_inner()
    }

    /// Returns the next task, or `None` when all work is done.
    fn next(&self, local: &mut Local<T>) -> Option<T> {
        if let Some(task) = local.tasks.pop() {
            return Some(task);
        }
        let mut shared = self.shared.lock();
        loop {
            if let Some(task) = shared.pop() {
                return Some(task);
            }
            if self.pending.load(Ordering::Acquire) == 0 || self.broken.load(Ordering::Acquire) {
                return None;
            }
            self.idle.fetch_add(1, Ordering::Relaxed);
            self.wake.wait(&mut shared);
            self.idle.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Gives the older half of `local` to idle workers.
    fn share(&self, local: &mut Local<T>) {
        if local.tasks.len() < BACKLOG_MIN || self.idle.load(Ordering::Relaxed) == 0 {
            return;
        }
        let half = local.tasks.len() / 2;
        let mut shared = self.shared.lock();
        shared.extend(local.tasks.drain(..half));
        drop(shared);
        self.wake.notify_all();
    }

    /// Counts a task as done that has `added` others to its worker's queue. Call this before these are given to other workers.
    fn finish_one(&self, added: usize) {
        match added {
            0 if self.pending.fetch_sub(1, Ordering::AcqRel) == 1 => {
                // Under the lock, so that no worker is between the check of `pending` and the wait.
                let _shared = self.shared.lock();
                self.wake.notify_all();
            }
            0 | 1 => {}
            _ => {
                self.pending
                    .fetch_add(added.saturating_sub(1), Ordering::AcqRel);
            }
        }
    }

    /// How many workers to add now. If the process slept during the last interval: as many as there are.
    /// Otherwise: as many as cores are unused. If a worker is idle: none, since it sleeps for lack of tasks, not
    /// for the disk.
    fn workers_to_add(&self) -> usize {
        let Some(mut sample) = self.sample.try_lock() else {
            return 0;
        };
        let wall = sample.at.elapsed();
        if wall < SAMPLE_INTERVAL {
            return 0;
        }
        let cores = cores();
        let workers = self.workers.load(Ordering::Relaxed);
        // The more workers there are, the longer it takes until the most recent ones show in the figures.
        let generations = u32::try_from(workers / cores.max(1)).unwrap_or(u32::MAX);
        if wall < SAMPLE_INTERVAL.saturating_mul(generations.max(1)) {
            return 0;
        }
        let now = usage();
        let before = sample.usage.unwrap_or(now);
        let used = now.cpu.saturating_sub(before.cpu);
        let waits = now.waits.saturating_sub(before.waits);
        *sample = Sample {
            at: Instant::now(),
            usage: Some(now),
        };
        drop(sample);
        let usable = u32::try_from(cores.min(workers)).unwrap_or(1);
        let idle = self.idle.load(Ordering::Relaxed);
        if idle > 0 {
            return 0;
        }
        // Some processor time goes to other processes even if no worker waits, while waiting for the disk means
        // sleeping. Many workers have a cost of their own: to add to those, the cores must be idle for a good part
        // of the time.
        let busy_percent_max = if generations < MANY_WORKERS_PER_CORE {
            90
        } else {
            70
        };
        let is_waiting = waits >= WAITS_MIN && used * 100 < wall * usable * busy_percent_max;
        let target = if is_waiting {
            workers.saturating_mul(2)
        } else {
            cores
        }
        .min(self.workers_max);
        self.workers.store(target.max(workers), Ordering::Relaxed);
        target.saturating_sub(workers)
    }
}

struct Shared<'a, T, N, S, W> {
    pool: &'a Pool<T>,
    new_worker: &'a N,
    step: &'a S,
    collected: &'a Mutex<Vec<W>>,
}

impl<T, N, S, W> Clone for Shared<'_, T, N, S, W> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, N, S, W> Copy for Shared<'_, T, N, S, W> {}

impl<'env, T, N, S, W> Shared<'env, T, N, S, W>
where
    T: Send,
    W: Send,
    N: Fn() -> W + Sync,
    S: Fn(T, &mut W, &mut Local<T>) + Sync,
{
    fn start<'scope>(self, scope: &'scope Scope<'scope, 'env>) {
        // If no thread can be started, the existing workers do all the work.
        let _ = thread_builder().spawn_scoped(scope, move || self.work(scope));
    }

    fn work<'scope>(self, scope: &'scope Scope<'scope, 'env>) {
        let _alarm = Alarm(self.pool);
        let mut worker = (self.new_worker)();
        let mut local = Local { tasks: Vec::new() };
        let mut sampled_at = Instant::now();
        while let Some(task) = self.pool.next(&mut local) {
            if self.pool.is_stopped() {
                self.pool.finish_one(0);
                continue;
            }
            let before = local.tasks.len();
            (self.step)(task, &mut worker, &mut local);
            self.pool
                .finish_one(local.tasks.len().saturating_sub(before));
            self.pool.share(&mut local);
            if sampled_at.elapsed() >= SAMPLE_INTERVAL {
                sampled_at = Instant::now();
                for _ in 0..self.pool.workers_to_add() {
                    self.start(scope);
                }
            }
        }
        self.collected.lock().push(worker);
    }
}

/// The number of directories that a scan may hold open: half of the process's limit when first asked, to leave
/// room for files and the caller's own descriptors.
pub(super) fn open_dirs_max() -> usize {
    static MAX: OnceLock<usize> = OnceLock::new();
    *MAX.get_or_init(|| {
        let soft = getrlimit(Resource::Nofile).current.unwrap_or(4096);
        usize::try_from(soft / 2).unwrap_or(512).clamp(8, 4096)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(is_small: bool, threads_max: Option<usize>) -> usize {
        let pool = Pool::new(threads_max);
        // Each task of depth n adds three of depth n - 1.
        let counts = pool.run(
            6u32,
            is_small,
            || 0usize,
            |depth, seen, local| {
                *seen += 1;
                if depth > 0 {
                    (0..3).for_each(|_| local.push(depth - 1));
                }
            },
        );
        counts.into_iter().sum()
    }

    #[test]
    fn every_task_runs_once() {
        let all = (0..=6).map(|n| 3usize.pow(n)).sum();
        assert_eq!(count(true, None), all);
        for threads in [1, 2, 7] {
            assert_eq!(count(false, Some(threads)), all);
        }
    }

    #[test]
    fn a_panic_ends_the_scan_and_nobody_waits_for_ever() {
        let run = || {
            Pool::new(Some(3)).run(
                0u32,
                false,
                || (),
                |n, (), local| {
                    assert!(n < 50, "a defect");
                    local.push(n + 1);
                    local.push(n + 1);
                },
            )
        };
        assert!(std::panic::catch_unwind(run).is_err());
    }

    #[test]
    fn a_stopped_pool_drops_what_is_left() {
        let pool = Pool::new(Some(3));
        let counts = pool.run(
            0u32,
            false,
            || 0usize,
            |n, seen, local| {
                *seen += 1;
                if n == 100 {
                    pool.stop();
                }
                local.push(n + 1);
            },
        );
        assert!(counts.into_iter().sum::<usize>() >= 101);
    }
}
