//! Reads the objects of a pack by a [`ReadPlan`]: bases that are needed again are kept. Without room for all of them, those
//! that are needed last are dropped first, so that as few objects as possible are inflated twice.

use std::collections::{BinaryHeap, HashMap};
use std::num::NonZeroU32;

use gix_object::Kind;

use super::contents::BeforeContents;
use super::delta::Delta;
use super::facts::Info;
use super::inflate::{Inflater, RESERVE_MAX};
use super::pack::{Form, Pack};
use super::plan::{NONE, ReadPlan};

/// The cost of a kept base besides its contents, in bytes.
const KEPT_COST: usize = 128;

/// Packs that are read by their plans.
#[derive(Debug)]
pub(super) struct Planned {
    packs: HashMap<u32, PlannedPack>,
    len_max: usize,
}

impl Planned {
    /// Keeps about `len_max` bytes of bases.
    pub(super) fn new(len_max: usize) -> Self {
        Self {
            packs: HashMap::new(),
            len_max,
        }
    }

    /// Appends the contents of the object at `offset` to `out`, after `begin` has seen the type and size. `None` if
    /// there is no plan or anything is wrong: then the caller must truncate `out` and read the object without a plan.
    pub(super) fn read(
        &mut self,
        pack: &Pack,
        offset: u64,
        inflater: &mut Inflater,
        out: &mut Vec<u8>,
        begin: BeforeContents<'_>,
    ) -> Option<Info> {
        let plan = pack.plan()?;
        let planned = self.advance_to(pack, plan, offset)?;
        let info = planned.read(pack, plan, inflater, out, begin);
        planned.messages.clear();
        info
    }

    /// Returns the type of the object at `offset`. `None` if there is no plan or anything is wrong.
    pub(super) fn kind(&mut self, pack: &Pack, offset: u64) -> Option<Kind> {
        let plan = pack.plan()?;
        plan.kind(self.advance_to(pack, plan, offset)?.now)
    }

    fn advance_to(
        &mut self,
        pack: &Pack,
        plan: &ReadPlan,
        offset: u64,
    ) -> Option<&mut PlannedPack> {
        if plan.is_alone() && !self.packs.contains_key(&pack.number) {
            self.packs.clear();
        }
        let planned = self.packs.entry(pack.number);
        let planned = planned.or_insert_with(|| PlannedPack::new(plan, self.len_max));
        planned.now = plan.find(offset, planned.now)?;
        Some(planned)
    }
}

/// The bases of a pack that are kept, and buffers that are reused.
#[derive(Debug)]
struct PlannedPack {
    /// The object that is being read, or was read last.
    now: u32,
    /// The place of each object in `kept`.
    places: KeptPlaces,
    kept: Vec<KeptBase>,
    /// Free places in `kept`.
    free: Vec<u32>,
    /// When bases are needed, and which. It may have outdated entries.
    uses: BinaryHeap<(u32, u32)>,
    len: usize,
    len_max: usize,
    chain: Vec<Link>,
    delta: Vec<u8>,
    messages: Vec<String>,
}

/// A base that is needed again.
#[derive(Debug)]
struct KeptBase {
    number: u32,
    kind: Kind,
    /// The object for which it is needed next.
    next: u32,
    contents: Vec<u8>,
}

/// The place of each object in a list, if it has one. None is a zero, so that pages of this table without a place take
/// no memory.
#[derive(Debug)]
struct KeptPlaces(Vec<Option<NonZeroU32>>);

impl KeptPlaces {
    fn new(count: usize) -> Self {
        Self(vec![None; count])
    }

    fn get(&self, number: u32) -> Option<u32> {
        let place = self.0.get(number as usize)?.as_ref()?;
        Some(place.get() - 1)
    }

    /// Returns whether the table could hold it.
    fn set(&mut self, number: u32, place: u32) -> bool {
        let place = place.checked_add(1).and_then(NonZeroU32::new);
        match self.0.get_mut(number as usize) {
            Some(known) if place.is_some() => *known = place,
            _ => return false,
        }
        true
    }

