//! Where references lead that are not peeled where they are listed.

use std::collections::VecDeque;

use gix_hash::{ObjectId, oid};
use gix_object::Kind;

use super::tag_object::{self, TagObject};
use super::{Error, Place};
use crate::git::commits::Commits;

/// Where references lead whose listing does not tell.
#[derive(Debug, Default)]
pub(super) struct Targets {
    buf: Vec<u8>,
    /// Whether what is found is kept, since it will be asked for in the same order once more.
    keeps: bool,
    kept: VecDeque<Target>,
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
        self.plain = None;
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
        let is_kept = !self.keeps && self.kept.front().is_some_and(|kept| *kept.id == *id);
        let kept = if is_kept { self.kept.pop_front() } else { None };
        let target = match kept {
            Some(kept) => kept,
            None => Target::read(id, place, &mut self.buf)?,
        };
        if target.is_plain {
            self.plain = Some(target.id);
        }
        let (peeled, tag) = (target.peeled, target.tag.clone());
        if self.keeps {
            self.kept.push_back(target);
        }
        Ok((peeled, tag))
    }
}

impl Target {
    fn read(id: &oid, place: Place<'_>, buf: &mut Vec<u8>) -> Result<Self, Error> {
        let peeled = tag_object::peel(id, place.objects, buf)?;
        let is_other = |kind| matches!(kind, Ok(Some(kind)) if kind != Kind::Tag);
        Ok(Self {
            id: id.to_owned(),
            is_plain: peeled.is_none() && is_other(place.objects.kind(id)),
            peeled: peeled
                .as_ref()
                .map_or(id.to_owned(), |peeled| peeled.target),
            tag: peeled.map(|peeled| Box::new(peeled.first)),
        })
    }
}
