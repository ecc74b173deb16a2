//! Remembering what the commits of a long walk said, once the answer is out.

use gix_hash::{ObjectId, oid};
use vigil_model::timestamp::Timestamp;

use super::memory::{Block, COMMITS, Entry, HEAD, Said, write, write_head};
use super::recorded::Recorded;
use super::{Commit, Commits, Number, Source, Told, index};
use crate::git::repository::Repository;
use crate::objects::Objects;
use crate::state::{commits_store, make_way};
use crate::state_store::{Changes, NoSteps, Table};
use crate::trust::{self, FileSystem};

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
        let entries = self.entries(objects);
        let commits = write(&entries, repository.hash)?;
        let head = write_head(u32::try_from(entries.len()).ok()?, &packs)?;
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

    /// All commits, those that were remembered included, in the order of their ids.
    fn entries(&self, objects: &Objects) -> Vec<Entry> {
        let read: Vec<(&Commit, &Told)> = self.read_from_objects().collect();
        let ids: Vec<ObjectId> = read.iter().map(|(_, told)| told.id).collect();
        let in_packs = objects.are_in_packs(&ids);
        let mut entries = Vec::new();
        // One in a file of its own may be gone any time, and no stamp of a pack tells.
        for ((commit, told), _) in read.into_iter().zip(in_packs).filter(|(_, packed)| *packed) {
            let said = self.said(commit, told);
            let parents = said.iter().flat_map(|said| &said.parents);
            entries.extend(parents.map(|id| Entry {
                id: *id,
                said: None,
            }));
            let id = told.id;
            entries.push(Entry { id, said });
        }
        if let Some(Recorded::Memory(memory)) = &self.recorded
            && let Some(block) = memory.block()
        {
            entries.extend((0..block.count()).filter_map(|position| remembered(block, position)));
        }
        // Of one commit, that which says something first.
        entries.sort_by(|one, other| {
            let order = one.id.cmp(&other.id);
            order.then(one.said.is_none().cmp(&other.said.is_none()))
        });
        entries.dedup_by(|later, first| later.id == first.id);
        entries
    }

    fn read_from_objects(&self) -> impl Iterator<Item = (&Commit, &Told)> {
        let read = self.all.iter().filter(|commit| commit.is_read);
        read.filter_map(|commit| match commit.source {
            Source::Object(at) => Some((commit, self.by_objects.get(index(at))?)),
            Source::Recorded(_) => None,
        })
    }

    fn said(&self, commit: &Commit, told: &Told) -> Option<Said> {
        let (start, count) = commit.parents;
        let parents = self.parents.get(index(start)..)?.get(..index(count))?;
        let parents = parents.iter().map(|number| self.id_of(*number));
        Some(Said {
            time_s: commit.time_s,
            tree: told.tree?,
            parents: parents.collect::<Option<_>>()?,
        })
    }

    fn id_of(&self, number: Number) -> Option<ObjectId> {
        match self.all.get(index(number))?.source {
            Source::Recorded(position) => self.recorded.as_ref()?.id_at(position),
            Source::Object(at) => Some(self.by_objects.get(index(at))?.id),
        }
    }
}

/// The commit at `position`, as it was remembered.
fn remembered(block: Block<'_>, position: u32) -> Option<Entry> {
    let id = block.id_at(position)?.to_owned();
    let said = block.record_at(position).and_then(|record| {
        let parents = record.parents.as_chunks::<4>().0.iter();
        let parents = parents.map(|parent| block.id_at(u32::from_le_bytes(*parent)));
        let parents = parents.map(|id| id.map(oid::to_owned));
        Some(Said {
            time_s: record.time_s,
            tree: record.tree.to_owned(),
            parents: parents.collect::<Option<_>>()?,
        })
    });
    Some(Entry { id, said })
}
