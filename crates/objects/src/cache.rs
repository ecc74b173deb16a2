//! A cache of the bases of deltas that were read last.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

use gix_object::Kind;
use vigil_linux::memory::populate;

/// A pack's number, and the offset of an object in it.
pub(super) type Key = (u32, u64);

/// The bounds of the number of cached types: few until many are asked for. Powers of two.
const KINDS_MIN: usize = 1 << 7;
const KINDS_MAX: usize = 1 << 14;

/// A cache of the types of objects that were asked for last, by their keys.
#[derive(Debug, Default)]
pub(super) struct Kinds {
    slots: Vec<Option<(Key, Kind)>>,
    /// The number of insertions since the number of slots last changed.
    puts: usize,
}

impl Kinds {
    /// Returns the type of an object, if it is cached.
    pub(super) fn get(&self, key: Key) -> Option<Kind> {
        let slot = self.slots.get(self.place(key)).copied().flatten();
        slot.filter(|(known, _)| *known == key)
            .map(|(_, kind)| kind)
    }

    /// Caches the type of an object.
    pub(super) fn put(&mut self, key: Key, kind: Kind) {
        let len = self.slots.len();
        if self.puts >= len && len < KINDS_MAX {
            self.slots = vec![None; (len * 8).clamp(KINDS_MIN, KINDS_MAX)];
            self.puts = 0;
        }
        self.puts += 1;
        let place = self.place(key);
        if let Some(slot) = self.slots.get_mut(place) {
            *slot = Some((key, kind));
        }
    }

    fn place(&self, (pack, offset): Key) -> usize {
        let mut mixer = Mixer::default();
        mixer.write_u32(pack);
        mixer.write_u64(offset);
        mixer.finish() as usize & self.slots.len().wrapping_sub(1)
    }
}

/// A cache of objects by their keys, with bounded memory. The oldest are evicted first, except those that were used
/// since they were written.
///
/// The objects lie one after the other in one buffer, which is written as a ring. Separate allocations would have the
/// system hand out and clear memory again and again.
#[derive(Debug)]
pub(super) struct Cache {
    places: HashMap<Key, EntryNumber, BuildHasherDefault<Mixer>>,
    bytes: Vec<u8>,
    /// The end of the part of the buffer whose pages are populated.
    populated: usize,
    /// The most bytes that `bytes` may take.
    len_max: usize,
    /// The objects in `bytes`, in the order in which they were written.
    entries: VecDeque<Entry>,
    /// The place of the first of them.
    first: EntryNumber,
    /// Where the next object is written.
    end: usize,
    /// An object that is too large to share `bytes` with others.
    large: Option<(Key, Kind, Vec<u8>)>,
}

/// The number of an object, counted from the first that was ever cached.
pub(super) type EntryNumber = u64;

/// The place of the large object.
const LARGE: EntryNumber = EntryNumber::MAX;

#[derive(Debug)]
struct Entry {
    key: Key,
    kind: Kind,
    start: usize,
    len: usize,
    /// Whether it was asked for since it was written.
    is_used: bool,
}

/// An object is large if it takes more than this fraction of all room.
const LARGE_PART: usize = 8;

/// At most one object is kept per this many bytes of room, since each costs something besides its contents.
const ENTRY_PART: usize = 256;

/// Up to this many bytes, the buffer grows as needed. Beyond, all of it is reserved at once: what is not written yet
/// takes no memory.
const SMALL_LEN_MAX: usize = 512 << 10;

/// Pages are populated for this many bytes at once. A fault for each page would slow down nearly every answer, and
/// populating all at once, or huge pages, would delay one answer for long.
const POPULATED_LEN: usize = 256 << 10;

impl Cache {
    /// An empty cache for `len_max` bytes.
    pub(super) fn new(len_max: usize) -> Self {
        Self {
            places: HashMap::default(),
            bytes: Vec::new(),
            populated: 0,
            len_max,
            entries: VecDeque::new(),
            first: 0,
            end: 0,
            large: None,
        }
    }

    /// Returns the type of an object and its place, which is valid until the next [`Self::put`].
    pub(super) fn get(&mut self, key: Key) -> Option<(Kind, EntryNumber)> {
        let place = *self.places.get(&key)?;
        if place == LARGE {
            return self.large.as_ref().map(|(_, kind, _)| (*kind, LARGE));
        }
        let at = self.index(place)?;
        let entry = self.entries.get_mut(at)?;
        entry.is_used = true;
        Some((entry.kind, place))
    }

