//! All references whose names begin alike, as they were when they were listed.

use std::sync::Arc;

use bstr::{BStr, BString, ByteSlice};
use gix_hash::{ObjectId, oid};

use super::loose::{BestTag, Block, LooseRef, LooseRefs, Memory, Peel, publish};
use super::packed::{Packed, Skim, Skimmed};
use super::tables::TableRefs;
use super::{Error, Raw, condensed, name, packed_path};
use crate::git::reftable::Record;
use crate::git::repository::Repository;

/// References in byte order, to be gone through as often as wanted: nothing but memory is read for it.
#[derive(Debug)]
pub(crate) struct Listing {
    pub(super) prefix: BString,
    pub(super) held: Held,
    /// Those are missing that no description needs.
    pub(super) is_condensed: bool,
}

/// Which references are to be in a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// All of them.
    Whole,
    /// Of the lightweight tags that lead to one object, all but the first may be missing.
    Condensed,
}

/// The object to which a reference leads through tags.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Peeled {
    /// Nobody tells: the object has to be read.
    Unknown,
    /// This one: who holds the reference tells it, and git believes that.
    Told(ObjectId),
    /// This one, if all objects are as they were when it was found.
    Remembered(ObjectId),
}

impl From<Option<ObjectId>> for Peeled {
    fn from(told: Option<ObjectId>) -> Self {
        told.map_or(Self::Unknown, Self::Told)
    }
}

impl Peeled {
    /// The object, where git believes who tells it.
    pub(crate) fn told(self) -> Option<ObjectId> {
        match self {
            Self::Told(id) => Some(id),
            Self::Unknown | Self::Remembered(_) => None,
        }
    }
}

/// Where the references of a [`Listing`] are.
#[derive(Debug)]
pub(super) enum Held {
    /// What each loose reference holds, by name, and the packed ones, of which those count that are not loose.
    Files {
        loose: LooseRefs,
        packed: Arc<Packed>,
        /// What was remembered of the loose ones.
        memory: Option<Box<Memory>>,
    },
    /// Those of all tables.
    Tables(TableRefs),
}

