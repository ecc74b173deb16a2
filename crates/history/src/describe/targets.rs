//! The targets of references whose listing does not contain the peeled id.

use std::collections::HashMap;

use gix_hash::{ObjectId, oid};
use gix_object::Kind;

use super::context::Context;
use super::error::Error;
use super::tag_object;
use crate::commits::first_bytes;
use crate::commits::{ById, Commits};
use vigil_git::objects::{MANY, Tag};

/// The targets of references whose listing does not contain them.
#[derive(Debug, Default)]
pub(super) struct Targets {
    buf: Vec<u8>,
    /// Whether results are kept, because they will be asked for again in the same order.
    keeps: bool,
    kept: Vec<Target>,
    /// The index of the next kept one that will be asked for.
    next: usize,
    /// The latest id that turned out not to be a tag.
    last_non_tag: Option<ObjectId>,
    /// Objects that were read ahead: the tag object, or `None` if it is not a tag.
    ahead: ById<Option<Tag>>,
}

/// The target of one reference.
#[derive(Debug)]
struct Target {
    id: ObjectId,
    peeled: ObjectId,
    tag: Option<Box<Tag>>,
    /// Whether it is known not to be a tag.
    is_non_tag: bool,
    /// Whether it is missing or damaged, or a tag that leads nowhere.
    is_broken: bool,
}

impl Targets {
    /// Forgets all but what was read ahead, which does not depend on other objects.
    pub(super) fn only_ahead(self) -> Self {
        Self {
            ahead: self.ahead,
            ..Self::default()
        }
    }

    /// Starts again at the first reference.
    pub(super) fn begin(&mut self, keeps: bool) {
        self.keeps = keeps;
        self.next = 0;
        self.last_non_tag = None;
    }

    /// Reads the targets of references ahead on all cores, if there are many. Those that cannot be read are read again
    /// later, when errors are reported.
    pub(super) fn read_ahead(&mut self, mut ids: Vec<ObjectId>, context: Context<'_>) {
        if ids.len() < MANY || !self.ahead.is_empty() {
            return;
        }
        // Sorted, so that lookups of neighbours in an index follow one another.
        ids.sort_unstable();
        ids.dedup();
        let read = tag_object::read_each_tag(&ids, context.objects);
        self.ahead = HashMap::with_capacity_and_hasher(ids.len(), Default::default());
        let read = ids.into_iter().zip(read);
        self.ahead.extend(read.filter_map(|(id, read)| match read? {
            (Kind::Tag, None) => None,
            (_, tag) => Some((id, tag)),
        }));
    }

    /// Returns the ids that lead nowhere, in the order in which git visits its table of `count` names.
    pub(super) fn broken(&self, count: usize) -> Vec<ObjectId> {
        let mut size: u32 = 64;
        while count > size as usize / 5 * 4 && size < 1 << 30 {
            size <<= 2;
        }
        let broken = self.kept.iter().rev().filter(|target| target.is_broken);
        let mut broken: Vec<ObjectId> = broken.map(|target| target.id).collect();
        broken.sort_by_key(|id| first_bytes(id).swap_bytes() & (size - 1));
        broken.dedup();
        broken
    }

    /// Returns the object that `id` leads to through tags, and the tag object `id`.
    pub(super) fn find(
        &mut self,
        id: &oid,
        context: Context<'_>,
        commits: &Commits,
    ) -> Result<(ObjectId, Option<Box<Tag>>), Error> {
        // Many in a row may point to the same commit.
        let is_non_tag = self
            .last_non_tag
            .as_ref()
            .is_some_and(|last_non_tag| **last_non_tag == *id);
        if id.is_null() || is_non_tag || commits.has_in_graph(id) {
            return Ok((id.to_owned(), None));
        }
        let kept = self
            .kept
            .get(self.next)
            .filter(|kept| !self.keeps && *kept.id == *id);
        if let Some(kept) = kept {
            self.next += 1;
            self.last_non_tag = kept.is_non_tag.then_some(kept.id);
            return Ok((kept.peeled, kept.tag.clone()));
        }
        let target = match self.ahead.get(id) {
            Some(None) => Target::of(id, Some(Kind::Commit), None),
            Some(Some(tag)) => {
                let peeled = tag_object::follow(id, tag.clone(), context.objects, &mut self.buf)?;
                Target::of(id, Some(Kind::Tag), peeled)
            }
            None => Target::read(id, context, &mut self.buf)?,
        };
        self.last_non_tag = target.is_non_tag.then_some(target.id);
        let (peeled, tag) = (target.peeled, target.tag.clone());
        if self.keeps {
            self.kept.push(target);
        }
        Ok((peeled, tag))
    }
}

impl Target {
    fn read(id: &oid, context: Context<'_>, buf: &mut Vec<u8>) -> Result<Self, Error> {
        let (kind, peeled) = tag_object::peel(id, context.objects, buf)?;
        Ok(Self::of(id, kind, peeled))
    }

    /// The target of the object `id` of the type `kind`, which leads to `peeled` if it is a tag.
    fn of(id: &oid, kind: Option<Kind>, peeled: Option<tag_object::Peeled>) -> Self {
        Self {
            id: id.to_owned(),
            is_non_tag: kind.is_some_and(|kind| kind != Kind::Tag),
            is_broken: match kind {
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
