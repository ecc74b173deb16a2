//! Reading objects: loose, packed, in alternates, and as replacements have them.

mod abbreviation;
pub(crate) mod commit;
mod hash;
mod history;
mod prefix;
mod tree;

use std::cell::RefCell;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bstr::{BString, ByteSlice};
use gix_hash::{ObjectId, oid};
use gix_object::{Find, FindHeader, Kind};

pub use self::commit::Commit;
pub use self::hash::{BlobHasher, hash_blob};
pub(crate) use self::history::History;
use crate::git::refs::{self, Refs};
use crate::git::repository::Repository;
use crate::git::staged::DEPTH_MAX;

/// The largest object that is read, in bytes: a corrupt size must not take all memory.
const OBJECT_SIZE_MAX: usize = 4 << 30;

/// How many tags may lead from one to the next.
const TAG_DEPTH_MAX: usize = 64;

/// Why an object could not be read. Where git has a text for it, it is git's, without "fatal: ".
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder of the object database cannot be used.
    #[error("unable to open object directory {}: {source}", path.display())]
    Open {
        /// The folder.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// A file that cannot be read.
    #[error("unable to read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// A tree that is not there.
    #[error("unable to read tree ({id})")]
    MissingTree {
        /// The tree.
        id: ObjectId,
    },
    /// A commit, or something that should lead to one, is not there.
    #[error("bad object {id}")]
    Missing {
        /// The object.
        id: ObjectId,
    },
    /// An object whose file is damaged.
    #[error("loose object {id} (stored in {}) is corrupt", path.display())]
    CorruptLoose {
        /// The object.
        id: ObjectId,
        /// Its file.
        path: PathBuf,
    },
    /// An object in a pack that is damaged.
    #[error("packed object {id} (stored in {}) is corrupt", path.display())]
    CorruptPacked {
        /// The object.
        id: ObjectId,
        /// The pack.
        path: PathBuf,
    },
    /// An object that cannot be read, nobody knows where from.
    #[error("unable to read {id}: {reason}")]
    Unreadable {
        /// The object.
        id: ObjectId,
        /// What the object database said.
        reason: String,
    },
    /// An object of another type than its place demands.
    #[error("object {id} is a {actual}, not a {expected}")]
    WrongKind {
        /// The object.
        id: ObjectId,
        /// What it is.
        actual: Kind,
        /// What it should be.
        expected: Kind,
    },
    /// A commit or tag that does not follow the format.
    #[error("{problem} {id}")]
    Malformed {
        /// The object.
        id: ObjectId,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// Replacements that go in circles.
    #[error("replace depth too high for object {id}")]
    ReplaceDepth {
        /// The object.
        id: ObjectId,
    },
    /// A line of the `shallow` file that is no id.
    #[error("bad shallow line: {line}")]
    BadShallowLine {
        /// The line.
        line: BString,
    },
    /// The references that replace objects cannot be read.
    #[error(transparent)]
    Refs(#[from] refs::Error),
    /// The configuration holds a bad value.
    #[error(transparent)]
    Config(#[from] crate::git::config::Error),
}

/// The objects of one repository.
///
/// Each thread has its own; a clone is cheap, and shares what is open. New packs are found when an object is
/// not in the known ones.
#[derive(Clone)]
pub struct Objects {
    places: Arc<Places>,
    stores: RefCell<Vec<gix_odb::HandleArc>>,
    history: Arc<History>,
}

/// Where objects are looked for.
#[derive(Debug)]
struct Places {
    hash: gix_hash::Kind,
    /// The repository's own folder, then those of the environment. Each may name alternates of its own.
    folders: Vec<PathBuf>,
    working_directory: PathBuf,
    /// Messages name files below it relative to it.
    work_tree: Option<PathBuf>,
    uses_commit_graph: bool,
    /// `core.maxTreeDepth`.
    tree_depth_max: i64,
}

impl std::fmt::Debug for Objects {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Objects").field(&self.places).finish()
    }
}

impl Objects {
    /// The objects of `repo`, with the replacements that its references name.
    pub fn open(repo: &Repository) -> Result<Self, Error> {
        Self::open_with(repo, &Refs::open(repo)?)
    }

    /// As [`Self::open`], for a caller who has the references of `repo` at hand: `packed-refs` is then read once.
    pub fn open_with(repo: &Repository, refs: &Refs) -> Result<Self, Error> {
        let environment = &repo.environment;
        let working_directory = environment.working_directory().to_owned();
        let mut folders = vec![repo.object_dir.clone()];
        let alternates = environment.get("GIT_ALTERNATE_OBJECT_DIRECTORIES");
        for folder in split_paths(alternates.map_or(b"".as_slice(), |paths| paths.as_bytes())) {
            let folder = working_directory.join(folder);
            // As for git, an alternate that is not there is none.
            if folder.is_dir() {
                folders.push(folder);
            }
        }
        let places = Places {
            hash: repo.hash,
            folders,
            working_directory,
            work_tree: repo.work_tree.clone(),
            uses_commit_graph: repo.config.boolean("core.commitGraph")? != Some(false),
            tree_depth_max: match repo.config.entry("core.maxTreeDepth") {
                Some(entry) => entry.int()?.into(),
                None => DEPTH_MAX,
            },
        };
        Ok(Self {
            stores: RefCell::new(places.open()?),
            places: Arc::new(places),
            history: Arc::new(History::read(repo, refs)?),
        })
    }

    /// Reads again what changes history: the shallow boundary, grafts and replacements. To be called before
    /// each answer of a long-lived process; what is known of the history is kept when nothing changed.
    ///
    /// Returns whether something did: what an id stands for may then be something else.
    pub fn refresh(&mut self, repo: &Repository, refs: &Refs) -> Result<bool, Error> {
        let history = History::read(repo, refs)?;
        let is_changed = history != *self.history;
        if is_changed {
            self.history = Arc::new(history);
        }
        Ok(is_changed)
    }

    /// The kind of the ids.
    pub fn hash_kind(&self) -> gix_hash::Kind {
        self.places.hash
    }

    /// Reads the object `id` into `buf`, whose contents it replaces. `None` if there is no such object.
    ///
    /// The contents are not checked against the id, nor are they by git.
    pub fn read(&self, id: &oid, buf: &mut Vec<u8>) -> Result<Option<Kind>, Error> {
        let id = self.history.replaced(id)?;
        if self.is_empty_tree(id) {
            buf.clear();
            return Ok(Some(Kind::Tree));
        }
        self.attempt(id, |store| {
            let found = store.try_find(id, buf).map_err(|e| e.to_string())?;
            Ok(found.map(|object| object.kind))
        })
    }

    /// The type of the object `id`, without its contents. `None` if there is no such object.
    pub fn kind(&self, id: &oid) -> Result<Option<Kind>, Error> {
        let id = self.history.replaced(id)?;
        if self.is_empty_tree(id) {
            return Ok(Some(Kind::Tree));
        }
        self.attempt(id, |store| {
            let found = FindHeader::try_header(store, id).map_err(|e| e.to_string())?;
            Ok(found.map(|header| header.kind))
        })
    }

    /// The object that stands for `id` (git-replace(1)).
    ///
    /// # Errors
    /// Replacements go in circles.
    pub fn replaced(&self, id: &oid) -> Result<ObjectId, Error> {
        self.history.replaced(id).map(ToOwned::to_owned)
    }

    /// Whether `id` is the tree that git knows even where nobody wrote it.
    fn is_empty_tree(&self, id: &oid) -> bool {
        *id == *ObjectId::empty_tree(self.places.hash)
    }

    /// Reads the tree `id` into `buf`.
    pub fn tree(&self, id: &oid, buf: &mut Vec<u8>) -> Result<(), Error> {
        match self.read(id, buf)? {
            Some(kind) => expect_kind(id, kind, Kind::Tree),
            None => Err(Error::MissingTree { id: id.to_owned() }),
        }
    }

    /// Reads the commit `id`.
    pub fn commit(&self, id: &oid) -> Result<Commit, Error> {
        let mut buf = Vec::new();
        self.read_commit(id, &mut buf)?;
        let mut commit = commit::parse(&buf, self.places.hash).map_err(malformed(id))?;
        if let Some(parents) = self.history.parents(id) {
            commit.parents = parents.to_vec();
        }
        Ok(commit)
    }

    /// The parents of the commit `id`, added to `parents`, and its committer's time in seconds since 1970. A
    /// missing commit is an error.
    pub(crate) fn links(
        &self,
        id: &oid,
        buf: &mut Vec<u8>,
        parents: &mut Vec<ObjectId>,
    ) -> Result<i64, Error> {
        self.read_commit(id, buf)?;
        let links = commit::Links::parse(buf, self.places.hash).map_err(malformed(id))?;
        match self.history.parents(id) {
            Some(own) => parents.extend_from_slice(own),
            None => parents.extend(links.parents()),
        }
        Ok(links.committer_time_s())
    }

    fn read_commit(&self, id: &oid, buf: &mut Vec<u8>) -> Result<(), Error> {
        self.history.check()?;
        match self.read(id, buf)? {
            Some(kind) => expect_kind(id, kind, Kind::Commit),
            None => Err(Error::Missing { id: id.to_owned() }),
        }
    }

    /// The object to which `id` leads through tags, and its type. `None` where an object is missing.
    pub fn peel(&self, id: &oid) -> Result<Option<(ObjectId, Kind)>, Error> {
        let mut id = id.to_owned();
        let mut buf = Vec::new();
        for _ in 0..TAG_DEPTH_MAX {
            match self.kind(&id)? {
                None => return Ok(None),
                Some(Kind::Tag) => {}
                Some(kind) => return Ok(Some((id, kind))),
            }
            if self.read(&id, &mut buf)?.is_none() {
                return Ok(None);
            }
            id = commit::tag_target(&buf, self.places.hash).ok_or(Error::Malformed {
                id,
                problem: "bad tag",
            })?;
        }
        Err(Error::Malformed {
            id,
            problem: "too many tags lead to",
        })
    }

    /// The tree to which `id`, a tree, commit or tag, leads.
    pub fn peel_to_tree(&self, id: &oid) -> Result<ObjectId, Error> {
        match self.peel(id)? {
            None => Err(Error::Missing { id: id.to_owned() }),
            Some((id, Kind::Tree)) => Ok(id),
            Some((id, Kind::Commit)) => {
                let mut buf = Vec::new();
                self.read_commit(&id, &mut buf)?;
                let links = commit::Links::parse(&buf, self.places.hash).map_err(malformed(&id))?;
                Ok(links.tree)
            }
            Some((id, actual)) => Err(Error::WrongKind {
                id,
                actual,
                expected: Kind::Tree,
            }),
        }
    }

    /// How deep directories may lie in each other.
    pub(crate) fn tree_depth_max(&self) -> i64 {
        self.places.tree_depth_max
    }

    /// What changes history, and what is remembered of it.
    pub(crate) fn history(&self) -> &History {
        &self.history
    }

    /// The commit-graph, where there is one and it tells the history that holds. A damaged one is none.
    pub(crate) fn commit_graph(&self) -> Option<gix_commitgraph::Graph> {
        if !self.places.uses_commit_graph || !self.history.is_as_recorded() {
            return None;
        }
        let info = self.places.folders.first()?.join("info");
        guarded(|| gix_commitgraph::at(&info, self.places.hash, None).map_err(|e| e.to_string()))
            .ok()
    }

    /// Asks each store. A failure may come from packs that were replaced meanwhile, or from more of them than
    /// there was room for: all is opened anew, once, before it counts.
    fn attempt<T>(
        &self,
        id: &oid,
        mut ask: impl FnMut(&gix_odb::HandleArc) -> Result<Option<T>, String>,
    ) -> Result<Option<T>, Error> {
        let mut once = || -> Result<Option<T>, String> {
            for store in self.stores.borrow().iter() {
                let found = guarded(|| ask(store))?;
                if found.is_some() {
                    return Ok(found);
                }
            }
            Ok(None)
        };
        if let Ok(found) = once() {
            return Ok(found);
        }
        let stores = self.places.open()?;
        self.stores.replace(stores);
        once().or_else(|reason| self.places.diagnose(id, reason))
    }
}

impl Places {
    fn open(&self) -> Result<Vec<gix_odb::HandleArc>, Error> {
        let open = |folder: &PathBuf| {
            let options = gix_odb::store::init::Options {
                alloc_limit_bytes: Some(OBJECT_SIZE_MAX),
                current_dir: Some(self.working_directory.clone()),
                // Room for packs that are yet to come.
                slots: gix_odb::store::init::Slots::AsNeededByDiskState {
                    multiplier: 2.0,
                    minimum: 128,
                },
                ..Default::default()
            };
            let store = gix_odb::Store::at_opts(
                folder.clone(),
                self.hash,
                &mut std::iter::empty(),
                options,
            )
            .map_err(|source| Error::Open {
                path: folder.clone(),
                source,
            })?;
            Ok(Arc::new(store).to_cache_arc())
        };
        self.folders.iter().map(open).collect()
    }

    /// Finds out where the object that cannot be read is. An empty loose file is, as for git, no object.
    fn diagnose<T>(&self, id: &oid, reason: String) -> Result<Option<T>, Error> {
        let hex = id.to_string();
        let (folder, file) = hex.split_at_checked(2).unwrap_or_default();
        for place in self.all_folders() {
            if let Some(path) = packed_in(&place.join("pack"), id) {
                let (id, path) = (id.to_owned(), self.shown(path));
                return Err(Error::CorruptPacked { id, path });
            }
            let path = place.join(folder).join(file);
            match std::fs::metadata(&path) {
                Ok(metadata) if metadata.len() == 0 => return Ok(None),
                Ok(_) => {
                    let (id, path) = (id.to_owned(), self.shown(path));
                    return Err(Error::CorruptLoose { id, path });
                }
                Err(_) => {}
            }
        }
        Err(Error::Unreadable {
            id: id.to_owned(),
            reason,
        })
    }

    fn shown(&self, path: PathBuf) -> PathBuf {
        let below = self
            .work_tree
            .as_deref()
            .and_then(|top| path.strip_prefix(top).ok());
        below.map_or_else(|| path.clone(), Path::to_owned)
    }

    fn all_folders(&self) -> Vec<PathBuf> {
        let mut all = self.folders.clone();
        for folder in &self.folders {
            let alternates = gix_odb::alternate::resolve(folder.clone(), &self.working_directory);
            all.extend(alternates.unwrap_or_default());
        }
        all
    }
}

/// The pack in `folder` whose index has `id`.
fn packed_in(folder: &Path, id: &oid) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).ok()?;
    entries
        .flatten()
        .map(|entry| entry.path())
        .find_map(|path| {
            if path.extension() != Some(OsStr::new("idx")) {
                return None;
            }
            let has_it = guarded(|| {
                let index =
                    gix_odb::pack::index::File::at(&path, id.kind()).map_err(|e| e.to_string())?;
                Ok(index.lookup(id).is_some())
            });
            has_it.unwrap_or(false).then(|| path.with_extension("pack"))
        })
}

/// Runs `work`, in which damaged files may cause a panic.
fn guarded<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    // Nothing that `work` uses is left half done: the stores hold no more than what they read.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err("its file makes no sense".into()))
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

fn malformed(id: &oid) -> impl FnOnce(&'static str) -> Error {
    let id = id.to_owned();
    move |problem| Error::Malformed { id, problem }
}

/// The paths in a list separated by colons, without empty ones.
fn split_paths(list: &[u8]) -> impl Iterator<Item = &OsStr> {
    list.split(|byte| *byte == b':')
        .filter(|path| !path.is_empty())
        .map(OsStr::from_bytes)
}

#[cfg(test)]
mod tests;
