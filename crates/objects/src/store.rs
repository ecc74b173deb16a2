//! The objects of one repository, looked for where git looks.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use gix_hash::{Kind as HashKind, ObjectId, oid};
use parking_lot::RwLock;

use super::alternates::{self, Places};
use super::error::{Error, Reason, error};
use super::location::{Location, Place};
use super::loose::Loose;
use super::pack::{Pack, Packs};
use super::promisor::FetchMissing;
use super::source::Source;
use super::table::Table;

/// The objects of one repository, for all threads.
#[derive(Debug)]
pub struct ObjectStore {
    hash: HashKind,
    empty_tree: ObjectId,
    /// The repository's own folder, then the alternates.
    pub(super) sources: Vec<Source>,
    pub(super) packs: Packs,
    pub(super) promisor: Option<Arc<dyn FetchMissing>>,
    /// What objects from promisor remotes name, and they themselves, once that was asked for.
    pub(super) promised: OnceLock<HashSet<ObjectId>>,
}

/// Where the search for an object goes on.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stage {
    Packs(usize),
    Loose(usize),
    /// In packs again, also in those that are new.
    Again(usize),
}

/// An object that was found, its file where it has one, and where to look for another copy.
pub(super) struct Found {
    pub(super) location: Location,
    pub(super) loose: Option<Loose>,
    pub(super) next: Stage,
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
    pub(super) fn bad_pack(&self, id: &oid) -> Option<String> {
        let packs = self.packs.read();
        let bad = packs.iter().find(|pack| pack.is_bad(id))?;
        Some(bad.shown.clone())
    }

    /// The packs that came from promisor remotes.
    pub(super) fn promisor_packs(&self) -> Vec<Arc<Pack>> {
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

    /// Whether this copy of an object turned out to be damaged: to look for the object finds another one, or none.
    pub fn is_known_bad(&self, location: &Location) -> bool {
        let Place::Packed { pack, .. } = location.place else {
            return false;
        };
        let packs = self.packs.read();
        let pack = packs.get(pack as usize);
        pack.is_some_and(|pack| pack.is_bad(&location.id))
    }

    /// Forgets which objects turned out to be damaged, as if none had been read.
    pub fn forget_damage(&self) {
        for pack in self.packs.read().iter() {
            pack.forget_bad();
        }
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
    pub(super) fn search(
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
                if let Some(loose) = source.open_loose(id, said)? {
                    return found(number, Place::Loose, Some(loose), next);
                }
            } else if let Some(place) = source.find_packed(id, &self.packs, said)? {
                return found(number, place, None, next);
            }
            stage = next;
        }
    }
}
