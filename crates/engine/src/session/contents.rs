//! The contents of blobs, converted for the working tree or for a person to compare.

use std::borrow::Cow;
use std::sync::Arc;

use bstr::{BStr, BString};
use gix_hash::oid;
use vigil_model::index::Index;
use vigil_model::tracked::Tracked;

use super::SessionError;
use super::attribute_blobs::{self, SourceOfAttributes};
use vigil_convert::attribute_files::attribute_files;
use vigil_convert::converter::{self, Converter};
use vigil_convert::textconv::{self, Drivers};
use vigil_git::child::FilterStderr;
use vigil_git::objects::Objects;
use vigil_git::refs::Refs;
use vigil_git::repository::Repository;
use vigil_rules::attributes::Attributes;
use vigil_rules::messages::Messages;

/// Converts blobs. The programs that it runs end when it is dropped.
pub struct Contents {
    attributes: Arc<Attributes>,
    converter: Converter,
    drivers: Drivers,
    messages: Arc<Messages>,
    source_is_missing: bool,
}

impl Contents {
    /// Uses the settings and attributes of `repository`, except attributes in the index.
    ///
    /// # Errors
    /// A setting is invalid.
    pub fn of(
        repository: &Repository,
        refs: &Refs,
        objects: &Objects,
    ) -> Result<Self, SessionError> {
        // git reads this setting whenever it names a file of the repository, such as the one of attributes.
        repository.config.path("core.hookspath")?;
        let messages = Arc::new(Messages::default());
        let nothing = Tracked::of(&Index::empty(repository.hash));
        let missed = Arc::default();
        let source = SourceOfAttributes::of(repository, refs, objects, &missed);
        let source_is_missing = matches!(source, SourceOfAttributes::Missing(_));
        let attributes = Arc::new(Attributes::new(
            attribute_files(repository)?,
            attribute_blobs::blobs(&nothing, objects, source),
            messages.clone(),
        ));
        let settings = converter::Settings::of(repository, FilterStderr::Inherit)?;
        Ok(Self {
            converter: Converter::new(settings, attributes.clone()),
            drivers: Drivers::of(&repository.config)?,
            attributes,
            messages,
            source_is_missing,
        })
    }

    /// Fails if the tree that attributes must come from is missing. git finds out when it looks up the first file.
    ///
    /// # Errors
    /// It is missing.
    pub fn check_source(&self) -> Result<(), SessionError> {
        match self.source_is_missing {
            true => Err(attribute_blobs::source_is_missing()),
            false => Ok(()),
        }
    }

    /// Returns the blob `id` as it would be in the working tree at `path`.
    ///
    /// # Errors
    /// git would fail.
    pub fn in_working_tree<'a>(
        &self,
        path: &BStr,
        id: &oid,
        blob: &'a [u8],
    ) -> Result<Cow<'a, [u8]>, converter::Error> {
        self.converter.to_working_tree(path, id, blob)
    }

    /// Whether the diff driver of `path` converts its contents (textconv).
    pub fn has_textconv(&self, path: &BStr, is_regular: bool) -> bool {
        let driver = self.drivers.find(&self.attributes, path, is_regular);
        driver.is_some()
    }

    /// Converts the blob `id` by the diff driver of `path`, or returns the conversion that git cached; `None` if no
    /// driver converts it.
    ///
    /// # Errors
    /// git would fail.
    pub fn for_comparison(
        &self,
        (refs, objects): (&Refs, &Objects),
        path: &BStr,
        is_regular: bool,
        id: &oid,
        blob: &[u8],
    ) -> Result<Option<Vec<u8>>, textconv::Error> {
        let Some(driver) = self.drivers.find(&self.attributes, path, is_regular) else {
            return Ok(None);
        };
        match driver.kept(refs, objects, id) {
            Some(kept) => Ok(Some(kept)),
            None => driver.convert(&self.converter, path, id, blob).map(Some),
        }
    }

    /// Takes the lines that git writes to stderr meanwhile.
    pub fn take_messages(&self) -> Vec<BString> {
        self.messages.take()
    }
}
