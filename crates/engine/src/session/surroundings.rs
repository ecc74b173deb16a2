//! What a scan asks of the repository around it, answered from a session's parts.

use std::fs::File;

use bstr::BStr;
use vigil_model::ObjectId;
use vigil_model::index::Entry;

use crate::git::convert::Converter;
use crate::git::repository::Repository;
use crate::objects::Objects;
use crate::scan::{ContentError, Surroundings};

/// The parts of a session that a scan needs.
pub(super) struct Host<'a> {
    pub(super) repository: &'a Repository,
    pub(super) objects: &'a Objects,
    pub(super) converter: &'a Converter,
}

impl Surroundings for Host<'_> {
    fn is_unchanged(
        &self,
        path: &BStr,
        file: File,
        size: u64,
        recorded: &ObjectId,
    ) -> Result<bool, ContentError> {
        self.converter
            .is_unchanged(path, &file, size, recorded)
            .map_err(|error| ContentError(error.to_string().into()))
    }

    fn is_unchanged_link(&self, target: &[u8], recorded: &ObjectId) -> bool {
        crate::objects::hash_blob(recorded.kind(), target) == *recorded
    }

    fn blob(&self, entry: &Entry) -> Option<Vec<u8>> {
        let mut contents = Vec::new();
        // A blob that cannot be read says nothing, as for git.
        let kind = self.objects.read(&entry.id, &mut contents).ok()??;
        (kind == gix_object::Kind::Blob).then_some(contents)
    }

    fn is_repository(&self, path: &BStr) -> bool {
        self.repository.has_nested_repository(path)
    }
}
