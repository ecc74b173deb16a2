//! Objects read with the fewest copies and system calls: looked up once, and inflated into the buffer that they are
//! written from.
//!
//! May import `stamp`, `model` and `linux`. It knows folders with objects, and no repository, reference or configuration.
//!
//! An [`ObjectStore`] is shared by threads, and knows where objects are; each thread has a [`Reader`], which has what
//! reading needs. An object is looked for where git looks, in that order: in each folder the packs, then the files of
//! single objects; and if it is nowhere, once more in packs that are new. Replacements are none of this module's
//! business. Bytes on disk may be anything: offsets, sizes and chains are checked before they are used, and memory is
//! set aside as contents come, not as sizes promise.

mod alternates;
mod cache;
mod chains;
pub mod commit;
pub mod commit_graph;
mod delta;
mod enumerate;
mod fetch;
pub mod hash;
mod index;
mod inflate;
mod loose;
mod midx;
mod pack;
pub mod parallel;
mod plan;
mod planned;
mod reader;
mod source;
mod table;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use bstr::BString;
use gix_hash::{Kind as HashKind, ObjectId, oid};
pub use gix_object::Kind;
use parking_lot::RwLock;

pub use self::enumerate::{PackOrder, Sorted};
pub use self::fetch::FetchMissing;
use self::loose::Loose;
use self::pack::Pack;
pub use self::reader::{Reader, StreamError};
use self::source::Source;
use self::table::Table;

/// The largest object that is put together in memory, in bytes: a size in a damaged file must not take all of it.
const SIZE_MAX: u64 = 4 << 30;

/// Takes contents piece by piece.
type Sink<'a, E> = &'a mut dyn FnMut(Info, &[u8]) -> Result<(), E>;

/// Sees what contents are before they are added.
type Begin<'a> = &'a mut dyn FnMut(Info, &mut Vec<u8>) -> bool;

/// All packs that were ever found, by their numbers.
type Packs = RwLock<Vec<Arc<Pack>>>;

/// Where a repository's objects are.
#[derive(Clone, Debug)]
pub struct Places {
    /// The kind of ids.
    pub hash: HashKind,
    /// The repository's own folder of objects.
    pub folder: PathBuf,
    /// What messages call that folder: it depends on how the repository was found.
    pub shown: String,
    /// More folders, separated by colons (`GIT_ALTERNATE_OBJECT_DIRECTORIES`).
    pub alternates: BString,
    /// Where relative paths in `alternates` begin.
    pub working_directory: PathBuf,
    /// Messages name files of other folders below it relative to it.
    pub work_tree: Option<PathBuf>,
    /// Whether multi-pack-indexes are used (`core.multiPackIndex`).
    pub uses_multi_pack_index: bool,
    /// What is nowhere is fetched by it.
    pub promisor: Option<Arc<dyn FetchMissing>>,
}

/// Where an object was found. It stays good for as long as the store lives, unless somebody removes the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    id: ObjectId,
    source: u32,
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Packed {
        pack: u32,
        offset: u64,
    },
    Loose,
    /// The tree without entries is known even where nobody wrote it.
    EmptyTree,
}

impl Location {
    /// The object.
    pub fn id(&self) -> &oid {
        &self.id
    }

    /// Whether an object of this type and with these contents has the id by which it was found.
    pub fn is_of(&self, kind: Kind, contents: &[u8]) -> bool {
        gix_object::compute_hash(self.id.kind(), kind, contents).is_ok_and(|id| id == self.id)
    }

    /// Whether the object has a file of its own.
    pub fn is_loose(&self) -> bool {
        self.place == Place::Loose
    }
}

/// What an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// Its type.
    pub kind: Kind,
    /// The size of its contents, in bytes.
    pub size: u64,
}

/// What is wanted of an object beside its contents: each costs something of its own, and may fail alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Its type.
    pub kind: bool,
    /// The size of its contents.
    pub size: bool,
    /// How many bytes it takes.
    pub disk_size: bool,
    /// The object that it is a difference from.
    pub delta_base: bool,
}

impl Wanted {
    /// All that there is.
    pub const ALL: Self = Self {
        kind: true,
        size: true,
        disk_size: true,
        delta_base: true,
    };
}

/// What was found out of an object, as far as it was wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Its type.
    pub kind: Option<Kind>,
    /// The size of its contents, in bytes.
    pub size: Option<u64>,
    /// How many bytes it takes: of its file, or between it and the next one in the pack (`%(objectsize:disk)`).
    pub disk_size: Option<u64>,
    /// The object that it is a difference from, if it is one (`%(deltabase)`).
    pub delta_base: Option<ObjectId>,
}

impl From<Info> for Facts {
    fn from(info: Info) -> Self {
        Self {
            kind: Some(info.kind),
            size: Some(info.size),
            ..Self::default()
        }
    }
}

/// Why an object cannot be had.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub struct Error {
    /// What git says before, line by line, with "error: " or "warning: ".
    pub said: Vec<String>,
    /// The reason.
    pub reason: Reason,
}

