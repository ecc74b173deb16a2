//! The objects of one repository, searched in git's order.

use std::collections::HashSet;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use gix_hash::{Kind as HashKind, ObjectId, oid};
use parking_lot::{Mutex, RwLock};

use super::alternates::{self, ObjectFolders, Place};
use super::error::{Error, Reason, error};
use super::location::{Location, ObjectPlace};
use super::loose::Loose;
use super::object_dir::{ObjectDir, ObjectDirs};
use super::pack::{Pack, Packs};
use super::promisor::FetchMissing;
use super::table::SortedIds;

/// The objects of one repository, shared by all threads.
#[derive(Debug)]
pub struct ObjectStore {
    hash: HashKind,
    empty_tree: ObjectId,
    folders: ObjectFolders,
    /// The repository's own folder, then the alternates, those that were added later last.
    pub(super) dirs: ObjectDirs,
    /// Whether a folder that is named as an alternate was not there, or a list of them could not be read.
    lacks_alternates: bool,
    /// Where the alternates were, those that were added later not among them.
    places: Vec<Place>,
    /// Held while alternates are added.
    adding: Mutex<()>,
    pub(super) packs: Packs,
    pub(super) promisor: Option<Arc<dyn FetchMissing>>,
    /// The objects in packs from promisor remotes, and all ids in them, once they were needed.
    pub(super) promised: OnceLock<HashSet<ObjectId>>,
}

/// The next step of the search for an object.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stage {
    Packs(usize),
    Loose(usize),
    /// Once more, now in new packs and alternates, too.
    Again(usize),
}

/// What is done with the file of a loose object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LooseFile {
    /// It is opened. An empty one counts as missing.
    Opened,
    /// It is looked at, whatever it is.
    LookedAt,
}

/// An object that was found, its file if it is loose, and where to search for another copy.
pub(super) struct FoundObject {
    pub(super) location: Location,
    pub(super) loose: Option<Loose>,
    /// The length of that file, if it was only looked at.
    pub(super) loose_len: Option<u64>,
    pub(super) next: Stage,
}

impl ObjectStore {
    /// Finds the folders. Nothing is listed or opened before it is needed. git's messages are appended to `messages`, line
    /// by line.
    pub fn open(folders: &ObjectFolders, messages: &mut Vec<String>) -> Self {
        let before = messages.len();
        let (dirs, places) = alternates::dirs(folders, messages);
        Self {
            hash: folders.hash,
            empty_tree: ObjectId::empty_tree(folders.hash),
            folders: folders.clone(),
            dirs: dirs.into(),
            lacks_alternates: messages.len() > before,
            places,
            adding: Mutex::default(),
            packs: RwLock::default(),
            promisor: folders.promisor.clone(),
            promised: OnceLock::new(),
        }
    }

    /// Returns a pack in which the object was found to be damaged, by its name in messages.
    pub(super) fn bad_pack(&self, id: &oid) -> Option<String> {
        let packs = self.packs.read();
        let bad = packs.iter().find(|pack| pack.is_bad(id))?;
        Some(bad.shown.clone())
    }

    /// Returns the packs that came from promisor remotes.
    pub(super) fn promisor_packs(&self) -> Vec<Arc<Pack>> {
        let mut found = Vec::new();
        for dir in self.dirs.iter() {
            // Damage is reported when an object is looked for.
            let _ = dir.with_listing(&self.packs, &mut Vec::new(), |listing, messages| {
                dir.look_at_all_packs(listing, &self.packs, messages);
                let packs = listing.packs();
                let fetched = packs.filter(|pack| pack.path.with_extension("promisor").exists());
                found.extend(fetched.cloned());
                Ok(())
            });
        }
        found
    }

    /// The hash function of the ids.
    pub fn hash_kind(&self) -> HashKind {
        self.hash
    }

    /// The folders of objects: the repository's own, then the alternates.
    pub fn folders(&self) -> impl Iterator<Item = &Path> {
        self.dirs.iter().map(|dir| dir.folder.as_path())
    }

    /// Whether packs may be gone or the alternates may have changed, so that objects may be found that git does not find, or
    /// lists of alternates are not complained about that git would complain about; or an alternate that was not there may be by now,
    /// or the other way round. What was added later made a list change, which is noticed by itself.
    pub fn is_outdated(&self) -> bool {
        self.lacks_alternates
            || self.places.iter().any(Place::is_another)
            || self.dirs.iter().any(ObjectDir::is_outdated)
    }

    /// Whether the alternates may have changed.
    pub fn has_other_alternates(&self) -> bool {
        self.dirs.iter().any(ObjectDir::has_other_alternates)
    }

    /// Returns what git writes when it lists packs for the first time; nothing for folders in which no object was looked for.
    pub fn listing_messages(&self) -> Vec<String> {
        let dirs = self.dirs.iter();
        dirs.flat_map(ObjectDir::listing_messages).collect()
    }

    /// Adds alternates that were named since the lists of alternates were last read. As in git, none is removed.
    fn add_alternates(&self) {
        if !self.dirs.iter().any(ObjectDir::has_unread_alternates) {
            return;
        }
        let _adding = self.adding.lock();
        // git complains when it first reads the lists.
        let (read, _) = alternates::dirs(&self.folders, &mut Vec::new());
        let mut added = Vec::new();
        for dir in read {
            let mut known = self.dirs.iter();
            match known.find(|known| known.folder == dir.folder) {
                Some(known) => known.note_alternates(&dir),
                None => added.push(dir),
            }
        }
        self.dirs.append(added);
    }

