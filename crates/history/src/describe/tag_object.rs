//! Tag objects, as far as names need them.

use gix_hash::{ObjectId, oid};
use gix_object::Kind;

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
/// is missing or does not follow the format. Of any other type, nothing more is read.
pub(super) fn peel(
    id: &oid,
    objects: &Objects,
    buf: &mut Vec<u8>,
) -> Result<(Option<Kind>, Option<Peeled>), Error> {
    let kind = objects.read_if(id, Kind::Tag, buf)?;
    let peeled = match kind {
        Some(Kind::Tag) => match Tag::parse(buf, objects.hash_kind()) {
            Ok(first) => follow(first, objects, buf)?,
            Err(_) => None,
        },
        _ => None,
    };
    Ok((kind, peeled))
}

/// Reads the tag objects `ids` on all cores, in their order. There is none of what is no tag, or cannot be read, of which
/// nothing is said.
pub(super) fn read_each(ids: &[ObjectId], objects: &Objects) -> Vec<Option<Tag>> {
    let hash = objects.hash_kind();
    objects.read_each(ids, Kind::Tag, &|_, content| Tag::parse(content, hash).ok())
}

/// Follows the tag object `first`; `None` where one on the way is missing or does not follow the format.
pub(super) fn follow(
    first: Tag,
    objects: &Objects,
    buf: &mut Vec<u8>,
) -> Result<Option<Peeled>, Error> {
    let last = objects.follow(&first, buf)?;
    Ok(last.map(|last| Peeled {
        target: last.target,
        kind: last.kind,
        time_s: last.time_s,
        first,
    }))
}
