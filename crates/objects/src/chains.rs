//! Reads objects of packs, following their chains of deltas.

use std::ops::Range;

use gix_hash::oid;
use gix_object::Kind;

use super::cache::{Cache, EntryNumber, Key, Kinds};
use super::contents::{BeforeContents, SIZE_MAX};
use super::delta::{self, Delta, DeltaError};
use super::error::{CopyError, Reason};
use super::facts::Info;
use super::inflate::{DELTA_HEAD_LEN, InflateError, Inflater};
use super::pack::{Form, Pack};
use super::table::SortedIds;

/// The most bytes that the bases of deltas may take (git's default of `core.deltaBaseCacheLimit`).
const CACHE_LEN_MAX: usize = 96 << 20;

/// Every n-th object of a chain of deltas is cached as a base, and so is the last base, which is often that of the next
/// object, too. Caching all would evict the roots of other chains: of 15,000 random objects among 849,014, a fifth more
/// would have to be inflated.
const BASE_INTERVAL: usize = 4;

/// The most bytes that each buffer for bases keeps between two objects.
const ROOM_LEN_MAX: usize = 1 << 20;

/// The buffers and caches for reading objects of packs.
#[derive(Debug)]
pub(super) struct Chains {
    pub(super) inflater: Inflater,
    /// git's messages while reading, line by line.
    pub(super) messages: Vec<String>,
    bases: Cache,
    /// Bases that were read from elsewhere, because their copies in the pack are damaged. Like git, none is kept for
    /// the next object.
    pub(super) foreign: Vec<(Key, Kind, Vec<u8>)>,
    kinds: Kinds,
    chain: Vec<Link>,
    /// An inflated delta.
    delta: Vec<u8>,
    /// The latest object that was made in a chain of deltas.
    made: Vec<u8>,
    /// A buffer for the next one.
    room: Vec<u8>,
    /// Whether caching bases is left to [`Self::flush_bases`].
    defers: bool,
    /// The bases that are to be cached.
    pending: Vec<(Key, Kind, Range<usize>)>,
    /// The contents of the pending bases, one after the other.
    pending_bytes: Vec<u8>,
}

/// A delta in the chain from an object to one that is stored whole.
#[derive(Clone, Copy, Debug)]
struct Link {
    /// The offset of the object.
    offset: u64,
    /// The offset of the compressed delta.
    delta: u64,
    /// The size of the delta, in bytes.
    size: u64,
}

/// Where the chain of deltas ends.
enum End {
    Cached(Kind, EntryNumber),
    /// At a base from elsewhere, which is now in `made`.
    Foreign(Kind),
    Whole {
        offset: u64,
        kind: Kind,
        start: u64,
        size: u64,
    },
    /// At the damaged object at this offset, about which there is a message.
    Broken(u64),
}

/// Caches the type of the first objects of a chain of deltas: the next object that is asked for often has them as
/// bases, too.
fn cache_base(kinds: &mut Kinds, pack: &Pack, chain: &[Link], kind: Kind) {
    for link in chain.iter().take(2) {
        kinds.put((pack.number, link.offset), kind);
    }
}

impl Chains {
    pub(super) fn new() -> Self {
        Self {
            inflater: Inflater::new(),
            messages: Vec::new(),
            bases: Cache::new(CACHE_LEN_MAX),
            foreign: Vec::new(),
            kinds: Kinds::default(),
            chain: Vec::new(),
            delta: Vec::new(),
            made: Vec::new(),
            room: Vec::new(),
            defers: false,
            pending: Vec::new(),
            pending_bytes: Vec::new(),
        }
    }

    /// Limits the cached bases to about `len_max` bytes, and drops all of them.
    pub(super) fn limit_bases(&mut self, len_max: usize) {
        self.bases = Cache::new(len_max);
    }

    /// Leaves the caching of bases to [`Self::flush_bases`].
    pub(super) fn defer_bases(&mut self) {
        self.defers = true;
    }

    /// Returns the size of the contents of the object at `offset`, in bytes.
    pub(super) fn packed_size(&mut self, pack: &Pack, offset: u64) -> Result<u64, CopyError> {
        let messages = &mut self.messages;
        let entry = pack.entry(offset, messages)?;
        if !entry.form.is_delta() {
            return Ok(entry.size);
        }
        let base = pack.base(&entry, offset, messages)?;
        let (_, start) = base.ok_or(CopyError::Damaged)?;
        let input = pack.from(start, messages)?;
        let head = match self.inflater.head(input, messages) {
            Ok(head) => head,
            Err(failed) => {
                if matches!(failed, InflateError::Damaged) {
                    messages.push("error: delta data unpack-initial failed".into());
                }
                return Err(failed.into());
            }
        };
        debug_assert!(head.len() <= DELTA_HEAD_LEN);
        // git takes a size of 0 for a failure.
        let size = delta::result_size(head).filter(|size| *size != 0);
        size.ok_or(CopyError::Damaged)
    }

