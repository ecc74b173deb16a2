//! Enumerates all objects, by id or in the order on disk, and those whose ids have a prefix.

mod lists;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

use gix_hash::{ObjectId, oid};

use self::lists::{Ids, List};
use super::error::{Error, Reason, error};
use super::index::Index;
use super::location::{Location, ObjectPlace};
use super::pack::Pack;
use super::plan::{Readers, ReadingOrder};
use super::store::ObjectStore;
use super::table::SortedIds;

/// Several lists that are merged by id.
#[derive(Clone, Debug, Default)]
struct Merge {
    lists: Vec<List>,
    heads: BinaryHeap<Reverse<(ObjectId, usize)>>,
}

impl Merge {
    fn new(lists: Vec<List>) -> Self {
        let heads = lists.iter().enumerate();
        let heads = heads.filter_map(|(number, list)| Some(Reverse((list.id()?, number))));
        Self {
            heads: heads.collect(),
            lists,
        }
    }

    /// Returns the next id. The numbers of the lists that contain it are appended to `holders`; these lists stay at it until
    /// [`Self::advance`] takes them to the id after it.
    fn next(&mut self, holders: &mut Vec<usize>) -> Option<ObjectId> {
        let Reverse((id, number)) = self.heads.pop()?;
        holders.push(number);
        while let Some(Reverse((other, number))) = self.heads.peek()
            && *other == id
        {
            holders.push(*number);
            self.heads.pop();
        }
        Some(id)
    }

    /// Whether the lists `holders` of an id say that it is there.
    fn is_listed(&self, holders: &[usize]) -> bool {
        let mut lists = holders.iter().filter_map(|number| self.lists.get(*number));
        lists.any(|list| !matches!(list.ids, Ids::PartialLayer(_)))
    }

    fn advance(&mut self, holders: &[usize], id: &oid) {
        for number in holders {
            let Some(list) = self.lists.get_mut(*number) else {
                continue;
            };
            list.next += 1;
            let mut next = list.id();
            while next.is_some_and(|next| *next == *id) {
                list.next += 1;
                next = list.id();
            }
            if let Some(next) = next {
                self.heads.push(Reverse((next, *number)));
            }
        }
    }
}

/// All objects in the order of their ids, each once, at the places where a lookup of each would find them.
#[derive(Clone, Debug)]
pub struct Sorted {
    merge: Merge,
    holders: Vec<usize>,
    uses: u64,
    messages: Vec<String>,
    /// Which thread should read the latest object.
    thread: Option<usize>,
}

impl Sorted {
    /// Like [`PackOrder::planned_for`].
    #[must_use]
    pub fn planned_for(self, threads: usize) -> Self {
        let packs = self.merge.lists.iter().flat_map(|list| match &list.ids {
            Ids::Layer(layer) | Ids::PartialLayer(layer) => layer.packs().cloned().collect(),
            Ids::Pack(pack) => vec![pack.clone()],
            Ids::Loose(_) | Ids::LayerPack(_) => Vec::new(),
        });
        let packs: Vec<Arc<Pack>> = packs.collect();
        let objects = packs.iter().map(|pack| pack.count()).sum();
        for pack in packs {
            pack.make_plan(Readers {
                order: ReadingOrder::Ids,
                threads,
                objects,
            });
        }
        self
    }

    /// Like [`PackOrder::thread`].
    pub fn thread(&self) -> Option<usize> {
        self.thread
    }
}

impl Iterator for Sorted {
    type Item = Result<Location, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut holders = std::mem::take(&mut self.holders);
        let id = loop {
            holders.clear();
            let id = self.merge.next(&mut holders)?;
            if self.merge.is_listed(&holders) {
                break id;
            }
            self.merge.advance(&holders, &id);
        };
        let lists = &mut self.merge.lists;
        self.thread = None;
        holders.sort_by_key(|number| lists.get(*number).map(List::rank));
        let mut result = (id == ObjectId::empty_tree(id.kind())).then_some(Ok(Location {
            id,
            dir: 0,
            place: ObjectPlace::EmptyTree,
        }));
        for number in &holders {
            let Some(list) = lists.get_mut(*number).filter(|_| result.is_none()) else {
                break;
            };
            match list.place(&id, &mut self.messages) {
                Ok(None) => {}
                Ok(Some(place)) => {
                    if matches!(list.ids, Ids::Pack(_)) {
                        self.uses += 1;
                        list.used = self.uses;
                    }
                    self.thread = list.thread(&id, place);
                    let dir = list.dir;
                    result = Some(Ok(Location { id, dir, place }));
                }
                Err(reason) => {
                    let messages = std::mem::take(&mut self.messages);
                    result = Some(Err(Error { messages, reason }));
                }
            }
        }
        self.merge.advance(&holders, &id);
        self.holders = holders;
        // An object with no usable copy turns out to be missing when it is read.
        result.or(Some(Ok(Location {
            id,
            dir: 0,
            place: ObjectPlace::Loose,
        })))
    }
}

