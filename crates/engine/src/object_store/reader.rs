//! Reading objects on one thread.

use std::sync::Arc;

use gix_hash::{ObjectId, oid};
use gix_object::Kind;

use super::cache::{Cache, Kinds};
use super::delta::{self, Delta, Misfit};
use super::inflate::{DELTA_HEAD_LEN, Inflater};
use super::loose::Loose;
use super::pack::{Form, Pack};
use super::planned::Planned;
use super::table::Table;
use super::{
    Begin, Error, Found, Info, Location, ObjectStore, Place, Reason, SIZE_MAX, Sink, Stage,
    Storage, Trouble, whole_parts,
};

/// What the bases of deltas may take, in bytes (`core.deltaBaseCacheLimit`, as git has it by default).
const CACHE_LEN_MAX: usize = 96 << 20;

/// How deep damaged bases may lead from one pack to the next.
const DEPTH_MAX: u32 = 50;

/// How much of a large object is inflated at once, in bytes.
const PIECE_LEN: usize = 128 << 10;

/// What one thread needs to read objects.
#[derive(Debug)]
pub struct Reader {
    store: Arc<ObjectStore>,
    /// Those of the store, as far as they were needed.
    packs: Vec<Arc<Pack>>,
    work: Work,
    planned: Option<Planned>,
    /// The file that the last lookup opened.
    opened: Option<(ObjectId, Loose)>,
    lookups: u64,
    depth: u32,
}

/// What is used over and over.
#[derive(Debug)]
struct Work {
    inflater: Inflater,
    bases: Cache,
    kinds: Kinds,
    chain: Vec<Link>,
    /// An inflated delta.
    delta: Vec<u8>,
    /// A part of a file.
    window: Vec<u8>,
    /// A part of contents.
    piece: Vec<u8>,
    said: Vec<String>,
}

/// A delta on the way from an object to the one that is whole.
#[derive(Clone, Copy, Debug)]
struct Link {
    /// Where the object begins.
    offset: u64,
    /// Where the compressed delta begins.
    delta: u64,
    /// The size of the delta, in bytes.
    size: u64,
}

/// Where the chain of deltas ends.
enum End {
    Cached(Kind, usize),
    Whole {
        offset: u64,
        kind: Kind,
        start: u64,
        size: u64,
    },
    /// Nowhere. The object at the offset is damaged, and git said so.
    Broken(u64),
}

/// Why an object was not streamed to its end.
#[derive(Debug)]
pub enum StreamError<E> {
    /// It could not be read.
    Read(Error),
    /// It was not taken.
    Sink(E),
}

impl Reader {
    /// A reader of the objects of `store`.
    pub fn new(store: &Arc<ObjectStore>) -> Self {
        Self {
            store: store.clone(),
            packs: Vec::new(),
            work: Work {
                inflater: Inflater::new(),
                bases: Cache::new(CACHE_LEN_MAX),
                kinds: Kinds::default(),
                chain: Vec::new(),
                delta: Vec::new(),
                window: Vec::new(),
                piece: Vec::new(),
                said: Vec::new(),
            },
            planned: None,
            opened: None,
            lookups: 0,
            depth: 0,
        }
    }

    /// Reads what is planned ([`PackOrder::planned_for`](super::PackOrder::planned_for)) by the plan, with about `len_max`
    /// bytes for the bases of deltas. Objects are then to be read in the order in which they come there.
    pub fn follow_plans(&mut self, len_max: usize) {
        self.planned = Some(Planned::new(len_max));
    }

    /// Bounds what the bases of deltas take to about `len_max` bytes (`core.deltaBaseCacheLimit`), and forgets them.
    pub fn limit_bases(&mut self, len_max: usize) {
        self.work.bases = Cache::new(len_max);
    }

    /// The objects that are read.
    pub fn store(&self) -> &Arc<ObjectStore> {
        &self.store
    }

    /// How often an object was looked up.
    pub fn lookups(&self) -> u64 {
        self.lookups
    }

    /// Takes what git says while it finds and reads objects without failing, line by line, with "error: " or
    /// "warning: ": the same object elsewhere may have been sound.
    pub fn take_said(&mut self) -> Vec<String> {
        std::mem::take(&mut self.work.said)
    }

    /// Where the object is: one lookup. `None` if there is no such object. The file of an object that has one is
    /// opened, for the next call to read.
    ///
    /// # Errors
    /// As for [`ObjectStore::find`].
    pub fn find(&mut self, id: &oid) -> Result<Option<Location>, Error> {
        self.opened = None;
        let found = self.search(id, Stage::Packs(0));
        let found = found.map_err(|reason| self.error(reason))?;
        Ok(found.map(|found| found.location))
    }

