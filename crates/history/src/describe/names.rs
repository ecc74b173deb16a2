//! The names of commits: the references that lead to them, and the best of these for each.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use bstr::{BStr, BString, ByteSlice};
use gix_hash::ObjectId;

use super::context::Context;
use super::error::Error;
use super::index::{self, Index, Reference};
use super::options::{DescribeOptions, TAGS, prefix_of};
use super::table::{Name, NameTable, NewName, Rank};
use super::targets::Targets;
use crate::commits::{ById, Commits, first_bytes};
use vigil_git::objects::{MANY, Tag};
use vigil_git::refs::{Listing, Skim, SkimAction, Skimmed};
use vigil_model::wildmatch::{Flags, wildmatch};

/// The references that the options ask for, and their names.
///
/// If a single object is asked about, others are considered only if it has no name itself. Of packed references, only
/// those that lead to an object in question become names.
#[derive(Debug)]
pub(super) struct Names<'a> {
    options: &'a DescribeOptions,
    context: Context<'a>,
    listing: Rc<Listing>,
    targets: Targets,
    is_empty: bool,
    /// The only object whose names were noted, because it has one.
    only: Option<ObjectId>,
    table: NameTable,
    /// The references that were noted.
    index: Index,
    /// The number of objects that they lead to.
    count: usize,
    /// Whether some lead there through tag objects.
    has_annotated: bool,
    /// The numbers of the best names of the objects that were asked about and have a name.
    best: ById<u32>,
    /// The names of objects of which only the rank was asked.
    ranked: ById<RankedNames>,
}

impl<'a> Names<'a> {
    /// Reads the references that `options` ask for. The names of the object `only` are wanted first.
    pub(super) fn read(
        options: &'a DescribeOptions,
        context: Context<'a>,
        commits: &Commits,
        only: Option<ObjectId>,
    ) -> Result<Self, Error> {
        let listing = context
            .objects
            .list_peeled(context.refs, prefix_of(options).into())?;
        let listing = listing.first_per_object(|name| is_wanted(options, name))?;
        let mut names = Self::unread(options, context, Rc::new(listing));
        // git reads the names before anything else.
        context.objects.forget_known();
        names.read_all(only, commits)?;
        Ok(names)
    }

    /// Reads all references again, as if nothing were known of their objects.
    pub(super) fn read_again(self, commits: &Commits) -> Result<Self, Error> {
        let mut names = Self {
            targets: self.targets.only_ahead(),
            ..Self::unread(self.options, self.context, self.listing)
        };
        names.context.objects.forget_known();
        names.read_all(None, commits)?;
        Ok(names)
    }

    fn unread(options: &'a DescribeOptions, context: Context<'a>, listing: Rc<Listing>) -> Self {
        Self {
            options,
            context,
            listing,
            targets: Targets::default(),
            is_empty: true,
            only: None,
            table: NameTable::default(),
            index: Index::default(),
            count: 0,
            has_annotated: false,
            best: ById::default(),
            ranked: ById::default(),
        }
    }

    /// Returns which of the names with these numbers is the best one of the object `id`.
    fn choose(&mut self, id: &ObjectId, numbers: &[u32]) -> Result<Option<u32>, Error> {
        let rank = |number: u32| self.get(number).map(|name| name.rank);
        let annotated = numbers.iter().copied();
        let annotated = annotated.filter(|number| rank(*number) == Some(Rank::Annotated));
        let annotated: Vec<u32> = annotated.collect();
        if annotated.len() >= MANY {
            self.table.read_ahead(&annotated, self.context);
        }
        let mut best = None;
        for &number in numbers {
            self.table.choose(number, &mut best, self.context)?;
        }
        self.best.extend(best.map(|best| (*id, best)));
        Ok(best)
    }

