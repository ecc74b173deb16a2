//! Reads objects: loose ones, packed ones, those in alternates, and replacements.

mod abbreviation;
mod commits;
mod compat;
mod error;
mod evidence;
pub(crate) mod folders;
mod history;
mod known;
mod opened_graph;
mod prefix;
mod readers;
mod tags;
mod tree;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bstr::BStr;
use gix_hash::{ObjectId, oid};
use gix_object::Kind;
use parking_lot::Mutex;

pub use self::compat::{Compat, DIGITS_MIN};
pub use self::error::Error;
use self::error::malformed;
use self::folders::object_folders;
pub(crate) use self::history::History;
use self::known::KnownKinds;
use self::opened_graph::{OpenedGraph, graph_parts};
use self::readers::Readers;
use self::tags::Chains;
pub use self::tags::{Circle, Parsed, Tag, TagLink};
use crate::promisor::Promisor;
use crate::refs::{self, Listing, Refs};
use crate::repository::Repository;
use vigil_objects::commit_graph::OptionalParts;
use vigil_objects::parallel::on_all_cores;
use vigil_objects::{
    self as object_store, FetchMissing, Info, Location, ObjectFolders, ObjectReader, ObjectStore,
    commit,
};

/// git's own limit on how deep directories may nest (`core.maxTreeDepth`, git-config(1)).
pub const TREE_DEPTH_MAX: i64 = 2048;

/// From this many objects on, reading on all cores is worth it.
pub const MANY: usize = 256;

/// The part of one commit that makes up history.
#[derive(Debug)]
pub struct Linked {
    /// Its tree.
    pub tree: ObjectId,
    /// The parents, as changed by grafts and a shallow clone's boundary.
    pub parents: Vec<ObjectId>,
    /// The committer's time in seconds since 1970; 0 if the commit does not give one.
    pub time_s: i64,
}

/// What [`Objects::blob_shorter_than`] finds.
#[derive(Debug)]
pub enum LimitedBlob {
    /// The contents of a blob that is short enough.
    Contents(Vec<u8>),
    /// The blob is longer.
    TooLong,
}

/// The objects of one repository.
///
/// Each thread may have its own: a clone is cheap, and shares the open files. New packs are looked for when an object is
/// not in the known ones.
#[derive(Clone)]
pub struct Objects {
    readers: Arc<Readers>,
    history: Arc<History>,
    chains: Arc<Chains>,
    known: Arc<KnownKinds>,
    /// What is read of the commit-graph; `None` if it is not used.
    graph_parts: Option<OptionalParts>,
    /// Empty until it is asked for.
    commit_graph: Arc<Mutex<Option<OpenedGraph>>>,
    /// Whether the commit-graph had no damage when it was last opened, after the last [`Self::refresh`].
    is_graph_sound: Arc<AtomicBool>,
    /// `core.maxTreeDepth`.
    tree_depth_max: i64,
}

/// A way to look up an object.
type Find = fn(&mut ObjectReader, &oid) -> Result<Option<Location>, object_store::Error>;

impl std::fmt::Debug for Objects {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Objects").field(self.folders()).finish()
    }
}

impl Objects {
    /// Opens the objects of `repo`, with the replacements that its references name.
    ///
    /// # Errors
    /// The folders of objects, or what changes history, cannot be read.
    pub fn open(repo: &Repository) -> Result<Self, Error> {
        Self::open_with(repo, &Refs::open(repo))
    }

    /// As [`Self::open`], for a caller that already has the references of `repo`: `packed-refs` is then read only once.
    ///
    /// # Errors
    /// As for [`Self::open`].
    pub fn open_with(repo: &Repository, refs: &Refs) -> Result<Self, Error> {
        let folders = object_folders(repo)?;
        Self::open_at(folders, repo, History::read(repo, refs)?)
    }

