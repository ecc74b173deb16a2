//! A table of names, and the choice between two of them.

use bstr::{BStr, ByteSlice};
use gix_hash::ObjectId;

use super::context::Context;
use super::error::Error;
use super::tag_object;
use vigil_git::objects::Tag;

/// The rank of a name; later ones are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// A reference that is not a tag.
    Head,
    /// A tag without a tag object.
    Lightweight,
    /// A tag with a tag object.
    Annotated,
}

impl Rank {
    /// Returns git's word for it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Head => "head",
            Self::Lightweight => "lightweight",
            Self::Annotated => "annotated",
        }
    }
}

/// A name of a commit or of another object.
#[derive(Clone, Debug)]
pub(super) struct Name {
    /// The start and the length of its path in the text of all paths.
    path: (u32, u32),
    pub(super) rank: Rank,
    /// The id in the reference.
    pub(super) id: ObjectId,
    /// The object that it leads to through tags.
    pub(super) peeled: ObjectId,
    /// The tag object, once it was read.
    pub(super) tag: Option<Box<Tag>>,
    /// Whether the tag object contains another name.
    pub(super) is_misnamed: bool,
    /// Whether that was checked.
    pub(super) is_checked: bool,
}

/// A name that is not in the table yet.
pub(super) struct NewName<'a> {
    /// The part of the reference that is shown.
    pub(super) path: &'a [u8],
    /// Whether the reference is a tag.
    pub(super) is_tag: bool,
    /// The id in the reference.
    pub(super) id: ObjectId,
    /// The object that it leads to through tags.
    pub(super) peeled: ObjectId,
    /// The tag object, if it was read.
    pub(super) tag: Option<Box<Tag>>,
}

impl NewName<'_> {
    /// Returns its rank.
    pub(super) fn rank(&self) -> Rank {
        match self.peeled != self.id {
            true => Rank::Annotated,
            false if self.is_tag => Rank::Lightweight,
            false => Rank::Head,
        }
    }
}

/// Names by number.
#[derive(Debug, Default)]
pub(super) struct NameTable {
    all: Vec<Name>,
    /// The paths of all names.
    text: Vec<u8>,
}

impl NameTable {
    /// Adds a name, and returns its number.
    pub(super) fn push(&mut self, new: NewName<'_>) -> u32 {
        let number = offset(self.all.len());
        self.all.push(Name {
            // There is no memory for 4 GiB of names.
            path: (offset(self.text.len()), offset(new.path.len())),
            rank: new.rank(),
            id: new.id,
            peeled: new.peeled,
            tag: new.tag,
            is_misnamed: false,
            is_checked: false,
        });
        self.text.extend_from_slice(new.path);
        number
    }

    /// Replaces the name `best` of an object by its name `new`, if that is better.
    pub(super) fn choose(
        &mut self,
        new: u32,
        best: &mut Option<u32>,
        context: Context<'_>,
    ) -> Result<(), Error> {
        let is_better = match *best {
            None => true,
            Some(best) => self.is_better(new, best, context)?,
        };
        if is_better {
            *best = Some(new);
        }
        Ok(())
    }

    /// Reads the tag objects of the names with these numbers ahead, on all cores. Those that cannot be read are read
    /// again later, when errors are reported.
    pub(super) fn read_ahead(&mut self, numbers: &[u32], context: Context<'_>) {
        let unread = |number: &u32| self.get(*number).is_some_and(|name| name.tag.is_none());
        let unread: Vec<u32> = numbers.iter().copied().filter(unread).collect();
        let ids = unread
            .iter()
            .filter_map(|number| Some(self.get(*number)?.id));
        let ids: Vec<ObjectId> = ids.collect();
        let tags = tag_object::read_each(&ids, context.objects);
        for (number, tag) in unread.iter().zip(tags) {
            if let Some(name) = self.get_mut(*number) {
                name.tag = tag.map(Box::new);
            }
        }
    }

    /// Returns the name with this number.
    pub(super) fn get(&self, number: u32) -> Option<&Name> {
        self.all.get(usize::try_from(number).ok()?)
    }

    /// Returns the name with this number for changing it.
    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut Name> {
        self.all.get_mut(usize::try_from(number).ok()?)
    }

    /// Returns the path of `name`.
    pub(super) fn path(&self, name: &Name) -> &BStr {
        let (start, length) = name.path;
        let text = self.text.get(start as usize..);
        let path = text.and_then(|text| text.get(..length as usize));
        path.unwrap_or_default().as_bstr()
    }

    /// Whether the name `new` of an object is better than its name `known`. Of two tag objects, the later one is.
    fn is_better(&mut self, new: u32, known: u32, context: Context<'_>) -> Result<bool, Error> {
        let rank = |name: Option<&Name>| name.map_or(Rank::Head, |name| name.rank);
        let ranks = (rank(self.get(known)), rank(self.get(new)));
        if ranks != (Rank::Annotated, Rank::Annotated) {
            return Ok(ranks.0 < ranks.1);
        }
        let mut time_of = |number| match self.get_mut(number) {
            Some(name) => Ok(name.read_tag(context)?.map(|tag| tag.time_s)),
            None => Ok::<_, Error>(None),
        };
        Ok(match (time_of(known)?, time_of(new)?) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(known), Some(new)) => known < new,
        })
    }
}

fn offset(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

impl Name {
    /// Returns the tag object, which is read if necessary.
    pub(super) fn read_tag(&mut self, context: Context<'_>) -> Result<Option<&Tag>, Error> {
        if self.tag.is_none() {
            let tag = context.objects.tag(&self.id, &mut Vec::new())?;
            self.tag = tag.map(Box::new);
        }
        Ok(self.tag.as_deref())
    }
}
