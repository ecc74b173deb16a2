//! Remembering what the commits of a long walk said, once the answer is out.

use gix_hash::{ObjectId, oid};
use vigil_model::timestamp::Timestamp;

use super::memory::{Block, BlockWriter, COMMITS, HEAD, write_head};
use super::recorded::Recorded;
use super::{Commit, Commits, Number, Source, Told, index, offset};
use crate::git::objects::Objects;
use crate::git::repository::Repository;
use crate::state::{commits_store, make_way};
use vigil_stamp::trust::{self, FileSystem};
use vigil_store::{Changes, NoSteps, Table};

/// From how many commits on that were read from their objects it is worth to remember them.
const MANY: usize = 1024;

/// And from which part on of those that are remembered, since all are written anew.
const PART: usize = 8;

/// More commits are not remembered: whoever has so many waits long for them to be written, and has a commit-graph as a rule.
const MAX: usize = 1 << 19;

/// What a walk read that is worth remembering.
pub(crate) struct Learned {
    all: Vec<Commit>,
    by_objects: Vec<Told>,
    parents: Vec<Number>,
    recorded: Option<Recorded>,
    /// Nothing was read before.
    before: Timestamp,
}

impl std::fmt::Debug for Learned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let count = self.by_objects.len();
        f.debug_struct("Learned").field("count", &count).finish()
    }
}

impl Commits<'_> {
    /// What was read that is worth remembering.
    pub(in crate::git) fn into_learned(self) -> Option<Learned> {
        let recorded = self.recorded.into_inner().flatten();
        let known = match &recorded {
            Some(Recorded::Graph(_)) => return None,
            Some(Recorded::Memory(memory)) => index(memory.count()),
            None => 0,
        };
        let new = self.by_objects.len();
        let is_worth_it = new >= MANY.max(known / PART) && known.saturating_add(new) <= MAX;
        (is_worth_it && self.objects.history().is_as_recorded()).then_some(Learned {
            all: self.all,
            by_objects: self.by_objects,
            parents: self.parents,
            recorded,
            before: self.before,
        })
    }
}

impl Learned {
    /// Writes it to disk. Only later walks would have gained by it: nothing is said where it fails.
    pub(crate) fn save(&self, repository: &Repository, objects: &Objects) {
        let _ = self.try_save(repository, objects);
    }

    fn try_save(&self, repository: &Repository, objects: &Objects) -> Option<()> {
        let store = commits_store(repository)?;
        let file_system = FileSystem::of_folder(&repository.common_dir)?;
        let mark = trust::mark();
        let packs = objects.evidence_of_packs(self.before)?;
        let mut stamps = packs.iter().filter_map(|pack| pack.stamp);
        if !stamps.all(|stamp| file_system.trust_in(&stamp).contents) {
            return None;
        }
        let (count, commits) = self.block(objects)?;
        let head = write_head(count, &packs)?;
        if !make_way(repository) {
            return None;
        }
        let mut changes = Changes::new();
        changes.set(Table::General, HEAD, head);
        changes.set(Table::General, COMMITS, commits);
        let mark = mark.to_bytes();
        let published = match store.open() {
            Ok(base) => store.replace(&base, changes, mark, &NoSteps),
            Err(_) => store.publish(None, changes, mark, &NoSteps),
        };
        published.ok().map(drop)
    }

    /// The block of all commits, those that were remembered included, and how many they are.
    fn block(&self, objects: &Objects) -> Option<(u32, Vec<u8>)> {
        let known = match &self.recorded {
            Some(Recorded::Memory(memory)) => memory.block(),
            Some(Recorded::Graph(_)) | None => None,
        };
        let order = Order::new(self.told(objects), known, self.all.len());
        let mut block = BlockWriter::default();
        let mut parents = Vec::new();
        for from in &order.all {
            parents.clear();
            match from {
                From::Object(told) => {
                    let said = self.said(told, &order, &mut parents);
                    let said = said.map(|(time_s, tree)| (time_s, tree, parents.as_slice()));
                    block.push(&told.id, said)?;
                }
                From::Memory(position) => {
                    let (known, position) = (known?, *position);
                    let record = known.record_at(position);
                    let places = record
                        .iter()
                        .flat_map(|record| record.parents.as_chunks::<4>().0);
                    for parent in places {
                        let parent = index(u32::from_le_bytes(*parent));
                        parents.push(*order.of_positions.get(parent)?);
                    }
                    let said =
                        record.map(|record| (record.time_s, record.tree, parents.as_slice()));
                    block.push(known.id_at(position)?, said)?;
                }
            }
        }
        Some((u32::try_from(order.all.len()).ok()?, block.finish()?))
    }