impl Error {
    /// Whether git ends, with the reason as its last words. Else it goes on as if there were no such object.
    pub fn is_fatal(&self) -> bool {
        !matches!(self.reason, Reason::Missing { .. })
    }
}

/// The reason of an [`Error`]: git's text without "fatal: ", where git ends.
#[derive(Debug, thiserror::Error)]
pub enum Reason {
    /// There is no usable copy of it.
    #[error("bad object {id}")]
    Missing {
        /// The object.
        id: ObjectId,
    },
    /// Its file is damaged.
    #[error("loose object {id} (stored in {path}) is corrupt")]
    CorruptLoose {
        /// The object.
        id: ObjectId,
        /// Its file.
        path: String,
    },
    /// It is damaged in a pack, and there is no other copy.
    #[error("packed object {id} (stored in {path}) is corrupt")]
    CorruptPacked {
        /// The object.
        id: ObjectId,
        /// The pack.
        path: String,
    },
    /// Its file says that it is something else than git knows.
    #[error("invalid object type")]
    InvalidType,
    /// A part of it was handed on, and the rest is damaged.
    #[error("unable to stream {id} to stdout")]
    Stream {
        /// The object.
        id: ObjectId,
    },
    /// The pack cannot be opened any more.
    #[error("packfile {pack} cannot be accessed")]
    NoAccess {
        /// The pack.
        pack: String,
    },
    /// An offset is outside of its pack.
    #[error("offset beyond end of packfile (truncated pack?)")]
    BeyondPack,
    /// A place is outside of a pack's index.
    #[error("offset beyond end of pack index for {pack} (truncated index?)")]
    BeyondIndex {
        /// The pack.
        pack: String,
    },
    /// A multi-pack-index makes no sense.
    #[error("{text}")]
    Midx {
        /// git's words.
        text: String,
    },
    /// A size has more digits than there can be.
    #[error("size_t overflow: {0} {1} {2}")]
    SizeOverflow(u64, char, u64),
    /// A promisor remote is badly configured.
    #[error("{text}")]
    BadPromisor {
        /// git's words.
        text: String,
    },
    /// git cannot be run to fetch it.
    #[error("cannot run git to fetch {id} from promisor remote '{remote}': {text}")]
    NotRun {
        /// The object.
        id: ObjectId,
        /// The remote's name.
        remote: BString,
        /// The system's reason.
        text: String,
    },
    /// It was promised, and no remote gives it.
    #[error("could not fetch {id} from promisor remote")]
    NotFetched {
        /// The object.
        id: ObjectId,
    },
    /// It is too large to be put together in memory.
    #[error("object {id} is too large")]
    TooLarge {
        /// The object.
        id: ObjectId,
    },
}

/// What is wrong with one copy of an object.
#[derive(Debug)]
enum Trouble {
    /// It is damaged; there may be others.
    Damaged,
    /// It rests on damaged ones. They begin at these offsets of the pack; the first one that can be had elsewhere helps.
    Bases(Vec<u64>),
    /// git ends.
    Fatal(Reason),
}

impl From<Reason> for Trouble {
    fn from(reason: Reason) -> Self {
        Self::Fatal(reason)
    }
}

/// The objects of one repository, for all threads.
#[derive(Debug)]
pub struct ObjectStore {
    hash: HashKind,
    empty_tree: ObjectId,
    /// The repository's own folder, then the alternates.
    sources: Vec<Source>,
    packs: Packs,
    promisor: Option<Arc<dyn FetchMissing>>,
    /// What objects from promisor remotes name, and they themselves, once that was asked for.
    promised: OnceLock<HashSet<ObjectId>>,
}

/// Where the search for an object goes on.
#[derive(Clone, Copy, Debug)]
enum Stage {
    Packs(usize),
    Loose(usize),
    /// In packs again, also in those that are new.
    Again(usize),
}

/// An object that was found, its file where it has one, and where to look for another copy.
struct Found {
    location: Location,
    loose: Option<Loose>,
    next: Stage,
}

impl ObjectStore {
    /// Finds the folders. Nothing is listed or opened before it is needed. Adds to `said` what git says, line by line.
    pub fn open(places: &Places, said: &mut Vec<String>) -> Self {
        Self {
            hash: places.hash,
            empty_tree: ObjectId::empty_tree(places.hash),
            sources: alternates::sources(places, said),
            packs: RwLock::default(),
            promisor: places.promisor.clone(),
            promised: OnceLock::new(),
        }
    }

    /// A pack in which the object was seen to be damaged, as messages call it.
    fn bad_pack(&self, id: &oid) -> Option<String> {
        let packs = self.packs.read();
        let bad = packs.iter().find(|pack| pack.is_bad(id))?;
        Some(bad.shown.clone())
    }

    /// The packs that came from promisor remotes.
    fn promisor_packs(&self) -> Vec<Arc<Pack>> {
        let mut found = Vec::new();
        for source in &self.sources {
            // What is damaged is told where an object is looked for.
            let _ = source.with_listing(&self.packs, &mut Vec::new(), |listing, _| {
                let packs = listing.packs();
                let fetched = packs.filter(|pack| pack.path.with_extension("promisor").exists());
                found.extend(fetched.cloned());
                Ok(())
            });
        }
        found
    }

