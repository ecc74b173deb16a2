//! The repository in which commits and names are looked for.

use bstr::{BStr, BString};
use gix_hash::{ObjectId, oid};

use super::error::Error;
use crate::revision::{self, Outcome};
use vigil_git::objects::Objects;
use vigil_git::refs::Refs;
use vigil_git::repository::Repository;

/// One repository, with its references and objects.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The repository.
    pub repository: &'a Repository,
    /// Its references.
    pub refs: &'a Refs,
    /// Its objects.
    pub objects: &'a Objects,
}

impl Place<'_> {
    /// Returns the object that `name` resolves to. git's messages are appended to `said`.
    pub(super) fn find(
        &self,
        name: &BStr,
        said: &mut Vec<BString>,
    ) -> Result<Option<ObjectId>, Error> {
        let answer = revision::resolve_in_context(
            name,
            &revision::Options::default(),
            self.repository,
            self.refs,
            self.objects,
            &revision::StagedPaths::new(),
        );
        said.extend(answer.said);
        match answer.outcome {
            Outcome::Found(found) => Ok(Some(found.id)),
            Outcome::Fatal(text) => Err(Error::Name { text }),
            Outcome::Failed(error) => Err(error.into()),
            _ => Ok(None),
        }
    }
}

/// Returns `id` with at least `digits` digits; 0 means all of them, and `None` as many as configured.
pub(super) fn abbreviated(
    id: &oid,
    digits: Option<usize>,
    place: Place<'_>,
) -> Result<BString, Error> {
    let config = &place.repository.config;
    Ok(match digits {
        None => place.objects.abbreviate(id, config)?,
        Some(0) => id.to_string().into_bytes().into(),
        Some(digits) => place.objects.abbreviate_to(id, digits)?,
    })
}
