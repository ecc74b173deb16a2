//! The commits that walks through history come by, each read once: from the commit-graph where it has them, else from
//! their objects.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::hash::BuildHasherDefault;

use bstr::BString;
use gix_commitgraph::{Graph, Position};
use gix_hash::{ObjectId, oid};

use crate::id_hasher::IdHasher;
use crate::objects::{Error, Objects};

/// A commit's place in [`Commits`].
pub(super) type Number = u32;

/// The generation of a commit that no commit-graph has: later than any that one has.
pub(super) const GENERATION_UNKNOWN: u32 = u32::MAX;

/// A map of ids.
pub(super) type ById<T> = HashMap<ObjectId, T, BuildHasherDefault<IdHasher>>;

/// What is known of a commit.
#[derive(Clone, Debug)]
pub(super) struct Commit {
    pub(super) id: ObjectId,
    /// Where the commit-graph has it.
    position: Option<Position>,
    is_read: bool,
    /// The committer's time in seconds since 1970; 0 for a commit that cannot be read.
    pub(super) time_s: u64,
    /// How far it is from the roots, as the commit-graph tells.
    pub(super) generation: u32,
    /// The range of its parents in the list of all.
    parents: (usize, usize),
    /// Its tree, where its object was read.
    tree: Option<ObjectId>,
    /// What a walk notes of it.
    pub(super) flags: u32,
}

/// The commits of one repository, as far as they were met.
pub(super) struct Commits<'a> {
    objects: &'a Objects,
    graph: Option<Graph>,
    /// Of commits in the graph by their position there: number and one, or 0.
    of_positions: Vec<u32>,
    /// Of all other commits.
    of_ids: ById<Number>,
    all: Vec<Commit>,
    parents: Vec<Number>,
    buf: Vec<u8>,
    /// The commit whose contents are in `buf`.
    in_buf: Option<Number>,
    ids: Vec<ObjectId>,
}

impl<'a> Commits<'a> {
    pub(super) fn new(objects: &'a Objects) -> Self {
        let graph = objects.commit_graph();
        let count = graph.as_ref().map_or(0, Graph::num_commits);
        Self {
            objects,
            graph,
            of_positions: vec![0; usize::try_from(count).unwrap_or(0)],
            of_ids: ById::default(),
            all: Vec::new(),
            parents: Vec::new(),
            buf: Vec::new(),
            in_buf: None,
            ids: Vec::new(),
        }
    }

    /// Whether `id` is a commit: it is read for it.
    pub(super) fn is_commit(&mut self, id: &oid) -> Result<bool, Error> {
        let number = self.number_of(id);
        // Of what is no commit nothing is said here.
        self.read_or_say(number, &mut Vec::new())
    }

    /// Whether the commit-graph has `id`, which then is a commit.
    pub(super) fn has_in_graph(&self, id: &oid) -> bool {
        self.graph
            .as_ref()
            .is_some_and(|graph| graph.lookup(id).is_some())
    }

    /// The number of the commit `id`, which is not read for it.
    pub(super) fn number_of(&mut self, id: &oid) -> Number {
        match self.graph.as_ref().and_then(|graph| graph.lookup(id)) {
            Some(position) => self.at_position(position, id.to_owned()),
            None => self.outside(id),
        }
    }

    fn at_position(&mut self, position: Position, id: ObjectId) -> Number {
        let next = next_number(&self.all);
        let Some(slot) = self.of_positions.get_mut(index(position.0)) else {
            return self.outside(&id);
        };
        if *slot == 0 {
            *slot = next.saturating_add(1);
            self.all.push(Commit::unread(id, Some(position)));
        }
        slot.saturating_sub(1)
    }

    fn outside(&mut self, id: &oid) -> Number {
        let next = next_number(&self.all);
        let all = &mut self.all;
        *self.of_ids.entry(id.to_owned()).or_insert_with(|| {
            all.push(Commit::unread(id.to_owned(), None));
            next
        })
    }

    /// The commit `number`.
    pub(super) fn get(&self, number: Number) -> Option<&Commit> {
        self.all.get(index(number))
    }

    /// The same, to be changed.
    pub(super) fn get_mut(&mut self, number: Number) -> Option<&mut Commit> {
        self.all.get_mut(index(number))
    }

    /// The time of the commit `number`, which was read.
    pub(super) fn time_of(&self, number: Number) -> u64 {
        self.get(number).map_or(0, |commit| commit.time_s)
    }

    /// What walks noted of the commit `number`.
    pub(super) fn flags_of(&self, number: Number) -> u32 {
        self.get(number).map_or(0, |commit| commit.flags)
    }

    /// Adds `flags` to those of the commit `number`.
    pub(super) fn add_flags(&mut self, number: Number, flags: u32) {
        if let Some(commit) = self.get_mut(number) {
            commit.flags |= flags;
        }
    }

    /// Takes `flag` off the commit `number`, and returns what is left.
    pub(super) fn take_flag(&mut self, number: Number, flag: u32) -> u32 {
        let Some(commit) = self.get_mut(number) else {
            return 0;
        };
        commit.flags &= !flag;
        commit.flags
    }

    /// Takes `flags` off all commits.
    pub(super) fn clear_flags(&mut self, flags: u32) {
        for commit in &mut self.all {
            commit.flags &= !flags;
        }
    }