    /// Notes the places of all references; of packed ones, nothing else. Once the object `only` has a name, only its
    /// own names are noted.
    fn read_all(&mut self, only: Option<ObjectId>, commits: &Commits) -> Result<(), Error> {
        let options = self.options;
        // If this is not the first time, the results of the first are used again.
        let is_first = self.count == 0;
        self.targets.begin(is_first);
        if is_first {
            let mut ids = self.listing.unpeeled();
            ids.retain(|id| !commits.has_in_graph(id));
            self.targets.read_ahead(ids, self.context);
        }
        let digits = only.map(|only| only.to_hex().to_string());
        let all = RefCell::new(Collector {
            listing: Rc::clone(&self.listing),
            table: std::mem::take(&mut self.table),
            index: Index::default(),
            count: 0,
            has_annotated: false,
            only,
            has_only: false,
            has_tag: false,
            enough: match options.counts_lightweight() {
                true => usize::MAX,
                false => options.candidates,
            },
        });
        let is_empty = Cell::new(self.is_empty);
        let look = |record: &Skimmed<'_>| match is_wanted(options, record.name) {
            true => {
                is_empty.set(false);
                all.borrow_mut().note(record, digits.as_deref(), options)
            }
            false => SkimAction::Skip,
        };
        let read = self.for_each_wanted(&look, commits, |_, new| {
            is_empty.set(false);
            all.borrow_mut().take(new, options);
            Ok(())
        });
        self.is_empty = is_empty.get();
        let all = all.into_inner();
        self.table = all.table;
        read?;
        self.count = all.count;
        self.has_annotated = all.has_annotated;
        self.index = all.index;
        self.only = only.filter(|_| all.has_only);
        Ok(())
    }

    /// Calls `take` with all references that are asked for, except packed ones that `skim` passes over.
    fn for_each_wanted(
        &mut self,
        skim: Skim<'_>,
        commits: &Commits,
        mut take: impl FnMut(&mut Self, NewName<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (options, context) = (self.options, self.context);
        let mut failure = None;
        let listing = Rc::clone(&self.listing);
        context
            .refs
            .for_each_listed(&listing, Some(skim), |reference, id, peeled| {
                if failure.is_some() || !is_wanted(options, reference) {
                    return;
                }
                let target = match peeled {
                    Some(peeled) => Ok((peeled, None)),
                    None => self.targets.find(id, context, commits),
                };
                let taken = target.and_then(|target| {
                    take(self, new_name(options, reference, id.to_owned(), target))
                });
                failure = taken.err();
            })?;
        failure.map_or(Ok(()), Err)
    }

    /// Whether a reference leads directly, not through a tag object, to an object for which `is_wanted` is true.
    pub(super) fn has_lightweight(
        &mut self,
        commits: &Commits,
        is_wanted: &dyn Fn(&ObjectId) -> bool,
    ) -> Result<bool, Error> {
        self.targets.begin(false);
        let has_any = Cell::new(false);
        let is_needless = |record: &Skimmed<'_>| {
            let id = || ObjectId::from_hex(record.id);
            SkimAction::skip_if(
                has_any.get() || record.peeled.is_some() || !id().is_ok_and(|id| is_wanted(&id)),
            )
        };
        self.for_each_wanted(&is_needless, commits, |_, new| {
            has_any.set(has_any.get() || (new.peeled == new.id && is_wanted(&new.id)));
            Ok(())
        })?;
        Ok(has_any.get())
    }

    /// Whether there is no name at all.
    pub(super) fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// Returns the number of objects with names. If lightweight tags do not count, it may be too small, but is at least
    /// the number of candidates.
    pub(super) fn count(&mut self, commits: &Commits) -> Result<usize, Error> {
        if self.only.is_some() {
            self.read_all(None, commits)?;
        }
        Ok(self.count)
    }

    /// Returns references that lead nowhere, in the order in which git visits the names. [`Self::count`] must have been
    /// called before.
    pub(super) fn broken(&self) -> Vec<ObjectId> {
        self.targets.broken(self.count)
    }

    /// Whether any name is that of a tag object. [`Self::count`] must have been called before.
    pub(super) fn has_annotated(&self) -> bool {
        self.has_annotated
    }

    /// Whether an object whose id has these first bytes may have a name. [`Self::count`] must have been called before.
    pub(super) fn may_be_of(&self, first: u32) -> bool {
        self.index.find(first).next().is_some()
    }

    /// Returns the number of the best name of the object `id`.
    pub(super) fn find(&mut self, id: &ObjectId, commits: &Commits) -> Result<Option<u32>, Error> {
        if self.only.is_some_and(|only| only != *id) {
            self.read_all(None, commits)?;
        }
        self.best_of(id)
    }

    /// Returns the number of the best name of the object `id`. [`Self::count`] must have been called before.
    pub(super) fn best_of(&mut self, id: &ObjectId) -> Result<Option<u32>, Error> {
        if let Some(known) = self.best.get(id) {
            return Ok(Some(*known));
        }
        let numbers = match self.ranked.remove(id) {
            Some(ranked) => ranked.numbers,
            None => self.numbers_of(id),
        };
        self.choose(id, &numbers)
    }

    /// Returns the rank of the best name of the object `id`. [`Self::count`] must have been called before. Which of
    /// several tag objects is the best is left open, since that requires reading them.
    pub(super) fn rank_of(&mut self, id: &ObjectId) -> Option<Rank> {
        if let Some(known) = self.best.get(id) {
            return self.get(*known).map(|name| name.rank);
        }
        if let Some(known) = self.ranked.get(id) {
            return Some(known.rank);
        }
        let numbers = self.numbers_of(id);
        let ranks = numbers
            .iter()
            .filter_map(|number| Some(self.get(*number)?.rank));
        let best = ranks.max();
        if let Some(rank) = best {
            self.ranked.insert(*id, RankedNames { numbers, rank });
        }
        best
    }

    /// Returns the numbers of all names of the object `id`, which are made from the index.
    fn numbers_of(&mut self, id: &ObjectId) -> Vec<u32> {
        let mut references: Vec<_> = self.index.find(first_bytes(id)).collect();
        references.reverse();
        let numbers = references
            .into_iter()
            .filter_map(|reference| match reference {
                Reference::Named(number) => {
                    self.get(number).filter(|name| name.peeled == *id)?;
                    Some(number)
                }
                Reference::Packed(at) => {
                    let new = packed_at(&self.listing, at)
                        .and_then(|record| packed_name(self.options, record))
                        .filter(|new| new.peeled == *id)?;
                    Some(self.table.push(new))
                }
            });
        numbers.collect()
    }

    /// Returns the name with this number.
    pub(super) fn get(&self, number: u32) -> Option<&Name> {
        self.table.get(number)
    }

    /// Returns the name with this number for changing it.
    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut Name> {
        self.table.get_mut(number)
    }

    /// Returns the path of the name with this number: the name of the reference without `refs/`, or without
    /// `refs/tags/` if only tags count.
    pub(super) fn path(&self, number: u32) -> &BStr {
        self.get(number)
            .map_or(BStr::new(b""), |name| self.table.path(name))
    }
}

