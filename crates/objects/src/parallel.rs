//! Work on many things that all cores share.

use std::thread::{Builder, Scope, ScopedJoinHandle};

use vigil_linux::process::cores;

/// Work that was handed to another thread, if there was room for one.
#[derive(Debug)]
pub enum Started<'scope, T> {
    /// It is done there.
    Thread(ScopedJoinHandle<'scope, T>),
    /// There was no room for a thread, so it is done already.
    Done(T),
}

impl<T> Started<'_, T> {
    /// What came of it.
    ///
    /// # Panics
    /// If the work did.
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

/// Has `work` done by another thread, or if there is no room for one, by this one now.
pub fn on_another_thread<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Copy + Send + 'scope,
) -> Started<'scope, T> {
    match Builder::new().spawn_scoped(scope, work) {
        Ok(thread) => Started::Thread(thread),
        Err(_) => Started::Done(work()),
    }
}

/// What `work` makes of `items`, in their order. Each core has one part of them, one after the other.
///
/// # Panics
/// If `work` does.
pub fn on_all_cores<I: Sync, T: Send>(items: &[I], work: impl Fn(&[I]) -> Vec<T> + Sync) -> Vec<T> {
    let share = items.len().div_ceil(cores().max(1)).max(1);
    std::thread::scope(|scope| {
        let mut shares = items.chunks(share);
        let first = shares.next().unwrap_or_default();
        let work = &work;
        let others: Vec<_> = shares
            .map(|items| on_another_thread(scope, move || work(items)))
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
