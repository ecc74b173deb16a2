//! References by the object that they lead to, without storing names or ids.

/// Where to find a reference again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reference {
    /// Among the names, with this number.
    Named(u32),
    /// Among the packed ones: its record starts here.
    Packed(u32),
}

/// References by the first bytes of the id that they lead to.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// All references, in byte order.
    all: Vec<Entry>,
    /// The last entry of each bucket. The low bits of the first bytes select a bucket.
    last: Vec<Link>,
}

/// The index of an entry.
type Link = u32;

/// The link to no entry. It is not 0, because the pages of empty buckets would then fault twice: when first read, and
/// when first written.
const NONE: Link = Link::MAX;

#[derive(Debug)]
struct Entry {
    reference: Reference,
    first: u32,
    /// The entry before this one in its bucket.
    before: Link,
}

/// The initial number of buckets, and the factor by which it grows when they are full. Powers of two.
const BUCKETS_MIN: usize = 64;
const GROWTH: usize = 4;

impl Index {
    /// Adds a reference after all others, with the first bytes of the id that it leads to.
    pub(super) fn add(&mut self, first: u32, reference: Reference) {
        if self.all.len() == self.last.len() {
            self.last = vec![NONE; (self.last.len() * GROWTH).max(BUCKETS_MIN)];
            for (number, entry) in (0..).zip(&mut self.all) {
                entry.before = replace_last(&mut self.last, entry.first, number);
            }
        }
        // There is no memory for so many.
        let number = Link::try_from(self.all.len()).unwrap_or(NONE);
        self.all.push(Entry {
            reference,
            first,
            before: replace_last(&mut self.last, first, number),
        });
    }

    /// Returns the references that lead to ids with these first bytes, the last first.
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

/// Makes `new` the last entry of its bucket. Returns the previous one.
fn replace_last(last: &mut [Link], first: u32, new: Link) -> Link {
    let bucket = bucket_of(first, last.len()).and_then(|bucket| last.get_mut(bucket));
    bucket.map_or(NONE, |last| std::mem::replace(last, new))
}

/// Returns the bucket. Ids are evenly distributed, so that the low bits are enough.
fn bucket_of(first: u32, count: usize) -> Option<usize> {
    Some(usize::try_from(first).ok()? & count.checked_sub(1)?)
}

/// The number of digits of ids that are used.
const DIGITS: usize = 8;

/// Returns the first bytes of the id that begins with these lower-case digits, all of which are converted at once.
pub(super) fn first_bytes_of_hex(digits: &[u8]) -> Option<u32> {
    const EACH: u64 = u64::from_ne_bytes([1; DIGITS]);
    let digits = u64::from_be_bytes(*digits.first_chunk::<DIGITS>()?);
    // Only letters have bit 6 set, and the low four bits of `a` are 1.
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
