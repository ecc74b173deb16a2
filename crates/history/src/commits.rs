//! The commits that walks through history visit, each read once: from the commit-graph if it has them, otherwise from
//! their objects.

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::sync::Arc;

use bstr::BString;
use gix_hash::{ObjectId, oid};
use gix_object::Kind;

use vigil_git::objects::{Error, MANY, Objects};
use vigil_model::raw_text::text_bytes;
use vigil_objects::commit_graph::CommitGraph;

/// A commit's index in [`Commits`].
pub(super) type Number = u32;

/// The generation of a commit that is in no commit-graph: later than any that is recorded.
pub(super) const GENERATION_UNKNOWN: u32 = u32::MAX;

pub(super) use vigil_model::id_hasher::ById;

/// A commit. A walk visits very many, so each takes little memory.
#[derive(Clone, Debug)]
pub(super) struct Commit {
    /// The committer's time in seconds since 1970; 0 if the commit cannot be read.
    pub(super) time_s: u64,
    source: CommitSource,
    /// The start of its parents in the list of all parents, and their number.
    parents: (u32, u32),
    /// Its distance from the roots, as recorded in the commit-graph.
    pub(super) generation: u32,
    /// The first bytes of its id, once it was read.
    id_prefix: u32,
    /// The flags of a walk.
    pub(super) flags: u32,
    is_read: bool,
}

/// Where the data of a commit come from.
#[derive(Clone, Copy, Debug)]
enum CommitSource {
    /// The commit-graph, at this position.
    Graph(u32),
    /// Its object; this is the index in `object_commits`.
    Object(u32),
}

/// A commit that is read from its object.
#[derive(Debug)]
struct ObjectCommit {
    id: ObjectId,
    /// Its tree; `None` until the object was read.
    tree: Option<ObjectId>,
}

/// The commits of one repository that were visited.
pub(super) struct Commits {
    objects: Objects,
    /// The commit-graph, opened on first use.
    graph: OnceCell<Option<Arc<CommitGraph>>>,
    /// The number plus one of each commit in the graph, by its position there; 0 if it was not visited. Empty at first.
    numbers_by_position: Vec<u32>,
    /// The numbers of all other commits.
    numbers_by_id: ById<Number>,
    all: Vec<Commit>,
    object_commits: Vec<ObjectCommit>,
    parents: Vec<Number>,
    buf: Vec<u8>,
    /// The commit whose contents are in `buf`.
    in_buf: Option<Number>,
    ids: Vec<ObjectId>,
}

impl Commits {
    pub(super) fn new(objects: &Objects) -> Self {
        Self {
            objects: objects.clone(),
            graph: OnceCell::new(),
            numbers_by_position: Vec::new(),
            numbers_by_id: ById::default(),
            all: Vec::new(),
            object_commits: Vec::new(),
            parents: Vec::new(),
            buf: Vec::new(),
            in_buf: None,
            ids: Vec::new(),
        }
    }

    /// Whether `id` is a commit. Reads it. Nothing is reported if it is not a commit.
    pub(super) fn is_commit(&mut self, id: &oid) -> Result<bool, Error> {
        let number = self.number_of(id);
        match self.read(number) {
            Ok(()) => Ok(true),
            Err(error) => text_of_no_commit(error).map(|_| false),
        }
    }

    /// Whether `id` is an object, and no commit.
    pub(super) fn is_of_other_kind(&self, id: &oid) -> bool {
        matches!(self.objects.kind(id), Ok(Some(kind)) if kind != Kind::Commit)
    }

    fn graph(&self) -> Option<&CommitGraph> {
        let graph = self.graph.get_or_init(|| self.objects.commit_graph());
        graph.as_deref()
    }

    /// Whether the commit-graph has `id`, which then is a commit.
    pub(super) fn has_in_graph(&self, id: &oid) -> bool {
        self.graph()
            .is_some_and(|graph| graph.position_of(id).is_some())
    }

    /// Whether `id` is a commit that was read.
    pub(super) fn was_read(&self, id: &oid) -> bool {
        let number = self.number_by_id(id);
        let commit = number.and_then(|number| self.get(number));
        commit.is_some_and(|commit| commit.is_read)
    }

    /// Returns the number of the commit `id`, if it was visited.
    pub(super) fn number_by_id(&self, id: &oid) -> Option<Number> {
        let position = self.graph().and_then(|graph| graph.position_of(id));
        let slot = position.and_then(|position| self.numbers_by_position.get(index(position)));
        match slot {
            Some(slot) => slot.checked_sub(1),
            None => self.numbers_by_id.get(id).copied(),
        }
    }

