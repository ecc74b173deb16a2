//! All references whose names share a prefix, as they were when they were listed.

use std::sync::Arc;

use bstr::{BStr, BString, ByteSlice};
use gix_hash::{ObjectId, oid};

use super::error::Error;
use super::loose::LooseRef;
use super::name;
use super::packed::{Packed, Skim, Skimmed};
use super::raw::Raw;
use crate::reftable::{Merged, Record};
use vigil_model::id_hasher::ById;

/// References in byte order. They can be iterated as often as wanted, without reading anything but memory.
#[derive(Debug)]
pub struct Listing {
    pub(super) prefix: BString,
    pub(super) storage: Storage,
}

/// The storage behind a [`Listing`].
#[derive(Debug)]
pub(super) enum Storage {
    /// The loose references by name, and the packed ones, which count only where there is no loose one.
    Files {
        loose: Vec<LooseRef>,
        packed: Arc<Packed>,
    },
    /// The references of all tables.
    Tables(Merged),
    /// Selected references of all tables, copied.
    Copied(Vec<CopiedRef>),
}

/// A reference copied from a table.
#[derive(Debug)]
pub(super) struct CopiedRef {
    name: BString,
    raw: Raw,
    peeled: Option<ObjectId>,
}

impl Listing {
    /// Calls `found` for each reference: with its name, its value, and the object that this peels to (itself, unless it is a
    /// tag) if that is known without reading it. A reference with an invalid name is passed as broken.
    ///
    /// `skim` sees packed ones before they are parsed.
    ///
    /// # Errors
    /// Those of `found`; or `packed-refs` or a reftable is damaged, or has a name that could be the path of a file
    /// elsewhere.
    pub fn for_each_raw(
        &self,
        skim: Option<Skim<'_>>,
        mut found: impl FnMut(&BStr, &Raw, Option<ObjectId>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut emit = |(name, is_valid, raw, peeled): ListedRef<'_>| match is_valid {
            true => found(name, raw, peeled),
            false => found(name, &Raw::Broken, peeled),
        };
        match &self.storage {
            Storage::Files { loose, packed } => {
                let mut loose = loose.iter().peekable();
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
                    let is_valid = is_valid_or_safe(record.name, Storage::PACKED)?;
                    if !record.name.starts_with(&self.prefix) {
                        break;
                    }
                    while let Some(found) = loose.next_if(|found| found.name < record.name) {
                        emit(found.listed())?;
                    }
                    let raw = Raw::Direct(record.id);
                    match loose.next_if(|found| found.name == record.name) {
                        Some(found) => emit(found.listed())?,
                        None => emit((record.name, is_valid, &raw, record.peeled))?,
                    }
                }
                for found in loose {
                    emit(found.listed())?;
                }
            }
            Storage::Tables(tables) => {
                let all_are_refs = self.prefix.starts_with(b"refs/");
                tables.for_each(self.prefix.as_ref(), |name, record| {
                    // HEAD and the like are not listed.
                    if !all_are_refs && !name.starts_with(b"refs/") {
                        return Ok(());
                    }
                    let is_valid = is_valid_or_safe(name, Storage::TABLES)?;
                    let (raw, peeled) = match record {
                        Record::Deleted => return Ok(()),
                        // The object may still be a tag.
                        Record::Direct(id) => (Raw::Direct(id.to_owned()), None),
                        Record::Peeled(id, peeled) => {
                            (Raw::Direct(id.to_owned()), Some(peeled.to_owned()))
                        }
                        Record::Symbolic(target) => (Raw::Symbolic(target.to_owned()), None),
                    };
                    emit((name, is_valid, &raw, peeled))
                })?;
            }
            Storage::Copied(all) => {
                for found in all {
                    emit((found.name.as_ref(), true, &found.raw, found.peeled))?;
                }
            }
        }
        Ok(())
    }

    /// For tables, reduces the listing to references that `is_wanted` accepts, and of several that point to one object, to
    /// the first and the first tag: a description needs no others. Loose and packed references are left as they are.
    ///
    /// # Errors
    /// A reftable is damaged.
    pub fn first_per_object(self, is_wanted: impl Fn(&BStr) -> bool) -> Result<Self, Error> {
        if let Storage::Files { .. } = self.storage {
            return Ok(self);
        }
        let mut all = Vec::new();
        // Whether a tag points to the object.
        let mut known: ById<bool> = ById::default();
        self.for_each_raw(None, |name, raw, peeled| {
            if !is_wanted(name) {
                return Ok(());
            }
            if let Raw::Direct(id) = raw {
                let is_tag = name.starts_with(b"refs/tags/");
                match known.get_mut(id) {
                    Some(has_tag) if *has_tag || !is_tag => return Ok(()),
                    Some(has_tag) => *has_tag = true,
                    None => drop(known.insert(*id, is_tag)),
                }
            }
            all.push(CopiedRef {
                name: name.to_owned(),
                raw: raw.clone(),
                peeled,
            });
            Ok(())
        })?;
        Ok(Self {
            storage: Storage::Copied(all),
            ..self
        })
    }

    /// Checks for some packed tags that have no peeled line whether they are what the file says: no tag objects.
    pub(crate) fn check_peeled(&self, is_tag_object: &dyn Fn(&oid) -> bool) {
        if let Storage::Files { packed, .. } = &self.storage {
            packed.check_peeled(is_tag_object);
        }
    }

    /// The objects that loose references, and those of [first_per_object](Self::first_per_object) tables, point to, unless it is
    /// recorded what they peel to.
    pub fn unpeeled(&self) -> Vec<ObjectId> {
        let direct = |raw: &Raw| match raw {
            Raw::Direct(id) => Some(*id),
            Raw::Symbolic(_) | Raw::Missing | Raw::Broken | Raw::Unreadable => None,
        };
        match &self.storage {
            Storage::Files { loose, .. } => {
                let ids = loose.iter().filter_map(|found| direct(&found.raw));
                ids.collect()
            }
            Storage::Copied(all) => {
                let unpeeled = all.iter().filter(|found| found.peeled.is_none());
                unpeeled.filter_map(|found| direct(&found.raw)).collect()
            }
            Storage::Tables(_) => Vec::new(),
        }
    }

    /// Returns the packed reference that a [`Skim`] was shown at `at`.
    pub fn skimmed_at(&self, at: usize) -> Option<Skimmed<'_>> {
        match &self.storage {
            Storage::Files { packed, .. } => packed.skimmed_at(at, self.prefix.as_ref()),
            Storage::Tables(_) | Storage::Copied(_) => None,
        }
    }

    /// Whether the packed reference at `at` points to the object with these lower-case digits.
    pub fn points_to(&self, at: usize, digits: &[u8]) -> bool {
        match &self.storage {
            Storage::Files { packed, .. } => packed.points_to(at, digits),
            Storage::Tables(_) | Storage::Copied(_) => false,
        }
    }
}

/// A reference's name, whether that is valid, its value, and what that peels to.
type ListedRef<'a> = (&'a BStr, bool, &'a Raw, Option<ObjectId>);

impl LooseRef {
    fn listed(&self) -> ListedRef<'_> {
        let name = self.name.as_ref();
        (name, name::is_valid(name), &self.raw, None)
    }
}

impl Storage {
    /// The words for references of each kind in messages.
    const PACKED: &str = "packed refname";
    const TABLES: &str = "refname";
}

/// Whether `name` is valid. Like git, fails for one that is not valid and could be the path of a file elsewhere.
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
