//! Work on many things that all cores share.

use vigil_linux::process::cores;

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
        let others: Vec<_> = shares.map(|items| scope.spawn(|| work(items))).collect();
        let mut all = work(first);
        for other in others {
            match other.join() {
                Ok(more) => all.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
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