/// All objects, each once: the loose ones first, then pack by pack, in the order within the pack.
#[derive(Clone, Debug)]
pub struct PackOrder {
    loose: std::vec::IntoIter<Location>,
    packs: std::vec::IntoIter<PackWalk>,
    pack: Option<PackWalk>,
    next: usize,
    /// The number of threads that plans are made for.
    threads: Option<usize>,
}

impl PackOrder {
    /// Makes plans of large packs for this many threads, whose readers must follow plans
    /// ([`ObjectReader::follow_plans`](super::ObjectReader::follow_plans)).
    #[must_use]
    pub fn planned_for(self, threads: usize) -> Self {
        Self {
            threads: Some(threads),
            ..self
        }
    }

    /// Returns which thread should read the latest object, or `None` if any may.
    pub fn thread(&self) -> Option<usize> {
        let plan = self.pack.as_ref()?.pack.plan()?;
        let ordinal = self.next.checked_sub(1)?;
        Some(plan.thread(u32::try_from(ordinal).ok()?))
    }
}

/// A pack whose objects are enumerated.
#[derive(Clone, Debug)]
struct PackWalk {
    dir: u32,
    pack: Arc<Pack>,
    /// A bit for each position in the index: set if the object comes from elsewhere before. Empty if there is no such
    /// object.
    seen_elsewhere: Vec<u64>,
    /// Whether any object is more than once in the pack.
    has_repeated: bool,
}

impl Iterator for PackOrder {
    type Item = Result<Location, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(location) = self.loose.next() {
            return Some(Ok(location));
        }
        loop {
            let mut messages = Vec::new();
            let walk = match &self.pack {
                Some(walk) => walk,
                None => {
                    self.next = 0;
                    let walk = self.pack.insert(self.packs.next()?);
                    walk.has_repeated = walk.pack.index(&mut messages).is_some_and(repeats_any);
                    if let Some(threads) = self.threads {
                        walk.pack.make_plan(Readers {
                            order: ReadingOrder::Offsets,
                            threads,
                            objects: walk.pack.count(),
                        });
                    }
                    walk
                }
            };
            match walk.next(&mut self.next, &mut messages) {
                Ok(Some(location)) => return Some(Ok(location)),
                Ok(None) => self.pack = None,
                Err(reason) => {
                    self.pack = None;
                    return Some(Err(Error { messages, reason }));
                }
            }
        }
    }
}

impl PackWalk {
    /// Whether the object at `place` in the index, which is at `offset` in the pack, is there at an earlier place, too.
    fn is_repeated(&self, index: &Index, place: u32, offset: u64) -> Result<bool, Reason> {
        let id = index.id(place);
        let is_same = |other: &u32| index.id(*other) == id;
        let mut before = (0..place).rev().take_while(is_same);
        let mut after = (place.saturating_add(1)..index.count()).take_while(is_same);
        loop {
            // In turn, so that however often an object is repeated, one that is earlier is near for most.
            let near = [before.next(), after.next()];
            if near == [None, None] {
                return Ok(false);
            }
            for other in near.into_iter().flatten() {
                if (index.offset(other, &self.pack.shown)?, other) < (offset, place) {
                    return Ok(true);
                }
            }
        }
    }

    fn next(
        &self,
        next: &mut usize,
        messages: &mut Vec<String>,
    ) -> Result<Option<Location>, Reason> {
        let Some(index) = self.pack.index(messages) else {
            return Ok(None);
        };
        let places = self.pack.by_offset(messages);
        while let Some(place) = places.get(*next) {
            *next += 1;
            let word = self.seen_elsewhere.get(place as usize / 64).copied();
            if word.unwrap_or_default() >> (place % 64) & 1 == 1 {
                continue;
            }
            let offset = index.offset(place, &self.pack.shown)?;
            if let Some(id) = index.id(place)
                && !(self.has_repeated && self.is_repeated(index, place, offset)?)
            {
                let pack = self.pack.number;
                return Ok(Some(Location {
                    id,
                    dir: self.dir,
                    place: ObjectPlace::Packed { pack, offset },
                }));
            }
        }
        Ok(None)
    }
}

impl ObjectStore {
    /// Enumerates all objects in the order of their ids.
    ///
    /// # Errors
    /// A multi-pack-index is so damaged that git exits, or the system failed, so that objects would be left out.
    pub fn sorted(&self, messages: &mut Vec<String>) -> Result<Sorted, Error> {
        let lists = self.lists(false, messages);
        let lists = lists.map_err(error(messages))?;
        let uses = lists.len() as u64;
        Ok(Sorted {
            merge: Merge::new(lists),
            holders: Vec::new(),
            uses,
            messages: Vec::new(),
            thread: None,
        })
    }