    /// As [`Self::open_with`], but as git's commands that show objects do it: objects that a partial clone left out are
    /// fetched on demand, by the installed git, and grafts and the shallow boundary are read with the first commit.
    ///
    /// # Errors
    /// As for [`Self::open`]; or the configuration of promisor remotes is wrong.
    pub fn open_fetching(repo: &Repository, refs: &Refs) -> Result<Self, Error> {
        let promisor = Promisor::of(repo)?;
        let promisor = promisor.map(|promisor| Arc::new(promisor) as Arc<dyn FetchMissing>);
        let folders = ObjectFolders {
            promisor,
            ..object_folders(repo)?
        };
        let history = History::read_replacements_only(repo, refs)?;
        Self::open_at(folders, repo, history)
    }

    /// Fails if git would fetch the object `id`, which is missing here: a partial clone may have left it out. Nothing is fetched,
    /// so the error is the one that git has where no remote can be reached.
    ///
    /// # Errors
    /// There is a promisor remote and fetching is allowed; or the configuration of promisor remotes is wrong.
    pub fn check_left_out(repo: &Repository, id: &oid) -> Result<(), Error> {
        match Promisor::of(repo)? {
            Some(promisor) => Err(promisor.unreached(id).into()),
            None => Ok(()),
        }
    }

    /// The error of [`Self::check_left_out`] for the object `id`, which is missing here. `None` if fetching it was tried.
    pub fn left_out(&self, repo: &Repository, id: &oid) -> Option<Error> {
        match self.fetches() {
            true => None,
            false => Self::check_left_out(repo, id).err(),
        }
    }

    /// Whether objects that a partial clone left out are fetched.
    pub fn fetches(&self) -> bool {
        self.folders().promisor.is_some()
    }

    /// Fetches together what is missing of the objects `ids`, as git does before it compares many. Does nothing unless
    /// objects are fetched at all.
    ///
    /// # Errors
    /// Fetching failed, or an object was promised and no remote has it.
    pub fn fetch_all(&self, mut ids: Vec<ObjectId>) -> Result<(), Error> {
        if !self.fetches() {
            return Ok(());
        }
        let mut seen = HashSet::new();
        ids.retain(|id| !id.is_null() && seen.insert(*id));
        let fetched = self.readers.with_reader(|reader| {
            let mut missing = Vec::new();
            for id in &ids {
                if reader.find_here(id)?.is_none() {
                    missing.push(*id);
                }
            }
            reader.fetch_all(missing).map(Some)
        });
        fetched.map(drop).map_err(Error::from)
    }

    fn open_at(folders: ObjectFolders, repo: &Repository, history: History) -> Result<Self, Error> {
        let readers = Readers::new(folders);
        readers.warn(history.warnings());
        Ok(Self {
            readers: Arc::new(readers),
            history: Arc::new(history),
            chains: Arc::default(),
            known: Arc::default(),
            graph_parts: graph_parts(&repo.config)?,
            commit_graph: Arc::default(),
            is_graph_sound: Arc::default(),
            tree_depth_max: match repo.config.entry("core.maxTreeDepth") {
                Some(entry) => entry.int()?.into(),
                None => TREE_DEPTH_MAX,
            },
        })
    }

    /// The store that objects are read from: shared by all callers, until part of it turns out to be damaged or gone.
    pub fn store(&self) -> Arc<ObjectStore> {
        self.readers.store()
    }

    /// Returns the lines that git writes when it looks for replacements and alternates, and when it first lists packs; none
    /// before any object was asked for.
    pub fn opening_messages(&self) -> Vec<String> {
        self.readers.opening_messages()
    }

    /// Takes those lines, unless they were reported before, as if an object were asked for now, and all other lines not yet
    /// taken; nothing without [`Self::collect_messages`].
    pub fn take_opening_messages(&self) -> Vec<String> {
        self.readers.report_opening();
        self.take_messages()
    }

