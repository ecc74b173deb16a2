//! Tag objects, as far as names need them.

use gix_hash::{ObjectId, oid};
use gix_object::Kind;

use vigil_git::objects::Link;
use vigil_git::objects::{Error, Objects, Tag};

/// Where a chain of tag objects ends.
pub(super) struct Peeled {
    /// What the last tag points to.
    pub(super) target: ObjectId,
    /// The type of that, as the last tag says.
    pub(super) kind: Kind,
    /// The first tag.
    pub(super) first: Tag,
    /// The time of the last tag.
    pub(super) time_s: u64,
}

/// The type of the object `id`, if there is one, and where it leads as a tag: `None` where it is none, or a tag on the way
/// is missing or damaged, which is said. Of any other type, nothing more is read.
pub(super) fn peel(
    id: &oid,
    objects: &Objects,
    buf: &mut Vec<u8>,
) -> Result<(Option<Kind>, Option<Peeled>), Error> {
    let (kind, peeled) = objects.lead(id, buf)?;
    let peeled = peeled.map(|(first, last)| Peeled::new(first, last));
    Ok((kind, peeled))
}

/// Reads the tag objects `ids` on all cores, in their order. There is none of what is no tag, or cannot be read, of which
/// nothing is said.
pub(super) fn read_each(ids: &[ObjectId], objects: &Objects) -> Vec<Option<Tag>> {
    let hash = objects.hash_kind();
    objects.read_each(ids, Kind::Tag, &|_, content| Tag::parse(content, hash).ok())
}

/// Follows the tag object `id`, which was read ahead and is `first`; `None` where one on the way is missing or damaged.
pub(super) fn follow(
    id: &oid,
    first: Tag,
    objects: &Objects,
    buf: &mut Vec<u8>,
) -> Result<Option<Peeled>, Error> {
    let Some(first) = objects.believe(id, first) else {
        return Ok(None);
    };
    let last = objects.follow(&first, buf)?;
    Ok(last.map(|last| Peeled::new(first, last)))
}

impl Peeled {
    fn new(first: Tag, last: Link) -> Self {
        Self {
            target: last.target,
            kind: last.kind,
            time_s: last.time_s,
            first,
        }
    }
}
