//! The names of commits: what references lead to them, and which of several is best.

use std::collections::hash_map::Entry;
use std::rc::Rc;

use bstr::{BStr, BString, ByteSlice};
use gix_hash::{ObjectId, oid};

use super::tag_object::TagObject;
use super::targets::Targets;
use super::{Error, Place, Question};
use crate::git::commits::{ById, Commits};
use crate::git::refs::{Listing, Needless};
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
    /// Where its path starts in the text of all, and its length.
    path: (u32, u32),
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

/// The references that a question asks for, and the names that they are.
///
/// Where one object is asked about, no table of all names is made unless the object has none itself.
#[derive(Debug)]
pub(super) struct Names<'a> {
    question: &'a Question,
    place: Place<'a>,
    listing: Rc<Listing>,
    targets: Targets,
    is_empty: bool,
    /// The object whose best name is the last one in the table, if it has any, while no others are there.
    only: Option<ObjectId>,
    table: Table,
    /// The numbers of the best names.
    best: Option<ById<u32>>,
}

impl<'a> Names<'a> {
    /// Reads the references that `question` asks for. With `only`, the names of that object are wanted first.
    pub(super) fn read(
        question: &'a Question,
        place: Place<'a>,
        commits: &Commits<'_>,
        only: Option<ObjectId>,
    ) -> Result<Self, Error> {
        let mut names = Self {
            question,
            place,
            listing: Rc::new(place.refs.list(prefix_of(question).into())?),
            targets: Targets::default(),
            is_empty: true,
            only,
            table: Table::default(),
            best: None,
        };
        names.go_through(commits)?;
        Ok(names)
    }

    /// Goes through all references, and takes their names: all of them, or the best one of the only object.
    fn go_through(&mut self, commits: &Commits<'_>) -> Result<(), Error> {
        let (question, place, only) = (self.question, self.place, self.only);
        let prefix = prefix_of(question);
        let target = only.map(|only| only.to_hex().to_string());
        let mut failure = None;
        let listing = Rc::clone(&self.listing);
        self.targets.begin(only.is_some());
        place
            .refs
            .for_each_listed(&listing, |reference, id, peeled| {
                if failure.is_some() || !is_wanted(question, reference) {
                    return None;
                }
                self.is_empty = false;
                let path = reference.strip_prefix(prefix.as_bytes());
                let taken = self.take(path.unwrap_or(reference), id, peeled, commits);
                failure = taken.err();
                Some(Needless {
                    target: target.as_ref()?.as_bytes(),
                    plain: self
                        .table
                        .all
                        .last()
                        .is_some_and(|best| best.rank > Rank::Head),
                })
            })?;
        failure.map_or(Ok(()), Err)
    }

    /// Takes the reference `path` to `id`, and what that peels to, as far as it is known.
    fn take(
        &mut self,
        path: &[u8],
        id: &oid,
        peeled: Option<ObjectId>,
        commits: &Commits<'_>,
    ) -> Result<(), Error> {
        let (peeled, tag) = match peeled {
            Some(peeled) => (peeled, None),
            None => self.targets.find(id, self.place, commits)?,
        };
        if self.only.is_some_and(|only| only != peeled) {
            return Ok(());
        }
        let is_tag = !self.question.all || path.starts_with(b"tags/");
        let known = self.table.last();
        let new = self.table.push(path, is_tag, id, peeled, tag);
        if let (Some(_), Some(known)) = (self.only, known)
            && !self.table.is_better(new, known, self.place)?
        {
            self.table.pop();
        }
        Ok(())
    }

    /// Whether there is no name at all.
    pub(super) fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// The best names, by what they lead to.
    pub(super) fn best(&mut self, commits: &Commits<'_>) -> Result<&ById<u32>, Error> {
        if self.only.take().is_some() {
            let known = std::mem::take(&mut self.table);
            self.go_through(commits)?;
            self.table.learn(&known);
        }
        if self.best.is_none() {
            self.best = Some(self.table.best(self.place)?);
        }
        Ok(self.best.get_or_insert_default())
    }

    /// The number of the best name of the object `id`, where [`Self::best`] was asked for before.
    pub(super) fn best_of(&self, id: &ObjectId) -> Option<u32> {
        self.best.as_ref()?.get(id).copied()
    }

    /// The number of the best name of the object `id`. Other numbers than the last are of no use from then on.
    pub(super) fn find(
        &mut self,
        id: &ObjectId,
        commits: &Commits<'_>,
    ) -> Result<Option<u32>, Error> {
        if self.only == Some(*id) {
            return Ok(self.table.last());
        }
        Ok(self.best(commits)?.get(id).copied())
    }

    /// The name of this number.
    pub(super) fn get(&self, number: u32) -> Option<&Name> {
        self.table.get(number)
    }

    /// The same, to be changed.
    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut Name> {
        self.table.get_mut(number)
    }

    /// The path of the name of this number: that of the reference without `refs/`, or `refs/tags/` where only tags count.
    pub(super) fn path(&self, number: u32) -> &BStr {
        self.get(number)
            .map_or(BStr::new(b""), |name| self.table.path(name))
    }
}

/// Names by number, in byte order of the references.
#[derive(Debug, Default)]
struct Table {
    all: Vec<Name>,
    /// The paths of all.
    text: Vec<u8>,
}

impl Table {
    /// Adds a name; returns its number.
    fn push(
        &mut self,
        path: &[u8],
        is_tag: bool,
        id: &oid,
        peeled: ObjectId,
        tag: Option<Box<TagObject>>,
    ) -> u32 {
        self.all.push(Name {
            // There is no room for four gigabytes of names.
            path: (offset(self.text.len()), offset(path.len())),
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
        });
        self.text.extend_from_slice(path);
        self.last().unwrap_or_default()
    }

    /// Takes the last name off.
    fn pop(&mut self) {
        if let Some(name) = self.all.pop() {
            self.text.truncate(name.path.0 as usize);
        }
    }

    /// The number of the last name.
    fn last(&self) -> Option<u32> {
        u32::try_from(self.all.len().checked_sub(1)?).ok()
    }

    fn get(&self, number: u32) -> Option<&Name> {
        self.all.get(usize::try_from(number).ok()?)
    }

    fn get_mut(&mut self, number: u32) -> Option<&mut Name> {
        self.all.get_mut(usize::try_from(number).ok()?)
    }

    fn path(&self, name: &Name) -> &BStr {
        let (start, length) = name.path;
        let text = self.text.get(start as usize..);
        let path = text.and_then(|text| text.get(..length as usize));
        path.unwrap_or_default().as_bstr()
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

    /// The number of the best name of each object.
    fn best(&mut self, place: Place<'_>) -> Result<ById<u32>, Error> {
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
        Ok(best)
    }

    /// Takes over what `known` tells of names that were shown.
    fn learn(&mut self, known: &Self) {
        for shown in known.all.iter().filter(|name| name.is_checked) {
            let path = known.path(shown);
            let at = self.all.iter().position(|name| self.path(name) == path);
            if let Some(name) = at.and_then(|at| self.all.get_mut(at)) {
                (name.is_misnamed, name.is_checked) = (shown.is_misnamed, true);
            }
        }
    }
}

fn offset(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
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

/// How the names of references begin that `question` asks for.
fn prefix_of(question: &Question) -> &'static str {
    if question.all { "refs/" } else { "refs/tags/" }
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
