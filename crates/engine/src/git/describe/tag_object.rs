//! Tag objects, as far as names need them.

use bstr::{BString, ByteSlice};
use gix_hash::{Kind as Hash, ObjectId, oid};
use gix_object::Kind;

use crate::git::objects::{Error, Objects};

/// The least length of a tag object, beside the digits of an id.
const LENGTH_MIN: usize = 24;

/// The most letters of a type.
const TYPE_LENGTH_MAX: usize = 19;

/// How many tags may lead from one to the next.
const DEPTH_MAX: usize = 64;

/// What a tag object says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TagObject {
    /// What it points to.
    pub(super) target: ObjectId,
    /// The type of that, as it says.
    pub(super) target_kind: Kind,
    /// The name it gives itself.
    pub(super) name: BString,
    /// The tagger's time in seconds since 1970; 0 where there is none.
    pub(super) time_s: u64,
}

impl TagObject {
    /// Reads the tag object `id`; `None` where there is no such, or it does not follow the format.
    pub(super) fn read(
        id: &oid,
        objects: &Objects,
        buf: &mut Vec<u8>,
    ) -> Result<Option<Self>, Error> {
        Ok(Self::read_as(id, objects, buf)?.1)
    }

    /// The same, after the type of the object `id`, if there is one: of any other type, nothing more is read.
    fn read_as(
        id: &oid,
        objects: &Objects,
        buf: &mut Vec<u8>,
    ) -> Result<(Option<Kind>, Option<Self>), Error> {
        let kind = objects.read_if(id, Kind::Tag, buf)?;
        let tag = match kind {
            Some(Kind::Tag) => Self::parse(buf, objects.hash_kind()),
            _ => None,
        };
        Ok((kind, tag))
    }

    /// Takes apart the contents of a tag object.
    fn parse(content: &[u8], hash: Hash) -> Option<Self> {
        if content.len() < hash.len_in_hex().saturating_add(LENGTH_MIN) {
            return None;
        }
        let rest = content.strip_prefix(b"object ")?;
        let (hex, rest) = rest.split_at_checked(hash.len_in_hex())?;
        let target = ObjectId::from_hex(hex).ok()?;
        let (kind, rest) = rest.strip_prefix(b"\ntype ")?.split_once_str("\n")?;
        if kind.len() > TYPE_LENGTH_MAX {
            return None;
        }
        let target_kind = Kind::from_bytes(kind).ok()?;
        let (name, rest) = rest.strip_prefix(b"tag ")?.split_once_str("\n")?;
        Some(Self {
            target,
            target_kind,
            name: name.split(|byte| *byte == 0).next()?.into(),
            time_s: rest.strip_prefix(b"tagger ").map_or(0, tagger_time_s),
        })
    }
}

/// The number behind the first `>`, in a line that ends.
fn tagger_time_s(text: &[u8]) -> u64 {
    let Some((_, time)) = text.split_once_str(">") else {
        return 0;
    };
    let Some((time, _)) = time.split_once_str("\n") else {
        return 0;
    };
    let digits = time
        .trim_ascii_start()
        .iter()
        .take_while(|byte| byte.is_ascii_digit());
    digits.fold(0, |number: u64, digit| {
        let digit = digit.saturating_sub(b'0');
        number.saturating_mul(10).saturating_add(digit.into())
    })
}

/// Where a chain of tag objects ends.
pub(super) struct Peeled {
    /// What the last tag points to.
    pub(super) target: ObjectId,
    /// The type of that, as the last tag says.
    pub(super) kind: Kind,
    /// The first tag.
    pub(super) first: TagObject,
    /// The time of the last tag.
    pub(super) time_s: u64,
}

/// The type of the object `id`, if there is one, and where it leads as a tag: `None` where it is none, or a tag on the way
/// is missing or does not follow the format.
pub(super) fn peel(
    id: &oid,
    objects: &Objects,
    buf: &mut Vec<u8>,
) -> Result<(Option<Kind>, Option<Peeled>), Error> {
    let (kind, first) = TagObject::read_as(id, objects, buf)?;
    let peeled = match first {
        Some(first) => follow(first, objects, buf)?,
        None => None,
    };
    Ok((kind, peeled))
}

/// Reads the tag objects `ids` on all cores, in their order. There is none of what is no tag, or cannot be read, of which
/// nothing is said.
pub(super) fn read_each(ids: &[ObjectId], objects: &Objects) -> Vec<Option<TagObject>> {
    let hash = objects.hash_kind();
    objects.read_each(ids, Kind::Tag, &|_, content| {
        TagObject::parse(content, hash)
    })
}

/// Follows the tag object `first`; `None` where one on the way is missing or does not follow the format.
pub(super) fn follow(
    first: TagObject,
    objects: &Objects,
    buf: &mut Vec<u8>,
) -> Result<Option<Peeled>, Error> {
    let mut peeled = Peeled {
        target: first.target,
        kind: first.target_kind,
        time_s: first.time_s,
        first,
    };
    for _ in 0..DEPTH_MAX {
        if peeled.kind != Kind::Tag {
            return Ok(Some(peeled));
        }
        let Some(next) = TagObject::read(&peeled.target, objects, buf)? else {
            return Ok(None);
        };
        peeled.target = next.target;
        peeled.kind = next.target_kind;
        peeled.time_s = next.time_s;
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(rest: &str) -> Option<TagObject> {
        let text = format!("object {}\n{rest}", "1".repeat(40));
        TagObject::parse(text.as_bytes(), Hash::Sha1)
    }

    #[test]
    fn a_tag_is_taken_apart() {
        let tag = parse("type commit\ntag v1\ntagger A <a> 1234 +0000\n\ntext\n").unwrap();
        assert_eq!(tag.target.to_string(), "1".repeat(40));
        assert_eq!(tag.target_kind, Kind::Commit);
        assert_eq!((tag.name, tag.time_s), ("v1".into(), 1234));
        assert_eq!(parse("type commit\ntag v1\n\ntext\n").unwrap().time_s, 0);
    }

    #[test]
    fn what_breaks_the_format_is_no_tag() {
        for rest in [
            "type other\ntag v1\n",
            "type commit\n",
            "type commit\ntag v1",
            "kind commit\ntag v1\n",
        ] {
            assert_eq!(parse(rest), None, "{rest}");
        }
    }
}
