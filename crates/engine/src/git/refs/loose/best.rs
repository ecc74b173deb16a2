//! Which of many tag objects that lead to one object is the best name of it: to tell, all of them are read, and what they
//! say never changes (docs/state-file.md).

use gix_hash::{Kind, ObjectId, oid};
use vigil_model::state_layout::checksum;

use vigil_model::bytes::{Reader, Writer};

/// The block that holds them.
pub(super) const KEY: u32 = 1;

/// How many are kept.
const MAX: usize = 16;

/// A comparison of tag objects, and how it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BestTag {
    /// The checksum over the object and the tags that were compared.
    of: u64,
    tag: ObjectId,
}

impl BestTag {
    /// Of `tags`, in the order in which they are compared, `tag` is the best name of `object`.
    pub(crate) fn new<'i>(
        object: &oid,
        tags: impl IntoIterator<Item = &'i ObjectId>,
        tag: ObjectId,
    ) -> Self {
        let of = checksum_of(object, tags);
        Self { of, tag }
    }
}

fn checksum_of<'i>(object: &oid, tags: impl IntoIterator<Item = &'i ObjectId>) -> u64 {
    let mut ids = object.as_bytes().to_vec();
    for tag in tags {
        ids.extend_from_slice(tag.as_bytes());
    }
    checksum(&ids)
}

/// The one of `tags` that was the best name of `object` when these were compared.
pub(super) fn find<'i>(
    known: &[BestTag],
    object: &oid,
    tags: impl IntoIterator<Item = &'i ObjectId>,
) -> Option<ObjectId> {
    if known.is_empty() {
        return None;
    }
    let of = checksum_of(object, tags);
    known
        .iter()
        .find(|known| known.of == of)
        .map(|known| known.tag)
}

/// Those in `block`; none if it does not have the format.
pub(super) fn read(block: &[u8], hash: Kind) -> Vec<BestTag> {
    let mut bytes = Reader(block);
    let mut next = || {
        let of = u64::from_le_bytes(bytes.array()?);
        let tag = ObjectId::try_from(bytes.take(hash.len_in_bytes())?).ok()?;
        Some(BestTag { of, tag })
    };
    std::iter::from_fn(&mut next).take(MAX).collect()
}

/// The tags in `block`.
#[cfg(feature = "fuzzing")]
pub(crate) fn tags_in(block: &[u8], hash: Kind) -> Vec<ObjectId> {
    let all = read(block, hash);
    all.into_iter().map(|best| best.tag).collect()
}

/// The block that holds those `learned`, and of the ones `known` before as many as are kept.
pub(super) fn write(learned: &[BestTag], known: &[BestTag]) -> Vec<u8> {
    let mut out = Writer::default();
    let older = known.iter().filter(|known| !learned.contains(known));
    for best in learned.iter().chain(older).take(MAX) {
        out.array(&best.of.to_le_bytes());
        out.0.extend_from_slice(best.tag.as_bytes());
    }
    out.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_are_kept_and_found_by_what_was_compared() {
        let id = |byte: u8| ObjectId::Sha1([byte; 20]);
        let tags = [id(1), id(2), id(3)];
        let best = |object: u8| BestTag::new(&id(object), &tags, id(2));
        let mut known = Vec::new();
        for object in 10..40 {
            known = read(&write(&[best(object)], &known), Kind::Sha1);
        }
        assert_eq!(known.len(), MAX);
        assert_eq!(find(&known, &id(39), &tags), Some(id(2)));
        assert_eq!(find(&known, &id(39), &tags[1..]), None);
        assert_eq!(find(&known, &id(39), [&id(2), &id(1), &id(3)]), None);
        assert_eq!(find(&known, &id(10), &tags), None);
        let block = write(&known, &[]);
        assert_eq!(
            read(&block[..block.len() - 1], Kind::Sha1),
            known[..MAX - 1]
        );
        assert_eq!(write(&known[..1], &known), block);
    }
}
