//! The names of commits: what references lead to them, and which of several is best.

use std::collections::hash_map::Entry;

use bstr::{BStr, BString, ByteSlice};
use gix_hash::ObjectId;
use gix_object::Kind;

use super::commits::{ById, Commits};
use super::tag_object::{self, TagObject};
use super::{Error, Place, Question};
use crate::git::wildmatch::{Flags, wildmatch};

/// How good a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// A reference that is no tag.
    Head,
    /// A tag without an object of its own.
    Lightweight,
    /// A tag object.
    Annotated,
}

impl Rank {
    /// What git calls it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Head => "head",
            Self::Lightweight => "lightweight",
            Self::Annotated => "annotated",
        }
    }
}

/// A name of a commit, or of another object.
#[derive(Clone, Debug)]
pub(super) struct Name {
    /// The reference, without `refs/`, or `refs/tags/` where only tags count.
    pub(super) path: BString,
    pub(super) rank: Rank,
    /// What the reference points to.
    pub(super) id: ObjectId,
    /// The tag object, once it was read.
    pub(super) tag: Option<TagObject>,
    /// The tag object says another name.
    pub(super) is_misnamed: bool,
    /// Whether that was looked at.
    pub(super) is_checked: bool,
}

/// The best name of each object that has one.
#[derive(Debug, Default)]
pub(super) struct Names {
    by_id: ById<usize>,
    all: Vec<Name>,
}

impl Names {
    /// Reads the references that `question` asks for.
    pub(super) fn read(
        question: &Question,
        place: Place<'_>,
        commits: &Commits<'_>,
    ) -> Result<Self, Error> {
        let prefix = if question.all { "refs/" } else { "refs/tags/" };
        let mut found = Vec::new();
        place.refs.for_each(prefix.into(), |name, id, peeled| {
            if is_wanted(question, name) {
                let path = name.strip_prefix(prefix.as_bytes()).unwrap_or(name);
                found.push((BString::from(path), id.to_owned(), peeled));
            }
        })?;
        let mut names = Self {
            by_id: ById::with_capacity_and_hasher(found.len(), Default::default()),
            all: Vec::with_capacity(found.len()),
        };
        let mut buf = Vec::new();
        for (path, id, peeled) in found {
            let (peeled, tag) = match peeled {
                Some(peeled) => (peeled, None),
                None if commits.has_in_graph(&id) => (id, None),
                None if place.objects.kind(&id)? != Some(Kind::Tag) => (id, None),
                None => match tag_object::peel(&id, place.objects, &mut buf)? {
                    Some(peeled) => (peeled.target, Some(peeled.first)),
                    None => (id, None),
                },
            };
            let is_tag = !question.all || path.starts_with(b"tags/");
            let rank = match peeled != id {
                true => Rank::Annotated,
                false if is_tag => Rank::Lightweight,
                false => Rank::Head,
            };
            names.add(path, peeled, rank, id, tag, place)?;
        }
        Ok(names)
    }

    /// Notes one more name of the object `peeled`, if it is better than the one it has. Of tag objects it is the later
    /// one.
    fn add(
        &mut self,
        path: BString,
        peeled: ObjectId,
        rank: Rank,
        id: ObjectId,
        tag: Option<TagObject>,
        place: Place<'_>,
    ) -> Result<(), Error> {
        let mut name = Name {
            path,
            rank,
            id,
            tag,
            is_misnamed: false,
            is_checked: false,
        };
        let known = match self.by_id.entry(peeled) {
            Entry::Vacant(slot) => {
                slot.insert(self.all.len());
                self.all.push(name);
                return Ok(());
            }
            Entry::Occupied(slot) => *slot.get(),
        };
        let Some(known) = self.all.get_mut(known) else {
            return Ok(());
        };
        let is_better = match (known.rank, rank) {
            (Rank::Annotated, Rank::Annotated) => {
                match (known.read_tag(place)?, name.read_tag(place)?) {
                    (None, _) => true,
                    (Some(_), None) => false,
                    (Some(known), Some(new)) => known.time_s < new.time_s,
                }
            }
            (known, new) => known < new,
        };
        if is_better {
            *known = name;
        }
        Ok(())
    }

    /// How many objects have a name.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// The name of the object `id`, by its number.
    pub(super) fn find(&self, id: &ObjectId) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    /// The name of this number.
    pub(super) fn get(&self, number: usize) -> Option<&Name> {
        self.all.get(number)
    }

    /// The same, to be changed.
    pub(super) fn get_mut(&mut self, number: usize) -> Option<&mut Name> {
        self.all.get_mut(number)
    }
}

impl Name {
    /// The tag object, which is read for it.
    pub(super) fn read_tag(&mut self, place: Place<'_>) -> Result<Option<&TagObject>, Error> {
        if self.tag.is_none() {
            self.tag = TagObject::read(&self.id, place.objects, &mut Vec::new())?;
        }
        Ok(self.tag.as_ref())
    }
}

/// Whether the patterns of `question` let the reference `name` be used. They are about tags, branches and remote branches
/// without what these all begin with.
fn is_wanted(question: &Question, name: &BStr) -> bool {
    let (wanted, excluded) = (&question.patterns, &question.excluded);
    if wanted.is_empty() && excluded.is_empty() {
        return true;
    }
    let short = [b"refs/tags/".as_slice(), b"refs/heads/", b"refs/remotes/"]
        .iter()
        .find_map(|folder| name.strip_prefix(*folder));
    let Some(short) = short else {
        return false;
    };
    let matches = |pattern: &BString| wildmatch(pattern, short.as_bstr(), Flags::default());
    !excluded.iter().any(matches) && (wanted.is_empty() || wanted.iter().any(matches))
}
