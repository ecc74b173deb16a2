//! Where the references are that may lead to an object, without the name or the id of any.

/// Where a reference is found again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reference {
    /// Its name has this number.
    Named(u32),
    /// It is packed, and its record starts here.
    Packed(u32),
}

/// References by the first bytes of the id to which they lead.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// In byte order.
    all: Vec<Entry>,
    /// The last one of each bucket, by the last bits of the first bytes.
    last: Vec<Link>,
}

/// The number of an entry.
type Link = u32;

/// That of no entry. Not zero, lest pages of empty buckets be got twice from the system: to be read, and to be written.
const NONE: Link = Link::MAX;

#[derive(Debug)]
struct Entry {
    reference: Reference,
    first: u32,
    /// The one before it in its bucket.
    before: Link,
}

/// How many buckets there are at first, and how many times as many when they are full. Powers of two.
const BUCKETS_MIN: usize = 64;
const GROWTH: usize = 4;

impl Index {
    /// Adds a reference behind all others, with the first bytes of the id to which it leads.
    pub(super) fn add(&mut self, first: u32, reference: Reference) {
        if self.all.len() == self.last.len() {
            self.last = vec![NONE; (self.last.len() * GROWTH).max(BUCKETS_MIN)];
            for (number, entry) in (0..).zip(&mut self.all) {
                entry.before = replace_last(&mut self.last, entry.first, number);
            }
        }
        // There is no room for as many.
        let number = Link::try_from(self.all.len()).unwrap_or(NONE);
        self.all.push(Entry {
            reference,
            first,
            before: replace_last(&mut self.last, first, number),
        });
    }

    /// The references that lead to ids with these first bytes, the last first.
    pub(super) fn find(&self, first: u32) -> impl Iterator<Item = Reference> {
        let entry = |link: Link| self.all.get(usize::try_from(link).ok()?);
        let last = bucket_of(first, self.last.len()).and_then(|bucket| self.last.get(bucket));
        std::iter::successors(last.and_then(|last| entry(*last)), move |known| {
            entry(known.before)
        })
        .filter(move |known| known.first == first)
        .map(|known| known.reference)
    }
}

/// Makes `new` the last one of its bucket; returns which was that before.
fn replace_last(last: &mut [Link], first: u32, new: Link) -> Link {
    let bucket = bucket_of(first, last.len()).and_then(|bucket| last.get_mut(bucket));
    bucket.map_or(NONE, |last| std::mem::replace(last, new))
}

/// Ids are evenly spread.
fn bucket_of(first: u32, count: usize) -> Option<usize> {
    Some(usize::try_from(first).ok()? & count.checked_sub(1)?)
}

/// How many digits of ids are looked at.
const DIGITS: usize = 8;

/// The first bytes of the id that begins with these lower-case digits; all are taken at once.
pub(super) fn first_bytes_of_hex(digits: &[u8]) -> Option<u32> {
    const EACH: u64 = u64::from_ne_bytes([1; DIGITS]);
    let digits = u64::from_be_bytes(*digits.first_chunk::<DIGITS>()?);
    // Letters, and they alone, have bit 6 set, and the last four bits of `a` are 1.
    let values = (digits & (0xf * EACH)) + 9 * ((digits >> 6) & EACH);
    let pairs = (values | values >> 4) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs | pairs >> 8) & 0x0000_ffff_0000_ffff;
    u32::try_from((fours | fours >> 16) & 0xffff_ffff).ok()
}

#[cfg(test)]
mod tests {
    use gix_hash::ObjectId;

    use super::*;
    use crate::commits::first_bytes;

    #[test]
    fn first_bytes_are_those_of_the_digits() {
        for hex in [
            "0123456789abcdeffedcba987654321001234567",
            "89abcdef01234567fedcba987654321001234567",
            "fedcba98765432100123456789abcdef01234567",
            "ffffffffffffffffffffffffffffffffffffffff",
            "0000000000000000000000000000000000000000",
        ] {
            let id = ObjectId::from_hex(hex.as_bytes()).unwrap();
            assert_eq!(first_bytes_of_hex(hex.as_bytes()), Some(first_bytes(&id)));
        }
        assert_eq!(first_bytes_of_hex(b"0123456"), None);
    }

    #[test]
    fn references_are_found_by_the_first_bytes_in_an_index_of_any_size() {
        let mut index = Index::default();
        assert_eq!(index.find(0).count(), 0);
        // Some are alike, others only share a bucket.
        let first_of = |number: u32| (number % 70) << 4;
        for count in 0..400 {
            for first in [0, 1 << 4, 69 << 4, 70 << 4] {
                let found: Vec<_> = index.find(first).collect();
                let numbers = (0..count).rev().filter(|number| first_of(*number) == first);
                assert_eq!(found, numbers.map(Reference::Packed).collect::<Vec<_>>());
            }
            index.add(first_of(count), Reference::Packed(count));
        }
    }
}
