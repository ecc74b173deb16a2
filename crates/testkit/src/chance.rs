//! Random choices with a fixed seed, for tests. Impossible requests panic.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "only tests call this, and a test that fails may panic"
)]

use crate::random::rng::Rng;

/// Makes random choices for a test.
#[derive(Debug)]
pub struct Chance(Rng);

impl Chance {
    /// Creates the choices for this seed.
    pub fn new(seed: u64) -> Self {
        Self(Rng::new(seed))
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        assert!(limit > 0);
        usize::try_from(self.0.below(limit as u64)).unwrap()
    }

    /// One of `choices`.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// A concatenation of one to `length_max` of `parts`.
    pub fn text(&mut self, parts: &[&str], length_max: usize) -> String {
        (0..=self.below(length_max))
            .map(|_| self.pick(parts))
            .collect()
    }
}
