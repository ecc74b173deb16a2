//! Which tag names a commit exactly (`git tag --points-at`, gitstatusd's field 18).

use std::collections::HashMap;
use std::path::PathBuf;

use bstr::BString;
use gix_hash::{ObjectId, oid};
use gix_object::Kind;

use super::refs::{self, Refs};
use crate::objects::{self, Objects};
use crate::stamp::Observation;

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
/// To be kept for as long as the repository is looked at: when no tag moved, a question costs one look at each
/// file and folder that holds tags.
#[derive(Debug, Default)]
pub struct TagIndex {
    known: Option<Known>,
}

#[derive(Debug)]
struct Known {
    names: HashMap<ObjectId, BString>,
    /// Everything the names were read from.
    sources: Vec<(PathBuf, Observation)>,
    /// A tag is a symbolic reference, and so may move when none of the sources does.
    is_fleeting: bool,
}

impl TagIndex {
    /// An index that knows nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The last name in byte order, without `refs/tags/`, of the tags that lead to `commit`, be it directly or
    /// through tag objects.
    pub fn tag_of(
        &mut self,
        refs: &Refs,
        objects: &Objects,
        commit: &oid,
    ) -> Result<Option<BString>, Error> {
        let known = match self.known.take() {
            Some(known) if known.holds() => known,
            _ => Known::read(refs, objects)?,
        };
        let name = known.names.get(commit).cloned();
        self.known = Some(known);
        Ok(name)
    }
}

impl Known {
    fn holds(&self) -> bool {
        !self.is_fleeting
            && self
                .sources
                .iter()
                .all(|(path, observation)| observation.holds(path).unwrap_or(false))
    }

    fn read(refs: &Refs, objects: &Objects) -> Result<Self, Error> {
        const PREFIX: &str = "refs/tags/";
        // Before the tags are read, so that a change in between shows.
        let (sources, is_fleeting) = refs.sources_of(PREFIX.into())?;
        let mut tags = Vec::new();
        refs.for_each(PREFIX.into(), |name, id, peeled| {
            let name = name.strip_prefix(PREFIX.as_bytes()).unwrap_or(name);
            tags.push((BString::from(name), id.to_owned(), peeled));
        })?;
        let mut names = HashMap::with_capacity(tags.len());
        // In byte order: a later name replaces an earlier one.
        for (name, id, peeled) in tags {
            let target = match peeled {
                Some(target) => Some(target),
                None => commit_of(objects, &id)?,
            };
            if let Some(target) = target {
                names.insert(target, name);
            }
        }
        Ok(Self {
            names,
            sources,
            is_fleeting,
        })
    }
}

/// The commit to which `id` leads. A tag that leads nowhere, or whose object is damaged, is no tag of a commit.
fn commit_of(objects: &Objects, id: &oid) -> Result<Option<ObjectId>, Error> {
    match objects.peel(id) {
        Ok(Some((id, Kind::Commit))) => Ok(Some(id)),
        Ok(_) | Err(objects::Error::Malformed { .. } | objects::Error::Unreadable { .. }) => {
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests;