    /// The kind of the ids.
    pub fn hash_kind(&self) -> HashKind {
        self.hash
    }

    /// Whether packs or alternates that were found may be gone: something may then be found that git does not find.
    pub fn has_lost(&self) -> bool {
        self.sources.iter().any(Source::has_lost)
    }

    /// Whether the alternates may be others now.
    pub fn has_other_alternates(&self) -> bool {
        self.sources.iter().any(Source::has_other_alternates)
    }

    /// Looks for packs that are new on disk. Adds to `said` what git says, line by line.
    ///
    /// # Errors
    /// A multi-pack-index is so damaged that git ends.
    pub fn list(&self, said: &mut Vec<String>) -> Result<(), Error> {
        let mut sources = self.sources.iter();
        let listed = sources.try_for_each(|source| source.list(&self.packs, said));
        listed.map_err(error(said))
    }

    /// How many objects are in packs; what is in several counts for each. 0 where an index cannot be read.
    ///
    /// # Errors
    /// A multi-pack-index is so damaged that git ends.
    pub fn packed_count(&self, said: &mut Vec<String>) -> Result<u64, Error> {
        let mut count = 0;
        for source in &self.sources {
            let listed = source.with_listing(&self.packs, said, |listing, said| {
                for layer in &listing.midxes {
                    count += u64::from(layer.midx.count());
                }
                for pack in &listing.order {
                    let Some(index) = pack.index(said) else {
                        return Ok(false);
                    };
                    count += u64::from(index.count());
                }
                Ok(true)
            });
            if !listed.map_err(error(said))? {
                return Ok(0);
            }
        }
        Ok(count)
    }

    /// Whether there is such an object here; a file of its own is enough, whatever is in it. Adds to `said` what git says,
    /// line by line.
    ///
    /// # Errors
    /// As for [`Self::find`].
    pub fn exists(&self, id: &oid, said: &mut Vec<String>) -> Result<bool, Error> {
        if id.is_null() {
            return Ok(false);
        }
        for source in &self.sources {
            let found = source.find_packed(id, &self.packs, said);
            if found.map_err(error(said))?.is_some() || source.has_file(id) {
                return Ok(true);
            }
        }
        Ok(self.find(id, said)?.is_some())
    }

    /// Where the object is here: one lookup. `None` if there is no such object. Adds to `said` what git says, line by line.
    ///
    /// # Errors
    /// A multi-pack-index or a pack's index is so damaged that git ends.
    pub fn find(&self, id: &oid, said: &mut Vec<String>) -> Result<Option<Location>, Error> {
        let found = self.search(id, Stage::Packs(0), said);
        let found = found.map_err(error(said))?;
        Ok(found.map(|found| found.location))
    }

    /// The first copy from `stage` on.
    fn search(
        &self,
        id: &oid,
        mut stage: Stage,
        said: &mut Vec<String>,
    ) -> Result<Option<Found>, Reason> {
        if id.is_null() {
            return Ok(None);
        }
        let found = |source: usize, place, loose, next| {
            let location = Location {
                id: id.to_owned(),
                source: u32::try_from(source).unwrap_or(u32::MAX),
                place,
            };
            Ok(Some(Found {
                location,
                loose,
                next,
            }))
        };
        if *id == *self.empty_tree {
            return found(0, Place::EmptyTree, None, stage);
        }
        loop {
            let number = match stage {
                Stage::Packs(number) | Stage::Loose(number) | Stage::Again(number) => number,
            };
            let Some(source) = self.sources.get(number) else {
                if matches!(stage, Stage::Again(_)) {
                    return Ok(None);
                }
                stage = Stage::Again(0);
                continue;
            };
            let next = match stage {
                Stage::Packs(number) => Stage::Loose(number),
                Stage::Loose(number) => Stage::Packs(number + 1),
                Stage::Again(number) => Stage::Again(number + 1),
            };
            if matches!(stage, Stage::Again(_)) {
                source.list(&self.packs, said)?;
            }
            if matches!(stage, Stage::Loose(_)) {
                if let Some(loose) = source.open_loose(id, said) {
                    return found(number, Place::Loose, Some(loose), next);
                }
            } else if let Some(place) = source.find_packed(id, &self.packs, said)? {
                return found(number, place, None, next);
            }
            stage = next;
        }
    }
}

/// A reason with what git said before.
fn error(said: &mut Vec<String>) -> impl FnOnce(Reason) -> Error + '_ {
    |reason| Error {
        said: std::mem::take(said),
        reason,
    }
}

/// How much git inflates and writes at a time of what it streams, in bytes. It writes nothing of a part in which it fails,
/// nor of one right behind which it does.
const PART_LEN: usize = 16 << 10;

/// How much of `piece` can be written, whatever follows.
fn whole_parts(piece: &[u8]) -> usize {
    piece.len().saturating_sub(1) / PART_LEN * PART_LEN
}
