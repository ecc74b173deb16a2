//! Where references lead that are not peeled where they are listed.

use gix_hash::{ObjectId, oid};
use gix_object::Kind;

use super::tag_object::{self, TagObject};
use super::{Error, Place};
use crate::git::commits::{ById, Commits};

/// Where references lead whose listing does not tell.
#[derive(Debug, Default)]
pub(super) struct Targets {
    buf: Vec<u8>,
    /// Whether what is found is kept, since it will be asked for in the same order once more.
    keeps: bool,
    kept: Vec<Target>,
    /// Which of them is asked for next.
    next: usize,
    /// The last of them that was seen to be no tag.
    plain: Option<ObjectId>,
}

/// What one of them leads to.
#[derive(Debug)]
struct Target {
    id: ObjectId,
    peeled: ObjectId,
    tag: Option<Box<TagObject>>,
    /// It is known to be no tag.
    is_plain: bool,
}

impl Targets {
    /// Begins anew with the first reference.
    pub(super) fn begin(&mut self, keeps: bool) {
        self.keeps = keeps;
        self.next = 0;
        self.plain = None;
    }

    /// What was found, by the objects that were asked about.
    pub(super) fn into_found(self) -> ById<ObjectId> {
        let found = self.kept.into_iter();
        let found = found.filter(|target| target.is_plain || target.peeled != target.id);
        found.map(|target| (target.id, target.peeled)).collect()
    }

    /// The object to which `id` leads through tags, and the tag object `id`.
    pub(super) fn find(
        &mut self,
        id: &oid,
        place: Place<'_>,
        commits: &Commits<'_>,
    ) -> Result<(ObjectId, Option<Box<TagObject>>), Error> {
        // Many in a row may lead to one commit.
        let is_plain = self.plain.as_ref().is_some_and(|plain| **plain == *id);
        if id.is_null() || is_plain || commits.has_in_graph(id) {
            return Ok((id.to_owned(), None));
        }
        let kept = self
            .kept
            .get(self.next)
            .filter(|kept| !self.keeps && *kept.id == *id);
        if let Some(kept) = kept {
            self.next += 1;
            self.plain = Some(kept.id).filter(|_| kept.is_plain);
            return Ok((kept.peeled, kept.tag.clone()));
        }
        let target = Target::read(id, place, &mut self.buf)?;
        self.plain = Some(target.id).filter(|_| target.is_plain);
        let (peeled, tag) = (target.peeled, target.tag.clone());
        if self.keeps {
            self.kept.push(target);
        }
        Ok((peeled, tag))
    }
}

impl Target {
    fn read(id: &oid, place: Place<'_>, buf: &mut Vec<u8>) -> Result<Self, Error> {
        let (kind, peeled) = tag_object::peel(id, place.objects, buf)?;
        Ok(Self {
            id: id.to_owned(),
            is_plain: kind.is_some_and(|kind| kind != Kind::Tag),
            peeled: peeled
                .as_ref()
                .map_or(id.to_owned(), |peeled| peeled.target),
            tag: peeled.map(|peeled| Box::new(peeled.first)),
        })
    }
}