    /// Returns the contents of the object at a place.
    pub(super) fn contents(&self, place: EntryNumber) -> &[u8] {
        if place == LARGE {
            let large = self.large.as_ref();
            return large.map_or(&[], |(.., contents)| contents);
        }
        let entry = self.index(place).and_then(|at| self.entries.get(at));
        let contents = entry.and_then(|entry| self.bytes.get(entry.start..)?.get(..entry.len));
        contents.unwrap_or_default()
    }

    /// Whether an object of `len` bytes is too large to share the buffer. Then it is better to hand it over than to
    /// copy it.
    pub(super) fn is_large(&self, len: usize) -> bool {
        len > self.len_max / LARGE_PART
    }

    /// Caches an object of any size, evicting others if there is no room. The place is valid until the next call.
    pub(super) fn put(&mut self, key: Key, kind: Kind, contents: &[u8]) -> EntryNumber {
        if let Some(&place) = self.places.get(&key) {
            return place;
        }
        if self.is_large(contents.len()) {
            return self.put_large(key, kind, contents.to_vec());
        }
        if let Some((.., large)) = &self.large
            && large.len() + self.bytes.len() + contents.len() > self.len_max
        {
            self.forget_large();
        }
        while self.entries.len() > self.len_max / ENTRY_PART {
            self.evict_oldest();
        }
        let start = self.make_room(contents.len());
        if !self.has_memory_for(start + contents.len()) {
            *self = Self::new(self.len_max / 2);
            return self.put(key, kind, contents);
        }
        self.write(start, contents);
        self.push(Entry {
            key,
            kind,
            start,
            len: contents.len(),
            is_used: false,
        })
    }

    /// Like [`Self::put`], but takes over the contents of a large object.
    pub(super) fn put_large(&mut self, key: Key, kind: Kind, mut contents: Vec<u8>) -> EntryNumber {
        if let Some(&place) = self.places.get(&key) {
            return place;
        }
        contents.shrink_to_fit();
        self.forget_large();
        if contents.len() + self.bytes.len() > self.len_max {
            *self = Self::new(self.len_max);
        }
        self.large = Some((key, kind, contents));
        self.places.insert(key, LARGE);
        LARGE
    }

    fn forget_large(&mut self) {
        if let Some((key, ..)) = self.large.take() {
            self.places.remove(&key);
        }
    }

    /// Returns where `len` bytes may be written, after evicting as many objects as necessary.
    fn make_room(&mut self, len: usize) -> usize {
        loop {
            let oldest = self.entries.front().map(|entry| entry.start);
            let (room_end, is_before_all) = match oldest {
                None => {
                    self.end = 0;
                    (self.len_max, false)
                }
                Some(start) if start < self.end => (self.len_max, true),
                Some(start) => (start, false),
            };
            if room_end - self.end >= len {
                return self.end;
            }
            if is_before_all {
                self.end = 0;
            } else {
                self.evict_oldest();
            }
        }
    }

    /// Evicts the oldest object. One that was used is written again instead, if it fits before its old place.
    fn evict_oldest(&mut self) {
        let Some(mut oldest) = self.entries.pop_front() else {
            return;
        };
        self.first += 1;
        if !oldest.is_used || self.end > oldest.start {
            self.places.remove(&oldest.key);
            return;
        }
        let from = oldest.start..oldest.start + oldest.len;
        self.bytes.copy_within(from, self.end);
        oldest.start = self.end;
        oldest.is_used = false;
        self.push(oldest);
    }

    fn push(&mut self, entry: Entry) -> EntryNumber {
        let place = self.first + self.entries.len() as EntryNumber;
        self.end = entry.start + entry.len;
        self.places.insert(entry.key, place);
        self.entries.push_back(entry);
        place
    }

    /// Reserves the whole buffer, if it must have `end` bytes and may not just grow. Returns whether there is memory for that: the
    /// configured room may be larger than this machine's memory.
    fn has_memory_for(&mut self, end: usize) -> bool {
        if end <= self.bytes.capacity() || end <= SMALL_LEN_MAX {
            return true;
        }
        let mut bytes = Vec::new();
        if bytes.try_reserve_exact(self.len_max).is_err() {
            return false;
        }
        bytes.extend_from_slice(&self.bytes);
        self.bytes = bytes;
        true
    }

    fn write(&mut self, start: usize, contents: &[u8]) {
        let end = start + contents.len();
        if end > self.populated {
            self.populate(end);
        }
        if start == self.bytes.len() {
            self.bytes.extend_from_slice(contents);
            return;
        }
        if end > self.bytes.len() {
            self.bytes.resize(end, 0);
        }
        if let Some(room) = self.bytes.get_mut(start..end) {
            room.copy_from_slice(contents);
        }
    }

