//! Reading objects on one thread.

use std::sync::Arc;

use gix_hash::{ObjectId, oid};
use gix_object::Kind;

use super::chains::Chains;
use super::contents::BeforeContents;
use super::error::{CopyError, Error, Reason};
use super::facts::{Facts, Info, Wanted};
use super::location::{Location, ObjectPlace};
use super::loose::Loose;
use super::pack::Pack;
use super::planned::Planned;
use super::store::{FoundObject, LooseFile, ObjectStore, Stage};

mod streaming;

pub use self::streaming::StreamError;

/// How deeply reads of other copies of damaged bases may be nested.
const DEPTH_MAX: u32 = 50;

/// The buffers and caches that one thread needs to read objects.
#[derive(Debug)]
pub struct ObjectReader {
    store: Arc<ObjectStore>,
    /// The packs of the store, as far as they were needed.
    packs: Vec<Arc<Pack>>,
    chains: Chains,
    /// A buffer for a part of a file.
    window: Vec<u8>,
    /// A buffer for a part of contents.
    piece: Vec<u8>,
    /// A buffer for contents that are handed on in one piece.
    whole: Vec<u8>,
    planned: Option<Planned>,
    /// The loose object's file that the last lookup opened.
    opened: Option<(ObjectId, Loose)>,
    /// The length of the loose object's file that the last lookup only looked at.
    looked_at: Option<(ObjectId, u64)>,
    lookups: u64,
    depth: u32,
}

impl ObjectReader {
    /// A reader for the objects of `store`.
    pub fn new(store: &Arc<ObjectStore>) -> Self {
        Self {
            store: store.clone(),
            packs: Vec::new(),
            chains: Chains::new(),
            window: Vec::new(),
            piece: Vec::new(),
            whole: Vec::new(),
            planned: None,
            opened: None,
            looked_at: None,
            lookups: 0,
            depth: 0,
        }
    }

    /// Follows the plans that were made ([`PackOrder::planned_for`](super::PackOrder::planned_for)), with about
    /// `len_max` bytes for the bases of deltas. Objects must then be read in the order in which that iterator yields
    /// them.
    pub fn follow_plans(&mut self, len_max: usize) {
        self.planned = Some(Planned::new(len_max));
    }

    /// Limits the cached bases of deltas to about `len_max` bytes (`core.deltaBaseCacheLimit`), and drops all of them.
    pub fn limit_bases(&mut self, len_max: usize) {
        self.chains.limit_bases(len_max);
    }

    /// Leaves work that can wait until an object was handed on to [`Self::flush_bases`].
    pub fn defer_bases(&mut self) {
        self.chains.defer_bases();
    }

    /// Does the deferred work: caches bases of the object that was read last. Otherwise, the next read has to do it
    /// first.
    pub fn flush_bases(&mut self) {
        self.chains.flush_bases();
    }

    /// Returns the store whose objects are read.
    pub fn store(&self) -> &Arc<ObjectStore> {
        &self.store
    }

    /// Returns how often an object was looked up.
    pub fn lookups(&self) -> u64 {
        self.lookups
    }

    /// Takes git's messages from finding and reading objects without failing, line by line, with "error: " or
    /// "warning: ": another copy of the object may have been sound.
    pub fn take_messages(&mut self) -> Vec<String> {
        std::mem::take(&mut self.chains.messages)
    }

    /// Finds the object with one lookup. `None` if there is no such object. The file of a loose object is opened for
    /// the next call to read. A missing object is fetched if that is allowed ([`FetchMissing`](super::FetchMissing)).
    ///
    /// # Errors
    /// As for [`ObjectStore::find`], or fetching failed.
    pub fn find(&mut self, id: &oid) -> Result<Option<Location>, Error> {
        self.find_for(id, Wanted::ALL)
    }

    /// Like [`Self::find`], for facts that are asked for next. Like git, this opens no loose object unless its contents tell
    /// any of them.
    ///
    /// # Errors
    /// As for [`Self::find`].
    pub fn find_for(&mut self, id: &oid, wanted: Wanted) -> Result<Option<Location>, Error> {
        let file = match wanted.is_inside() {
            true => LooseFile::Opened,
            false => LooseFile::LookedAt,
        };
        match self.find_first(id, file)? {
            None => self.fetch(id),
            found => Ok(found),
        }
    }

    /// Like [`Self::find`], but fetches nothing.
    ///
    /// # Errors
    /// As for [`ObjectStore::find`].
    pub fn find_here(&mut self, id: &oid) -> Result<Option<Location>, Error> {
        self.find_first(id, LooseFile::Opened)
    }

