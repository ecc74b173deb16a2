//! Whether the memory of a process keeps growing.

/// The minimum number of samples for a verdict.
const SAMPLES_MIN: usize = 30;

/// Smaller growth, in KiB, does not count.
const GROWTH_MIN_KIB: u64 = 8 << 10;

/// Growth from one third to the next counts only if it exceeds this fraction (one in so many) of the earlier value.
const GROWTH_MIN_PART: u64 = 20;

/// The resident memory of processes, in the order of the samples: process ids and KiB.
#[derive(Clone, Debug, Default)]
pub(super) struct Samples(Vec<(u64, u64)>);

/// The trend of one process's resident memory, in KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryTrend {
    /// The number of samples.
    pub samples: usize,
    /// The first sample.
    pub start_kib: u64,
    /// The sample in the middle.
    pub middle_kib: u64,
    /// The last sample.
    pub end_kib: u64,
    /// Whether the memory keeps growing.
    pub grows: bool,
}

impl Samples {
    /// Takes a sample of a process, if it exists.
    pub(super) fn take(&mut self, pid: u64) {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let resident = status.lines().find_map(|line| {
            let value = line.strip_prefix("VmRSS:")?;
            value.trim().strip_suffix(" kB")?.trim().parse().ok()
        });
        self.0.extend(resident.map(|kib| (pid, kib)));
    }

    /// The trend of the process with the most samples.
    pub(super) fn trend(&self) -> MemoryTrend {
        let of = |pid: u64| self.0.iter().filter(move |sample| sample.0 == pid);
        let longest = self.0.iter().max_by_key(|sample| of(sample.0).count());
        let Some((pid, _)) = longest else {
            return MemoryTrend::default();
        };
        let all: Vec<u64> = of(*pid).map(|sample| sample.1).collect();
        let at = |index: usize| all.get(index).copied().unwrap_or_default();
        MemoryTrend {
            samples: all.len(),
            start_kib: at(0),
            middle_kib: at(all.len() / 2),
            end_kib: at(all.len().saturating_sub(1)),
            grows: grows(&all),
        }
    }
}

/// Whether the median of each third is clearly above that of the one before. The first quarter does not count: until then
/// the process fills its caches.
fn grows(all: &[u64]) -> bool {
    let later = all.get(all.len() / 4..).unwrap_or_default();
    if later.len() < SAMPLES_MIN {
        return false;
    }
    let medians: Vec<u64> = later
        .chunks(later.len().div_ceil(3))
        .map(|third| {
            let mut third = third.to_vec();
            third.sort_unstable();
            third.get(third.len() / 2).copied().unwrap_or_default()
        })
        .collect();
    let [first, second, third] = medians[..] else {
        return false;
    };
    let is_above = |later: u64, earlier: u64| later > earlier + earlier / GROWTH_MIN_PART;
    is_above(second, first) && is_above(third, second) && third - first >= GROWTH_MIN_KIB
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trend_of(values: impl Iterator<Item = u64>) -> MemoryTrend {
        Samples(values.map(|kib| (7, kib)).collect()).trend()
    }

    #[test]
    fn steady_growth_is_distinguished_from_memory_that_settles() {
        let steady = trend_of((0..100).map(|number| 10_000 + number * 300));
        assert!(steady.grows);
        assert_eq!((steady.start_kib, steady.end_kib), (10_000, 39_700));
        // It fills its caches, and then fluctuates.
        let settling =
            (0..100).map(|number| 10_000 + 30_000.min(number * 2000) + number % 7 * 2000);
        assert!(!trend_of(settling).grows);
        assert!(!trend_of((0..100).map(|number| 10_000 + number * 10)).grows);
        assert!(!trend_of((0..20).map(|number| number * 10_000)).grows);
    }

    #[test]
    fn the_process_that_lived_longest_counts() {
        let mut samples = Samples(vec![(1, 5), (2, 10), (2, 20), (2, 30), (3, 7)]);
        let trend = samples.trend();
        assert_eq!((trend.samples, trend.middle_kib), (3, 20));
        samples.take(u64::from(std::process::id()));
        assert_eq!(samples.0.len(), 6);
        samples.take(u64::MAX);
        assert_eq!(samples.0.len(), 6);
    }
}
