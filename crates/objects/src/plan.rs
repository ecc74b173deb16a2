//! Plans for reading all objects of a pack in a certain order: which bases of deltas are needed again, and when.
//!
//! Objects are numbered in that order. A family is an object that is stored whole, with all deltas that are based on it
//! directly or indirectly. One thread reads all of a family, so that no two threads make the same base.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use gix_object::Kind;
use parking_lot::Mutex;

use super::error::Reason;
use super::pack::{Form, Pack, Places};
use super::table::SortedIds;
use crate::parallel::spawn_or_run;

/// The number that stands for no object.
pub(super) const NONE: u32 = u32::MAX;

/// Packs with fewer objects are read without a plan.
const COUNT_MIN: u32 = 32;

/// The least number of headers for which starting a thread is worthwhile.
const HEADERS_MIN: usize = 1 << 12;

/// How far ahead in the order the next object of a thread is looked for one by one.
const NEAR_MAX: usize = 1 << 12;

/// The approximate cost of reading an object, besides its size, where a byte of contents costs 1.
const OBJECT_COST: u64 = 10_000;
/// The approximate cost of inflating a byte.
const INFLATING_COST: u64 = 16;

/// The order in which the objects of a pack are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadingOrder {
    /// As in the pack, with no object of another pack in between.
    Offsets,
    Ids,
}

/// The threads that a plan is made for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Readers {
    pub(super) order: ReadingOrder,
    pub(super) threads: usize,
    /// The number of objects in all packs that are read at the same time.
    pub(super) objects: usize,
}

/// The plan of a pack.
#[derive(Debug)]
pub(super) struct ReadPlan {
    readers: Readers,
    /// The offset of each object in the pack.
    offsets: Vec<u64>,
    /// The number of each object's base.
    bases: Vec<u32>,
    /// Made on first use: it is needed only for reading contents, not for types and sizes.
    uses: OnceLock<Uses>,
    families: Vec<Family>,
}

/// The objects that are made from each base.
#[derive(Debug)]
struct Uses {
    /// The next object with the same base.
    siblings: Vec<u32>,
    /// The first object with this base, of those that may not have been read yet.
    first: Vec<AtomicU32>,
}

/// The common facts of all objects of a family.
#[derive(Clone, Copy, Debug, Default)]
struct Family {
    /// `None` if the chain of deltas is broken.
    kind: Option<Kind>,
    /// The thread that reads them.
    thread: u8,
}

/// The facts in an object's header.
#[derive(Clone, Copy)]
struct Header {
    /// The type, if the object is stored whole.
    kind: Option<Kind>,
    size: u32,
    base: u32,
}

impl Header {
    const BROKEN: Self = Self {
        kind: None,
        size: 0,
        base: NONE,
    };
}

impl ReadPlan {
    /// Makes the plan of `pack`, or returns `None` if it is not worthwhile. Damaged objects have no base in the plan.
    pub(super) fn make(
        pack: &Pack,
        readers: Readers,
        messages: &mut Vec<String>,
    ) -> Result<Option<Self>, Reason> {
        let index = pack.index(messages);
        let is_large = index.is_some_and(|index| index.count() >= COUNT_MIN);
        if !is_large || pack.contents(messages)?.is_none() {
            return Ok(None);
        }
        let Some((places, offsets)) = pack.in_order(messages) else {
            return Ok(None);
        };
        let threads = readers.threads.clamp(1, u8::MAX.into());
        let headers = read_headers(pack, &offsets, threads);
        let families = share_out(&headers, threads);
        // A copy, so that the memory of the headers is freed.
        let bases: Vec<u32> = headers.iter().map(|header| header.base).collect();
        drop(headers);
        let (offsets, families, bases) = match readers.order {
            ReadingOrder::Offsets => (offsets, families, bases),
            ReadingOrder::Ids => {
                let number = |base: u32| places.get(base as usize).unwrap_or(NONE);
                let bases = bases.into_iter().map(number).collect();
                (
                    by_id(places, offsets),
                    by_id(places, families),
                    by_id(places, bases),
                )
            }
        };
        Ok(Some(Self {
            readers,
            offsets,
            bases,
            uses: OnceLock::new(),
            families,
        }))
    }

    /// The number of objects.
    pub(super) fn count(&self) -> usize {
        self.offsets.len()
    }

    /// Whether no other pack is read until all of this one was.
    pub(super) fn is_alone(&self) -> bool {
        self.readers.order == ReadingOrder::Offsets
    }

    /// Returns this pack's share of `whole`, which is divided among all packs that are read at the same time.
    pub(super) fn part_of(&self, whole: usize) -> usize {
        let part = whole as u128 * self.count() as u128 / self.readers.objects.max(1) as u128;
        usize::try_from(part).unwrap_or(whole).min(whole)
    }

    /// Returns which thread reads the object.
    pub(super) fn thread(&self, number: u32) -> usize {
        let family = self.families.get(number as usize);
        family.map_or(0, |family| family.thread.into())
    }

    /// Returns the type of the object, unless its chain of deltas is broken.
    pub(super) fn kind(&self, number: u32) -> Option<Kind> {
        self.families.get(number as usize)?.kind
    }

    /// Returns the offset of the object in the pack.
    pub(super) fn offset(&self, number: u32) -> Option<u64> {
        self.offsets.get(number as usize).copied()
    }

