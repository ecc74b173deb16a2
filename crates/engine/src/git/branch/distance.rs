//! How many commits only one of two has in its history (`git rev-list --count --left-right a...b`).

use std::collections::{BinaryHeap, HashMap};
use std::hash::BuildHasherDefault;

use gix_commitgraph::Graph;
use gix_hash::{ObjectId, oid};

use crate::id_hasher::IdHasher;
use crate::objects::{Error, Objects};

const LEFT: u8 = 1;
const RIGHT: u8 = 2;
const BOTH: u8 = LEFT | RIGHT;

/// The generation of a commit that no commit-graph has: later than any that one has.
const GENERATION_UNKNOWN: u32 = u32::MAX;

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
        objects,
        graph: objects.commit_graph(),
        numbers: HashMap::default(),
        commits: Vec::new(),
        queue: BinaryHeap::new(),
        one_sided_in_queue: 0,
        counts: [0; 4],
        oldest: Oldest {
            generation: GENERATION_UNKNOWN,
            time_s: i64::MAX,
        },
        buf: Vec::new(),
    };
    walk.mark(left, LEFT)?;
    walk.mark(right, RIGHT)?;
    walk.run()?;
    let [_, ahead, behind, _] = walk.counts;
    objects.history().remember(pair, [ahead, behind]);
    Ok((ahead, behind))
}

/// A commit that was reached.
struct Reached {
    id: ObjectId,
    generation: u32,
    time_s: i64,
    /// From which sides it was reached so far.
    sides: u8,
    /// The sides under which it is counted; 0 while it is not.
    counted: u8,
    is_in_queue: bool,
    /// Known from its object; a commit-graph is asked for them each time.
    parents: Vec<ObjectId>,
}

/// What is taken from the queue first is what is the latest: no ancestor of it was taken before, if generations
/// or clocks are right.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Queued {
    generation: u32,
    time_s: i64,
    number: usize,
}

/// The earliest generation and time of commits that were counted for one side.
struct Oldest {
    generation: u32,
    time_s: i64,
}

/// A walk from both commits at once towards the roots, which ends when all that is left is on both sides.
///
/// A commit that was counted and is then reached from the other side too is taken back and walked through
/// again, so that the order affects only how long the walk is.
struct Walk<'a> {
    objects: &'a Objects,
    graph: Option<Graph>,
    numbers: HashMap<ObjectId, usize, BuildHasherDefault<IdHasher>>,
    commits: Vec<Reached>,
    queue: BinaryHeap<Queued>,
    one_sided_in_queue: usize,
    /// Counted commits by side.
    counts: [usize; 4],
    oldest: Oldest,
    buf: Vec<u8>,
}

impl Walk<'_> {
    fn run(&mut self) -> Result<(), Error> {
        let mut slop = SLOP;
        let mut parents = Vec::new();
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
            commit.is_in_queue = false;
            let sides = commit.sides;
            let before = std::mem::replace(&mut commit.counted, sides);
            if sides != BOTH {
                self.one_sided_in_queue -= 1;
                self.oldest.generation = self.oldest.generation.min(commit.generation);
                self.oldest.time_s = self.oldest.time_s.min(commit.time_s);
            }
            self.count(before, sides);

            parents.clear();
            self.parents_of(next.number, &mut parents)?;
            for parent in &parents {
                match self.mark(parent, sides) {
                    // What lies beyond the common history does not change the counts.
                    Err(Error::Missing { .. }) if sides == BOTH => {}
                    other => other?,
                }
            }
        }
        Ok(())
    }

    fn count(&mut self, before: u8, now: u8) {
        if let Some(count) = self.counts.get_mut(usize::from(before))
            && before != 0
        {
            *count -= 1;
        }
        if let Some(count) = self.counts.get_mut(usize::from(now)) {
            *count += 1;
        }
    }

    /// Whether generations prove that no counted commit is an ancestor of what is left in the queue.
    fn is_certainly_older(&self, latest: &Queued) -> bool {
        latest.generation != GENERATION_UNKNOWN && latest.generation <= self.oldest.generation
    }

    /// Notes that `id` was reached from `sides`.
    fn mark(&mut self, id: &oid, sides: u8) -> Result<(), Error> {
        let number = match self.numbers.get(id) {
            Some(number) => *number,
            None => {
                let commit = self.read(id)?;
                let number = self.commits.len();
                self.numbers.insert(commit.id, number);
                self.commits.push(commit);
                number
            }
        };
        let Some(commit) = self.commits.get_mut(number) else {
            return Ok(());
        };
        let before = commit.sides;
        commit.sides |= sides;
        if commit.sides == before {
            return Ok(());
        }
        let is_new = !commit.is_in_queue;
        let was_one_sided = commit.is_in_queue && before != BOTH;
        let is_one_sided = commit.sides != BOTH;
        commit.is_in_queue = true;
        if is_new {
            self.queue.push(Queued {
                generation: commit.generation,
                time_s: commit.time_s,
                number,
            });
        }
        match (was_one_sided, is_one_sided) {
            (true, false) => self.one_sided_in_queue -= 1,
            (false, true) => self.one_sided_in_queue += 1,
            _ => {}
        }
        Ok(())
    }

    fn read(&mut self, id: &oid) -> Result<Reached, Error> {
        let mut commit = Reached {
            id: id.to_owned(),
            generation: GENERATION_UNKNOWN,
            time_s: 0,
            sides: 0,
            counted: 0,
            is_in_queue: false,
            parents: Vec::new(),
        };
        if let Some(recorded) = self.graph.as_ref().and_then(|graph| graph.commit_by_id(id)) {
            // The oldest writers left the generation out.
            if recorded.generation() != 0 {
                commit.generation = recorded.generation();
                commit.time_s = i64::try_from(recorded.committer_timestamp()).unwrap_or(i64::MAX);
                return Ok(commit);
            }
        }
        commit.time_s = self.objects.links(id, &mut self.buf, &mut commit.parents)?;
        Ok(commit)
    }

    /// Adds the parents of the commit `number` to `parents`.
    fn parents_of(&mut self, number: usize, parents: &mut Vec<ObjectId>) -> Result<(), Error> {
        let Some(commit) = self.commits.get_mut(number) else {
            return Ok(());
        };
        if let (Some(graph), true) = (&self.graph, commit.generation != GENERATION_UNKNOWN) {
            let recorded = graph.commit_by_id(commit.id).into_iter();
            let positions: Result<Vec<_>, _> =
                recorded.flat_map(|commit| commit.iter_parents()).collect();
            if let Ok(positions) = positions {
                parents.extend(positions.into_iter().map(|at| graph.id_at(at).to_owned()));
                return Ok(());
            }
            // Damaged in this place: the object knows.
            let id = commit.id;
            return self.objects.links(&id, &mut self.buf, parents).map(|_| ());
        }
        // Kept only for a commit that is walked through again.
        parents.extend_from_slice(&commit.parents);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