    /// Whether the lines that git writes only once have been written: those about alternates, and those that come with the first
    /// commit.
    pub fn reported_once(&self) -> [bool; 2] {
        [
            self.readers.is_opening_reported(),
            self.history.notices_reported(),
        ]
    }

    /// Sets what [`Self::reported_once`] returns.
    pub fn set_reported_once(&self, [alternates, of_commits]: [bool; 2]) {
        self.readers.set_opening_reported(alternates);
        self.history.set_notices_reported(of_commits);
    }

    /// Starts to collect what git would write to stderr while objects are read, for [`Self::take_messages`].
    pub fn collect_messages(&self) {
        self.readers.collect_messages();
        self.known.keep();
    }

    /// Takes what git would have written to stderr since the last call, in whole lines; nothing without
    /// [`Self::collect_messages`].
    pub fn take_messages(&self) -> Vec<String> {
        self.readers.take_messages()
    }

    /// Whether git would have written anything about objects so far.
    pub fn had_messages(&self) -> bool {
        self.readers.had_messages()
    }

    /// Drops the lines not yet taken, for a caller that reads the same objects again, but keeps those that would not be written
    /// again. Returns whether there were any.
    pub fn drop_messages(&self) -> bool {
        self.readers.drop_messages()
    }

    fn folders(&self) -> &ObjectFolders {
        &self.readers.folders
    }

    /// Rereads what changes history: the shallow boundary, grafts and replacements. Call this before each answer of a
    /// long-lived process; what is cached about history is kept if nothing changed. The store is dropped if some of its
    /// packs may be gone.
    ///
    /// Returns whether anything changed: then an id may stand for another object.
    ///
    /// # Errors
    /// The folders of objects, or what changes history, cannot be read.
    pub fn refresh(&mut self, repo: &Repository, refs: &Refs) -> Result<bool, Error> {
        self.readers.refresh();
        self.forget();
        self.is_graph_sound.store(false, Ordering::Relaxed);
        let history = History::read(repo, refs)?;
        let is_changed = history != *self.history;
        if is_changed {
            self.readers.warn(history.warnings());
            self.history = Arc::new(history);
        }
        Ok(is_changed)
    }

    /// Frees memory for what can be read again. Call this after each answer of a long-lived process.
    pub fn rest(&self) {
        self.readers.rest();
        self.forget();
    }

    /// As [`Self::rest`], and leaves no file open or mapped.
    pub fn close(&self) {
        self.readers.close();
        self.forget();
    }

    fn forget(&self) {
        self.chains.forget();
        *self.commit_graph.lock() = None;
    }

    /// The hash function of the ids.
    pub fn hash_kind(&self) -> gix_hash::Kind {
        self.readers.folders.hash
    }

    /// Reads the object `id` into `buf`, replacing its contents. `None` if there is no such object.
    ///
    /// The contents are not checked against the id; git does not check them either.
    ///
    /// # Errors
    /// The object is damaged or too large, or replacements form a circle.
    pub fn read(&self, id: &oid, buf: &mut Vec<u8>) -> Result<Option<Kind>, Error> {
        self.read_found(id, buf, ObjectReader::find, |_| true)
    }

    /// Returns the type of the object `id`, and reads the contents if it is of the type `wanted`. `None` if anything is
    /// wrong or the object has to be fetched, without a message.
    fn read_sound(&self, id: &oid, wanted: Kind, buf: &mut Vec<u8>) -> Option<Kind> {
        let id = self.history.replaced(id).ok()?;
        self.readers.with_reader_if_clean(|reader| {
            buf.clear();
            let Some(location) = reader.find_here(id)? else {
                return Ok(None);
            };
            let info = reader.read_with(&location, buf, |info, _| info.kind == wanted)?;
            let kind = info.kind;
            // git never checks the contents of a commit against its id.
            let is_checked = kind == wanted && kind != Kind::Commit;
            Ok((!is_checked || location.is_of(kind, buf)).then_some(kind))
        })
    }