    /// Returns the number of the commit `id`, without reading it.
    pub(super) fn number_of(&mut self, id: &oid) -> Number {
        let graph = self.graph();
        let position = graph.and_then(|graph| Some((graph.position_of(id)?, graph.count())));
        let Some((position, count)) = position else {
            return self.outside(id);
        };
        if self.numbers_by_position.is_empty() {
            // Unlike `resize`, this need not touch all of the memory, of which a short walk uses little.
            self.numbers_by_position = vec![0; index(count)];
        }
        number_at(position, &mut self.numbers_by_position, &mut self.all)
    }

    /// Returns the id of the commit `number`.
    pub(super) fn id_of(&self, number: Number) -> Option<ObjectId> {
        Some(match self.get(number)?.source {
            CommitSource::Graph(position) => self.graph()?.id_at(position)?,
            CommitSource::Object(at) => self.object_commits.get(index(at))?.id,
        })
    }

    /// Returns the first bytes of the id of the commit `number`, which was read; this is a cheap field access.
    pub(super) fn first_bytes_of(&self, number: Number) -> u32 {
        self.get(number).map_or(0, |commit| commit.id_prefix)
    }

    /// Whether the commit `number` is read from the commit-graph, and so is its whole history.
    pub(super) fn is_in_graph(&self, number: Number) -> bool {
        let source = self.get(number).map(|commit| commit.source);
        matches!(source, Some(CommitSource::Graph(_)))
    }

    /// Whether the object of the commit `number`, which was read, exists: the commit-graph may contain a lost one.
    /// Messages about it are left to `objects`.
    pub(super) fn is_stored(&self, number: Number) -> bool {
        let Some(commit) = self.get(number) else {
            return false;
        };
        match commit.source {
            CommitSource::Object(_) => commit.is_read,
            CommitSource::Graph(_) => self
                .id_of(number)
                .is_some_and(|id| matches!(self.objects.kind(&id), Ok(Some(Kind::Commit)))),
        }
    }

    fn outside(&mut self, id: &oid) -> Number {
        let next = offset(self.all.len());
        let number = *self.numbers_by_id.entry(id.to_owned()).or_insert(next);
        if number == next {
            let at = offset(self.object_commits.len());
            self.object_commits.push(ObjectCommit::new(id));
            self.all.push(Commit::unread(CommitSource::Object(at)));
        }
        number
    }

    /// Makes the commit `number` one that is read from its object, and returns its index in `object_commits`.
    fn object_entry(&mut self, number: Number, id: &oid) -> u32 {
        let Some(commit) = self.all.get_mut(index(number)) else {
            return u32::MAX;
        };
        if let CommitSource::Object(at) = commit.source {
            return at;
        }
        let at = offset(self.object_commits.len());
        commit.source = CommitSource::Object(at);
        self.object_commits.push(ObjectCommit::new(id));
        at
    }

    /// Returns the commit `number`.
    pub(super) fn get(&self, number: Number) -> Option<&Commit> {
        self.all.get(index(number))
    }

    /// Returns the commit `number` for changing it.
    pub(super) fn get_mut(&mut self, number: Number) -> Option<&mut Commit> {
        self.all.get_mut(index(number))
    }

    /// Returns the time of the commit `number`, which was read.
    pub(super) fn time_of(&self, number: Number) -> u64 {
        self.get(number).map_or(0, |commit| commit.time_s)
    }

    /// Returns the flags of the commit `number`.
    pub(super) fn flags_of(&self, number: Number) -> u32 {
        self.get(number).map_or(0, |commit| commit.flags)
    }

    /// Sets `flags` of the commit `number`.
    pub(super) fn add_flags(&mut self, number: Number, flags: u32) {
        if let Some(commit) = self.get_mut(number) {
            commit.flags |= flags;
        }
    }

    /// Clears `flag` of the commit `number`, and returns the remaining flags.
    pub(super) fn clear_flag(&mut self, number: Number, flag: u32) -> u32 {
        let Some(commit) = self.get_mut(number) else {
            return 0;
        };
        commit.flags &= !flag;
        commit.flags
    }

    /// Clears `flags` of all commits.
    pub(super) fn clear_flags(&mut self, flags: u32) {
        for commit in &mut self.all {
            commit.flags &= !flags;
        }
    }

    /// Returns the number of parents of the commit `number`.
    pub(super) fn parent_count(&self, number: Number) -> usize {
        self.get(number).map_or(0, |commit| index(commit.parents.1))
    }

