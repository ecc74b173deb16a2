//! Counts the commits that only one of two has in its history (`git rev-list --count --left-right a...b`).

use std::collections::BinaryHeap;

use gix_hash::oid;

use crate::commits::{Commits, GENERATION_UNKNOWN, Number};
use vigil_git::objects::{Error, Objects};

/// Flags of a commit in the walk: the sides from which it was reached so far.
const LEFT: u32 = 1;
const RIGHT: u32 = 2;
const BOTH: u32 = LEFT | RIGHT;

/// The sides for which it is counted, shifted left by this many bits; none if it is not counted.
const COUNTED_SHIFT: u32 = 2;

/// The commit is in the queue.
const WAITS: u32 = 1 << 4;

/// The commit was reached from a commit that both sides have.
const STALE: u32 = 1 << 5;

/// How many commits of both sides are visited after the last one that seems to matter. Wrong clocks may make a
/// parent later than its child; git allows for five such commits.
const SLOP: u32 = 16;

/// Returns how many commits are in the history of `left` but not of `right`, and the other way round: (ahead,
/// behind). Both must be commits.
///
/// # Errors
/// A commit in either history is missing or damaged.
pub(crate) fn count_left_right(
    objects: &Objects,
    left: &oid,
    right: &oid,
) -> Result<(usize, usize), Error> {
    if left == right {
        return Ok((0, 0));
    }
    let pair = [left.to_owned(), right.to_owned()];
    if let Some([ahead, behind]) = objects.history().cached_distance(&pair) {
        return Ok((ahead, behind));
    }
    let mut walk = Walk {
        commits: Commits::new(objects),
        queue: BinaryHeap::new(),
        one_sided_in_queue: 0,
        fresh_in_queue: 0,
        counts: [0; 3],
        oldest: Oldest {
            generation: GENERATION_UNKNOWN,
            time_s: u64::MAX,
        },
    };
    for (id, side) in [(left, LEFT), (right, RIGHT)] {
        let number = walk.commits.number_of(id);
        walk.mark(number, side)?;
    }
    walk.run()?;
    let [ahead, behind, _] = walk.counts;
    objects.history().cache_distance(pair, [ahead, behind]);
    Ok((ahead, behind))
}

/// Ordered so that the latest commit is taken first: if generations or clocks are right, no ancestor of it was
/// taken before.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Queued {
    generation: u32,
    time_s: u64,
    number: Number,
}

/// The earliest generation and time of the commits that are counted for one side.
struct Oldest {
    generation: u32,
    time_s: u64,
}

/// A walk from both commits at once towards the roots, which ends when only commits of both sides are left.
///
/// A commit that was counted and is then reached from the other side is counted anew and walked through again, so
/// the order affects only the length of the walk.
struct Walk {
    commits: Commits,
    queue: BinaryHeap<Queued>,
    one_sided_in_queue: usize,
    /// The number of commits in the queue that are not stale, any of which may be where both sides meet.
    fresh_in_queue: usize,
    /// The numbers of commits that are counted for the left side, the right side, and both.
    counts: [usize; 3],
    oldest: Oldest,
}

impl Walk {
    fn run(&mut self) -> Result<(), Error> {
        let mut slop = SLOP;
        while let Some(next) = self.queue.pop() {
            if self.one_sided_in_queue == 0 {
                if self.is_certainly_older(&next) {
                    return Ok(());
                }
                if next.time_s < self.oldest.time_s {
                    slop -= 1;
                    if slop == 0 {
                        return Ok(());
                    }
                } else {
                    slop = SLOP;
                }
            } else {
                slop = SLOP;
            }
            let Some(commit) = self.commits.get_mut(next.number) else {
                continue;
            };
            let sides = commit.flags & BOTH;
            let before = commit.flags >> COUNTED_SHIFT & BOTH;
            let stale = commit.flags & STALE;
            commit.flags = sides | sides << COUNTED_SHIFT | stale;
            let is_met = self.fresh_in_queue == 0;
            self.fresh_in_queue -= usize::from(stale == 0);
            let stale_below = if sides == BOTH { STALE } else { 0 };
            if sides != BOTH {
                self.one_sided_in_queue -= 1;
                self.oldest.generation = self.oldest.generation.min(commit.generation);
                self.oldest.time_s = self.oldest.time_s.min(commit.time_s);
            }
            self.count(before, sides);
            for at in 0..self.commits.parent_count(next.number) {
                let Some(parent) = self.commits.parent(next.number, at) else {
                    break;
                };
                match self.mark(parent, sides | stale_below) {
                    // By then git has stopped looking for where both sides meet. Commits beyond do not change the
                    // counts.
                    Err(Error::Missing { .. }) if is_met => {}
                    other => other?,
                }
            }
        }
        Ok(())
    }

    fn count(&mut self, before: u32, now: u32) {
        for (sides, count) in (LEFT..).zip(&mut self.counts) {
            *count += usize::from(sides == now);
            *count -= usize::from(sides == before);
        }
    }

    /// Whether generations prove that no commit in the queue has a counted commit as an ancestor.
    fn is_certainly_older(&self, latest: &Queued) -> bool {
        latest.generation != GENERATION_UNKNOWN && latest.generation <= self.oldest.generation
    }

    /// Marks a commit as reached from `sides`, and perhaps as stale.
    fn mark(&mut self, number: Number, sides: u32) -> Result<(), Error> {
        self.commits.read(number)?;
        let Some(commit) = self.commits.get_mut(number) else {
            return Ok(());
        };
        let before = commit.flags;
        commit.flags |= sides;
        if commit.flags == before {
            return Ok(());
        }
        if before & WAITS == 0 {
            self.queue.push(Queued {
                generation: commit.generation,
                time_s: commit.time_s,
                number,
            });
        }
        let was_fresh = before & WAITS != 0 && before & STALE == 0;
        let is_fresh = commit.flags & STALE == 0;
        self.fresh_in_queue += usize::from(is_fresh);
        self.fresh_in_queue -= usize::from(was_fresh);
        let was_one_sided = before & WAITS != 0 && before & BOTH != BOTH;
        let is_one_sided = commit.flags & BOTH != BOTH;
        commit.flags |= WAITS;
        match (was_one_sided, is_one_sided) {
            (true, false) => self.one_sided_in_queue -= 1,
            (false, true) => self.one_sided_in_queue += 1,
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
