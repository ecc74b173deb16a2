//! Tag objects, and where chains of them lead.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use bstr::{BStr, BString, ByteSlice};
use gix_hash::{Kind as Hash, ObjectId, oid};
use gix_object::Kind;
use parking_lot::Mutex;

use super::{Error, Objects, Reader, commit};
use vigil_model::id_hasher::IdHasher;

/// The least length of a tag object, beside the digits of an id.
const LENGTH_MIN: usize = 24;

/// The most letters of a type.
const TYPE_LENGTH_MAX: usize = 19;

/// What a tag object says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tag {
    /// What it points to.
    pub target: ObjectId,
    /// The type of that, as it says.
    pub(crate) target_kind: Kind,
    /// The name it gives itself.
    pub name: BString,
    /// The tagger's time in seconds since 1970; 0 where there is none.
    pub time_s: u64,
}

/// What is wrong with a tag object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoTag<'a> {
    /// It does not follow the format, of which git says nothing.
    Malformed,
    /// It points to what no object is.
    UnknownKind(&'a BStr),
}

impl Tag {
    /// Takes apart the contents of a tag object, in the order in which git does.
    pub fn parse(content: &[u8], hash: Hash) -> Result<Self, NoTag<'_>> {
        if content.len() < hash.len_in_hex().saturating_add(LENGTH_MIN) {
            return Err(NoTag::Malformed);
        }
        let target = commit::first_id(b"object ", content, hash).ok_or(NoTag::Malformed)?;
        let head = b"object ".len().saturating_add(hash.len_in_hex());
        let rest = content.get(head..).unwrap_or_default();
        let rest = rest.strip_prefix(b"\ntype ").ok_or(NoTag::Malformed)?;
        let (kind, rest) = split_at_byte(rest, b'\n').ok_or(NoTag::Malformed)?;
        if kind.len() > TYPE_LENGTH_MAX {
            return Err(NoTag::Malformed);
        }
        // git reads it as a C string.
        let kind = kind.split(|byte| *byte == 0).next().unwrap_or_default();
        let target_kind = Kind::from_bytes(kind).map_err(|_| NoTag::UnknownKind(kind.as_bstr()))?;
        let rest = rest.strip_prefix(b"tag ").filter(|rest| !rest.is_empty());
        let (name, rest) = rest
            .and_then(|rest| split_at_byte(rest, b'\n'))
            .ok_or(NoTag::Malformed)?;
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        Ok(Self {
            target,
            target_kind,
            name: name.into(),
            time_s: rest.strip_prefix(b"tagger ").map_or(0, tagger_time_s),
        })
    }

    fn link(&self) -> Link {
        Link {
            target: self.target,
            kind: self.target_kind,
            time_s: self.time_s,
        }
    }
}

/// What is before and behind the first `byte`. To search for a text, even of one byte, takes longer where tags are many.
fn split_at_byte(text: &[u8], byte: u8) -> Option<(&[u8], &[u8])> {
    let (before, rest) = text.split_at_checked(text.find_byte(byte)?)?;
    Some((before, rest.get(1..)?))
}

/// The number behind the first `>`, in a line that ends.
fn tagger_time_s(text: &[u8]) -> u64 {
    let Some((_, time)) = split_at_byte(text, b'>') else {
        return 0;
    };
    let Some((time, _)) = split_at_byte(time, b'\n') else {
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

/// Where a tag leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// What it points to.
    pub target: ObjectId,
    /// The type of that, as it says.
    pub kind: Kind,
    /// The tagger's time in seconds since 1970; 0 where there is none.
    pub time_s: u64,
}

/// Notices a walk from object to object that comes round: objects that stand for others may lead in circles. It holds one
/// id, however long the walk is, and lets it go round a few times (Brent's algorithm).
#[derive(Debug, Default)]
pub struct Circle {
    mark: Option<ObjectId>,
    steps: u64,
    /// After so many steps the mark is moved to where the walk is.
    until: u64,
}

impl Circle {
    /// Whether the walk, which now comes to `id`, goes round.
    pub fn is_closed_by(&mut self, id: &oid) -> bool {
        if self.mark.as_ref().is_some_and(|mark| **mark == *id) {
            return true;
        }
        self.steps = self.steps.saturating_add(1);
        if self.steps > self.until {
            self.until = self.until.saturating_mul(2).max(1);
            self.steps = 0;
            self.mark = Some(id.to_owned());
        }
        false
    }
}

/// Where tags lead to which other tags point, as far as they were read: each reference may begin a chain, and these may
/// have all but their first tags in common.
#[derive(Debug, Default)]
pub(super) struct Chains(Mutex<HashMap<ObjectId, Link, BuildHasherDefault<IdHasher>>>);

impl Chains {
    /// Forgets all, since objects may be gone or back.
    pub(super) fn forget(&self) {
        *self.0.lock() = HashMap::default();
    }
}

impl Objects {
    /// The tag object `id`. `None` where there is none that is one.
    pub fn tag(&self, id: &oid, buf: &mut Vec<u8>) -> Result<Option<Tag>, Error> {
        let kind = self.read_found(id, buf, Reader::find, |_| true)?;
        if kind != Some(Kind::Tag) {
            return Ok(None);
        }
        Ok(Tag::parse(buf, self.hash_kind()).ok())
    }

    /// Where the tag object `first` leads in the end; `None` where one on the way is missing or damaged.
    pub fn follow(&self, first: &Tag, buf: &mut Vec<u8>) -> Result<Option<Link>, Error> {
        let mut link = first.link();
        let mut circle = Circle::default();
        while link.kind == Kind::Tag {
            let id = link.target;
            if circle.is_closed_by(&id) {
                return Ok(None);
            }
            let known = self.chains.0.lock().get(&id).copied();
            link = match known {
                Some(known) => known,
                None => match self.tag(&id, buf)? {
                    Some(tag) => {
                        self.chains.0.lock().insert(id, tag.link());
                        tag.link()
                    }
                    None => return Ok(None),
                },
            };
        }
        Ok(Some(link))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(rest: &str) -> Option<Tag> {
        let text = format!("object {}\n{rest}", "1".repeat(40));
        Tag::parse(text.as_bytes(), Hash::Sha1).ok()
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

    #[test]
    fn circles_are_noticed_and_lines_are_none() {
        let id = |number: usize| {
            let mut id = [0; 20];
            id[..8].copy_from_slice(&number.to_be_bytes());
            ObjectId::Sha1(id)
        };
        let mut line = Circle::default();
        assert!((0..1000).all(|number| !line.is_closed_by(&id(number))));
        for (before, round) in [(0, 1), (0, 7), (5, 1), (100, 33), (3, 1000)] {
            let mut circle = Circle::default();
            let walk = (0..before).chain((before..before + round).cycle());
            let steps = walk.map(id).take_while(|id| !circle.is_closed_by(id));
            let steps = steps.take(10_000).count();
            assert!(
                steps >= before + round && steps <= 4 * (before + round),
                "{steps}"
            );
        }
    }
}