    /// Looks for alternates and packs that are new on disk. git's messages are appended to `messages`, line by line.
    ///
    /// # Errors
    /// A multi-pack-index is so damaged that git exits.
    pub fn list(&self, messages: &mut Vec<String>) -> Result<(), Error> {
        self.add_alternates();
        let mut dirs = self.dirs.iter();
        let listed = dirs.try_for_each(|dir| dir.list(&self.packs, messages));
        listed.map_err(error(messages))
    }

    /// Whether this copy of an object turned out to be damaged. Looking for the object then finds another copy, or
    /// none.
    pub fn is_known_bad(&self, location: &Location) -> bool {
        let ObjectPlace::Packed { pack, .. } = location.place else {
            return false;
        };
        let packs = self.packs.read();
        let pack = packs.get(pack as usize);
        pack.is_some_and(|pack| pack.is_bad(&location.id))
    }

    /// Forgets which objects turned out to be damaged, as if nothing had been read.
    pub fn forget_damage(&self) {
        for pack in self.packs.read().iter() {
            pack.forget_bad();
        }
    }

    /// Returns the number of objects in packs, where an object in several packs counts several times; 0 if an index
    /// cannot be read.
    ///
    /// # Errors
    /// A multi-pack-index is so damaged that git exits.
    pub fn packed_count(&self, messages: &mut Vec<String>) -> Result<u64, Error> {
        let mut count = 0;
        for dir in self.dirs.iter() {
            let listed = dir.with_listing(&self.packs, messages, |listing, messages| {
                for layer in &listing.midxes {
                    count += u64::from(layer.midx.count());
                }
                for pack in &listing.order {
                    let Some(index) = pack.index(messages) else {
                        return Ok(false);
                    };
                    count += u64::from(index.count());
                }
                Ok(true)
            });
            if !listed.map_err(error(messages))? {
                return Ok(0);
            }
        }
        Ok(count)
    }

    /// Whether the object exists here; a loose file is enough, whatever its contents. git's messages are appended to
    /// `messages`, line by line.
    ///
    /// # Errors
    /// As for [`Self::find`].
    pub fn exists(&self, id: &oid, messages: &mut Vec<String>) -> Result<bool, Error> {
        if id.is_null() {
            return Ok(false);
        }
        for dir in self.dirs.iter() {
            let found = dir.find_packed(id, &self.packs, messages);
            if found.map_err(error(messages))?.is_some() || dir.loose_len(id).is_some() {
                return Ok(true);
            }
        }
        Ok(self.find(id, messages)?.is_some())
    }

    /// Finds the object here with one lookup. `None` if there is no such object. git's messages are appended to `messages`,
    /// line by line.
    ///
    /// # Errors
    /// A multi-pack-index or a pack's index is so damaged that git exits.
    pub fn find(&self, id: &oid, messages: &mut Vec<String>) -> Result<Option<Location>, Error> {
        let found = self.search(id, Stage::Packs(0), LooseFile::Opened, messages);
        let found = found.map_err(error(messages))?;
        Ok(found.map(|found| found.location))
    }

    /// Returns the first copy from `stage` on.
    pub(super) fn search(
        &self,
        id: &oid,
        mut stage: Stage,
        file: LooseFile,
        messages: &mut Vec<String>,
    ) -> Result<Option<FoundObject>, Reason> {
        if id.is_null() {
            return Ok(None);
        }
        let found = |dir: usize, place, loose, next| {
            let location = Location {
                id: id.to_owned(),
                dir: u32::try_from(dir).unwrap_or(u32::MAX),
                place,
            };
            Ok(Some(FoundObject {
                location,
                loose,
                loose_len: None,
                next,
            }))
        };
        if *id == *self.empty_tree {
            return found(0, ObjectPlace::EmptyTree, None, stage);
        }
        loop {
            let number = match stage {
                Stage::Packs(number) | Stage::Loose(number) | Stage::Again(number) => number,
            };
            let Some(dir) = self.dirs.get(number) else {
                if matches!(stage, Stage::Again(_)) {
                    return Ok(None);
                }
                self.add_alternates();
                stage = match self.dirs.get(number) {
                    Some(_) => Stage::Packs(number),
                    None => Stage::Again(0),
                };
                continue;
            };
            let next = match stage {
                Stage::Packs(number) => Stage::Loose(number),
                Stage::Loose(number) => Stage::Packs(number + 1),
                Stage::Again(number) => Stage::Again(number + 1),
            };
            if matches!(stage, Stage::Again(_)) {
                dir.list(&self.packs, messages)?;
            }
            if matches!(stage, Stage::Loose(_)) && file == LooseFile::LookedAt {
                if let Some(len) = dir.loose_len(id) {
                    let found = found(number, ObjectPlace::Loose, None, next)?;
                    let loose_len = Some(len);
                    return Ok(found.map(|found| FoundObject { loose_len, ..found }));
                }
            } else if matches!(stage, Stage::Loose(_)) {
                if let Some(loose) = dir.open_loose(id, messages)? {
                    return found(number, ObjectPlace::Loose, Some(loose), next);
                }
            } else if let Some(place) = dir.find_packed(id, &self.packs, messages)? {
                return found(number, place, None, next);
            }
            stage = next;
        }
    }
}
