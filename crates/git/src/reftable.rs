//! Stacks of reftables (reftable(5) of git's technical documentation): references and their logs in sorted,
//! compressed tables, of which a later one overrides the earlier.

mod block;
mod merged;
pub(crate) mod table;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bstr::{BStr, BString, ByteSlice};
use gix_hash::{Kind, ObjectId, oid};
use parking_lot::Mutex;

pub(crate) use self::merged::Merged;
pub(crate) use self::table::Record;
use self::table::Table;
use super::refs::Raw;
use vigil_stamp::Observation;

/// Why a stack of reftables could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file that cannot be read.
    #[error("unable to read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// A file whose contents break the format.
    #[error("reftable {} is corrupt: {reason}", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The list of tables changed at every attempt to read them all.
    #[error("reftable stack {} does not hold still", path.display())]
    Unsettled {
        /// The list.
        path: PathBuf,
    },
}

/// What a table records for a reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// It was deleted.
    Deleted,
    /// It points to an object: as a rule none that is a tag, but who moves all references from files says of none.
    Direct(ObjectId),
    /// It points to a tag object, and that to another object in the end.
    Peeled(ObjectId, ObjectId),
    /// It points to another reference.
    Symbolic(BString),
}

impl Value {
    /// What a reader sees of it.
    pub(crate) fn raw(&self) -> Raw {
        match self {
            Self::Deleted => Raw::Missing,
            Self::Direct(id) | Self::Peeled(id, _) => Raw::Direct(*id),
            Self::Symbolic(target) => Raw::Symbolic(target.clone()),
        }
    }
}

/// The tables of one folder.
#[derive(Debug)]
pub(crate) struct Stack {
    folder: PathBuf,
    list_path: PathBuf,
    hash: Kind,
    tables: Mutex<Option<(Observation, Tables)>>,
}

/// The tables from oldest to newest. A table never changes once it is written, and no two have one name.
pub(crate) type Tables = Arc<Vec<Arc<Table>>>;

/// How often the list is read anew because a writer replaced tables meanwhile.
const ATTEMPTS_MAX: usize = 8;

impl Stack {
    /// The stack in `folder`. Nothing is read yet.
    pub(crate) fn new(folder: PathBuf, hash: Kind) -> Self {
        Self {
            list_path: folder.join("tables.list"),
            folder,
            hash,
            tables: Mutex::new(None),
        }
    }

    /// The file that changes with each change of any reference or log.
    pub(crate) fn list_path(&self) -> &Path {
        &self.list_path
    }

    /// The value of `name`, unless it is deleted.
    pub(crate) fn find(&self, name: &BStr) -> Result<Option<Value>, Error> {
        for table in self.tables()?.iter().rev() {
            if let Some(value) = table.find(name)? {
                return Ok(Some(value).filter(|value| *value != Value::Deleted));
            }
        }
        Ok(None)
    }

    /// The number of records in the log of `name`.
    pub(crate) fn log_count(&self, name: &BStr) -> Result<usize, Error> {
        let mut is_alive = BTreeMap::new();
        for table in self.tables()?.iter() {
            table.for_each_log(name, |update, record| {
                is_alive.insert(update, record.is_some());
            })?;
        }
        Ok(is_alive.values().filter(|is_alive| **is_alive).count())
    }

    /// Calls `found` with the new id and the message of each record in the log of `name`, the newest first, until
    /// it returns false.
    pub(crate) fn log_newest_first(
        &self,
        name: &BStr,
        mut found: impl FnMut(&oid, &BStr) -> bool,
    ) -> Result<(), Error> {
        let mut records = BTreeMap::new();
        for table in self.tables()?.iter() {
            table.for_each_log(name, |update, record| {
                records.insert(update, record.map(|(id, message)| (id, message.to_owned())));
            })?;
        }
        for (id, message) in records.into_values().rev().flatten() {
            let message = message.strip_suffix(b"\n").unwrap_or(&message);
            if !found(&id, message.as_bstr()) {
                break;
            }
        }
        Ok(())
    }

    /// The tables as they are now.
    pub(crate) fn tables(&self) -> Result<Tables, Error> {
        let failed = |source: std::io::Error| Error::Read {
            path: self.list_path.clone(),
            source,
        };
        let mut cached = self.tables.lock();
        if let Some((observation, tables)) = &*cached
            && observation
                .holds(&self.list_path)
                .map_err(|error| failed(error.into()))?
        {
            return Ok(Arc::clone(tables));
        }
        for _ in 0..ATTEMPTS_MAX {
            let observation =
                Observation::of(&self.list_path).map_err(|error| failed(error.into()))?;
            // A repository without any reference may have no list yet.
            let list = if observation.exists() {
                vigil_stamp::file::read(&self.list_path).map_err(failed)?
            } else {
                Vec::new()
            };
            let known = cached.as_ref().map(|(_, tables)| tables.as_slice());
            if let Some(tables) = self.open(&list, known.unwrap_or_default())? {
                let tables = Arc::new(tables);
                *cached = Some((observation, Arc::clone(&tables)));
                return Ok(tables);
            }
        }
        Err(Error::Unsettled {
            path: self.list_path.clone(),
        })
    }

    /// Opens the tables named in `list`, but for those already `known`; `None` where one is gone, which means
    /// that there is a newer list.
    fn open(&self, list: &[u8], known: &[Arc<Table>]) -> Result<Option<Vec<Arc<Table>>>, Error> {
        let mut tables = Vec::new();
        for name in list.lines().filter(|name| !name.is_empty()) {
            let path = self.folder.join(OsStr::from_bytes(name));
            if let Some(table) = known.iter().find(|table| table.path() == path) {
                tables.push(Arc::clone(table));
                continue;
            }
            match vigil_stamp::file::read(&path) {
                Ok(bytes) => tables.push(Arc::new(Table::parse(path, bytes, self.hash)?)),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
                Err(source) => return Err(Error::Read { path, source }),
            }
        }
        Ok(Some(tables))
    }
}

#[cfg(test)]
mod tests;