    fn clear(&mut self, number: u32) {
        if let Some(place) = self.0.get_mut(number as usize) {
            *place = None;
        }
    }
}

/// A delta in the chain from an object to one that is whole or kept.
#[derive(Clone, Copy, Debug)]
struct Link {
    number: u32,
    /// The offset of the compressed delta.
    start: u64,
    /// The size of the delta, in bytes.
    size: u64,
}

/// The base that a delta is applied to.
enum Base {
    Kept(u32),
    Own { number: u32, contents: Vec<u8> },
}

/// Where a chain of deltas ends.
enum End {
    Kept(u32),
    Whole {
        number: u32,
        kind: Kind,
        start: u64,
        size: u64,
    },
}

impl PlannedPack {
    fn new(plan: &ReadPlan, len_max: usize) -> Self {
        Self {
            now: 0,
            places: KeptPlaces::new(plan.count()),
            kept: Vec::new(),
            free: Vec::new(),
            uses: BinaryHeap::new(),
            len: 0,
            len_max: plan.part_of(len_max),
            chain: Vec::new(),
            delta: Vec::new(),
            messages: Vec::new(),
        }
    }

    fn read(
        &mut self,
        pack: &Pack,
        plan: &ReadPlan,
        inflater: &mut Inflater,
        out: &mut Vec<u8>,
        begin: BeforeContents<'_>,
    ) -> Option<Info> {
        let now = self.now;
        let (kind, mut base) = match self.walk(pack, plan)? {
            End::Kept(place) => (self.kept.get(place as usize)?.kind, Base::Kept(place)),
            End::Whole {
                number,
                kind,
                start,
                size,
            } => {
                let len = checked_len(size)?;
                let input = pack.from(start, &mut self.messages).ok()?;
                if self.chain.is_empty() {
                    let info = Info { kind, size };
                    if begin(info, out) {
                        let at = out.len();
                        inflater.whole(input, len, out, &mut self.messages).ok()?;
                        self.keep_copy(plan, now, kind, out.get(at..)?);
                    }
                    return Some(info);
                }
                let mut contents = Vec::new();
                let inflated = inflater.whole(input, len, &mut contents, &mut self.messages);
                inflated.ok()?;
                (kind, Base::Own { number, contents })
            }
        };
        while let Some(link) = self.chain.pop() {
            let input = pack.from(link.start, &mut self.messages).ok()?;
            self.delta.clear();
            let len = checked_len(link.size)?;
            let inflated = inflater.whole(input, len, &mut self.delta, &mut self.messages);
            inflated.ok()?;
            let delta = Delta::parse(&self.delta)?;
            let contents = match &base {
                Base::Kept(place) => &self.kept.get(*place as usize)?.contents,
                Base::Own { contents, .. } => contents,
            };
            let size = delta.size;
            if link.number == now {
                let info = Info { kind, size };
                checked_len(size)?;
                let is_wanted = begin(info, out);
                let at = out.len();
                if is_wanted {
                    delta.apply(contents, out).ok()?;
                }
                self.settle(plan, kind, base);
                if is_wanted {
                    self.keep_copy(plan, now, kind, out.get(at..)?);
                }
                return Some(info);
            }
            checked_len(size)?;
            let mut result = Vec::new();
            delta.apply(contents, &mut result).ok()?;
            self.settle(plan, kind, base);
            base = Base::Own {
                number: link.number,
                contents: result,
            };
        }
        // No delta was left: the object itself is kept.
        let Base::Kept(place) = base else {
            return None;
        };
        let contents = &self.kept.get(place as usize)?.contents;
        let size = contents.len() as u64;
        let info = Info { kind, size };
        if begin(info, out) {
            out.extend_from_slice(contents);
        }
        Some(info)
    }