    /// Reads objects of the type `kind` on all cores, and returns what `take` makes of each, in their order. `None` for
    /// objects that cannot be read, without a message.
    pub fn read_each<T: Send>(
        &self,
        ids: &[ObjectId],
        kind: Kind,
        take: &(dyn Fn(&oid, &[u8]) -> Option<T> + Sync),
    ) -> Vec<Option<T>> {
        let read = self.read_each_of_kind(ids, kind, take).into_iter();
        read.map(|read| read?.1).collect()
    }

    /// As [`Self::read_each`], but also returns the types of objects that can be read. Those of other types than `kind`
    /// are not read further.
    pub fn read_each_of_kind<T: Send>(
        &self,
        ids: &[ObjectId],
        kind: Kind,
        take: &(dyn Fn(&oid, &[u8]) -> Option<T> + Sync),
    ) -> Vec<Option<(Kind, Option<T>)>> {
        on_all_cores(ids, |ids| {
            self.readers.with_reader_silently(|reader| {
                let mut content = Vec::new();
                let mut read = |id: &ObjectId| {
                    content.clear();
                    let location = reader.find_here(self.history.replaced(id).ok()?).ok()??;
                    let found =
                        reader.read_with(&location, &mut content, |info, _| info.kind == kind);
                    let found = found.ok()?.kind;
                    if found != kind {
                        return Some((found, None));
                    }
                    // As in git, which checks the objects that it parses, except commits.
                    let is_sound = kind == Kind::Commit || location.is_of(kind, &content);
                    is_sound.then(|| (kind, take(id, &content)))
                };
                ids.iter().map(&mut read).collect::<Vec<_>>()
            })
        })
    }

    /// Reads the object `id`, looked up by `find`, if `wants` says so; returns its type.
    fn read_found(
        &self,
        id: &oid,
        buf: &mut Vec<u8>,
        find: Find,
        wants: impl Fn(Info) -> bool,
    ) -> Result<Option<Kind>, Error> {
        let real = self.history.replaced(id)?;
        let kind = self.readers.with_reader(|reader| {
            buf.clear();
            let Some(location) = find(reader, real)? else {
                return reader.none_or_bad(real).map(|()| None);
            };
            let info = reader.read_with(&location, buf, |info, _| wants(info))?;
            Ok(Some(info.kind))
        })?;
        match kind {
            None => no_replacement(id, real).map(|()| None),
            kind => Ok(kind),
        }
    }

    /// As [`Self::read`], but treats an object whose contents do not match the id as missing, as git does when it parses
    /// one. `asks_kind` is for places where git asks for the type first.
    fn read_checked(
        &self,
        id: &oid,
        buf: &mut Vec<u8>,
        asks_kind: bool,
    ) -> Result<Option<Kind>, Error> {
        let asked = id;
        let id = self.history.replaced(id)?;
        let mut is_again = !asks_kind;
        let found = self.readers.with_reader(|reader| {
            buf.clear();
            // Asking for the type may already show what is wrong. That is done only on the second attempt, when something is.
            if asks_kind
                && std::mem::replace(&mut is_again, true)
                && let Some(location) = reader.find(id)?
                && let Err(error) = reader.kind(&location)
            {
                if error.is_fatal() {
                    return Err(error);
                }
                reader.add_messages(error.messages);
            }
            let Some(location) = reader.find(id)? else {
                if asks_kind {
                    // Asking for the type would have produced the same messages.
                    let messages = reader.take_messages();
                    reader.add_messages(messages.clone());
                    reader.add_messages(messages);
                }
                return reader.none_or_bad(id).map(|()| None);
            };
            let info = reader.append(&location, buf)?;
            Ok(Some((info.kind, location)))
        })?;
        let Some((kind, location)) = found else {
            return no_replacement(asked, id).map(|()| None);
        };
        let matches_id = location.is_of(kind, buf);
        if !matches_id {
            let text = format!("error: hash mismatch {}", location.id());
            self.readers.add_messages(vec![text]);
        }
        Ok(matches_id.then_some(kind))
    }