/// The names of an object, before the best of them was asked for.
#[derive(Debug)]
struct RankedNames {
    numbers: Vec<u32>,
    /// The rank of the best.
    rank: Rank,
}

/// The state of reading all references.
struct Collector {
    listing: Rc<Listing>,
    table: NameTable,
    index: Index,
    /// The number of objects that they lead to.
    count: usize,
    /// Whether some lead there through tag objects.
    has_annotated: bool,
    /// The object whose names are wanted first.
    only: Option<ObjectId>,
    /// Whether that object has a name that counts.
    has_only: bool,
    /// Whether it has one that is a tag: no name without a tag object is better.
    has_tag: bool,
    /// Once there are this many objects, lightweight tags are left out.
    enough: usize,
}

impl Collector {
    /// Notes the position of the packed reference `record`. `digits` are those of the object `only`.
    fn note(
        &mut self,
        record: &Skimmed<'_>,
        digits: Option<&str>,
        options: &DescribeOptions,
    ) -> SkimAction {
        let has_no_tag_object = record.peeled.is_none();
        if has_no_tag_object && (self.has_tag || self.count >= self.enough) {
            return SkimAction::SkipUntilTag;
        }
        let target = record.target();
        let is_only = digits.is_some_and(|digits| record.leads_to(digits.as_bytes()));
        if self.has_only && !is_only {
            return match has_no_tag_object {
                true => SkimAction::SkipSameTarget,
                false => SkimAction::Skip,
            };
        }
        let first = index::first_bytes_of_hex(target);
        let (Some(first), Ok(at)) = (first, u32::try_from(record.at)) else {
            return SkimAction::Parse;
        };
        self.has_annotated |= !has_no_tag_object;
        let is_tag = !options.all || record.name.starts_with(b"refs/tags/");
        if is_only {
            self.note_only_object(has_no_tag_object, is_tag, options);
        }
        if !self.has_others(first, Target::Digits(target)) {
            self.count = self.count.saturating_add(1);
        } else if has_no_tag_object
            && is_tag
            && (!options.all || self.has_no_worse(first, Target::Digits(target), Rank::Lightweight))
        {
            // Of tags without a tag object, none is better than the first.
            return SkimAction::SkipSameTarget;
        }
        self.index.add(first, Reference::Packed(at));
        SkimAction::Skip
    }

