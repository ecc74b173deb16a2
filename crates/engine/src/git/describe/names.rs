//! The names of commits: what references lead to them, and which of several is best.

use std::collections::hash_map::Entry;

use bstr::{BStr, BString, ByteSlice};
use gix_hash::{ObjectId, oid};
use gix_object::Kind;

use super::tag_object::{self, TagObject};
use super::{Error, Place, Question};
use crate::git::commits::{ById, Commits};
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
    /// The range of its path in the text of all.
    path: (usize, usize),
    pub(super) rank: Rank,
    /// What the reference points to.
    pub(super) id: ObjectId,
    /// Where that leads through tags.
    peeled: ObjectId,
    /// The tag object, once it was read.
    pub(super) tag: Option<Box<TagObject>>,
    /// The tag object says another name.
    pub(super) is_misnamed: bool,
    /// Whether that was looked at.
    pub(super) is_checked: bool,
}

/// The names, and once it was asked for more than one object, the best name of each.
#[derive(Debug, Default)]
pub(super) struct Names {
    all: Vec<Name>,
    /// The numbers of the best names.
    best: Option<ById<u32>>,
    /// An object that is no tag.
    plain: Option<ObjectId>,
    /// Whether a name was asked for.
    was_asked: bool,
    /// The paths of all: references without `refs/`, or `refs/tags/` where only tags count.
    text: Vec<u8>,
}

impl Names {
    /// Reads the references that `question` asks for.
    pub(super) fn read(
        question: &Question,
        place: Place<'_>,
        commits: &Commits<'_>,
    ) -> Result<Self, Error> {
        let prefix = if question.all { "refs/" } else { "refs/tags/" };
        let mut names = Self::default();
        let mut buf = Vec::new();
        let mut failure = None;
        place
            .refs
            .for_each_even_broken(prefix.into(), |name, id, peeled| {
                if failure.is_none() && is_wanted(question, name) {
                    let path = name.strip_prefix(prefix.as_bytes()).unwrap_or(name);
                    let taken = names.take(path, id, peeled, question, place, commits, &mut buf);
                    failure = taken.err();
                }
            })?;
        match failure {
            Some(error) => Err(error),
            None => Ok(names),
        }
    }

    /// Notes the reference `path` to `id`, and where that leads through tags, as far as it is known.
    #[expect(clippy::too_many_arguments, reason = "all but three are surroundings")]
    fn take(
        &mut self,
        path: &[u8],
        id: &oid,
        peeled: Option<ObjectId>,
        question: &Question,
        place: Place<'_>,
        commits: &Commits<'_>,
        buf: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let (peeled, tag) = match peeled {
            Some(peeled) => (peeled, None),
            None if id.is_null() || commits.has_in_graph(id) => (id.to_owned(), None),
            None if self.is_plain(id, place) => (id.to_owned(), None),
            None => match tag_object::peel(id, place.objects, buf)? {
                Some(peeled) => (peeled.target, Some(Box::new(peeled.first))),
                None => (id.to_owned(), None),
            },
        };
        let is_tag = !question.all || path.starts_with(b"tags/");
        let name = Name {
            path: (self.text.len(), path.len()),
            rank: match *peeled != *id {
                true => Rank::Annotated,
                false if is_tag => Rank::Lightweight,
                false => Rank::Head,
            },
            id: id.to_owned(),
            peeled,
            tag,
            is_misnamed: false,
            is_checked: false,
        };
        self.text.extend_from_slice(path);
        self.all.push(name);
        Ok(())
    }

    /// Whether it is known that the object `id` is no tag: many references in a row may lead to one commit, which is
    /// read for the first of them alone.
    fn is_plain(&mut self, id: &oid, place: Place<'_>) -> bool {
        if self.plain.as_ref().is_some_and(|plain| **plain == *id) {
            return true;
        }
        let is_read = |last: &Name| *last.id == *id && last.rank != Rank::Annotated;
        let is_plain = self.all.last().is_some_and(is_read)
            && matches!(place.objects.kind(id), Ok(Some(kind)) if kind != Kind::Tag);
        if is_plain {
            self.plain = Some(id.to_owned());
        }
        is_plain
    }