    /// The type and size of the object, without its contents.
    ///
    /// # Errors
    /// git ends, or every copy is damaged.
    pub fn info(&mut self, location: &Location) -> Result<Info, Error> {
        self.attempt(location, false, |reader, location| {
            reader.info_once(location)
        })
    }

    /// How the object is stored: of what is there more than once, this copy.
    ///
    /// # Errors
    /// As for [`Self::info`].
    pub fn storage(&mut self, location: &Location) -> Result<Storage, Error> {
        self.attempt(location, false, |reader, location| {
            reader.storage_once(location)
        })
    }

    /// Adds the contents of the object to `out`.
    ///
    /// # Errors
    /// git ends, or every copy is damaged. `out` is then as it was.
    pub fn append(&mut self, location: &Location, out: &mut Vec<u8>) -> Result<Info, Error> {
        self.read_with(location, out, |_, _| true)
    }

    /// As [`Self::append`], after `begin` has had a look at what comes, and may have added something itself; it says
    /// whether the contents are wanted. It is called again if there is damage, and `out` then is as it was before.
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

    fn read_dyn(
        &mut self,
        location: &Location,
        out: &mut Vec<u8>,
        ends_if_corrupt: bool,
        begin: Begin<'_>,
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

    /// Hands the contents to `sink`, in one piece or, for what is stored by itself and has a file of its own or more
    /// than `threshold` bytes (`core.bigFileThreshold`), in many of at most 128 KiB, with the object never in memory as a
    /// whole. The sink is called at least once.
    ///
    /// # Errors
    /// git ends, every copy is damaged, or the sink fails.
    pub fn stream<E>(
        &mut self,
        location: &Location,
        threshold: u64,
        sink: &mut impl FnMut(Info, &[u8]) -> Result<(), E>,
    ) -> Result<Info, StreamError<E>> {
        let mut has_begun = false;
        let mut taking = |info: Info, piece: &[u8]| {
            has_begun = true;
            sink(info, piece)
        };
        let streamed = match location.place {
            Place::Loose => self.stream_loose(location, &mut taking),
            Place::Packed { pack, offset } => {
                self.stream_packed(pack, offset, threshold, &mut taking)
            }
            Place::EmptyTree => Ok(None),
        };
        let id = location.id;
        match streamed {
            Ok(Some(result)) => return result.map_err(StreamError::Sink),
            Err(Trouble::Fatal(reason)) => return Err(StreamError::Read(self.error(reason))),
            Err(_) if has_begun => {
                return Err(StreamError::Read(self.error(Reason::Stream { id })));
            }
            Ok(None) | Err(_) => {}
        }
        let mut piece = std::mem::take(&mut self.work.piece);
        piece.clear();
        let info = self.append(location, &mut piece);
        let result = match info {
            Ok(info) => sink(info, &piece).map(|()| info).map_err(StreamError::Sink),
            Err(error) => Err(StreamError::Read(error)),
        };
        if piece.capacity() <= CACHE_LEN_MAX {
            self.work.piece = piece;
        }
        result
    }

    fn error(&mut self, reason: Reason) -> Error {
        Error {
            said: self.take_said(),
            reason,
        }
    }

    fn search(&mut self, id: &oid, stage: Stage) -> Result<Option<Found>, Reason> {
        self.lookups += 1;
        let mut found = self.store.search(id, stage, &mut self.work.said)?;
        if let Some(loose) = found.as_mut().and_then(|found| found.loose.take()) {
            self.opened = Some((id.to_owned(), loose));
        }
        Ok(found)
    }

    /// Reads the copy at `location`, and others while they turn out to be damaged.
    fn attempt<T>(
        &mut self,
        location: &Location,
        ends_if_corrupt: bool,
        mut read: impl FnMut(&mut Self, &Location) -> Result<T, Trouble>,
    ) -> Result<T, Error> {
        let mut location = *location;
        let id = location.id;
        let source = location.source as usize;
        let mut next = match location.place {
            Place::Packed { .. } => Stage::Loose(source),
            Place::Loose | Place::EmptyTree => Stage::Packs(source + 1),
        };
        let mut bad_pack = None;
        loop {
            match read(self, &location) {
                Ok(value) => return Ok(value),
                Err(Trouble::Fatal(reason)) => return Err(self.error(reason)),
                Err(_) => {}
            }
            if let Place::Packed { pack, .. } = location.place
                && let Some(pack) = self.pack(pack)
            {
                pack.mark_bad(&id);
                bad_pack = bad_pack.or_else(|| Some(pack.shown.clone()));
            }
            match self.search(&id, next) {
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

    /// The pack with a number.
    fn pack(&mut self, number: u32) -> Option<&Arc<Pack>> {
        let number = number as usize;
        if number >= self.packs.len() {
            let packs = self.store.packs.read();
            self.packs
                .extend(packs.iter().skip(self.packs.len()).cloned());
        }
        self.packs.get(number)
    }

    /// The file of a loose object, opened now if it was not before.
    fn loose(&mut self, location: &Location) -> Option<Loose> {
        if let Some((id, loose)) = self.opened.take()
            && id == location.id
        {
            return Some(loose);
        }
        let source = self.store.sources.get(location.source as usize)?;
        source.open_loose(&location.id, &mut self.work.said)
    }

    fn info_once(&mut self, location: &Location) -> Result<Info, Trouble> {
        match location.place {
            Place::EmptyTree => Ok(EMPTY_TREE),
            Place::Loose => {
                let loose = self.loose(location).ok_or(Trouble::Damaged)?;
                let Work {
                    inflater,
                    window,
                    said,
                    ..
                } = &mut self.work;
                let info = loose.info(&location.id, inflater, window, said);
                // The contents may be asked for next.
                self.opened = Some((location.id, loose));
                info
            }
            Place::Packed {
                pack: number,
                offset,
            } => {
                let pack = self.pack(number).ok_or(Trouble::Damaged)?.clone();
                let size = self.work.packed_size(&pack, offset)?;
                let planned = self.planned.as_mut();
                if let Some(kind) = planned.and_then(|planned| planned.kind(&pack, offset)) {
                    return Ok(Info { kind, size });
                }
                let kind = match self.work.packed_kind(&pack, offset) {
                    Ok(kind) => kind,
                    Err(Trouble::Bases(offsets)) => self.kind_elsewhere(&pack, &offsets)?,
                    Err(trouble) => return Err(trouble),
                };
                Ok(Info { kind, size })
            }
        }
    }

    fn storage_once(&mut self, location: &Location) -> Result<Storage, Trouble> {
        match location.place {
            Place::EmptyTree => Ok(Storage {
                disk_size: 0,
                delta_base: None,
            }),
            Place::Loose => {
                let loose = self.loose(location).ok_or(Trouble::Damaged)?;
                let disk_size = loose.len;
                self.opened = Some((location.id, loose));
                Ok(Storage {
                    disk_size,
                    delta_base: None,
                })
            }
            Place::Packed {
                pack: number,
                offset,
            } => {
                let pack = self.pack(number).ok_or(Trouble::Damaged)?.clone();
                let said = &mut self.work.said;
                let entry = pack.entry(offset, said)?;
                let disk_size = pack.len_at(offset, said)?;
                let delta_base = if entry.form.is_delta() {
                    let base = pack.base_id(&entry, offset, said)?;
                    Some(base.ok_or(Trouble::Damaged)?)
                } else {
                    None
                };
                Ok(Storage {
                    disk_size,
                    delta_base,
                })
            }
        }
    }

    fn read_once(
        &mut self,
        location: &Location,
        out: &mut Vec<u8>,
        ends_if_corrupt: bool,
        begin: Begin<'_>,
    ) -> Result<Info, Trouble> {
        let (number, offset) = match location.place {
            Place::EmptyTree => {
                let _ = begin(EMPTY_TREE, out);
                return Ok(EMPTY_TREE);
            }
            Place::Loose => {
                let loose = self.loose(location).ok_or(Trouble::Damaged)?;
                let Work {
                    inflater,
                    window,
                    said,
                    ..
                } = &mut self.work;
                let result = loose.read(&location.id, inflater, window, out, begin, said);
                return match result {
                    // git looks for no other copy then.
                    Err(Trouble::Damaged) if ends_if_corrupt => Err(self.corrupt(location)),
                    result => result,
                };
            }
            Place::Packed { pack, offset } => (pack, offset),
        };
        self.pack(number).ok_or(Trouble::Damaged)?;
        let start = out.len();
        if let Some(planned) = &mut self.planned
            && let Some(pack) = self.packs.get(number as usize)
        {
            let inflater = &mut self.work.inflater;
            if let Some(info) = planned.read(pack, offset, inflater, out, begin) {
                return Ok(info);
            }
            out.truncate(start);
        }
        loop {
            let Self { packs, work, .. } = &mut *self;
            let pack = packs.get(number as usize).ok_or(Trouble::Damaged)?;
            match work.read(pack, &location.id, offset, out, begin) {
                Err(Trouble::Bases(offsets)) => {
                    let pack = pack.clone();
                    out.truncate(start);
                    self.base_elsewhere(&pack, &offsets)?;
                }
                result => return result,
            }
        }
    }

    fn corrupt(&self, location: &Location) -> Trouble {
        let source = self.store.sources.get(location.source as usize);
        Trouble::Fatal(Reason::CorruptLoose {
            id: location.id,
            path: source.map_or_else(String::new, |source| source.shown_loose(&location.id)),
        })
    }

    /// The type of the first of the objects at `offsets` that can be had from elsewhere.
    fn kind_elsewhere(&mut self, pack: &Pack, offsets: &[u64]) -> Result<Kind, Trouble> {
        for &offset in offsets {
            let Some(id) = pack.id_at(offset, &mut self.work.said)? else {
                continue;
            };
            pack.mark_bad(&id);
            let info = self.elsewhere(&id, |reader, location| reader.info(location))?;
            if let Some(info) = info {
                return Ok(info.kind);
            }
        }
        Err(Trouble::Damaged)
    }

    /// Gets the first of the objects at `offsets` that can be had from elsewhere, as a base.
    fn base_elsewhere(&mut self, pack: &Pack, offsets: &[u64]) -> Result<(), Trouble> {
        for &offset in offsets {
            let Some(id) = pack.id_at(offset, &mut self.work.said)? else {
                continue;
            };
            self.work.said.push(format!(
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
                self.work.bases.put(key, info.kind, contents);
                return Ok(());
            }
        }
        Err(Trouble::Damaged)
    }

    /// Another copy of an object, if there is a sound one.
    fn elsewhere<T>(
        &mut self,
        id: &oid,
        read: impl FnOnce(&mut Self, &Location) -> Result<T, Error>,
    ) -> Result<Option<T>, Trouble> {
        if self.depth >= DEPTH_MAX {
            return Ok(None);
        }
        let Some(found) = self.search(id, Stage::Packs(0))? else {
            return Ok(None);
        };
        self.depth += 1;
        let result = read(self, &found.location);
        self.depth -= 1;
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error) => {
                let is_fatal = error.is_fatal();
                self.work.said = error.said;
                if is_fatal {
                    return Err(Trouble::Fatal(error.reason));
                }
                Ok(None)
            }
        }
    }

    /// `None` where git reads it as a whole.
    fn stream_loose<E>(
        &mut self,
        location: &Location,
        sink: Sink<'_, E>,
    ) -> Result<Option<Result<Info, E>>, Trouble> {
        let Some(loose) = self.loose(location) else {
            return Ok(None);
        };
        let Work {
            inflater,
            window,
            piece,
            said,
            ..
        } = &mut self.work;
        loose
            .stream(&location.id, inflater, window, piece, sink, said)
            .map(Some)
    }

    /// `None` where git reads it as a whole.
    fn stream_packed<E>(
        &mut self,
        number: u32,
        offset: u64,
        threshold: u64,
        sink: Sink<'_, E>,
    ) -> Result<Option<Result<Info, E>>, Trouble> {
        let Some(pack) = self.pack(number).cloned() else {
            return Ok(None);
        };
        let Work {
            inflater,
            piece,
            said,
            ..
        } = &mut self.work;
        let entry = pack.entry(offset, said)?;
        let Form::Whole(kind) = entry.form else {
            return Ok(None);
        };
        if entry.size <= threshold {
            return Ok(None);
        }
        let info = Info {
            kind,
            size: entry.size,
        };
        let mut input = pack.from(entry.end, said)?;
        inflater.restart();
        piece.clear();
        // From here on it is streamed, whatever happens.
        if let Err(error) = sink(info, b"") {
            return Ok(Some(Err(error)));
        }
        loop {
            let step = inflater.step(input, PIECE_LEN, piece, said);
            let is_end = step.as_ref().is_ok_and(|step| step.is_end);
            let ready = if is_end {
                piece.len()
            } else {
                whole_parts(piece)
            };
            if ready > 0
                && let Err(error) = sink(info, piece.get(..ready).unwrap_or_default())
            {
                return Ok(Some(Err(error)));
            }
            piece.drain(..ready);
            if is_end {
                return Ok(Some(Ok(info)));
            }
            let step = step.map_err(|_| Trouble::Damaged)?;
            input = input.get(step.used..).unwrap_or_default();
            if step.is_stuck {
                return Err(Trouble::Damaged);
            }
        }
    }
}

/// Remembers the type of the first objects of a chain of deltas: the next object that is asked for often has them as
/// bases, too.
fn remember(kinds: &mut Kinds, pack: &Pack, chain: &[Link], kind: Kind) {
    for link in chain.iter().take(2) {
        kinds.put((pack.number, link.offset), kind);
    }
}

const EMPTY_TREE: Info = Info {
    kind: Kind::Tree,
    size: 0,
};

impl Work {
    /// The size of the contents of the object at `offset`.
    fn packed_size(&mut self, pack: &Pack, offset: u64) -> Result<u64, Trouble> {
        let said = &mut self.said;
        let entry = pack.entry(offset, said)?;
        if !entry.form.is_delta() {
            return Ok(entry.size);
        }
        let base = pack.base(&entry, offset, said)?;
        let (_, start) = base.ok_or(Trouble::Damaged)?;
        let input = pack.from(start, said)?;
        let Ok(head) = self.inflater.head(input, said) else {
            said.push("error: delta data unpack-initial failed".into());
            return Err(Trouble::Damaged);
        };
        debug_assert!(head.len() <= DELTA_HEAD_LEN);
        // git takes a size of nothing for a failure.
        let size = delta::result_size(head).filter(|size| *size != 0);
        size.ok_or(Trouble::Damaged)
    }

    /// The type of the object at `offset`: that of the one at the end of its chain.
    fn packed_kind(&mut self, pack: &Pack, offset: u64) -> Result<Kind, Trouble> {
        let (said, chain, kinds) = (&mut self.said, &mut self.chain, &mut self.kinds);
        let count_max = pack.index(said).map_or(0, Table::count) as usize;
        chain.clear();
        let mut at = offset;
        loop {
            if let Some(kind) = kinds.get((pack.number, at)) {
                remember(kinds, pack, chain, kind);
                return Ok(kind);
            }
            let entry = pack.entry(at, said)?;
            match entry.form {
                Form::Whole(kind) => {
                    remember(kinds, pack, chain, kind);
                    return Ok(kind);
                }
                Form::Unknown(number) => {
                    if chain.is_empty() || number > 0 {
                        if number >= 0 {
                            said.push(unknown_type(number, at, pack));
                        }
                        return Err(Trouble::Damaged);
                    }
                    break;
                }
                Form::OffsetDelta | Form::IdDelta => {}
            }
            chain.push(Link {
                offset: at,
                delta: entry.end,
                size: entry.size,
            });
            match pack.base(&entry, at, said)? {
                Some((base, _)) if chain.len() <= count_max => at = base,
                _ => break,
            }
        }
        let here = chain.last().map(|link| link.offset);
        let base = (here != Some(at)).then_some(at);
        let above = chain.iter().rev().map(|link| link.offset);
        Err(Trouble::Bases(base.into_iter().chain(above).collect()))
    }

    /// Adds the contents of the object at `offset` to `out`, after `begin` has seen what they are.
    fn read(
        &mut self,
        pack: &Pack,
        id: &oid,
        offset: u64,
        out: &mut Vec<u8>,
        begin: Begin<'_>,
    ) -> Result<Info, Trouble> {
        let end = self.walk(pack, offset)?;
        let (kind, mut base) = match end {
            End::Cached(kind, place) if self.chain.is_empty() => {
                let contents = self.bases.contents(place);
                let info = Info {
                    kind,
                    size: contents.len() as u64,
                };
                if !begin(info, out) {
                    return Ok(info);
                }
                out.extend_from_slice(contents);
                return Ok(info);
            }
            End::Cached(kind, place) => (kind, place),
            End::Broken(at) => return Err(self.broken(self.chain.len(), Some(at))),
            End::Whole {
                kind,
                start,
                size,
                offset: at,
            } => {
                let info = Info { kind, size };
                let input = pack.from(start, &mut self.said)?;
                let size = fits(size, id)?;
                if self.chain.is_empty() {
                    if !begin(info, out) {
                        return Ok(info);
                    }
                    let result = self.inflater.whole(input, size, out, &mut self.said);
                    return result.map(|()| info).map_err(|_| Trouble::Damaged);
                }
                let mut contents = Vec::new();
                if self
                    .inflater
                    .whole(input, size, &mut contents, &mut self.said)
                    .is_err()
                {
                    return Err(self.broken(self.chain.len(), Some(at)));
                }
                (kind, self.bases.put((pack.number, at), kind, contents))
            }
        };
        while let Some(link) = self.chain.pop() {
            let left = self.chain.len();
            let input = pack.from(link.delta, &mut self.said)?;
            self.delta.clear();
            let size = fits(link.size, id)?;
            if self
                .inflater
                .whole(input, size, &mut self.delta, &mut self.said)
                .is_err()
            {
                self.said.push(format!(
                    "error: failed to unpack compressed delta at offset {} from {}",
                    link.delta, pack.shown
                ));
                return Err(self.broken(left, Some(link.offset)));
            }
            let parsed = Delta::parse(&self.delta);
            if let Some(delta) = &parsed {
                fits(delta.size, id)?;
            }
            let contents = self.bases.contents(base);
            if left == 0 {
                let Some(delta) = parsed else {
                    self.said.push("error: failed to apply delta".into());
                    return Err(Trouble::Damaged);
                };
                let info = Info {
                    kind,
                    size: delta.size,
                };
                if !begin(info, out) {
                    return Ok(info);
                }
                return match delta.apply(contents, out) {
                    Ok(()) => Ok(info),
                    Err(misfit) => {
                        say_misfit(&misfit, &mut self.said);
                        Err(Trouble::Damaged)
                    }
                };
            }
            let mut result = Vec::new();
            let applied = match parsed {
                Some(delta) => delta.apply(contents, &mut result),
                None => Err(Misfit::Silent),
            };
            if let Err(misfit) = applied {
                say_misfit(&misfit, &mut self.said);
                return Err(self.broken(left, Some(link.offset)));
            }
            base = self.bases.put((pack.number, link.offset), kind, result);
        }
        Err(Trouble::Damaged)
    }

    /// Follows the chain of deltas from the object at `offset` to one that is whole or known.
    fn walk(&mut self, pack: &Pack, offset: u64) -> Result<End, Trouble> {
        self.chain.clear();
        let said = &mut self.said;
        let mut at = offset;
        loop {
            if let Some((kind, place)) = self.bases.get((pack.number, at)) {
                return Ok(End::Cached(kind, place));
            }
            let entry = pack.entry(at, said)?;
            match entry.form {
                Form::Whole(kind) => {
                    return Ok(End::Whole {
                        offset: at,
                        kind,
                        start: entry.end,
                        size: entry.size,
                    });
                }
                Form::Unknown(number) => {
                    said.push(unknown_type(number, at, pack));
                    return Ok(End::Broken(at));
                }
                Form::OffsetDelta | Form::IdDelta => {}
            }
            let base = pack.base(&entry, at, said)?;
            // A chain that is longer than the pack has objects goes in circles.
            let is_circle =
                || self.chain.len() > pack.index(&mut Vec::new()).map_or(0, Table::count) as usize;
            let Some((base, delta)) = base.filter(|_| !is_circle()) else {
                said.push(format!(
                    "error: failed to validate delta base reference at offset {} from {}",
                    entry.end, pack.shown
                ));
                return Ok(End::Broken(at));
            };
            self.chain.push(Link {
                offset: at,
                delta,
                size: entry.size,
            });
            at = base;
        }
    }

    /// What is broken if the object at `at` is, and `left` deltas of the chain rest on it.
    fn broken(&self, left: usize, at: Option<u64>) -> Trouble {
        if left == 0 {
            return Trouble::Damaged;
        }
        // The object itself is none that could serve as its own base.
        let above = self.chain.iter().take(left).skip(1).rev();
        let above = above.map(|link| link.offset);
        Trouble::Bases(at.into_iter().chain(above).collect())
    }
}

/// A size that may be had in memory.
fn fits(size: u64, id: &oid) -> Result<usize, Reason> {
    usize::try_from(size)
        .ok()
        .filter(|_| size <= SIZE_MAX)
        .ok_or_else(|| Reason::TooLarge { id: id.to_owned() })
}

fn unknown_type(number: i8, offset: u64, pack: &Pack) -> String {
    format!(
        "error: unknown object type {number} at offset {offset} in {}",
        pack.shown
    )
}

fn say_misfit(misfit: &Misfit, said: &mut Vec<String>) {
    if let Misfit::Said(text) = misfit {
        said.push(format!("error: {text}"));
    }
    said.push("error: failed to apply delta".into());
}
