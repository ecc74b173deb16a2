//! The bases of deltas that were read last.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use gix_object::Kind;

/// What an entry costs beside its contents, in bytes.
const ENTRY_LEN: usize = 96;

/// A pack's number, and where in it an object begins.
pub(super) type Key = (u32, u64);

/// How many types are remembered: few until many are asked for. Powers of two.
const KINDS_MIN: usize = 1 << 7;
const KINDS_MAX: usize = 1 << 14;

/// The types of objects that were asked for last, by their place.
#[derive(Debug, Default)]
pub(super) struct Kinds {
    slots: Vec<Option<(Key, Kind)>>,
    /// How many were put in since there are as many slots.
    puts: usize,
}

impl Kinds {
    /// The type of an object, if it is remembered.
    pub(super) fn get(&self, key: Key) -> Option<Kind> {
        let slot = self.slots.get(self.place(key)).copied().flatten();
        slot.filter(|(known, _)| *known == key)
            .map(|(_, kind)| kind)
    }

    /// Remembers the type of an object.
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

/// Objects by their place, as many as there is room for: those that were not used for longest go first.
#[derive(Debug)]
pub(super) struct Cache {
    places: HashMap<Key, usize, BuildHasherDefault<Mixer>>,
    /// A ring in the order of use. The first one is no object: it is between the one used last and the one not used for
    /// longest.
    entries: Vec<Entry>,
    /// Entries that are not in the ring.
    free: Vec<usize>,
    len: usize,
    len_max: usize,
}

#[derive(Debug)]
struct Entry {
    key: Key,
    kind: Kind,
    contents: Vec<u8>,
    later: usize,
    earlier: usize,
}

/// The entry between the ends of the ring.
const SEAM: usize = 0;

impl Cache {
    /// Room for `len_max` bytes.
    pub(super) fn new(len_max: usize) -> Self {
        let seam = Entry {
            key: (u32::MAX, u64::MAX),
            kind: Kind::Blob,
            contents: Vec::new(),
            later: SEAM,
            earlier: SEAM,
        };
        Self {
            places: HashMap::default(),
            entries: vec![seam],
            free: Vec::new(),
            len: 0,
            len_max,
        }
    }

    /// The type of the object and its place, which is good until the next [`Self::put`]. It now is the one used last.
    pub(super) fn get(&mut self, key: Key) -> Option<(Kind, usize)> {
        let place = *self.places.get(&key)?;
        self.unlink(place);
        self.link(place);
        Some((self.entries.get(place)?.kind, place))
    }

    /// The contents of the object at a place.
    pub(super) fn contents(&self, place: usize) -> &[u8] {
        match self.entries.get(place) {
            Some(entry) => &entry.contents,
            None => &[],
        }
    }

    /// Takes an object over, however large it is, and lets go of others where there is no room. The place is good until
    /// the next call.
    pub(super) fn put(&mut self, key: Key, kind: Kind, contents: Vec<u8>) -> usize {
        if let Some(&place) = self.places.get(&key) {
            self.remove(place);
        }
        let len = contents.capacity() + ENTRY_LEN;
        while self.len + len > self.len_max
            && let Some(oldest) = self.entries.first().map(|seam| seam.later)
            && oldest != SEAM
        {
            self.remove(oldest);
        }
        self.len += len;
        let entry = Entry {
            key,
            kind,
            contents,
            later: SEAM,
            earlier: SEAM,
        };
        let place = self.free.pop().unwrap_or(self.entries.len());
        match self.entries.get_mut(place) {
            Some(old) => *old = entry,
            None => self.entries.push(entry),
        }
        self.places.insert(key, place);
        self.link(place);
        place
    }

    fn remove(&mut self, place: usize) {
        self.unlink(place);
        if let Some(entry) = self.entries.get_mut(place) {
            self.places.remove(&entry.key);
            self.len -= entry.contents.capacity() + ENTRY_LEN;
            entry.contents = Vec::new();
            self.free.push(place);
        }
    }

    /// Puts an entry at the end of the ring where those used last are.
    fn link(&mut self, place: usize) {
        let last = self.entries.first().map_or(SEAM, |seam| seam.earlier);
        self.join(last, place);
        self.join(place, SEAM);
    }

    fn unlink(&mut self, place: usize) {
        if let Some(entry) = self.entries.get(place) {
            let (earlier, later) = (entry.earlier, entry.later);
            self.join(earlier, later);
        }
    }

    fn join(&mut self, earlier: usize, later: usize) {
        if let Some(entry) = self.entries.get_mut(earlier) {
            entry.later = later;
        }
        if let Some(entry) = self.entries.get_mut(later) {
            entry.earlier = earlier;
        }
    }
}

/// Mixes the two numbers of a key; nobody gains by making them collide, since the cache is small.
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