    /// Follows the chain of deltas to an object that is kept or whole.
    fn walk(&mut self, pack: &Pack, plan: &ReadPlan) -> Option<End> {
        self.chain.clear();
        let mut number = self.now;
        loop {
            if let Some(place) = self.places.get(number) {
                return Some(End::Kept(place));
            }
            let offset = plan.offset(number)?;
            let entry = pack.entry(offset, &mut self.messages).ok()?;
            match entry.form {
                Form::Whole(kind) => {
                    return Some(End::Whole {
                        number,
                        kind,
                        start: entry.end,
                        size: entry.size,
                    });
                }
                Form::OffsetDelta | Form::IdDelta => {}
                Form::Unknown(_) => return None,
            }
            let (base_offset, start) = pack.base(&entry, offset, &mut self.messages).ok()??;
            let base = plan.base(number)?;
            if plan.offset(base) != Some(base_offset) {
                return None;
            }
            // If objects are not in the order of offsets, only this detects a cycle.
            if self.chain.len() >= plan.count() {
                return None;
            }
            self.chain.push(Link {
                number,
                start,
                size: entry.size,
            });
            number = base;
        }
    }

    /// Drops a base that was used, or keeps it until it is needed again.
    fn settle(&mut self, plan: &ReadPlan, kind: Kind, base: Base) {
        match base {
            Base::Own { number, contents } => {
                let next = plan.next_use(number, self.now);
                if next != NONE {
                    self.keep(number, kind, next, contents);
                }
            }
            Base::Kept(place) => {
                let Some(kept) = self.kept.get_mut(place as usize) else {
                    return;
                };
                let next = plan.next_use(kept.number, self.now);
                if next == NONE {
                    self.drop(place);
                } else if next != kept.next {
                    kept.next = next;
                    self.uses.push((next, kept.number));
                }
            }
        }
    }

    /// Keeps a copy of the object that was read, if it is needed as a base.
    fn keep_copy(&mut self, plan: &ReadPlan, number: u32, kind: Kind, contents: &[u8]) {
        let next = plan.next_use(number, self.now);
        if next != NONE {
            self.keep(number, kind, next, contents.to_vec());
        }
    }

    fn keep(&mut self, number: u32, kind: Kind, next: u32, contents: Vec<u8>) {
        if self.places.get(number).is_some() {
            return;
        }
        let place = match self.free.pop() {
            Some(place) => place,
            None => u32::try_from(self.kept.len()).unwrap_or(NONE),
        };
        if !self.places.set(number, place) {
            return;
        }
        self.len += contents.capacity() + KEPT_COST;
        self.uses.push((next, number));
        let kept = KeptBase {
            number,
            kind,
            next,
            contents,
        };
        match self.kept.get_mut(place as usize) {
            Some(empty) => *empty = kept,
            None => self.kept.push(kept),
        }
        self.make_room();
    }

    fn make_room(&mut self) {
        while self.len > self.len_max
            && let Some((next, number)) = self.uses.pop()
        {
            let Some(place) = self.places.get(number) else {
                continue;
            };
            let kept = self.kept.get(place as usize);
            if kept.is_some_and(|kept| kept.next == next) {
                self.drop(place);
            }
        }
        // Outdated entries must not fill the memory.
        let kept = self.kept.len() - self.free.len();
        if self.uses.len() > 4 * kept + 4096 {
            let (kept, places) = (&self.kept, &self.places);
            self.uses.retain(|(next, number)| {
                let kept = places
                    .get(*number)
                    .and_then(|place| kept.get(place as usize));
                kept.is_some_and(|kept| kept.next == *next)
            });
        }
    }

    fn drop(&mut self, place: u32) {
        if let Some(kept) = self.kept.get_mut(place as usize) {
            self.len -= kept.contents.capacity() + KEPT_COST;
            kept.contents = Vec::new();
            kept.next = NONE;
            self.places.clear(kept.number);
            self.free.push(place);
        }
    }
}

/// Returns `size` as a `usize`, if that much may be allocated at once.
fn checked_len(size: u64) -> Option<usize> {
    usize::try_from(size)
        .ok()
        .filter(|size| *size <= RESERVE_MAX)
}
