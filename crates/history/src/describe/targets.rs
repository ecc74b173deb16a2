//! Where references lead that are not peeled where they are listed.

use std::collections::HashMap;

use gix_hash::{ObjectId, oid};
use gix_object::Kind;

use super::error::Error;
use super::place::Place;
use super::tag_object;
use crate::commits::first_bytes;
use crate::commits::{ById, Commits};
use vigil_git::objects::{MANY, Tag};

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
    /// What was read ahead: the tag object, or that it is none.
    ahead: ById<Option<Tag>>,
}

/// What one of them leads to.
#[derive(Debug)]
struct Target {
    id: ObjectId,
    peeled: ObjectId,
    tag: Option<Box<Tag>>,
    /// It is known to be no tag.
    is_plain: bool,
    /// It is missing or damaged, or a tag that leads nowhere.
    is_unsound: bool,
}

impl Targets {
    /// Begins anew with the first reference.
    pub(super) fn begin(&mut self, keeps: bool) {
        self.keeps = keeps;
        self.next = 0;
        self.plain = None;
    }

    /// Reads ahead what references point to, on all cores, if they are many. What cannot be read is left to be read again, when
    /// what is wrong is said.
    pub(super) fn read_ahead(&mut self, mut ids: Vec<ObjectId>, place: Place<'_>) {
        if ids.len() < MANY {
            return;
        }
        // Those that lie near each other in an index are looked up one after the other.
        ids.sort_unstable();
        ids.dedup();
        let kinds = place.objects.kind_of_each(&ids);
        let of_kind = |wanted: fn(Kind) -> bool| {
            let known = ids.iter().zip(&kinds);
            let known = known.filter(move |(_, kind)| kind.is_some_and(wanted));
            known.map(|(id, _)| *id)
        };
        let tags: Vec<ObjectId> = of_kind(|kind| kind == Kind::Tag).collect();
        let read = tag_object::read_each(&tags, place.objects);
        self.ahead = HashMap::with_capacity_and_hasher(ids.len(), Default::default());
        self.ahead
            .extend(of_kind(|kind| kind != Kind::Tag).map(|id| (id, None)));
        let read = tags.into_iter().zip(read);
        self.ahead
            .extend(read.filter_map(|(id, tag)| Some((id, Some(tag?)))));
    }

    /// What was asked about and leads nowhere, in the order in which git goes through its table of `count` names.
    pub(super) fn unsound(&self, count: usize) -> Vec<ObjectId> {
        let mut size: u32 = 64;
        while count > size as usize / 5 * 4 && size < 1 << 30 {
            size <<= 2;
        }
        let unsound = self.kept.iter().rev().filter(|target| target.is_unsound);
        let mut unsound: Vec<ObjectId> = unsound.map(|target| target.id).collect();
        unsound.sort_by_key(|id| first_bytes(id).swap_bytes() & (size - 1));
        unsound.dedup();
        unsound
    }

    /// The object to which `id` leads through tags, and the tag object `id`.
    pub(super) fn find(
        &mut self,
        id: &oid,
        place: Place<'_>,
        commits: &Commits<'_>,
    ) -> Result<(ObjectId, Option<Box<Tag>>), Error> {
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
        let target = match self.ahead.get(id) {
            Some(None) => Target::of(id, Some(Kind::Commit), None),
            Some(Some(tag)) => {
                let peeled = tag_object::follow(id, tag.clone(), place.objects, &mut self.buf)?;
                Target::of(id, Some(Kind::Tag), peeled)
            }
            None => Target::read(id, place, &mut self.buf)?,
        };
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
        Ok(Self::of(id, kind, peeled))
    }

    /// The object `id` of the type `kind`, which leads to `peeled` if it is a tag.
    fn of(id: &oid, kind: Option<Kind>, peeled: Option<tag_object::Peeled>) -> Self {
        Self {
            id: id.to_owned(),
            is_plain: kind.is_some_and(|kind| kind != Kind::Tag),
            is_unsound: match kind {
                None => true,
                Some(kind) => kind == Kind::Tag && peeled.is_none(),
            },
            peeled: peeled
                .as_ref()
                .map_or(id.to_owned(), |peeled| peeled.target),
            tag: peeled.map(|peeled| Box::new(peeled.first)),
        }
    }
}