    /// Returns the type of the object at `offset`, which is that of the object at the end of its chain.
    pub(super) fn packed_kind(&mut self, pack: &Pack, offset: u64) -> Result<Kind, CopyError> {
        let (messages, chain, kinds) = (&mut self.messages, &mut self.chain, &mut self.kinds);
        let count_max = pack.index(messages).map_or(0, SortedIds::count) as usize;
        chain.clear();
        let mut at = offset;
        loop {
            if let Some(kind) = kinds.get((pack.number, at)) {
                cache_base(kinds, pack, chain, kind);
                return Ok(kind);
            }
            let entry = pack.entry(at, messages)?;
            match entry.form {
                Form::Whole(kind) => {
                    cache_base(kinds, pack, chain, kind);
                    return Ok(kind);
                }
                Form::Unknown(number) => {
                    if chain.is_empty() || number > 0 {
                        if number >= 0 {
                            messages.push(unknown_type(number, at, pack));
                        }
                        return Err(CopyError::Damaged);
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
            match pack.base(&entry, at, messages)? {
                Some((base, _)) if chain.len() <= count_max => at = base,
                _ => break,
            }
        }
        let here = chain.last().map(|link| link.offset);
        let base = (here != Some(at)).then_some(at);
        let above = chain.iter().rev().map(|link| link.offset);
        Err(CopyError::DamagedBases(
            base.into_iter().chain(above).collect(),
        ))
    }

    /// Appends the contents of the object at `offset` to `out`. First `begin` sees its type and size, and says whether
    /// the contents are wanted.
    pub(super) fn read(
        &mut self,
        pack: &Pack,
        id: &oid,
        offset: u64,
        out: &mut Vec<u8>,
        begin: BeforeContents<'_>,
    ) -> Result<Info, CopyError> {
        self.flush_bases();
        let end = self.walk(pack, offset)?;
        let is_delta = !self.chain.is_empty();
        match end {
            End::Cached(kind, place) if is_delta => {
                self.replay(pack, id, (kind, Some(place)), out, begin)
            }
            End::Cached(kind, place) => {
                let contents = self.bases.contents(place);
                let info = Info {
                    kind,
                    size: contents.len() as u64,
                };
                if begin(info, out) {
                    out.extend_from_slice(contents);
                }
                Ok(info)
            }
            End::Foreign(kind) => self.replay(pack, id, (kind, None), out, begin),
            End::Broken(at) => Err(self.broken(self.chain.len(), Some(at))),
            End::Whole {
                kind,
                start,
                size,
                offset: at,
            } => {
                let info = Info { kind, size };
                let input = pack.from(start, &mut self.messages)?;
                let size = checked_len(size, id)?;
                if !is_delta {
                    if !begin(info, out) {
                        return Ok(info);
                    }
                    let result = self.inflater.whole(input, size, out, &mut self.messages);
                    return Ok(result.map(|()| info)?);
                }
                self.made.clear();
                let (made, messages) = (&mut self.made, &mut self.messages);
                match self.inflater.whole(input, size, made, messages) {
                    Ok(()) => {}
                    Err(InflateError::Damaged) => {
                        return Err(self.broken(self.chain.len(), Some(at)));
                    }
                    Err(ended) => return Err(ended.into()),
                }
                let place = self.cache_base((pack.number, at), kind);
                self.replay(pack, id, (kind, place), out, begin)
            }
        }
    }

    /// Caches the object in `made` as a base. Returns its place, or `None` if it is cached later.
    fn cache_base(&mut self, key: Key, kind: Kind) -> Option<EntryNumber> {
        let start = self.pending_bytes.len();
        if !self.defers || start + self.made.len() > ROOM_LEN_MAX {
            self.flush_bases();
            return Some(match self.bases.is_large(self.made.len()) {
                true => {
                    let contents = std::mem::take(&mut self.made);
                    self.bases.put_large(key, kind, contents)
                }
                false => self.bases.put(key, kind, &self.made),
            });
        }
        self.pending_bytes.extend_from_slice(&self.made);
        let place = start..self.pending_bytes.len();
        self.pending.push((key, kind, place));
        None
    }

    /// Caches the pending bases. This may touch memory that was not used for long, and evicts other bases.
    pub(super) fn flush_bases(&mut self) {
        for (key, kind, place) in self.pending.drain(..) {
            let contents = self.pending_bytes.get(place).unwrap_or_default();
            self.bases.put(key, kind, contents);
        }
        self.pending_bytes.clear();
    }

    /// Shrinks the buffers that a large object has enlarged.
    pub(super) fn trim(&mut self) {
        for room in [&mut self.made, &mut self.room] {
            room.clear();
            room.shrink_to(ROOM_LEN_MAX);
        }
    }

    /// Applies the deltas of the chain to the base and appends the result to `out`. The base is at its place in the
    /// cache, or else in `made`.
    fn replay(
        &mut self,
        pack: &Pack,
        id: &oid,
        (kind, mut place): (Kind, Option<EntryNumber>),
        out: &mut Vec<u8>,
        begin: BeforeContents<'_>,
    ) -> Result<Info, CopyError> {
        let mut bases_made = 0;
        while let Some(link) = self.chain.pop() {
            let left = self.chain.len();
            let input = pack.from(link.delta, &mut self.messages)?;
            self.delta.clear();
            let size = checked_len(link.size, id)?;
            let (delta, messages) = (&mut self.delta, &mut self.messages);
            match self.inflater.whole(input, size, delta, messages) {
                Ok(()) => {}
                Err(InflateError::Damaged) => {
                    messages.push(format!(
                        "error: failed to unpack compressed delta at offset {} from {}",
                        link.delta, pack.shown
                    ));
                    return Err(self.broken(left, Some(link.offset)));
                }
                Err(ended) => return Err(ended.into()),
            }
            let parsed = Delta::parse(&self.delta);
            if let Some(delta) = &parsed {
                checked_len(delta.size, id)?;
            }
            let base = match place.take() {
                Some(place) => self.bases.contents(place),
                None => &self.made,
            };
            if left == 0 {
                let Some(delta) = parsed else {
                    self.messages.push("error: failed to apply delta".into());
                    return Err(CopyError::Damaged);
                };
                let info = Info {
                    kind,
                    size: delta.size,
                };
                if !begin(info, out) {
                    return Ok(info);
                }
                return match delta.apply(base, out) {
                    Ok(()) => Ok(info),
                    Err(DeltaError::NoMemory(len)) => Err(Reason::no_memory(len).into()),
                    Err(delta_error) => {
                        report_delta_error(&delta_error, &mut self.messages);
                        Err(CopyError::Damaged)
                    }
                };
            }
            self.room.clear();
            let applied = match parsed {
                Some(delta) => delta.apply(base, &mut self.room),
                None => Err(DeltaError::Unexplained),
            };
            if let Err(DeltaError::NoMemory(len)) = applied {
                return Err(Reason::no_memory(len).into());
            }
            if let Err(delta_error) = applied {
                report_delta_error(&delta_error, &mut self.messages);
                return Err(self.broken(left, Some(link.offset)));
            }
            std::mem::swap(&mut self.made, &mut self.room);
            bases_made += 1;
            if bases_made % BASE_INTERVAL == 0 || left == 1 {
                place = self.cache_base((pack.number, link.offset), kind);
            }
        }
        Err(CopyError::Damaged)
    }

    /// Follows the chain of deltas from the object at `offset` to one that is whole or cached.
    fn walk(&mut self, pack: &Pack, offset: u64) -> Result<End, CopyError> {
        self.chain.clear();
        let messages = &mut self.messages;
        let mut at = offset;
        loop {
            if let Some((kind, place)) = self.bases.get((pack.number, at)) {
                return Ok(End::Cached(kind, place));
            }
            let key = (pack.number, at);
            let mut foreign = self.foreign.iter();
            if !self.chain.is_empty()
                && let Some((_, kind, contents)) = foreign.find(|(known, ..)| *known == key)
            {
                self.made.clear();
                self.made.extend_from_slice(contents);
                return Ok(End::Foreign(*kind));
            }
            let entry = pack.entry(at, messages)?;
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
                    messages.push(unknown_type(number, at, pack));
                    return Ok(End::Broken(at));
                }
                Form::OffsetDelta | Form::IdDelta => {}
            }
            let base = pack.base(&entry, at, messages)?;
            // A chain that is longer than the number of objects in the pack has a cycle.
            let is_circle = || {
                self.chain.len() > pack.index(&mut Vec::new()).map_or(0, SortedIds::count) as usize
            };
            let Some((base, delta)) = base.filter(|_| !is_circle()) else {
                // git has read the base's id by the time it looks for it, but reports the start of a relative offset.
                let read = match entry.form {
                    Form::IdDelta => pack.hash.len_in_bytes() as u64,
                    _ => 0,
                };
                messages.push(format!(
                    "error: failed to validate delta base reference at offset {} from {}",
                    entry.end + read,
                    pack.shown
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

    /// Returns the trouble for a damaged object at `at`, on which `left` deltas of the chain are based.
    fn broken(&self, left: usize, at: Option<u64>) -> CopyError {
        if left == 0 {
            return CopyError::Damaged;
        }
        // The object itself cannot serve as its own base.
        let above = self.chain.iter().take(left).skip(1).rev();
        let above = above.map(|link| link.offset);
        CopyError::DamagedBases(at.into_iter().chain(above).collect())
    }
}

/// Returns `size` as a `usize`, if an object of that size may be put in memory.
fn checked_len(size: u64, id: &oid) -> Result<usize, Reason> {
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

fn report_delta_error(delta_error: &DeltaError, messages: &mut Vec<String>) {
    if let DeltaError::Explained(text) = delta_error {
        messages.push(format!("error: {text}"));
    }
    messages.push("error: failed to apply delta".into());
}
