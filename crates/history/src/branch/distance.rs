//! How many commits only one of two has in its history (`git rev-list --count --left-right a...b`).

use std::collections::BinaryHeap;

use gix_hash::oid;

use crate::commits::{Commits, GENERATION_UNKNOWN, Number};
use vigil_git::objects::{Error, Objects};

/// What the walk notes of a commit: from which sides it was reached so far.
const LEFT: u32 = 1;
const RIGHT: u32 = 2;
const BOTH: u32 = LEFT | RIGHT;

/// The sides under which it is counted, so many bits further up; none while it is not.
const COUNTED_SHIFT: u32 = 2;

/// It is in the queue.
const WAITS: u32 = 1 << 4;

/// It was reached from a commit of both sides.
const STALE: u32 = 1 << 5;

/// How many commits of both sides are looked at after the last that seems to matter. Clocks that are wrong may
/// give a parent a later time than its child's; git allows for five such commits.
const SLOP: u32 = 16;

/// Counts the commits in the history of `left` that are not in the history of `right`, and the other way round:
/// (ahead, behind). Both must be commits.
pub fn count_left_right(
    objects: &Objects,
    left: &oid,
    right: &oid,
) -> Result<(usize, usize), Error> {
    if left == right {
        return Ok((0, 0));
    }
    let pair = [left.to_owned(), right.to_owned()];
    if let Some([ahead, behind]) = objects.history().remembered(&pair) {
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
    objects.history().remember(pair, [ahead, behind]);
    Ok((ahead, behind))
}

/// What is taken from the queue first is what is the latest: no ancestor of it was taken before, if generations
/// or clocks are right.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Queued {
    generation: u32,
    time_s: u64,
    number: Number,
}

/// The earliest generation and time of commits that were counted for one side.
struct Oldest {
    generation: u32,
    time_s: u64,
}

/// A walk from both commits at once towards the roots, which ends when all that is left is on both sides.
///
/// A commit that was counted and is then reached from the other side too is taken back and walked through
/// again, so that the order affects only how long the walk is.
struct Walk<'a> {
    commits: Commits<'a>,
    queue: BinaryHeap<Queued>,
    one_sided_in_queue: usize,
    /// How many commits in the queue may still be where both sides meet.
    fresh_in_queue: usize,
    /// How many commits are counted for the left side, the right, and both.
    counts: [usize; 3],
    oldest: Oldest,
}

impl Walk<'_> {
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
                    // git looks no further for where both sides meet. What lies beyond does not change the counts.
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

    /// Whether generations prove that no counted commit is an ancestor of what is left in the queue.
    fn is_certainly_older(&self, latest: &Queued) -> bool {
        latest.generation != GENERATION_UNKNOWN && latest.generation <= self.oldest.generation
    }

    /// Notes that a commit was reached from `sides`, and whether it is stale.
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
