//! Divides work on many items among all cores.

use std::thread::{Scope, ScopedJoinHandle};

use vigil_linux::process::{cores, thread_builder};

/// Work for another thread.
#[derive(Debug)]
pub enum MaybeThread<'scope, T> {
    /// Another thread does it.
    Thread(ScopedJoinHandle<'scope, T>),
    /// No thread could be started, so it was done at once.
    Done(T),
}

impl<T> MaybeThread<'_, T> {
    /// Returns the result of the work.
    ///
    /// # Panics
    /// If the work panicked.
    pub fn join(self) -> T {
        match self {
            Self::Done(made) => made,
            Self::Thread(thread) => match thread.join() {
                Ok(made) => made,
                Err(panic) => std::panic::resume_unwind(panic),
            },
        }
    }
}

/// Does `work` on another thread, or now on this one if no thread can be started.
pub fn spawn_or_run<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Copy + Send + 'scope,
) -> MaybeThread<'scope, T> {
    match thread_builder().spawn_scoped(scope, work) {
        Ok(thread) => MaybeThread::Thread(thread),
        Err(_) => MaybeThread::Done(work()),
    }
}

/// Returns the results of `work` on `items`, in their order. Each core works on one contiguous part
/// of them.
///
/// # Panics
/// If `work` panics.
pub fn on_all_cores<I: Sync, T: Send>(items: &[I], work: impl Fn(&[I]) -> Vec<T> + Sync) -> Vec<T> {
    on_cores(items, 1, work)
}

/// The same on as many cores as each get at least `share_min` items.
///
/// # Panics
/// If `work` panics.
pub fn on_cores<I: Sync, T: Send>(
    items: &[I],
    share_min: usize,
    work: impl Fn(&[I]) -> Vec<T> + Sync,
) -> Vec<T> {
    let share = items.len().div_ceil(cores().max(1)).max(share_min).max(1);
    std::thread::scope(|scope| {
        let mut shares = items.chunks(share);
        let first = shares.next().unwrap_or_default();
        let work = &work;
        let others: Vec<_> = shares
            .map(|items| spawn_or_run(scope, move || work(items)))
            .collect();
        let mut all = work(first);
        for other in others {
            all.extend(other.join());
        }
        all
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_comes_in_the_order_of_what_it_is_made_of() {
        for count in [0, 1, 2, 3, 1000] {
            let items: Vec<u32> = (0..count).collect();
            let made = on_all_cores(&items, |items| items.iter().map(|item| item * 2).collect());
            assert_eq!(made, items.iter().map(|item| item * 2).collect::<Vec<_>>());
        }
    }
}
