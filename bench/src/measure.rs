//! Alternated rounds and their medians.

use std::time::Duration;

use serde::Serialize;

use crate::Done;

/// The median of several measurements, and how far they spread.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Summary {
    /// The median, in microseconds.
    pub(crate) median_us: f64,
    /// The lower quartile, in microseconds.
    pub(crate) low_us: f64,
    /// The upper quartile, in microseconds.
    pub(crate) high_us: f64,
    /// The median, over the rounds, of this time divided by that of the base in the same round.
    pub(crate) ratio: f64,
}

/// Runs each of `things` once per round, in turns, and starts each round with another one, so that a
/// passing disturbance of the machine affects all alike. Ratios are to `things[base]`.
pub(crate) fn run_interleaved<T>(
    things: &mut [T],
    base: usize,
    rounds: usize,
    mut run: impl FnMut(&mut T) -> Done<Duration>,
) -> Done<Vec<Summary>> {
    let mut times = vec![Vec::with_capacity(rounds); things.len()];
    for round in 0..rounds {
        for turn in 0..things.len() {
            let at = (round + turn) % things.len();
            if let (Some(thing), Some(times)) = (things.get_mut(at), times.get_mut(at)) {
                times.push(run(thing)?.as_secs_f64() * 1e6);
            }
        }
    }
    let base = times.get(base).cloned().unwrap_or_default();
    Ok(times.iter().map(|times| summary(times, &base)).collect())
}

fn summary(times: &[f64], base: &[f64]) -> Summary {
    let ratios = times.iter().zip(base).map(|(time, base)| time / base);
    Summary {
        median_us: quantile(times.iter().copied(), 0.5),
        low_us: quantile(times.iter().copied(), 0.25),
        high_us: quantile(times.iter().copied(), 0.75),
        ratio: quantile(ratios, 0.5),
    }
}

/// The value below which the share `q` of the values lies. NaN if there are none.
fn quantile(values: impl Iterator<Item = f64>, q: f64) -> f64 {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    let last = values.len().saturating_sub(1);
    let at = (last as f64 * q).round() as usize;
    values.get(at).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_paired_ratios() {
        let mut order = Vec::new();
        let mut things = [(1, 10), (2, 30)];
        let summaries = run_interleaved(&mut things, 0, 3, |(name, time)| {
            order.push(*name);
            *time *= 2;
            Ok(Duration::from_micros(*time))
        })
        .unwrap();
        assert_eq!(order, [1, 2, 2, 1, 1, 2]);
        assert_eq!(summaries[0].median_us.round(), 40.0);
        assert_eq!(summaries[1].median_us.round(), 120.0);
        assert_eq!(summaries[1].ratio.round(), 3.0);
        assert_eq!(summaries[1].low_us.round(), 120.0);
    }
}