    /// Populates memory up to `end` and a little further, if the whole buffer is reserved.
    fn populate(&mut self, end: usize) {
        let len = self.bytes.len();
        if self.bytes.capacity() < self.len_max {
            return;
        }
        let populated = self.populated.max(len);
        self.populated = end.next_multiple_of(POPULATED_LEN).min(self.len_max);
        let room = self.bytes.spare_capacity_mut();
        if let Some(room) = room.get_mut(populated - len..self.populated.saturating_sub(len)) {
            populate(room);
        }
    }

    fn index(&self, place: EntryNumber) -> Option<usize> {
        usize::try_from(place.checked_sub(self.first)?).ok()
    }
}

/// Mixes the two numbers of a key. Collisions would gain an attacker nothing, since the cache is small.
#[derive(Debug, Default)]
struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        let mixed = (self.0.rotate_left(5) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 29);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The contents of an object at `offset`, whose length differs from that of others, too.
    fn contents(offset: u64, len_max: u64) -> Vec<u8> {
        let len = (offset.wrapping_mul(0x9e37_79b9_7f4a_7c15) % (len_max + 1)) as usize;
        let period: Vec<u8> = (0..256).map(|at| (at * 31 + offset) as u8).collect();
        let mut contents = period.repeat(len / period.len() + 1);
        contents.truncate(len);
        contents
    }

    #[test]
    fn cached_contents_are_those_that_were_added_and_fit_in_the_limit() {
        for (room, len_max) in [(0, 90), (10_000, 400), (3_000_000, 40_000), (5_000, 9_000)] {
            let mut cache = Cache::new(room);
            let mut kept = 0;
            for number in 0..20_000u64 {
                // Some are asked for again and again.
                let offset = match number % 3 {
                    0 => number % 30,
                    _ => number.wrapping_mul(number) % 7919,
                };
                let key = (1, offset);
                let expected = contents(offset, len_max);
                if let Some((kind, place)) = cache.get(key) {
                    assert_eq!(kind, Kind::Tree);
                    assert_eq!(cache.contents(place), expected, "{room} {offset}");
                    kept += 1;
                    continue;
                }
                let place = cache.put(key, Kind::Tree, &expected);
                assert_eq!(cache.contents(place), expected, "{room} {offset}");
                let large = cache
                    .large
                    .as_ref()
                    .map_or(0, |(.., large)| large.capacity());
                assert!(cache.bytes.len() <= room);
                assert!(large == 0 || large + cache.bytes.len() <= room.max(large));
                assert!(cache.entries.len() <= room / ENTRY_PART + 1);
                assert!(cache.places.len() <= cache.entries.len() + 1);
            }
            assert!(kept > 0, "{room}");
        }
    }

    #[test]
    fn more_room_than_there_is_memory_does_no_harm() {
        let mut cache = Cache::new(usize::MAX);
        let mut places = Vec::new();
        for offset in 0..100 {
            let expected = contents(offset, 100_000);
            let place = cache.put((1, offset), Kind::Blob, &expected);
            assert_eq!(cache.contents(place), expected);
            places.push(cache.get((1, offset)).is_some());
        }
        assert!(cache.len_max < usize::MAX && cache.entries.len() > 1);
        assert!(places.into_iter().all(|is_cached| is_cached));
    }

    #[test]
    fn what_is_used_stays_longest() {
        let mut cache = Cache::new(8_000);
        let bytes = [7; 500];
        for offset in 0..200 {
            cache.put((1, offset), Kind::Blob, &bytes);
            assert!(cache.get((1, 0)).is_some(), "{offset}");
            assert_eq!(cache.get((1, 1)).is_some(), offset > 0);
        }
        assert!(cache.get((1, 150)).is_none());
    }

    #[test]
    fn a_large_object_is_kept_beside_others_where_there_is_room() {
        let mut cache = Cache::new(10_000);
        cache.put((1, 1), Kind::Blob, &[1; 1000]);
        let place = cache.put((1, 2), Kind::Blob, &[2; 5000]);
        assert_eq!(cache.contents(place), [2; 5000]);
        assert!(cache.get((1, 1)).is_some());
        // It goes before others have to.
        for offset in 3..10 {
            cache.put((1, offset), Kind::Blob, &[3; 1000]);
        }
        assert!(cache.get((1, 2)).is_none());
        assert!(cache.get((1, 1)).is_some());
        let place = cache.put((1, 2), Kind::Blob, &[2; 20_000]);
        assert_eq!(cache.contents(place), [2; 20_000]);
        assert!(cache.get((1, 1)).is_none());
    }
}
