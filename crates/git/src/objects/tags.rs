//! Tag objects, and where chains of them lead.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use bstr::{BStr, BString, ByteSlice};
use gix_hash::{Kind as Hash, ObjectId, oid};
use gix_object::Kind;
use parking_lot::Mutex;

use super::{Error, Objects, commit};
use vigil_model::c_string::until_nul;
use vigil_model::id_hasher::IdHasher;
use vigil_model::raw_text::raw;

/// The minimum length of a tag object, without the digits of an id.
const LENGTH_MIN: usize = 24;

/// The longest name of a type.
const TYPE_LENGTH_MAX: usize = 19;

/// The contents of a tag object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tag {
    /// The object that it points to.
    pub target: ObjectId,
    /// The type that the tag gives for the target.
    pub(crate) target_kind: Kind,
    /// The tag's name, as it gives it itself.
    pub name: BString,
    /// The tagger's time in seconds since 1970; 0 if there is none.
    pub time_s: u64,
}

/// What is wrong with a tag object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TagError<'a> {
    /// A format error, for which git has no message.
    Malformed,
    /// The type that it gives for its target does not exist.
    UnknownKind(&'a BStr),
}

impl Tag {
    /// Parses the contents of a tag object, checking in git's order.
    ///
    /// # Errors
    /// They are not those of a tag.
    pub fn parse(content: &[u8], hash: Hash) -> Result<Self, TagError<'_>> {
        if content.len() < hash.len_in_hex().saturating_add(LENGTH_MIN) {
            return Err(TagError::Malformed);
        }
        let target = commit::first_id(b"object ", content, hash).ok_or(TagError::Malformed)?;
        let head = b"object ".len().saturating_add(hash.len_in_hex());
        let rest = content.get(head..).unwrap_or_default();
        let rest = rest.strip_prefix(b"\ntype ").ok_or(TagError::Malformed)?;
        let (kind, rest) = split_at_byte(rest, b'\n').ok_or(TagError::Malformed)?;
        if kind.len() > TYPE_LENGTH_MAX {
            return Err(TagError::Malformed);
        }
        // git reads it as a C string.
        let kind = until_nul(kind);
        let target_kind =
            Kind::from_bytes(kind).map_err(|_| TagError::UnknownKind(kind.as_bstr()))?;
        let rest = rest.strip_prefix(b"tag ").filter(|rest| !rest.is_empty());
        let (name, rest) = rest
            .and_then(|rest| split_at_byte(rest, b'\n'))
            .ok_or(TagError::Malformed)?;
        let name = until_nul(name);
        Ok(Self {
            target,
            target_kind,
            name: name.into(),
            time_s: rest.strip_prefix(b"tagger ").map_or(0, tagger_time_s),
        })
    }

    fn link(&self) -> TagLink {
        TagLink {
            target: self.target,
            kind: self.target_kind,
            time_s: self.time_s,
        }
    }
}

/// Splits at the first `byte`. Searching for a text instead, even of one byte, takes longer with many tags.
fn split_at_byte(text: &[u8], byte: u8) -> Option<(&[u8], &[u8])> {
    let (before, rest) = text.split_at_checked(text.find_byte(byte)?)?;
    Some((before, rest.get(1..)?))
}

/// Parses the number after the first `>`, in a line that ends.
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

/// The link from a tag to its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TagLink {
    /// The object that it points to.
    pub target: ObjectId,
    /// The type that the tag gives for the target.
    pub kind: Kind,
    /// The tagger's time in seconds since 1970; 0 if there is none.
    pub time_s: u64,
}

/// A tag, and the last link of its chain.
pub(super) type PeeledTag = (Tag, TagLink);

/// Detects a walk from object to object that goes in a circle, which replacements make possible. It holds only one id,
/// however long the walk is, and may need a few rounds to notice (Brent's algorithm).
#[derive(Debug, Default)]
pub struct Circle {
    mark: Option<ObjectId>,
    steps: u64,
    /// The number of steps after which the mark moves to the walk's current position.
    until: u64,
}