    /// Enumerates all objects in the order on disk.
    ///
    /// # Errors
    /// As for [`Self::sorted`].
    pub fn pack_order(&self, messages: &mut Vec<String>) -> Result<PackOrder, Error> {
        let lists = self.lists(true, messages);
        let lists = lists.map_err(error(messages))?;
        // The ids of loose objects, and whether each is in a pack as well.
        let mut loose: HashMap<ObjectId, bool> = HashMap::new();
        let mut locations = Vec::new();
        let mut packs = Vec::new();
        for list in &lists {
            match &list.ids {
                Ids::Loose(ids) => {
                    for &id in ids {
                        if loose.insert(id, false).is_none() {
                            let (dir, place) = (list.dir, ObjectPlace::Loose);
                            locations.push(Location { id, dir, place });
                        }
                    }
                }
                Ids::Pack(pack) => packs.push(PackWalk {
                    dir: list.dir,
                    pack: pack.clone(),
                    seen_elsewhere: Vec::new(),
                    has_repeated: false,
                }),
                Ids::Layer(_) | Ids::PartialLayer(_) | Ids::LayerPack(_) => {}
            }
        }
        if packs.len() > 1 || !loose.is_empty() {
            let lists = lists.into_iter();
            let lists = lists.filter(|list| matches!(list.ids, Ids::Pack(_)));
            mark_repeated(lists.collect(), &mut loose, &mut packs, messages);
        }
        for location in &mut locations {
            if loose.get(&location.id) == Some(&true)
                && let Some(found) = self.find(&location.id, messages)?
            {
                *location = found;
            }
        }
        Ok(PackOrder {
            loose: locations.into_iter(),
            packs: packs.into_iter(),
            pack: None,
            next: 0,
            threads: None,
        })
    }

    /// Returns the objects whose ids begin with the hexadecimal digits `prefix`, sorted, each once; none if `prefix` is
    /// not hexadecimal.
    ///
    /// # Errors
    /// A multi-pack-index is so damaged that git exits.
    pub fn with_prefix(
        &self,
        prefix: &[u8],
        messages: &mut Vec<String>,
    ) -> Result<Vec<ObjectId>, Error> {
        let hex_len = self.hash_kind().len_in_hex();
        let mut low = vec![b'0'; hex_len];
        let mut high = vec![b'f'; hex_len];
        for bound in [&mut low, &mut high] {
            match bound.get_mut(..prefix.len()) {
                Some(start) => start.copy_from_slice(prefix),
                None => return Ok(Vec::new()),
            }
        }
        let (Ok(low), Ok(high)) = (ObjectId::from_hex(&low), ObjectId::from_hex(&high)) else {
            return Ok(Vec::new());
        };
        let mut ids = Vec::new();
        for dir in self.dirs.iter() {
            let range = low.first_byte()..=high.first_byte();
            let mut add = |id| {
                if low <= id && id <= high {
                    ids.push(id);
                }
            };
            // Where the system failed, the messages say so, and what is known is good enough.
            dir.loose_ids(range, messages, &mut add).ok();
            let listed = dir.with_listing(&self.packs, messages, |listing, messages| {
                for layer in &listing.midxes {
                    add_between(&layer.midx, &low, &high, &mut ids);
                }
                for pack in &listing.order {
                    if let Some(index) = pack.index(messages) {
                        add_between(index, &low, &high, &mut ids);
                    }
                }
                Ok(())
            });
            listed.map_err(error(messages))?;
        }
        ids.sort_unstable();
        ids.dedup();
        Ok(ids)
    }
}

/// Marks the objects in each pack that are loose or in an earlier pack, and notes which loose objects are also packed.
fn mark_repeated(
    lists: Vec<List>,
    loose: &mut HashMap<ObjectId, bool>,
    packs: &mut [PackWalk],
    messages: &mut Vec<String>,
) {
    let mut merge = Merge::new(lists);
    let mut holders = Vec::new();
    while let Some(id) = merge.next(&mut holders) {
        holders.sort_unstable();
        let is_packed = loose.get_mut(&id);
        let first = usize::from(is_packed.is_none());
        if let Some(is_packed) = is_packed {
            *is_packed = true;
        }
        for number in holders.iter().skip(first) {
            let (Some(list), Some(walk)) = (merge.lists.get(*number), packs.get_mut(*number))
            else {
                continue;
            };
            let count = walk.pack.index(messages).map_or(0, SortedIds::count) as usize;
            walk.seen_elsewhere.resize(count.div_ceil(64), 0);
            for position in list.positions(&id) {
                if let Some(word) = walk.seen_elsewhere.get_mut(position as usize / 64) {
                    *word |= 1 << (position % 64);
                }
            }
        }
        merge.advance(&holders, &id);
        holders.clear();
    }
}

/// Whether any id stands more than once in `ids`.
fn repeats_any(ids: &impl SortedIds) -> bool {
    let mut last = None;
    (0..ids.count()).any(|position| {
        let id = ids.id(position);
        std::mem::replace(&mut last, id) == id
    })
}

fn add_between(table: &impl SortedIds, low: &oid, high: &oid, ids: &mut Vec<ObjectId>) {
    let (Ok(first) | Err(first)) = table.lower_bound(low);
    let after = (first..table.count()).map_while(|position| table.id(position));
    ids.extend(after.take_while(|id| **id <= *high));
}