    /// Whether the object `id` exists and its contents match the id, which git checks when it parses an object.
    ///
    /// # Errors
    /// The object is damaged, or replacements form a circle.
    pub fn matches_id(&self, id: &oid) -> Result<bool, Error> {
        let found = self.read_checked(id, &mut Vec::new(), false)?;
        Ok(found.is_some())
    }

    /// Returns the type of the object `id` without its contents. `None` if there is no such object.
    ///
    /// # Errors
    /// The object is damaged, or replacements form a circle.
    pub fn kind(&self, id: &oid) -> Result<Option<Kind>, Error> {
        let id = self.history.replaced(id)?;
        let kind = self.readers.with_reader(|reader| match reader.find(id)? {
            Some(location) => reader.kind(&location).map(Some),
            None => Ok(None),
        });
        Ok(kind?)
    }

    /// Whether the object `id` is here, without fetching it and without a message.
    pub fn is_here(&self, id: &oid) -> bool {
        self.look_here(id, |_, _| Ok(())).is_some()
    }

    /// Lists references as [`Refs::list`] does, for a caller who uses what these peel to.
    ///
    /// # Errors
    /// `packed-refs` or a reftable cannot be read.
    pub fn list_peeled(&self, refs: &Refs, prefix: &BStr) -> Result<Listing, refs::Error> {
        let listing = refs.list(prefix)?;
        let kind = |id: &oid| self.look_here(id, |reader, location| reader.kind(location));
        listing.check_peeled(&|id| kind(id) == Some(Kind::Tag));
        Ok(listing)
    }

    /// Looks at the object `id`, without fetching it and without a message. `None` if it is not here, or damaged.
    fn look_here<T>(
        &self,
        id: &oid,
        look: impl FnOnce(&mut ObjectReader, &Location) -> Result<T, object_store::Error>,
    ) -> Option<T> {
        let id = self.history.replaced(id).ok()?;
        self.readers.with_reader_if_clean(|reader| {
            let location = reader.find_here(id)?;
            location.map(|found| look(reader, &found)).transpose()
        })
    }

    /// Returns the size of the object `id` in bytes, without its contents. `None` if there is no such object.
    ///
    /// # Errors
    /// The object is damaged, or replacements form a circle.
    pub fn size(&self, id: &oid) -> Result<Option<u64>, Error> {
        let id = self.history.replaced(id)?;
        let size = self.readers.with_reader(|reader| match reader.find(id)? {
            Some(location) => reader.size(&location).map(Some),
            None => Ok(None),
        });
        Ok(size?)
    }

    /// Returns the contents of the blob `id`, if it is a blob and can be read.
    pub fn blob(&self, id: &oid) -> Option<Vec<u8>> {
        let mut contents = Vec::new();
        let kind = self.read(id, &mut contents).ok()??;
        (kind == Kind::Blob).then_some(contents)
    }

    /// As [`Self::blob`], for a blob of which nothing counts unless it is shorter than `len` bytes: a longer one is not read.
    pub fn blob_shorter_than(&self, id: &oid, len: u64) -> Option<LimitedBlob> {
        match self.size(id) {
            Ok(Some(size)) if size >= len => {
                let is_blob = self.kind(id).ok()?? == Kind::Blob;
                is_blob.then_some(LimitedBlob::TooLong)
            }
            _ => self.blob(id).map(LimitedBlob::Contents),
        }
    }

    /// Fails if `id` has a replacement that does not exist: git exits when it reads such an object.
    ///
    /// # Errors
    /// There is such a replacement, or replacements form a circle.
    pub fn check_replacement(&self, id: &oid) -> Result<(), Error> {
        let real = self.history.replaced(id)?;
        if real == id || self.kind(id)?.is_some() {
            return Ok(());
        }
        no_replacement(id, real)
    }