impl Circle {
    /// Whether the walk, which now reaches `id`, goes in a circle.
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

/// Where tags that other tags point to lead, as far down their chains as was read. Each reference may begin a chain, and
/// chains may share all but their first tag.
#[derive(Debug, Default)]
pub(super) struct Chains(Mutex<HashMap<ObjectId, TagLink, BuildHasherDefault<IdHasher>>>);

impl Chains {
    /// Forgets everything, since objects may have disappeared or come back.
    pub(super) fn forget(&self) {
        *self.0.lock() = HashMap::default();
    }
}

/// A parsed object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// A tag.
    Tag(Tag),
    /// A commit with this tree.
    Commit(ObjectId),
    /// An object of another type.
    Other(Kind),
}

impl Parsed {
    /// The type of the object.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Tag(_) => Kind::Tag,
            Self::Commit(_) => Kind::Commit,
            Self::Other(kind) => *kind,
        }
    }
}

impl Objects {
    /// Reads and parses the object `id` as git does, with git's messages. `None` if anything is wrong: its contents may
    /// not match the id, break the format, or be of another type than claimed before.
    ///
    /// # Errors
    /// The object cannot be read, or replacements form a circle.
    pub fn parse(&self, id: &oid, buf: &mut Vec<u8>) -> Result<Option<Parsed>, Error> {
        let asks_kind = matches!(self.known.kind(id), None | Some(Kind::Blob));
        self.parse_read(id, buf, asks_kind)
    }

    /// As [`Self::parse`]. Without `asks_kind`, git already knows the type, and does not ask for it before it reads.
    fn parse_read(
        &self,
        id: &oid,
        buf: &mut Vec<u8>,
        asks_kind: bool,
    ) -> Result<Option<Parsed>, Error> {
        let Some(kind) = self.read_checked(id, buf, asks_kind)? else {
            return Ok(None);
        };
        if let Err(known) = self.known.note(id, kind) {
            self.add_error(Error::contradiction(id, known, kind));
            return Ok(None);
        }
        Ok(match kind {
            Kind::Tag => self.parse_tag(id, buf).map(Parsed::Tag),
            Kind::Commit => match self.parse_links(id, buf) {
                Ok(links) => {
                    self.history.check()?;
                    let _ = self.known.note(&links.tree, Kind::Tree);
                    links.parents().for_each(|id| self.note_commit(&id));
                    Some(Parsed::Commit(links.tree))
                }
                Err(error) => {
                    self.add_error(error);
                    None
                }
            },
            Kind::Tree | Kind::Blob => Some(Parsed::Other(kind)),
        })
    }

    /// Parses the tag object `id`, whose contents are `content`.
    fn parse_tag(&self, id: &oid, content: &[u8]) -> Option<Tag> {
        match Tag::parse(content, self.hash_kind()) {
            Ok(tag) => self.accept_tag(id, tag),
            Err(TagError::Malformed) => None,
            Err(TagError::UnknownKind(kind)) => {
                self.add_message(format!(
                    "error: unknown tag type '{kind}' in {id}",
                    kind = raw(kind)
                ));
                None
            }
        }
    }

    /// Returns the tag object `id`, unless it gives another type for its target than is known.
    pub fn accept_tag(&self, id: &oid, tag: Tag) -> Option<Tag> {
        let Tag {
            target,
            target_kind,
            ..
        } = tag;
        if let Err(known) = self.known.note_claim(&target, target_kind) {
            self.add_error(Error::contradiction(&target, known, target_kind));
            self.add_message(format!("error: bad tag pointer to {target} in {id}"));
            return None;
        }
        Some(tag)
    }