    /// Returns the parent of the commit `number` at index `at`.
    pub(super) fn parent(&self, number: Number, at: usize) -> Option<Number> {
        let (start, count) = self.get(number)?.parents;
        (at < index(count)).then(|| self.parents.get(index(start).saturating_add(at)).copied())?
    }

    /// Reads the commit `number`, unless it was read before.
    ///
    /// # Errors
    /// The object is missing, or is not a commit.
    pub(super) fn read(&mut self, number: Number) -> Result<(), Error> {
        let Some(commit) = self.all.get(index(number)).filter(|commit| !commit.is_read) else {
            return Ok(());
        };
        if let CommitSource::Graph(position) = commit.source
            && self.read_in_graph(number, position)
        {
            self.objects.say_commit_notices();
            let checked = self.check_recorded(number);
            if checked.is_err()
                && let Some(commit) = self.get_mut(number)
            {
                commit.is_read = false;
            }
            return checked;
        }
        let Some(id) = self.id_of(number) else {
            return Ok(());
        };
        let entry = self.object_entry(number, &id);
        self.in_buf = None;
        self.ids.clear();
        let time_s = self.objects.links(&id, &mut self.buf, &mut self.ids)?;
        let ids = std::mem::take(&mut self.ids);
        self.note(number, &id, time_s, &ids);
        if let Some(entry) = self.object_commits.get_mut(index(entry)) {
            entry.tree = tree_in(&self.buf);
        }
        self.in_buf = Some(number);
        self.ids = ids;
        Ok(())
    }

    /// Records that the commit `number` and its parents are commits, whatever a tag claims later.
    pub(super) fn note_links(&self, number: Number) {
        let parents = (0..self.parent_count(number)).filter_map(|at| self.parent(number, at));
        for number in std::iter::once(number).chain(parents) {
            if let Some(id) = self.id_of(number) {
                self.objects.note_commit(&id);
            }
        }
    }

    /// Fails if a tag claimed that a parent of the commit `number`, which was read from a commit-graph, is not a
    /// commit.
    fn check_recorded(&self, number: Number) -> Result<(), Error> {
        if !self.objects.has_non_commit_claims() {
            return Ok(());
        }
        let parents = (0..self.parent_count(number)).filter_map(|at| self.parent(number, at));
        let mut ids = parents.filter_map(|parent| self.id_of(parent));
        ids.try_for_each(|id| self.objects.check_commit_in_graph(&id))
    }

    /// Stores the data from the object of the commit `number`.
    fn note(&mut self, number: Number, id: &oid, time_s: i64, parents: &[ObjectId]) {
        let start = offset(self.parents.len());
        for id in parents {
            let parent = self.number_of(id);
            self.parents.push(parent);
        }
        if let Some(commit) = self.all.get_mut(index(number)) {
            commit.is_read = true;
            commit.id_prefix = first_bytes(id);
            commit.time_s = u64::try_from(time_s).unwrap_or(0);
            commit.parents = (start, offset(parents.len()));
        }
    }

    /// Reads the commits `ids` ahead, each once, on all cores if that is worthwhile. Those that cannot be read are read
    /// again later, when errors are reported.
    pub(super) fn read_ahead(&mut self, ids: impl Iterator<Item = ObjectId>) {
        let mut unread: HashSet<Number> = HashSet::new();
        let mut wanted = Vec::new();
        let mut count = 0;
        for id in ids {
            let number = self.number_of(&id);
            let commit = self.get(number).filter(|commit| !commit.is_read);
            if let Some(Commit {
                source: CommitSource::Object(at),
                ..
            }) = commit.cloned()
            {
                count += 1;
                if unread.insert(number) {
                    wanted.push((number, at, id));
                }
            }
        }
        if count < MANY {
            return;
        }
        let ids: Vec<ObjectId> = wanted.iter().map(|(.., id)| *id).collect();
        let read = self.objects.links_of_each(&ids);
        for ((number, entry, id), linked) in wanted.into_iter().zip(read) {
            if let Some(linked) = linked {
                self.note(number, &id, linked.time_s, &linked.parents);
                if let Some(entry) = self.object_commits.get_mut(index(entry)) {
                    entry.tree = Some(linked.tree);
                }
            }
        }
    }

    /// Like [`Self::read`], but like git treats a missing commit as the oldest, without parents. git's messages are
    /// appended to `messages`, each time. Returns whether the commit exists.
    pub(super) fn read_or_report(
        &mut self,
        number: Number,
        messages: &mut Vec<BString>,
    ) -> Result<bool, Error> {
        let read = self.read(number);
        messages.extend(
            self.objects
                .take_messages()
                .into_iter()
                .map(|line| text_bytes(&line)),
        );
        let text = match read {
            Ok(()) => return Ok(true),
            Err(error) => text_of_no_commit(error)?,
        };
        messages.push(text_bytes(&format!("error: {text}")));
        Ok(false)
    }

