//! Reads tag objects, as far as names need them.

use gix_hash::{ObjectId, oid};
use gix_object::Kind;

use vigil_git::objects::TagLink;
use vigil_git::objects::{Error, Objects, Tag};

/// The end of a chain of tag objects.
pub(super) struct Peeled {
    /// The object that the last tag points to.
    pub(super) target: ObjectId,
    /// The type of that object, as the last tag has it.
    pub(super) kind: Kind,
    /// The first tag.
    pub(super) first: Tag,
    /// The time of the last tag.
    pub(super) time_s: u64,
}

/// Returns the type of the object `id`, if it exists, and the end of its chain if it is a tag: `None` if it is not a
/// tag, or if a tag in the chain is missing or damaged, which is reported. An object of another type is not read
/// further.
pub(super) fn peel(
    id: &oid,
    objects: &Objects,
    buf: &mut Vec<u8>,
) -> Result<(Option<Kind>, Option<Peeled>), Error> {
    let (kind, peeled) = objects.peel_with_first(id, buf)?;
    let peeled = peeled.map(|(first, last)| Peeled::new(first, last));
    Ok((kind, peeled))
}

/// Reads the tag objects `ids` on all cores, in their order. `None` for an object that is not a tag, or cannot be read;
/// there are no messages about it.
pub(super) fn read_each(ids: &[ObjectId], objects: &Objects) -> Vec<Option<Tag>> {
    let hash = objects.hash_kind();
    objects.read_each(ids, Kind::Tag, &|_, content| Tag::parse(content, hash).ok())
}

/// As [`read_each`], for objects of any type, which is returned, too.
pub(super) fn read_each_tag(
    ids: &[ObjectId],
    objects: &Objects,
) -> Vec<Option<(Kind, Option<Tag>)>> {
    let hash = objects.hash_kind();
    objects.read_each_of_kind(ids, Kind::Tag, &|_, content| Tag::parse(content, hash).ok())
}

/// Follows the tag object `id`, which was read ahead as `first`. `None` if a tag in the chain is missing or damaged.
pub(super) fn follow(
    id: &oid,
    first: Tag,
    objects: &Objects,
    buf: &mut Vec<u8>,
) -> Result<Option<Peeled>, Error> {
    let Some(first) = objects.accept_tag(id, first) else {
        return Ok(None);
    };
    let last = objects.follow_chain(&first, buf)?;
    Ok(last.map(|last| Peeled::new(first, last)))
}

impl Peeled {
    fn new(first: Tag, last: TagLink) -> Self {
        Self {
            target: last.target,
            kind: last.kind,
            time_s: last.time_s,
            first,
        }
    }
}