    /// Reads the object `id`, which should be a tag; its contents are not checked against the id.
    ///
    /// # Errors
    /// The object is damaged, or replacements form a circle.
    pub fn tag(&self, id: &oid, buf: &mut Vec<u8>) -> Result<Option<Tag>, Error> {
        Ok(match self.read(id, buf)? {
            Some(Kind::Tag) => self.parse_tag(id, buf),
            Some(_) => {
                self.add_message(format!("error: Object {id} not a tag"));
                None
            }
            None => {
                self.add_message(format!("error: Could not read {id}"));
                None
            }
        })
    }

    /// Returns the type of the object `id`, if it is known or can be read, and for a tag, where it leads. The latter is
    /// `None`, with a message, if a tag on the way is missing or damaged.
    ///
    /// # Errors
    /// An object on the way cannot be read, or replacements form a circle.
    pub fn peel_with_first(
        &self,
        id: &oid,
        buf: &mut Vec<u8>,
    ) -> Result<(Option<Kind>, Option<PeeledTag>), Error> {
        let known = self.known.kind(id);
        if known.is_some_and(|known| known != Kind::Tag) {
            return Ok((known, None));
        }
        let sound = self.read_sound(id, Kind::Tag, buf);
        let kind = match known.or(sound) {
            Some(kind) => kind,
            // What is wrong shows here, or further down.
            None => match self.kind(id)? {
                Some(kind) => kind,
                None => return Ok((None, None)),
            },
        };
        // This cannot fail: no other type was known.
        let _ = self.known.note(id, kind);
        if kind != Kind::Tag {
            return Ok((Some(kind), None));
        }
        let first = match sound {
            Some(Kind::Tag) => self.parse_tag(id, buf),
            _ => match self.parse_read(id, buf, false)? {
                Some(Parsed::Tag(first)) => Some(first),
                _ => None,
            },
        };
        let Some(first) = first else {
            return Ok((Some(kind), None));
        };
        let last = self.follow_chain(&first, buf)?;
        Ok((Some(kind), last.map(|last| (first, last))))
    }

    /// Returns where the tag object `first` leads in the end; `None`, with a message, if a tag on the way is missing or damaged.
    ///
    /// # Errors
    /// A tag on the way cannot be read, or replacements form a circle.
    pub fn follow_chain(&self, first: &Tag, buf: &mut Vec<u8>) -> Result<Option<TagLink>, Error> {
        let mut link = first.link();
        let mut passed = Vec::new();
        let mut circle = Circle::default();
        while link.kind == Kind::Tag {
            let id = link.target;
            if circle.is_closed_by(&id) {
                return Ok(None);
            }
            let known = self.chains.0.lock().get(&id).copied();
            link = match known {
                Some(known) => known,
                None => match self.parse_read(&id, buf, false)? {
                    Some(Parsed::Tag(tag)) => {
                        self.chains.0.lock().insert(id, tag.link());
                        tag.link()
                    }
                    _ => return Ok(None),
                },
            };
            passed.push(id);
        }
        let mut chains = self.chains.0.lock();
        chains.extend(passed.into_iter().map(|id| (id, link)));
        Ok(Some(link))
    }

    /// Returns the object to which `id` leads through tags, and its type; `None`, with a message, if it or a tag on the
    /// way is missing or damaged.
    ///
    /// # Errors
    /// An object on the way cannot be read, or replacements form a circle.
    pub fn untagged(&self, id: &oid) -> Result<Option<(ObjectId, Kind)>, Error> {
        let (mut id, mut buf) = (id.to_owned(), Vec::new());
        let mut circle = Circle::default();
        while !circle.is_closed_by(&id) {
            match self.parse(&id, &mut buf)? {
                Some(Parsed::Tag(tag)) => id = tag.target,
                Some(other) => return Ok(Some((id, other.kind()))),
                None => return Ok(None),
            }
        }
        Ok(None)
    }

    fn add_error(&self, error: Error) {
        self.add_message(format!("error: {error}"));
    }

    fn add_message(&self, line: String) {
        self.readers.add_messages(vec![line]);
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