    /// How many parents the commit `number` has.
    pub(super) fn parent_count(&self, number: Number) -> usize {
        self.get(number).map_or(0, |commit| commit.parents.1)
    }

    /// The parent of the commit `number` in the place `at`, from 0.
    pub(super) fn parent(&self, number: Number, at: usize) -> Option<Number> {
        let (start, count) = self.get(number)?.parents;
        (at < count).then(|| self.parents.get(start.saturating_add(at)).copied())?
    }

    /// Reads the commit `number`, unless it was.
    ///
    /// # Errors
    /// It is not there, or is no commit.
    pub(super) fn read(&mut self, number: Number) -> Result<(), Error> {
        let Some(commit) = self.all.get(index(number)).filter(|commit| !commit.is_read) else {
            return Ok(());
        };
        let id = commit.id;
        if let Some(position) = commit.position
            && self.read_recorded(number, position)
        {
            return Ok(());
        }
        self.in_buf = None;
        self.ids.clear();
        let time_s = self.objects.links(&id, &mut self.buf, &mut self.ids)?;
        let start = self.parents.len();
        let ids = std::mem::take(&mut self.ids);
        for id in &ids {
            let parent = self.number_of(id);
            self.parents.push(parent);
        }
        let tree = tree_in(&self.buf);
        if let Some(commit) = self.get_mut(number) {
            commit.is_read = true;
            commit.time_s = u64::try_from(time_s).unwrap_or(0);
            commit.parents = (start, ids.len());
            commit.tree = tree;
        }
        self.in_buf = Some(number);
        self.ids = ids;
        Ok(())
    }

    /// As [`Self::read`], but as for git a commit that is not there has no parents and is the oldest: `said` takes what
    /// git says of it, each time. Returns whether it is there.
    pub(super) fn read_or_say(
        &mut self,
        number: Number,
        said: &mut Vec<BString>,
    ) -> Result<bool, Error> {
        let read = self.read(number);
        said.extend(self.objects.take_said().into_iter().map(BString::from));
        let text = match read {
            Ok(()) => return Ok(true),
            Err(Error::Missing { id }) => format!("Could not read {id}"),
            Err(Error::WrongKind { id, .. }) => format!("Object {id} not a commit"),
            Err(error @ Error::Malformed { .. }) => error.to_string(),
            Err(error) => return Err(error),
        };
        said.push(format!("error: {text}").into());
        Ok(false)
    }

    /// The contents of the commit `number`, where it is the last that was read, and not from the commit-graph.
    pub(super) fn content_of(&self, number: Number) -> Option<&[u8]> {
        (self.in_buf == Some(number)).then_some(self.buf.as_slice())
    }

    /// Takes the commit `number` from the commit-graph; false where that is damaged there.
    fn read_recorded(&mut self, number: Number, position: Position) -> bool {
        let Some(graph) = self.graph.take() else {
            return false;
        };
        let recorded = graph.commit_at(position);
        let start = self.parents.len();
        let mut is_whole = true;
        for parent in recorded.iter_parents() {
            match parent {
                Ok(parent) if parent.0 < graph.num_commits() => {
                    let parent = self.at_position(parent, graph.id_at(parent).to_owned());
                    self.parents.push(parent);
                }
                _ => is_whole = false,
            }
        }
        let count = self.parents.len().saturating_sub(start);
        if is_whole && let Some(commit) = self.all.get_mut(index(number)) {
            commit.is_read = true;
            commit.time_s = recorded.committer_timestamp();
            // The oldest writers left the generation out.
            commit.generation = match recorded.generation() {
                0 => GENERATION_UNKNOWN,
                generation => generation,
            };
            commit.parents = (start, count);
        }
        self.graph = Some(graph);
        is_whole
    }

    /// The tree of the commit `number`, which was read.
    pub(super) fn tree_of(&self, number: Number) -> Option<ObjectId> {
        let commit = self.get(number)?;
        let recorded = || {
            let graph = self.graph.as_ref()?;
            Some(graph.commit_at(commit.position?).root_tree_id().to_owned())
        };
        commit.tree.or_else(recorded)
    }
}

impl Commit {
    fn unread(id: ObjectId, position: Option<Position>) -> Self {
        Self {
            id,
            position,
            is_read: false,
            time_s: 0,
            generation: GENERATION_UNKNOWN,
            parents: (0, 0),
            tree: None,
            flags: 0,
        }
    }
}

/// Commits that are still to be looked at, the latest first, and of one time in the order in which they came.
#[derive(Default)]
pub(super) struct Queue {
    heap: BinaryHeap<(u64, Reverse<u64>, Number)>,
    count: u64,
}

impl Queue {
    pub(super) fn push(&mut self, number: Number, time_s: u64) {
        self.heap.push((time_s, Reverse(self.count), number));
        self.count = self.count.saturating_add(1);
    }

    pub(super) fn pop(&mut self) -> Option<Number> {
        self.heap.pop().map(|(_, _, number)| number)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Number> {
        self.heap.iter().map(|(_, _, number)| *number)
    }
}

/// The tree that a commit names in its first line.
fn tree_in(commit: &[u8]) -> Option<ObjectId> {
    let line = commit.split(|byte| *byte == b'\n').next()?;
    ObjectId::from_hex(line.strip_prefix(b"tree ")?).ok()
}

fn next_number(all: &[Commit]) -> Number {
    Number::try_from(all.len()).unwrap_or(Number::MAX)
}

fn index(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