    /// Adds a name.
    fn take(&mut self, new: NewName<'_>, options: &DescribeOptions) {
        let target = new.peeled;
        let has_no_tag_object = new.id == target;
        let is_only = self.only == Some(target);
        if has_no_tag_object && self.count >= self.enough || self.has_only && !is_only {
            return;
        }
        self.has_annotated |= !has_no_tag_object;
        if is_only {
            self.note_only_object(has_no_tag_object, new.is_tag, options);
        }
        let first = first_bytes(&target);
        if !self.has_others(first, Target::Id(target)) {
            self.count = self.count.saturating_add(1);
        } else if has_no_tag_object && self.has_no_worse(first, Target::Id(target), new.rank()) {
            // Of names without a tag object, none is better than the first of its kind.
            return;
        }
        let number = self.table.push(new);
        self.index.add(first, Reference::Named(number));
    }

    /// Notes that a reference leads to the object `only`.
    fn note_only_object(
        &mut self,
        has_no_tag_object: bool,
        is_tag: bool,
        options: &DescribeOptions,
    ) {
        let counts = !has_no_tag_object || options.counts_lightweight();
        self.has_only |= counts;
        self.has_tag |= counts && (is_tag || !has_no_tag_object);
    }

    /// Whether the object `target`, whose id has these first bytes, already has a name of this rank or better.
    fn has_no_worse(&self, first: u32, target: Target<'_>, rank: Rank) -> bool {
        self.index.find(first).any(|reference| match reference {
            Reference::Named(number) => self.table.get(number).is_some_and(|name| {
                let is_it = || Target::Id(name.peeled).is_same(target);
                name.rank >= rank && is_it()
            }),
            Reference::Packed(at) => packed_at(&self.listing, at).is_some_and(|record| {
                let is_tag = || record.name.starts_with(b"refs/tags/");
                let is_it = || Target::Digits(record.target()).is_same(target);
                let is_no_worse = match rank {
                    Rank::Head => true,
                    Rank::Lightweight => record.peeled.is_some() || is_tag(),
                    Rank::Annotated => record.peeled.is_some(),
                };
                is_no_worse && is_it()
            }),
        })
    }

    /// Whether there already are references to the object `target`, whose id has these first bytes.
    fn has_others(&self, first: u32, target: Target<'_>) -> bool {
        self.index.find(first).any(|reference| {
            // Most have no tag object, so that this first check is enough.
            if let (Reference::Packed(at), Target::Digits(digits)) = (reference, target)
                && usize::try_from(at).is_ok_and(|at| self.listing.points_to(at, digits))
            {
                return true;
            }
            let other = match reference {
                Reference::Named(number) => {
                    self.table.get(number).map(|name| Target::Id(name.peeled))
                }
                Reference::Packed(at) => {
                    packed_at(&self.listing, at).map(|record| Target::Digits(record.target()))
                }
            };
            other.is_some_and(|other| other.is_same(target))
        })
    }
}

/// The object that a reference leads to, as an id or in hexadecimal digits.
#[derive(Clone, Copy)]
enum Target<'a> {
    Id(ObjectId),
    Digits(&'a [u8]),
}

impl Target<'_> {
    fn is_same(self, other: Self) -> bool {
        match (self, other) {
            (Self::Digits(digits), Self::Digits(others)) => digits == others,
            (Self::Id(id), Self::Id(other)) => id == other,
            (Self::Digits(digits), Self::Id(id)) | (Self::Id(id), Self::Digits(digits)) => {
                ObjectId::from_hex(digits).is_ok_and(|other| other == id)
            }
        }
    }
}

/// Returns the record that was noted at `at`.
fn packed_at(listing: &Listing, at: u32) -> Option<Skimmed<'_>> {
    listing.skimmed_at(usize::try_from(at).ok()?)
}

/// Makes a name of the packed reference `record`.
fn packed_name<'a>(options: &DescribeOptions, record: Skimmed<'a>) -> Option<NewName<'a>> {
    let id = ObjectId::from_hex(record.id).ok()?;
    let peeled = ObjectId::from_hex(record.target()).ok()?;
    Some(new_name(options, record.name, id, (peeled, None)))
}

/// Makes a name of `reference`, which contains `id` and leads to `peeled`.
fn new_name<'a>(
    options: &DescribeOptions,
    reference: &'a BStr,
    id: ObjectId,
    (peeled, tag): (ObjectId, Option<Box<Tag>>),
) -> NewName<'a> {
    let path = reference.strip_prefix(prefix_of(options).as_bytes());
    let path = path.unwrap_or(reference);
    NewName {
        path,
        is_tag: !options.all || path.starts_with(TAGS),
        id,
        peeled,
        tag,
    }
}

/// Whether the patterns of `options` allow the reference `name`. They are matched with names of tags, branches and
/// remote branches without the common prefix of each of these.
fn is_wanted(options: &DescribeOptions, name: &BStr) -> bool {
    let (wanted, excluded) = (&options.patterns, &options.excluded);
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