    /// Whether the name `new` of an object is better than the name `known` of the same one. Of tag objects it is the
    /// later one.
    fn is_better(&mut self, new: u32, known: u32, place: Place<'_>) -> Result<bool, Error> {
        let rank = |name: Option<&Name>| name.map_or(Rank::Head, |name| name.rank);
        let ranks = (rank(self.get(known)), rank(self.get(new)));
        if ranks != (Rank::Annotated, Rank::Annotated) {
            return Ok(ranks.0 < ranks.1);
        }
        let mut time_of = |number| match self.get_mut(number) {
            Some(name) => Ok(name.read_tag(place)?.map(|tag| tag.time_s)),
            None => Ok::<_, Error>(None),
        };
        Ok(match (time_of(known)?, time_of(new)?) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(known), Some(new)) => known < new,
        })
    }

    /// Whether there is no name at all.
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The best names, by what they lead to.
    pub(super) fn best(&mut self, place: Place<'_>) -> Result<&ById<u32>, Error> {
        if self.best.is_none() {
            let mut best = ById::with_capacity_and_hasher(self.all.len(), Default::default());
            for number in 0..u32::try_from(self.all.len()).unwrap_or(u32::MAX) {
                let Some(peeled) = self.get(number).map(|name| name.peeled) else {
                    break;
                };
                match best.entry(peeled) {
                    Entry::Vacant(slot) => drop(slot.insert(number)),
                    Entry::Occupied(mut slot) => {
                        if self.is_better(number, *slot.get(), place)? {
                            slot.insert(number);
                        }
                    }
                }
            }
            self.best = Some(best);
        }
        Ok(self.best.get_or_insert_default())
    }

    /// The number of the best name of the object `id`, where [`Self::best`] was asked for before.
    pub(super) fn best_of(&self, id: &ObjectId) -> Option<u32> {
        self.best.as_ref()?.get(id).copied()
    }

    /// The number of the best name of the object `id`. The first answer is sought among all names, since it may be the
    /// only one that is wanted.
    pub(super) fn find(&mut self, id: &ObjectId, place: Place<'_>) -> Result<Option<u32>, Error> {
        if std::mem::replace(&mut self.was_asked, true) {
            return Ok(self.best(place)?.get(id).copied());
        }
        let leads_there = |(_, name): &(usize, &Name)| name.peeled == *id;
        let numbers = self.all.iter().enumerate().filter(leads_there);
        let numbers: Vec<u32> = numbers
            .filter_map(|(number, _)| u32::try_from(number).ok())
            .collect();
        let mut best = None;
        for number in numbers {
            best = match best {
                Some(known) if !self.is_better(number, known, place)? => Some(known),
                _ => Some(number),
            };
        }
        Ok(best)
    }

    /// The name of this number.
    pub(super) fn get(&self, number: u32) -> Option<&Name> {
        self.all.get(usize::try_from(number).ok()?)
    }

    /// The same, to be changed.
    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut Name> {
        self.all.get_mut(usize::try_from(number).ok()?)
    }

    /// The path of the name of this number.
    pub(super) fn path(&self, number: u32) -> &BStr {
        let path = self.get(number).and_then(|name| {
            let (start, length) = name.path;
            self.text.get(start..)?.get(..length)
        });
        path.unwrap_or_default().as_bstr()
    }
}

impl Name {
    /// The tag object, which is read for it.
    pub(super) fn read_tag(&mut self, place: Place<'_>) -> Result<Option<&TagObject>, Error> {
        if self.tag.is_none() {
            let tag = TagObject::read(&self.id, place.objects, &mut Vec::new())?;
            self.tag = tag.map(Box::new);
        }
        Ok(self.tag.as_deref())
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