    fn find_first(&mut self, id: &oid, file: LooseFile) -> Result<Option<Location>, Error> {
        self.opened = None;
        let found = self.search(id, Stage::Packs(0), file);
        let found = found.map_err(|reason| self.error(reason))?;
        Ok(found.map(|found| found.location))
    }

    /// Returns the type and size of the object, without its contents.
    ///
    /// # Errors
    /// git exits, or every copy is damaged.
    pub fn info(&mut self, location: &Location) -> Result<Info, Error> {
        self.attempt(location, false, |reader, location| {
            reader.info_once(location)
        })
    }

    /// Returns only the type of the object, which may be known although the size is not.
    ///
    /// # Errors
    /// As for [`Self::info`].
    pub fn kind(&mut self, location: &Location) -> Result<Kind, Error> {
        self.attempt(location, false, |reader, location| match location.place {
            ObjectPlace::Packed { pack, offset } => reader.packed_kind(pack, offset),
            _ => Ok(reader.info_once(location)?.kind),
        })
    }

    /// Returns only the size of the object's contents in bytes, which may be known although the type is not.
    ///
    /// # Errors
    /// As for [`Self::info`].
    pub fn size(&mut self, location: &Location) -> Result<u64, Error> {
        self.attempt(location, false, |reader, location| match location.place {
            ObjectPlace::Packed { pack, offset } => reader.packed_size(pack, offset),
            _ => Ok(reader.info_once(location)?.size),
        })
    }

    /// Returns the wanted facts and no more: damage elsewhere in the object goes unnoticed. If there are several
    /// copies, the facts are those of this one.
    ///
    /// # Errors
    /// As for [`Self::info`].
    pub fn facts(&mut self, location: &Location, wanted: Wanted) -> Result<Facts, Error> {
        self.attempt(location, false, |reader, location| {
            reader.facts_once(location, wanted)
        })
    }

    /// Appends the contents of the object to `out`.
    ///
    /// # Errors
    /// git exits, or every copy is damaged. `out` is unchanged.
    pub fn append(&mut self, location: &Location, out: &mut Vec<u8>) -> Result<Info, Error> {
        self.read_with(location, out, |_, _| true)
    }

    /// Like [`Self::read_with`], but only if nothing is damaged. Otherwise returns `None` without adding messages or
    /// noting damage, so that the object can be read again step by step; `out` is unchanged.
    pub fn read_plain(
        &mut self,
        location: &Location,
        out: &mut Vec<u8>,
        mut begin: impl FnMut(Info, &mut Vec<u8>) -> bool,
    ) -> Option<Info> {
        let (start, message_count) = (out.len(), self.chains.messages.len());
        let read = self.read_here(location, out, &mut begin, true).ok();
        if read.is_none() {
            out.truncate(start);
            self.chains.messages.truncate(message_count);
        }
        read
    }

    /// Like [`Self::append`], but an object whose copies are all damaged counts as missing.
    ///
    /// # Errors
    /// git exits for another reason, or every copy is damaged, which is not fatal.
    pub fn append_if_sound(
        &mut self,
        location: &Location,
        out: &mut Vec<u8>,
    ) -> Result<Info, Error> {
        self.read_dyn(location, out, false, &mut |_, _| true)
    }

    /// Like [`Self::append`], but calls `begin` first, which sees the type and size, may append something itself, and
    /// returns whether the contents are wanted. It is called again after damage, with `out` as it was before.
    ///
    /// # Errors
    /// As for [`Self::append`].
    pub fn read_with(
        &mut self,
        location: &Location,
        out: &mut Vec<u8>,
        mut begin: impl FnMut(Info, &mut Vec<u8>) -> bool,
    ) -> Result<Info, Error> {
        self.read_dyn(location, out, true, &mut begin)
    }

    /// Finds the object `id` and appends its contents to `out`. `None` if there is no such object.
    ///
    /// # Errors
    /// As for [`Self::append`]; also if all copies were found to be damaged before.
    pub fn read_sound(&mut self, id: &oid, out: &mut Vec<u8>) -> Result<Option<Info>, Error> {
        if let Some(location) = self.find(id)? {
            return self.append(&location, out).map(Some);
        }
        self.none_or_bad(id).map(|()| None)
    }

    /// Fails if the object `id`, which was not found, was seen damaged in a pack before: then git exits.
    ///
    /// # Errors
    /// It was seen damaged.
    pub fn none_or_bad(&mut self, id: &oid) -> Result<(), Error> {
        match self.store.bad_pack(id) {
            None => Ok(()),
            Some(path) => {
                let id = id.to_owned();
                Err(self.error(Reason::CorruptPacked { id, path }))
            }
        }
    }

