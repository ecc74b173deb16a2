//! The tag that names a commit exactly (`git tag --points-at`, gitstatusd's field 18).

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use bstr::{BString, ByteSlice};
use gix_hash::{ObjectId, oid};

use vigil_git::objects::{self, Objects};
use vigil_git::refs::{self, Raw, Refs, Sources};
use vigil_model::id_hasher::IdHasher;

/// Why tags could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A reference cannot be read.
    #[error(transparent)]
    Refs(#[from] refs::Error),
    /// A tag object cannot be read.
    #[error(transparent)]
    Objects(#[from] objects::Error),
}

/// The last tag, in byte order, of each commit that has one.
///
/// The index should be kept as long as the repository is in use: while no tag moves, a question costs one check of
/// each file and directory that holds tags.
#[derive(Debug, Default)]
pub struct TagIndex {
    known: Option<TagNames>,
}

#[derive(Debug)]
struct TagNames {
    names: HashMap<ObjectId, BString, BuildHasherDefault<IdHasher>>,
    /// Tags whose target may change although no source changes, in byte order: symbolic ones, and those whose
    /// objects could not be read.
    unsettled: Vec<BString>,
    /// Everything this was read from.
    sources: Sources,
    /// Whether something could not be read, and may be readable the next time.
    is_unread: bool,
}

const PREFIX: &str = "refs/tags/";

impl TagIndex {
    /// Returns the last name in byte order, without `refs/tags/`, of the tags that point to `commit`, directly or
    /// through tag objects. With `stayed`, the caller knows that no file that holds tags changed since the last
    /// question.
    ///
    /// # Errors
    /// The references cannot be read.
    pub fn tag_of(
        &mut self,
        refs: &Refs,
        objects: &Objects,
        commit: &oid,
        stayed: bool,
    ) -> Result<Option<BString>, Error> {
        let held = self.known.take();
        let held = held.filter(|known| !known.is_unread && (stayed || known.sources.hold()));
        let known = match held {
            Some(known) => known,
            None => TagNames::read(refs, objects)?,
        };
        let known = self.known.insert(known);
        let settled = known.names.get(commit);
        for name in known.unsettled.iter().rev() {
            if settled.is_some_and(|settled| settled > name) {
                break;
            }
            let full_name = BString::from([PREFIX.as_bytes(), name].concat());
            if let Some(id) = refs.resolve(full_name.as_bstr())?
                && target_of(objects, &id)?.is_some_and(|target| *target == *commit)
            {
                return Ok(Some(name.clone()));
            }
        }
        Ok(settled.cloned())
    }
}

impl TagIndex {
    /// Whether no tag can get another target while all files that hold references stay the same.
    pub fn is_settled(&self) -> bool {
        let known = self.known.as_ref();
        known.is_none_or(|known| known.unsettled.is_empty())
    }
}

impl TagNames {
    fn read(refs: &Refs, objects: &Objects) -> Result<Self, Error> {
        let unread_before = refs.unread_count();
        // Taken before the tags are read, so that a change in between is noticed.
        let sources = refs.sources_of(PREFIX.into())?;
        let mut direct = Vec::new();
        let mut unsettled = Vec::new();
        objects
            .list_peeled(refs, PREFIX.into())?
            .for_each_raw(None, |name, raw, peeled| {
                let name = BString::from(name.strip_prefix(PREFIX.as_bytes()).unwrap_or(name));
                match raw {
                    Raw::Direct(id) if !id.is_null() => direct.push((name, *id, peeled)),
                    Raw::Symbolic(_) => unsettled.push(name),
                    Raw::Direct(_) | Raw::Missing | Raw::Broken | Raw::Unreadable => {}
                }
                Ok(())
            })?;
        let mut names = HashMap::with_capacity_and_hasher(direct.len(), Default::default());
        // In byte order: a later name replaces an earlier one.
        for (name, id, peeled) in direct {
            let target = match peeled {
                Some(target) => Some(target),
                None => target_of(objects, &id)?,
            };
            match target {
                Some(target) => drop(names.insert(target, name)),
                None => unsettled.push(name),
            }
        }
        unsettled.sort();
        Ok(Self {
            names,
            unsettled,
            sources,
            is_unread: refs.unread_count() != unread_before,
        })
    }
}

/// Returns the object that `id` leads to through tags; `None` if one on the way is missing or damaged.
fn target_of(objects: &Objects, id: &oid) -> Result<Option<ObjectId>, Error> {
    match objects.peel(id) {
        Ok(found) => Ok(found.map(|(id, _)| id)),
        Err(objects::Error::Malformed { .. } | objects::Error::Unreadable { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests;