    /// Returns the object that stands for `id` (git-replace(1)).
    ///
    /// # Errors
    /// Replacements form a circle.
    pub fn replaced(&self, id: &oid) -> Result<ObjectId, Error> {
        self.history.replaced(id).map(ToOwned::to_owned)
    }

    /// Reads the tree `id` into `buf`.
    ///
    /// # Errors
    /// The tree is missing or damaged, or the object is of another type.
    pub fn tree(&self, id: &oid, buf: &mut Vec<u8>) -> Result<(), Error> {
        match self.read(id, buf)? {
            Some(kind) => expect_kind(id, kind, Kind::Tree),
            None => Err(Error::MissingTree { id: id.to_owned() }),
        }
    }

    /// Returns the object to which `id` leads through tags, and its type as the last tag gives it. `None` if an object on
    /// the way is missing, or is not a tag.
    ///
    /// # Errors
    /// An object on the way is damaged.
    pub fn peel(&self, id: &oid) -> Result<Option<(ObjectId, Kind)>, Error> {
        Ok(match self.peel_with_first(id, &mut Vec::new())? {
            (None, _) | (Some(Kind::Tag), None) => None,
            (Some(kind), None) => Some((id.to_owned(), kind)),
            (Some(_), Some((_, last))) => Some((last.target, last.kind)),
        })
    }

    /// Returns the tree to which `id`, a tree, commit or tag, leads.
    ///
    /// # Errors
    /// An object on the way is missing or damaged, or there is no tree at the end.
    pub fn peel_to_tree(&self, id: &oid) -> Result<ObjectId, Error> {
        let mut buf = Vec::new();
        let tree_in = |id: &oid, content: &[u8]| {
            let links = commit::Links::parse(content, self.hash_kind());
            links.map(|links| links.tree).map_err(malformed(id))
        };
        // Most are commits, for which one lookup is enough.
        if self.known.claimed_kind(id).is_none()
            && self.read_sound(id, Kind::Commit, &mut buf) == Some(Kind::Commit)
        {
            self.history.check()?;
            self.note_commit(id);
            return tree_in(id, &buf);
        }
        match self.peel(id)? {
            None => Err(Error::Missing { id: id.to_owned() }),
            Some((id, Kind::Tree)) => Ok(id),
            Some((id, Kind::Commit)) => {
                self.read_commit(&id, &mut buf, ObjectReader::find)?;
                tree_in(&id, &buf)
            }
            Some((id, actual)) => Err(Error::WrongKind {
                id,
                actual,
                expected: Kind::Tree,
            }),
        }
    }

    /// Whether any tag claimed that an object is not a commit.
    pub fn has_non_commit_claims(&self) -> bool {
        self.known.has_non_commit_claims()
    }

    /// Notes that the object `id` is a commit, whatever tags may claim later.
    pub fn note_commit(&self, id: &oid) {
        // If it was known to be of another type, that stands.
        let _ = self.known.note(id, Kind::Commit);
    }

    /// Forgets the known types of objects.
    pub fn forget_known(&self) {
        self.known.forget();
        self.chains.forget();
    }

    /// The limit on how deep directories may nest.
    pub fn tree_depth_max(&self) -> i64 {
        self.tree_depth_max
    }

    /// What changes history, and what is cached about it.
    pub fn history(&self) -> &History {
        &self.history
    }
}

/// For an object that was not found: fails if `real` is a replacement for `id`.
fn no_replacement(id: &oid, real: &oid) -> Result<(), Error> {
    match id == real {
        true => Ok(()),
        false => Err(Error::NoReplacement {
            id: id.to_owned(),
            replacement: real.to_owned(),
        }),
    }
}

fn expect_kind(id: &oid, actual: Kind, expected: Kind) -> Result<(), Error> {
    if actual == expected {
        return Ok(());
    }
    Err(Error::WrongKind {
        id: id.to_owned(),
        actual,
        expected,
    })
}

#[cfg(test)]
mod tests;