    fn read_dyn(
        &mut self,
        location: &Location,
        out: &mut Vec<u8>,
        ends_if_corrupt: bool,
        begin: BeforeContents<'_>,
    ) -> Result<Info, Error> {
        let start = out.len();
        let result = self.attempt(location, ends_if_corrupt, |reader, location| {
            out.truncate(start);
            reader.read_once(location, out, ends_if_corrupt, begin)
        });
        if result.is_err() {
            out.truncate(start);
        }
        result
    }

    /// Adds git's messages, line by line.
    pub fn add_messages(&mut self, messages: Vec<String>) {
        self.chains.messages.extend(messages);
    }

    pub(super) fn error(&mut self, reason: Reason) -> Error {
        Error {
            messages: self.take_messages(),
            reason,
        }
    }

    fn search(
        &mut self,
        id: &oid,
        stage: Stage,
        file: LooseFile,
    ) -> Result<Option<FoundObject>, Reason> {
        self.lookups += 1;
        let messages = &mut self.chains.messages;
        let mut found = self.store.search(id, stage, file, messages)?;
        let len = found.as_ref().and_then(|found| found.loose_len);
        self.looked_at = len.map(|len| (id.to_owned(), len));
        if let Some(loose) = found.as_mut().and_then(|found| found.loose.take()) {
            self.opened = Some((id.to_owned(), loose));
        }
        Ok(found)
    }

    /// Reads the copy at `location`, or another one if it turns out to be damaged.
    fn attempt<T>(
        &mut self,
        location: &Location,
        ends_if_corrupt: bool,
        mut read: impl FnMut(&mut Self, &Location) -> Result<T, CopyError>,
    ) -> Result<T, Error> {
        let mut location = *location;
        let id = location.id;
        let dir = location.dir as usize;
        let mut next = match location.place {
            ObjectPlace::Packed { .. } => Stage::Loose(dir),
            ObjectPlace::Loose | ObjectPlace::EmptyTree => Stage::Packs(dir + 1),
        };
        let mut bad_pack = None;
        loop {
            match read(self, &location) {
                Ok(value) => return Ok(value),
                Err(CopyError::Fatal(reason)) => return Err(self.error(reason)),
                Err(_) => {}
            }
            if let ObjectPlace::Packed { pack, .. } = location.place
                && let Some(pack) = self.pack(pack)
            {
                pack.mark_bad(&id);
                bad_pack = bad_pack.or_else(|| Some(pack.shown.clone()));
            }
            match self.search(&id, next, LooseFile::Opened) {
                Ok(Some(found)) => {
                    location = found.location;
                    next = found.next;
                }
                Ok(None) => break,
                Err(reason) => return Err(self.error(reason)),
            }
        }
        let reason = match bad_pack {
            Some(path) if ends_if_corrupt => Reason::CorruptPacked { id, path },
            _ => Reason::Missing { id },
        };
        Err(self.error(reason))
    }

    /// Returns the pack with a number.
    fn pack(&mut self, number: u32) -> Option<&Arc<Pack>> {
        let number = number as usize;
        if number >= self.packs.len() {
            let packs = self.store.packs.read();
            self.packs
                .extend(packs.iter().skip(self.packs.len()).cloned());
        }
        self.packs.get(number)
    }

    /// Returns the pack `number`, and what reads it. The `Arc` is not cloned: all threads share its count.
    fn pack_and_chains(&mut self, number: u32) -> Result<(&Pack, &mut Chains), CopyError> {
        self.pack(number).ok_or(CopyError::Damaged)?;
        let Self { packs, chains, .. } = self;
        let pack = packs.get(number as usize).ok_or(CopyError::Damaged)?;
        Ok((pack, chains))
    }

    /// Returns the file of a loose object, which is opened if it is not open already.
    fn loose(&mut self, location: &Location) -> Result<Option<Loose>, CopyError> {
        if let Some((id, loose)) = self.opened.take()
            && id == location.id
        {
            return Ok(Some(loose));
        }
        let Some(dir) = self.store.dirs.get(location.dir as usize) else {
            return Ok(None);
        };
        let opened = dir.open_loose(&location.id, &mut self.chains.messages);
        opened.map_err(CopyError::Fatal)
    }