impl Listing {
    /// Calls `found` with each reference: its name, what it holds, and the object that this peels to (itself, unless
    /// it is a tag) where that is known without reading it. One of an invalid name is broken.
    ///
    /// `skim` looks at packed ones before they are taken apart.
    pub(crate) fn for_each_raw(
        &self,
        skim: Option<Skim<'_>>,
        mut found: impl FnMut(&BStr, &Raw, Peeled) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut emit = |(name, is_valid, raw, peeled): Listed<'_>| match is_valid {
            true => found(name, raw, peeled),
            false => found(name, &Raw::Broken, peeled),
        };
        match &self.held {
            Held::Files { loose, packed, .. } => {
                let mut loose = loose.all.iter().peekable();
                let mut records = packed.from(self.prefix.as_ref());
                loop {
                    if let Some(skim) = skim {
                        let until = loose.peek().map(|found| found.name.as_ref());
                        records.skim(skim, self.prefix.as_ref(), until);
                    }
                    let Some(record) = records.next() else {
                        break;
                    };
                    let record = record?;
                    let is_valid = is_valid_or_safe(record.name, Held::PACKED)?;
                    if !record.name.starts_with(&self.prefix) {
                        break;
                    }
                    while let Some(found) = loose.next_if(|found| found.name < record.name) {
                        emit(found.listed())?;
                    }
                    let raw = Raw::Direct(record.id);
                    match loose.next_if(|found| found.name == record.name) {
                        Some(found) => emit(found.listed())?,
                        None => emit((record.name, is_valid, &raw, record.peeled.into()))?,
                    }
                }
                for found in loose {
                    emit(found.listed())?;
                }
            }
            Held::Tables(tables) => {
                let all_are_refs = self.prefix.starts_with(b"refs/");
                tables.for_each(self.prefix.as_ref(), |name, record, remembered| {
                    // HEAD and its like are not listed.
                    if !all_are_refs && !name.starts_with(b"refs/") {
                        return Ok(());
                    }
                    let is_valid = is_valid_or_safe(name, Held::TABLES)?;
                    let (raw, peeled) = match record {
                        Record::Deleted => return Ok(()),
                        Record::Direct(id) => {
                            let peeled = remembered.map_or(Peeled::Unknown, Peeled::Remembered);
                            (Raw::Direct(id.to_owned()), peeled)
                        }
                        Record::Peeled(id, peeled) => {
                            (Raw::Direct(id.to_owned()), Peeled::Told(peeled.to_owned()))
                        }
                        Record::Symbolic(target) => {
                            (Raw::Symbolic(target.to_owned()), Peeled::Unknown)
                        }
                    };
                    emit((name, is_valid, &raw, peeled))
                })?;
            }
        }
        Ok(())
    }

    /// What the references point to of which nobody tells where it leads, but for packed ones.
    pub(crate) fn unpeeled(&self) -> Result<Vec<ObjectId>, Error> {
        let mut ids = Vec::new();
        match &self.held {
            Held::Files { loose, .. } => {
                let unpeeled = loose.all.iter().filter(|found| found.peeled.is_none());
                ids.extend(unpeeled.filter_map(|found| match found.raw {
                    Raw::Direct(id) => Some(id),
                    Raw::Symbolic(_) | Raw::Missing | Raw::Broken => None,
                }));
            }
            Held::Tables(tables) => ids = tables.unpeeled(self.prefix.as_ref())?,
        }
        Ok(ids)
    }

    /// The packed reference that a [`Skim`] was told to be at `at`.
    pub(crate) fn skimmed_at(&self, at: usize) -> Option<Skimmed<'_>> {
        match &self.held {
            Held::Files { packed, .. } => packed.skimmed_at(at, self.prefix.as_ref()),
            Held::Tables(_) => None,
        }
    }

    /// Whether the packed reference that is at `at` points to the object of these lower-case digits.
    pub(crate) fn points_to(&self, at: usize, digits: &[u8]) -> bool {
        match &self.held {
            Held::Files { packed, .. } => packed.points_to(at, digits),
            Held::Tables(_) => false,
        }
    }

    /// The one of `tags` that was the best name of `object` when these were last compared, if that is remembered.
    pub(crate) fn best_tag<'i>(
        &self,
        object: &oid,
        tags: impl IntoIterator<Item = &'i ObjectId>,
    ) -> Option<ObjectId> {
        let memory = match &self.held {
            Held::Files { memory, .. } => memory,
            Held::Tables(tables) => &tables.memory,
        };
        memory.as_ref()?.best_tag(object, tags)
    }

    /// Remembers what is worth it for later questions, if this listing was made with a [`Memory`]: the references where nobody
    /// else tells where they lead, those that descriptions need, and what was found out of tags that were `compared`. `peel`
    /// finds where an object leads through tags.
    pub(crate) fn remember(&self, repository: &Repository, compared: &[BestTag], peel: &Peel<'_>) {
        let prefix = self.prefix.as_ref();
        let memory = match &self.held {
            Held::Files { memory, .. } => memory,
            Held::Tables(tables) => &tables.memory,
        };
        let Some(memory) = memory else {
            return;
        };
        let first = match &self.held {
            Held::Files { loose, .. } => loose.block(memory, repository, peel),
            Held::Tables(tables) => tables.block(prefix, repository, peel),
        };
        let packed = packed_path(repository);
        let paths = match &self.held {
            Held::Files { .. } => vec![packed.as_ref()],
            Held::Tables(tables) => tables.paths(),
        };
        let condensed = match self.is_condensed {
            true => None,
            false => condensed::block(&self.held, prefix, &paths, memory, repository),
        };
        let blocks: Vec<Block> = first.into_iter().chain(condensed).collect();
        if !blocks.is_empty() || !compared.is_empty() {
            publish(memory, repository, blocks, compared);
        }
    }
}

/// The name of a reference, whether that is valid, what it holds, and where that leads.
type Listed<'a> = (&'a BStr, bool, &'a Raw, Peeled);

impl LooseRef {
    fn listed(&self) -> Listed<'_> {
        let peeled = self.peeled.map_or(Peeled::Unknown, Peeled::Remembered);
        let name = self.name.as_ref();
        (name, name::is_valid(name), &self.raw, peeled)
    }
}

impl Held {
    /// Whether more will be known of what leads where under `prefix`, once that is remembered.
    pub(super) fn may_learn_more(&self, prefix: &BStr) -> bool {
        match self {
            Self::Files { .. } => false,
            Self::Tables(tables) => tables.may_learn(prefix),
        }
    }

    /// What the messages call the references of each kind.
    const PACKED: &str = "packed refname";
    const TABLES: &str = "refname";
}

/// Whether `name` is valid. As git does, gives up on one that is not, and might be the path of a file elsewhere.
fn is_valid_or_safe(name: &BStr, kind: &str) -> Result<bool, Error> {
    if name::is_valid(name) {
        return Ok(true);
    }
    let (problem, name) = match name.split_once_str("\0") {
        Some((before, _)) => (" contains embedded NULL: ", before),
        None if !name::is_safe(name) => (" is dangerous: ", name.as_bytes()),
        None => return Ok(false),
    };
    let text = [kind.as_bytes(), problem.as_bytes(), name].concat();
    Err(Error::Name { text: text.into() })
}