    /// Does the same, but without a message about a missing commit.
    pub(super) fn read_or_report_damage(
        &mut self,
        number: Number,
        messages: &mut Vec<BString>,
    ) -> Result<bool, Error> {
        let start = messages.len();
        let is_read = self.read_or_report(number, messages)?;
        if !is_read && let Some(id) = self.id_of(number) {
            let text = format!("error: Could not read {id}");
            let news = messages.split_off(start);
            messages.extend(news.into_iter().filter(|line| *line != text));
        }
        Ok(is_read)
    }

    /// Returns the contents of the commit `number`, if it was the last one read, and from its object.
    pub(super) fn content_of(&self, number: Number) -> Option<&[u8]> {
        (self.in_buf == Some(number)).then_some(self.buf.as_slice())
    }

    /// Reads the commit `number` from the commit-graph; returns false if that is damaged there.
    fn read_in_graph(&mut self, number: Number, position: u32) -> bool {
        let Some(Some(graph)) = self.graph.get() else {
            return false;
        };
        let start = self.parents.len();
        let Some(recorded) = graph.read(position, &mut self.parents) else {
            self.parents.truncate(start);
            return false;
        };
        // Read here, where nothing waits for it, because it is in another part of the file.
        let first = graph.id_at(position).map_or(0, |id| first_bytes(&id));
        for parent in self.parents.get_mut(start..).unwrap_or_default() {
            *parent = number_at(*parent, &mut self.numbers_by_position, &mut self.all);
        }
        let count = self.parents.len().saturating_sub(start);
        if let Some(commit) = self.all.get_mut(index(number)) {
            commit.is_read = true;
            commit.id_prefix = first;
            commit.time_s = recorded.time_s;
            // The oldest versions of git left the generation out.
            commit.generation = match recorded.generation {
                0 => GENERATION_UNKNOWN,
                generation => generation,
            };
            commit.parents = (offset(start), offset(count));
        }
        true
    }

    /// Returns the tree of the commit `number`, which was read.
    pub(super) fn tree_of(&self, number: Number) -> Option<ObjectId> {
        match self.get(number)?.source {
            CommitSource::Graph(position) => {
                let graph = self.graph()?;
                graph.tree_at(position)
            }
            CommitSource::Object(at) => self.object_commits.get(index(at))?.tree,
        }
    }
}

impl ObjectCommit {
    fn new(id: &oid) -> Self {
        let id = id.to_owned();
        Self { id, tree: None }
    }
}

impl Commit {
    fn unread(source: CommitSource) -> Self {
        Self {
            time_s: 0,
            source,
            parents: (0, 0),
            generation: GENERATION_UNKNOWN,
            id_prefix: 0,
            flags: 0,
            is_read: false,
        }
    }
}

/// Commits to visit, the latest first; of the same time, in the order in which they were added.
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

/// Returns the tree in the first line of a commit.
fn tree_in(commit: &[u8]) -> Option<ObjectId> {
    let line = commit.split(|byte| *byte == b'\n').next()?;
    ObjectId::from_hex(line.strip_prefix(b"tree ")?).ok()
}

/// Returns the number of the commit at `position` in the commit-graph.
fn number_at(position: u32, numbers_by_position: &mut [u32], all: &mut Vec<Commit>) -> Number {
    let Some(slot) = numbers_by_position.get_mut(index(position)) else {
        return Number::MAX;
    };
    if *slot == 0 {
        all.push(Commit::unread(CommitSource::Graph(position)));
        *slot = offset(all.len());
    }
    slot.saturating_sub(1)
}

/// Returns git's text about an object that cannot be read as a commit, if git then treats it as missing.
fn text_of_no_commit(error: Error) -> Result<String, Error> {
    match error {
        Error::Missing { id } => Ok(format!("Could not read {id}")),
        Error::WrongKind { id, .. } => Ok(format!("Object {id} not a commit")),
        Error::Malformed { .. } | Error::BadPointer { .. } | Error::Contradiction { .. } => {
            Ok(error.to_string())
        }
        error => Err(error),
    }
}

/// Returns the first bytes of `id`.
pub(super) fn first_bytes(id: &oid) -> u32 {
    let first = id.as_bytes().first_chunk();
    first.copied().map_or(0, u32::from_be_bytes)
}

/// There is no memory for 2^32 commits.
fn offset(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

fn index(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests;
