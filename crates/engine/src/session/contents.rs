//! The contents of blobs, converted for the working tree or for a person to compare.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use bstr::{BStr, BString};
use gix_hash::oid;
use vigil_model::index::Index;
use vigil_model::tracked::Tracked;

use super::SessionError;
use super::attribute_blobs::{self, SourceOfAttributes};
use super::missed_rules::MissedRules;
use vigil_convert::attribute_files::attribute_files_without_need;
use vigil_convert::converter::{self, Converter};
use vigil_convert::textconv::{self, Drivers};
use vigil_git::child::{ChildEnvironment, FilterStderr};
use vigil_git::objects::Objects;
use vigil_git::refs::Refs;
use vigil_git::repository::Repository;
use vigil_rules::attributes::Attributes;
use vigil_rules::messages::Messages;

/// Converts blobs. The programs that it runs end when it is dropped.
pub struct Contents {
    /// For conversion.
    attributes: Arc<Attributes>,
    /// For drivers. git, too, reads the files of attributes for either, and complains about them each time.
    attributes_of_drivers: Arc<Attributes>,
    has_files: bool,
    converter: Converter,
    drivers: Drivers,
    /// What is tracked, once the index is used.
    tracked: Arc<OnceLock<Tracked>>,
    messages: Arc<Messages>,
    source: SourceKind,
    missed: Arc<MissedRules>,
}

/// Where attributes come from.
enum SourceKind {
    /// The file system alone.
    Files,
    /// A tree, which may turn out to be damaged.
    Tree,
    /// A tree that is missing.
    Missing,
}

impl Contents {
    /// Uses the settings and attributes of `repository`, those in the index only from [`Self::use_index`] on. Where its attributes are is only
    /// checked by [`Self::check_source`].
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
        let tracked = Arc::default();
        let missed = Arc::default();
        let source = SourceOfAttributes::of(repository, refs, objects, &missed);
        let kind = match source {
            SourceOfAttributes::Index => SourceKind::Files,
            SourceOfAttributes::Tree(_) => SourceKind::Tree,
            SourceOfAttributes::Missing(_) => SourceKind::Missing,
        };
        let blobs = attribute_blobs::late_blobs(&tracked, objects, source, &missed);
        let files = attribute_files_without_need(repository);
        let has_files = files.is_ok();
        let files = files.unwrap_or_default();
        let attributes = || {
            Arc::new(Attributes::new(
                files.clone(),
                blobs.clone(),
                messages.clone(),
            ))
        };
        let (attributes, attributes_of_drivers) = (attributes(), attributes());
        let mut settings = converter::Settings::of(repository, FilterStderr::Inherit)?;
        settings.child_environment =
            ChildEnvironment::without_need(repository, FilterStderr::Inherit);
        Ok(Self {
            converter: Converter::new(settings, attributes.clone()),
            drivers: Drivers::of(&repository.config)?,
            attributes,
            attributes_of_drivers,
            has_files,
            tracked,
            messages,
            source: kind,
            missed,
        })
    }

    /// From now on, attributes of folders that were not asked about yet may come from the index, where the working tree lacks a
    /// file of them. git uses it if it has read it for something else.
    pub fn use_index(&self, index: &Index) {
        self.tracked.get_or_init(|| Tracked::of(index));
    }

    /// Fails if it is unclear where attributes are, or if the tree that the attributes of the file `path` must come from is
    /// missing or cannot be read. git finds out when it looks up the first file, before it runs anything. It does so to find a
    /// driver `for_comparison`, or to convert the file.
    ///
    /// # Errors
    /// A setting is invalid; the tree is missing; or it, or a file of attributes in it, is damaged or cannot be fetched.
    pub fn check_source(
        &self,
        repository: &Repository,
        path: &BStr,
        for_comparison: bool,
    ) -> Result<(), SessionError> {
        if !self.has_files {
            attribute_files_without_need(repository)?;
        }
        match self.source {
            SourceKind::Files => return Ok(()),
            SourceKind::Missing => return Err(attribute_blobs::source_is_missing()),
            SourceKind::Tree => {
                // What is read is kept.
                let attributes = match for_comparison {
                    true => &self.attributes_of_drivers,
                    false => &self.attributes,
                };
                let _ = attributes.lookup(path, ["filter"]);
            }
        }
        match self.missed.take_failure() {
            Some(error) => Err(error.into()),
            None => Ok(()),
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
        let attributes = &self.attributes_of_drivers;
        self.drivers.find(attributes, path, is_regular).is_some()
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
        let attributes = &self.attributes_of_drivers;
        let Some(driver) = self.drivers.find(attributes, path, is_regular) else {
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
