//! A small generator of pseudo-random numbers, the same on every machine.

/// SplitMix64 (Steele, Lea, Flood 2014).
#[derive(Clone, Debug)]
pub struct Rng {
    state: u64,
}

impl Rng {
    /// Creates a generator for this seed.
    pub fn new(seed: u64) -> Self {
        let mut rng = Self { state: seed };
        // Spread adjacent seeds apart.
        rng.state = rng.next();
        rng
    }

    /// The next 64 bits.
    #[expect(
        clippy::should_implement_trait,
        reason = "it never ends, and Option would be in the way"
    )]
    pub fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, or 0 if `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next().checked_rem(bound).unwrap_or(0)
    }

    /// Returns true with a probability of `percent`.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of `choices`, or the default if there are none.
    pub fn pick<T: Clone + Default>(&mut self, choices: &[T]) -> T {
        let index = self.below(choices.len() as u64);
        usize::try_from(index)
            .ok()
            .and_then(|index| choices.get(index))
            .cloned()
            .unwrap_or_default()
    }

    /// One of `choices`, earlier ones more often.
    pub fn pick_early<T: Clone + Default>(&mut self, choices: &[T]) -> T {
        let first = self.below(choices.len() as u64);
        let index = first.min(self.below(choices.len() as u64));
        usize::try_from(index)
            .ok()
            .and_then(|index| choices.get(index))
            .cloned()
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_hold_and_all_is_reached() {
        let mut rng = Rng::new(1);
        let mut seen = [false; 10];
        for _ in 0..1000 {
            seen[usize::try_from(rng.below(10)).unwrap()] = true;
        }
        assert!(seen.iter().all(|seen| *seen));
        assert_eq!(rng.below(0), 0);
        assert_eq!(rng.pick::<u8>(&[]), 0);
    }
}