    fn info_once(&mut self, location: &Location) -> Result<Info, CopyError> {
        match location.place {
            ObjectPlace::EmptyTree => Ok(EMPTY_TREE),
            ObjectPlace::Loose => {
                let loose = self.loose(location)?.ok_or(CopyError::Damaged)?;
                let Chains {
                    inflater, messages, ..
                } = &mut self.chains;
                let window = &mut self.window;
                let info = loose.info(&location.id, inflater, window, messages);
                // The contents may be read next.
                self.opened = Some((location.id, loose));
                info
            }
            ObjectPlace::Packed { pack, offset } => {
                let size = self.packed_size(pack, offset)?;
                let kind = self.packed_kind(pack, offset)?;
                Ok(Info { kind, size })
            }
        }
    }

    fn packed_size(&mut self, pack: u32, offset: u64) -> Result<u64, CopyError> {
        let (pack, chains) = self.pack_and_chains(pack)?;
        chains.packed_size(pack, offset)
    }

    fn packed_kind(&mut self, number: u32, offset: u64) -> Result<Kind, CopyError> {
        self.pack(number).ok_or(CopyError::Damaged)?;
        let planned = self.planned.as_mut();
        let pack = self.packs.get(number as usize).ok_or(CopyError::Damaged)?;
        if let Some(kind) = planned.and_then(|planned| planned.kind(pack, offset)) {
            return Ok(kind);
        }
        match self.chains.packed_kind(pack, offset) {
            Err(CopyError::DamagedBases(offsets)) => {
                let pack = pack.clone();
                self.kind_elsewhere(&pack, &offsets)
            }
            kind => kind,
        }
    }

    /// Finds the facts in the same order as git.
    fn facts_once(&mut self, location: &Location, wanted: Wanted) -> Result<Facts, CopyError> {
        let mut facts = Facts::default();
        let (number, offset) = match location.place {
            ObjectPlace::Packed { pack, offset } => (pack, offset),
            ObjectPlace::Loose | ObjectPlace::EmptyTree => {
                let info = wanted
                    .is_inside()
                    .then(|| self.info_once(location))
                    .transpose()?;
                facts.kind = info.map(|info| info.kind).filter(|_| wanted.kind);
                facts.size = info.map(|info| info.size).filter(|_| wanted.size);
                if wanted.disk_size {
                    facts.disk_size = Some(self.loose_len(location)?);
                }
                return Ok(facts);
            }
        };
        if wanted.size {
            facts.size = Some(self.packed_size(number, offset)?);
        }
        if wanted.disk_size {
            let (pack, chains) = self.pack_and_chains(number)?;
            facts.disk_size = Some(pack.len_at(offset, &mut chains.messages)?);
        }
        if wanted.kind {
            facts.kind = Some(self.packed_kind(number, offset)?);
        }
        if wanted.delta_base {
            let (pack, chains) = self.pack_and_chains(number)?;
            let messages = &mut chains.messages;
            let entry = pack.entry(offset, messages)?;
            if entry.form.is_delta() {
                let base = pack.base_id(&entry, offset, messages)?;
                facts.delta_base = Some(base.ok_or(CopyError::Damaged)?);
            }
        }
        Ok(facts)
    }

    /// Returns the size of the file of a loose object, which is not opened for that.
    fn loose_len(&mut self, location: &Location) -> Result<u64, CopyError> {
        if matches!(location.place, ObjectPlace::EmptyTree) {
            return Ok(0);
        }
        if let Some((_, loose)) = self.opened.as_ref().filter(|(id, _)| *id == location.id) {
            return Ok(loose.len);
        }
        if let Some((_, len)) = self.looked_at.filter(|(id, _)| *id == location.id) {
            return Ok(len);
        }
        let dir = self.store.dirs.get(location.dir as usize);
        let len = dir.and_then(|dir| dir.loose_len(&location.id));
        len.ok_or(CopyError::Damaged)
    }

    fn read_once(
        &mut self,
        location: &Location,
        out: &mut Vec<u8>,
        ends_if_corrupt: bool,
        begin: BeforeContents<'_>,
    ) -> Result<Info, CopyError> {
        let ObjectPlace::Packed { pack: number, .. } = location.place else {
            let opened = match location.is_loose() {
                true => self.loose(location)?.map(|loose| (location.id, loose)),
                false => None,
            };
            let has_file = opened.is_some();
            self.opened = opened;
            let result = self.read_here(location, out, begin, false);
            return match result {
                // Then git looks for no other copy.
                Err(CopyError::Damaged) if ends_if_corrupt && has_file => {
                    Err(self.corrupt(location))
                }
                result => result,
            };
        };
        let start = out.len();
        let foreign = self.chains.foreign.len();
        let result = loop {
            let result = self.read_here(location, out, begin, false);
            let Err(CopyError::DamagedBases(offsets)) = result else {
                break result;
            };
            out.truncate(start);
            // The next base that is tried is nearer to the object.
            self.chains.foreign.truncate(foreign);
            let pack = self.pack(number).ok_or(CopyError::Damaged)?.clone();
            if let Err(trouble) = self.base_elsewhere(&pack, &offsets) {
                break Err(trouble);
            }
        };
        self.chains.foreign.truncate(foreign);
        result
    }