    /// Returns the object that begins at `offset`, searching from number `near` on.
    pub(super) fn find(&self, offset: u64, near: u32) -> Option<u32> {
        let rest = self.offsets.get(near as usize..)?;
        let mut next = rest.iter().take(NEAR_MAX);
        let place = match next.position(|at| *at == offset) {
            Some(place) => place,
            None if self.is_alone() => rest.binary_search(&offset).ok()?,
            None => return None,
        };
        Some(near + u32::try_from(place).ok()?)
    }

    /// Returns the base of the object. `None` if it is no delta, or if its base is unknown.
    pub(super) fn base(&self, number: u32) -> Option<u32> {
        let base = self.bases.get(number as usize).copied();
        base.filter(|base| *base != NONE)
    }

    /// Returns the first object after `now` that has this one as its base, or [`NONE`].
    ///
    /// Only the one thread that reads the family calls this, with a greater `now` each time.
    pub(super) fn next_use(&self, number: u32, now: u32) -> u32 {
        let uses = self.uses.get_or_init(|| Uses::of(&self.bases));
        let Some(known) = uses.first.get(number as usize) else {
            return NONE;
        };
        let mut next = known.load(Ordering::Relaxed);
        while next <= now {
            next = uses.siblings.get(next as usize).copied().unwrap_or(NONE);
        }
        known.store(next, Ordering::Relaxed);
        next
    }
}

/// Reads the headers of all objects on `threads` threads.
fn read_headers(pack: &Pack, offsets: &[u64], threads: usize) -> Vec<Header> {
    let mut headers = vec![Header::BROKEN; offsets.len()];
    let part_len = offsets.len().div_ceil(threads).max(HEADERS_MIN);
    let read = |part: &mut [Header], start: usize| {
        for (header, ordinal) in part.iter_mut().zip(start..) {
            *header = read_header(pack, offsets, ordinal);
        }
    };
    if part_len >= offsets.len() {
        read(&mut headers, 0);
        return headers;
    }
    let parts: Vec<_> = headers.chunks_mut(part_len).map(Mutex::new).collect();
    std::thread::scope(|scope| {
        for (part, start) in parts.iter().zip((0..).step_by(part_len)) {
            spawn_or_run(scope, move || read(&mut part.lock(), start));
        }
    });
    headers
}

fn read_header(pack: &Pack, offsets: &[u64], ordinal: usize) -> Header {
    let mut header = Header::BROKEN;
    // Errors are reported when the object is read.
    let mut messages = Vec::new();
    let Some(&offset) = offsets.get(ordinal) else {
        return header;
    };
    let Ok(entry) = pack.entry(offset, &mut messages) else {
        return header;
    };
    header.size = u32::try_from(entry.size).unwrap_or(u32::MAX);
    match entry.form {
        Form::Whole(kind) => header.kind = Some(kind),
        Form::OffsetDelta | Form::IdDelta => {
            if let Ok(Some((base, _))) = pack.base(&entry, offset, &mut messages) {
                // A base comes before the deltas on it; if it does not, there is no plan for this object.
                let before = offsets.get(..ordinal).unwrap_or_default();
                header.base = find_before(before, base).unwrap_or(NONE);
            }
        }
        Form::Unknown(_) => {}
    }
    header
}

/// Finds `offset` in ascending `offsets`, most often near their end.
fn find_before(offsets: &[u64], offset: u64) -> Option<u32> {
    let mut step = 1usize;
    loop {
        let start = offsets.len().saturating_sub(step);
        let near = offsets.get(start..)?;
        if start == 0 || near.first().is_some_and(|first| *first <= offset) {
            let place = near.binary_search(&offset).ok()?;
            return u32::try_from(start + place).ok();
        }
        step *= 2;
    }
}

/// Reorders values from the order of offsets to the order of ids, given the position of each in the latter.
fn by_id<T: Copy + Default>(places: &Places, values: Vec<T>) -> Vec<T> {
    let mut sorted = vec![T::default(); values.len()];
    for (value, place) in values.into_iter().zip(places.iter()) {
        if let Some(to) = sorted.get_mut(place as usize) {
            *to = value;
        }
    }
    sorted
}

impl Uses {
    fn of(bases: &[u32]) -> Self {
        let mut siblings = vec![NONE; bases.len()];
        let mut first = vec![NONE; bases.len()];
        let mut number = u32::try_from(bases.len()).unwrap_or(NONE);
        for (base, sibling) in bases.iter().zip(&mut siblings).rev() {
            number = number.saturating_sub(1);
            if let Some(first) = first.get_mut(*base as usize) {
                *sibling = std::mem::replace(first, number);
            }
        }
        Self {
            siblings,
            first: first.into_iter().map(AtomicU32::new).collect(),
        }
    }
}

/// Assigns each family to the thread with the least work so far.
fn share_out(headers: &[Header], threads: usize) -> Vec<Family> {
    let mut loads = vec![0u64; threads];
    let mut families: Vec<Family> = Vec::with_capacity(headers.len());
    // The header of a delta does not have the size of its object; assume that of its base.
    let mut sizes: Vec<u32> = Vec::with_capacity(headers.len());
    for header in headers {
        let base = header.base as usize;
        let (family, size) = match (families.get(base), sizes.get(base)) {
            (Some(&family), Some(&size)) => (family, size),
            _ => {
                let least = loads.iter().zip(0u8..).min();
                let family = Family {
                    kind: header.kind,
                    thread: least.map_or(0, |(_, thread)| thread),
                };
                (family, header.size)
            }
        };
        if let Some(load) = loads.get_mut(usize::from(family.thread)) {
            *load += OBJECT_COST + u64::from(size) + u64::from(header.size) * INFLATING_COST;
        }
        families.push(family);
        sizes.push(size);
    }
    families
}
