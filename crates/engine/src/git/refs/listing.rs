//! All references whose names begin alike, as they were when they were listed.

use std::collections::BTreeMap;
use std::sync::Arc;

use bstr::{BStr, BString, ByteSlice};
use gix_hash::ObjectId;

use super::packed::{Needless, Packed};
use super::{Error, Raw, name};
use crate::git::reftable::Value;

/// References in byte order, to be gone through as often as wanted: nothing but memory is read for it.
#[derive(Debug)]
pub(crate) struct Listing {
    pub(super) prefix: BString,
    pub(super) held: Held,
}

/// Where the references of a [`Listing`] are.
#[derive(Debug)]
pub(super) enum Held {
    /// What each loose reference holds, by name, and the packed ones, of which those count that are not loose.
    Files {
        loose: Vec<(BString, Raw)>,
        packed: Arc<Packed>,
    },
    /// Those of all tables.
    Tables(BTreeMap<BString, Value>),
}

impl Listing {
    /// Calls `found` with each reference: its name, what it holds, and the object that this peels to (itself, unless
    /// it is a tag) where that is known without reading it. One of an invalid name is broken.
    ///
    /// `found` may say what of the following it has no need for.
    pub(crate) fn for_each_raw<'n>(
        &self,
        mut found: impl FnMut(&BStr, Raw, Option<ObjectId>) -> Result<Option<Needless<'n>>, Error>,
    ) -> Result<(), Error> {
        let mut emit = |name: &BStr, is_valid, raw, peeled| {
            found(name, if is_valid { raw } else { Raw::Broken }, peeled)
        };
        match &self.held {
            Held::Files { loose, packed } => {
                let mut loose = loose.iter().peekable();
                let mut records = packed.from(self.prefix.as_ref());
                while let Some(record) = records.next() {
                    let record = record?;
                    let is_valid = is_valid_or_safe(record.name, Held::PACKED)?;
                    if !record.name.starts_with(&self.prefix) {
                        break;
                    }
                    while let Some((name, raw)) = loose.next_if(|(name, _)| name < record.name) {
                        emit(name.as_ref(), name::is_valid(name), raw.clone(), None)?;
                    }
                    let (raw, peeled) = match loose.next_if(|(name, _)| name == record.name) {
                        Some((_, raw)) => (raw.clone(), None),
                        None => (Raw::Direct(record.id), record.peeled),
                    };
                    if let Some(needless) = emit(record.name, is_valid, raw, peeled)? {
                        let until = loose.peek().map(|(name, _)| name.as_ref());
                        records.skip_needless(needless, self.prefix.as_ref(), until);
                    }
                }
                for (name, raw) in loose {
                    emit(name.as_ref(), name::is_valid(name), raw.clone(), None)?;
                }
            }
            Held::Tables(all) => {
                for (name, value) in all.range(BString::from("refs/")..BString::from("refs0")) {
                    let is_valid = is_valid_or_safe(name.as_ref(), Held::TABLES)?;
                    emit(name.as_ref(), is_valid, value.raw(), value.peeled())?;
                }
            }
        }
        Ok(())
    }
}

impl Held {
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