    /// Reads the copy at `location` with its bases, without looking for other copies.
    fn read_here(
        &mut self,
        location: &Location,
        out: &mut Vec<u8>,
        begin: BeforeContents<'_>,
        is_plain: bool,
    ) -> Result<Info, CopyError> {
        let (number, offset) = match location.place {
            ObjectPlace::EmptyTree => {
                let _ = begin(EMPTY_TREE, out);
                return Ok(EMPTY_TREE);
            }
            ObjectPlace::Loose => {
                let loose = self.loose(location)?.ok_or(CopyError::Damaged)?;
                let Chains {
                    inflater, messages, ..
                } = &mut self.chains;
                let window = &mut self.window;
                let begin = (begin, is_plain);
                return loose.read(&location.id, inflater, window, out, begin, messages);
            }
            ObjectPlace::Packed { pack, offset } => (pack, offset),
        };
        self.pack(number).ok_or(CopyError::Damaged)?;
        let start = out.len();
        if let Some(planned) = &mut self.planned
            && let Some(pack) = self.packs.get(number as usize)
        {
            let inflater = &mut self.chains.inflater;
            if let Some(info) = planned.read(pack, offset, inflater, out, begin) {
                return Ok(info);
            }
            out.truncate(start);
        }
        let Self { packs, chains, .. } = &mut *self;
        let pack = packs.get(number as usize).ok_or(CopyError::Damaged)?;
        let result = chains.read(pack, &location.id, offset, out, begin);
        chains.trim();
        result
    }

    fn corrupt(&self, location: &Location) -> CopyError {
        let dir = self.store.dirs.get(location.dir as usize);
        CopyError::Fatal(Reason::CorruptLoose {
            id: location.id,
            path: dir.map_or_else(String::new, |dir| dir.shown_loose(&location.id)),
        })
    }

    /// Returns the type of the first of the objects at `offsets` that has a sound copy elsewhere.
    fn kind_elsewhere(&mut self, pack: &Pack, offsets: &[u64]) -> Result<Kind, CopyError> {
        for &offset in offsets {
            let Some(id) = pack.id_at(offset, &mut self.chains.messages)? else {
                continue;
            };
            pack.mark_bad(&id);
            let kind = self.elsewhere(&id, |reader, location| reader.kind(location))?;
            if let Some(kind) = kind {
                return Ok(kind);
            }
        }
        Err(CopyError::Damaged)
    }

    /// Reads the first of the objects at `offsets` that has a sound copy elsewhere, as a base.
    fn base_elsewhere(&mut self, pack: &Pack, offsets: &[u64]) -> Result<(), CopyError> {
        for &offset in offsets {
            let Some(id) = pack.id_at(offset, &mut self.chains.messages)? else {
                continue;
            };
            self.chains.messages.push(format!(
                "error: failed to read delta base object {id} at offset {offset} from {}",
                pack.shown
            ));
            pack.mark_bad(&id);
            let mut contents = Vec::new();
            let info = self.elsewhere(&id, |reader, location| {
                reader.read_dyn(location, &mut contents, false, &mut |_, _| true)
            })?;
            if let Some(info) = info {
                let key = (pack.number, offset);
                self.chains.foreign.push((key, info.kind, contents));
                return Ok(());
            }
        }
        Err(CopyError::Damaged)
    }

    /// Reads another copy of an object, if there is a sound one.
    fn elsewhere<T>(
        &mut self,
        id: &oid,
        read: impl FnOnce(&mut Self, &Location) -> Result<T, Error>,
    ) -> Result<Option<T>, CopyError> {
        if self.depth >= DEPTH_MAX {
            return Ok(None);
        }
        let Some(found) = self.search(id, Stage::Packs(0), LooseFile::Opened)? else {
            return Ok(None);
        };
        self.depth += 1;
        let result = read(self, &found.location);
        self.depth -= 1;
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error) => {
                let is_fatal = error.is_fatal();
                self.chains.messages = error.messages;
                if is_fatal {
                    return Err(CopyError::Fatal(error.reason));
                }
                Ok(None)
            }
        }
    }
}

const EMPTY_TREE: Info = Info {
    kind: Kind::Tree,
    size: 0,
};
