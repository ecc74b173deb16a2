//! Reads commits: what they link to, as grafts and the shallow boundary change it, and the commit-graph.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bstr::BString;
use gix_hash::{ObjectId, oid};
use gix_object::Kind;
use vigil_model::raw_text::raw;
use vigil_objects::ObjectReader;
use vigil_objects::commit::{self, Commit};
use vigil_objects::commit_graph::CommitGraph;

use super::error::malformed;
use super::opened_graph::OpenedGraph;
use super::{Error, Find, Linked, Objects, expect_kind};

impl Objects {
    /// Reads the commit `id`.
    ///
    /// # Errors
    /// The commit is missing or damaged, or the object is of another type.
    pub fn commit(&self, id: &oid) -> Result<Commit, Error> {
        let mut buf = Vec::new();
        self.read_commit(id, &mut buf, ObjectReader::find)?;
        let mut commit = commit::parse(&buf, self.hash_kind()).map_err(malformed(id))?;
        if let Some(parents) = self.history.parents(id) {
            commit.parents = parents.to_vec();
        }
        Ok(commit)
    }

    /// Adds the parents of the commit `id` to `parents`, and returns its committer's time in seconds since 1970.
    ///
    /// # Errors
    /// The commit is damaged or missing (it is not fetched), or the object is of another type.
    pub fn links(
        &self,
        id: &oid,
        buf: &mut Vec<u8>,
        parents: &mut Vec<ObjectId>,
    ) -> Result<i64, Error> {
        if let Some(kind) = self.known.claimed_kind(id) {
            return Err(Error::contradiction(id, kind, Kind::Commit));
        }
        self.read_commit(id, buf, ObjectReader::find_here)?;
        let links = self.parse_links(id, buf)?;
        match self.history.parents(id) {
            Some(own) => parents.extend_from_slice(own),
            None => parents.extend(links.parents()),
        }
        Ok(links.committer_time_s())
    }

    /// Parses the contents of the commit `id`. Its tree and parents must not be known to be of another type.
    pub(super) fn parse_links<'c>(
        &self,
        id: &oid,
        content: &'c [u8],
    ) -> Result<commit::Links<'c>, Error> {
        let links = commit::Links::parse(content, self.hash_kind()).map_err(malformed(id))?;
        self.say_commit_notices();
        if !self.known.has_non_commit_claims() {
            return Ok(links);
        }
        let bad = |target: ObjectId, known: Kind, kind: Kind, problem: &'static str| {
            let text = Error::contradiction(&target, known, kind);
            self.readers.add_messages(vec![format!("error: {text}")]);
            let id = id.to_owned();
            Error::BadPointer {
                id,
                target,
                problem,
            }
        };
        if let Some(known) = self.known.claimed_kind(&links.tree)
            && known != Kind::Tree
        {
            return Err(bad(links.tree, known, Kind::Tree, "bad tree pointer"));
        }
        let parents = match self.history.parents(id) {
            Some(own) => own.to_vec(),
            None => links.parents().collect(),
        };
        for parent in parents {
            if let Some(known) = self.known.claimed_kind(&parent) {
                return Err(bad(parent, known, Kind::Commit, "bad parent"));
            }
        }
        Ok(links)
    }

    /// Returns what git writes to stderr with the first commit, as whole lines: about grafts, and about damage of the commit-graph.
    pub fn commit_notices(&self) -> Vec<BString> {
        let mut notices = self.history.notices().to_vec();
        if !self.is_graph_sound.load(Ordering::Relaxed) {
            notices.extend(self.with_commit_graph(|opened| opened.complaints.clone()));
        }
        notices
    }

    /// Reports [`Self::commit_notices`] the first time: when git parses the first commit, or before it takes that from the
    /// commit-graph.
    pub fn say_commit_notices(&self) {
        if self.history.notices_reported() {
            return;
        }
        let notices = self.commit_notices();
        if !notices.is_empty() && !self.history.note_reported() {
            self.readers
                .add_messages(notices.iter().map(|line| raw(line).to_string()).collect());
        }
    }

    /// Fails if a tag claimed that `id`, to which a commit-graph leads, is not a commit.
    ///
    /// # Errors
    /// A tag did.
    pub fn check_commit_in_graph(&self, id: &oid) -> Result<(), Error> {
        let Some(known) = self.known.claimed_kind(id) else {
            return Ok(());
        };
        let text = Error::contradiction(id, known, Kind::Commit);
        self.readers.add_messages(vec![format!("error: {text}")]);
        Err(Error::NoCommit { id: id.to_owned() })
    }

    /// As [`Self::links`], for many commits on all cores; `None` for those that cannot be read, without a message.
    pub fn links_of_each(&self, ids: &[ObjectId]) -> Vec<Option<Linked>> {
        if self.history.check().is_err() || self.has_non_commit_claims() {
            return Vec::new();
        }
        self.say_commit_notices();
        self.read_each(ids, Kind::Commit, &|id, content| {
            let links = commit::Links::parse(content, self.hash_kind()).ok()?;
            Some(Linked {
                tree: links.tree,
                parents: match self.history.parents(id) {
                    Some(own) => own.to_vec(),
                    None => links.parents().collect(),
                },
                time_s: links.committer_time_s(),
            })
        })
    }

    pub(super) fn read_commit(&self, id: &oid, buf: &mut Vec<u8>, find: Find) -> Result<(), Error> {
        self.history.check()?;
        match self.read_found(id, buf, find, |_| true)? {
            Some(kind) => expect_kind(id, kind, Kind::Commit),
            None => Err(Error::Missing { id: id.to_owned() }),
        }
    }

    /// Returns the commit-graph, if there is one and nothing changes the history that it records. A damaged one counts as missing.
    /// Like git, this opens it only once, until [`Self::refresh`], [`Self::rest`] or [`Self::close`].
    pub fn commit_graph(&self) -> Option<Arc<CommitGraph>> {
        self.with_commit_graph(|opened| opened.graph.clone())
    }

    fn with_commit_graph<T: Default>(&self, take: impl Fn(&OpenedGraph) -> T) -> T {
        let parts = self.graph_parts.filter(|_| self.history.is_unmodified());
        let Some(parts) = parts else {
            return T::default();
        };
        let mut known = self.commit_graph.lock();
        take(known.get_or_insert_with(|| {
            let store = self.store();
            let folders: Vec<PathBuf> = store.folders().map(Path::to_owned).collect();
            let opened = OpenedGraph::open(&folders, self.hash_kind(), parts);
            self.is_graph_sound
                .store(opened.complaints.is_empty(), Ordering::Relaxed);
            opened
        }))
    }

    /// Returns the tree of the commit `id` according to the commit-graph.
    pub fn tree_in_graph(&self, id: &oid) -> Option<ObjectId> {
        let graph = self.commit_graph()?;
        graph.tree_at(graph.position_of(id)?)
    }
}
