//! The repository in which commits and names are looked for.

use bstr::{BStr, BString};
use gix_hash::{ObjectId, oid};

use super::error::Error;
use crate::revision::{self, Memory, Unresolved};
use vigil_git::objects::Objects;
use vigil_git::refs::Refs;
use vigil_git::repository::Repository;

/// One repository, with its references and objects.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The repository.
    pub repository: &'a Repository,
    /// Its references.
    pub refs: &'a Refs,
    /// Its objects.
    pub objects: &'a Objects,
}

impl Context<'_> {
    /// Returns the object that `name` resolves to, and keeps in `memory` what was read on the way. git's messages are
    /// appended to `messages`.
    pub(super) fn find(
        &self,
        name: &BStr,
        memory: &Memory,
        messages: &mut Vec<BString>,
    ) -> Result<Option<ObjectId>, Error> {
        let resolution = revision::resolve_in_context(
            name,
            &revision::Options {
                expands_index: true,
                ..revision::Options::default()
            },
            self.repository,
            self.refs,
            self.objects,
            memory,
        );
        messages.extend(resolution.messages);
        match resolution.outcome {
            Ok(found) => Ok(Some(found.id)),
            Err(Unresolved::Fatal(text)) => Err(Error::Name { text }),
            Err(Unresolved::Failed(error)) => Err(error.into()),
            Err(_) => Ok(None),
        }
    }
}

/// Returns `id` with at least `digits` digits; 0 means all of them, and `None` as many as configured.
pub(super) fn abbreviated(
    id: &oid,
    digits: Option<usize>,
    context: Context<'_>,
) -> Result<BString, Error> {
    let config = &context.repository.config;
    Ok(match digits {
        None => context.objects.abbreviate(id, config)?,
        Some(0) => id.to_string().into_bytes().into(),
        Some(digits) => context.objects.abbreviate_to(id, digits)?,
    })
}