    /// The commits that their objects tell of, in the order of their ids.
    fn told(&self, objects: &Objects) -> Vec<ByObject> {
        let told = (0..).zip(&self.all).filter_map(|(number, commit)| {
            let Source::Object(at) = commit.source else {
                return None;
            };
            let id = self.by_objects.get(index(at))?.id;
            Some(ByObject {
                id,
                number,
                is_whole: commit.is_read,
            })
        });
        let mut told: Vec<ByObject> = told.collect();
        // One in a file of its own may be gone any time, and no stamp of a pack tells.
        let ids: Vec<ObjectId> = told.iter().map(|told| told.id).collect();
        for (told, is_packed) in told.iter_mut().zip(objects.are_in_packs(&ids)) {
            told.is_whole &= is_packed;
        }
        told.sort_unstable_by_key(|told| told.id);
        told
    }

    /// Time and tree of a commit, whose parents' places are added to `parents`; nothing of one that is only some other's parent.
    fn said(&self, told: &ByObject, order: &Order, parents: &mut Vec<u32>) -> Option<(u64, &oid)> {
        let commit = self.all.get(index(told.number)).filter(|_| told.is_whole)?;
        let Source::Object(at) = commit.source else {
            return None;
        };
        let tree = self.by_objects.get(index(at))?.tree.as_ref()?;
        let (start, count) = commit.parents;
        for number in self.parents.get(index(start)..)?.get(..index(count))? {
            let place = match self.all.get(index(*number))?.source {
                Source::Object(_) => order.of_numbers.get(index(*number)),
                Source::Recorded(position) => order.of_positions.get(index(position)),
            };
            parents.push(*place?);
        }
        Some((commit.time_s, tree))
    }
}

/// A commit that its object tells of.
struct ByObject {
    id: ObjectId,
    number: Number,
    /// It was read, and from a pack.
    is_whole: bool,
}

/// What tells of a commit that is to be remembered.
enum From {
    Object(ByObject),
    /// What was remembered at this position.
    Memory(u32),
}

/// All commits in the order of their ids.
struct Order {
    all: Vec<From>,
    /// Where those that objects tell of come, by their numbers.
    of_numbers: Vec<u32>,
    /// Where those that were remembered come, by their positions.
    of_positions: Vec<u32>,
}

impl Order {
    /// The order of those `told`, which are in it, and those `known`. There are so many numbers.
    fn new(told: Vec<ByObject>, known: Option<Block<'_>>, numbers: usize) -> Self {
        let count = known.map_or(0, |known| known.count());
        let mut order = Self {
            all: Vec::with_capacity(told.len().saturating_add(index(count))),
            of_numbers: vec![0; numbers],
            of_positions: vec![0; index(count)],
        };
        let known_at = |position: u32| known?.id_at(position);
        let mut position = 0;
        for told in told {
            while known_at(position).is_some_and(|id| *id < *told.id) {
                order.add(From::Memory(position), &[], &[position]);
                position += 1;
            }
            let number = told.number;
            if known_at(position).is_none_or(|id| *id != *told.id) {
                order.add(From::Object(told), &[number], &[]);
                continue;
            }
            // Both have it.
            let from = match told.is_whole {
                true => From::Object(told),
                false => From::Memory(position),
            };
            order.add(from, &[number], &[position]);
            position += 1;
        }
        for position in position..count {
            order.add(From::Memory(position), &[], &[position]);
        }
        order
    }

    fn add(&mut self, from: From, numbers: &[Number], positions: &[u32]) {
        let place = offset(self.all.len());
        self.all.push(from);
        for (places, keys) in [
            (&mut self.of_numbers, numbers),
            (&mut self.of_positions, positions),
        ] {
            for key in keys {
                if let Some(known) = places.get_mut(index(*key)) {
                    *known = place;
                }
            }
        }
    }
}
