//! Stacks of reftables (reftable(5) of git's technical documentation): references and their logs in sorted,
//! compressed tables, of which later ones override earlier ones.

mod block;
mod error;
mod merged;
pub(crate) mod table;
mod value;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bstr::{BStr, ByteSlice};
use gix_hash::Kind;
use parking_lot::Mutex;

pub use self::error::Error;
pub(crate) use self::merged::Merged;
pub(crate) use self::table::Record;
use self::table::{ReftableFile, Tables};
pub(crate) use self::value::Value;
use super::reflog::LogRecord;
use vigil_stamp::Observation;

/// The tables in one directory.
#[derive(Debug)]
pub(crate) struct Stack {
    folder: PathBuf,
    list_path: PathBuf,
    hash: Kind,
    tables: Mutex<Option<(Observation, Tables)>>,
}

/// The most bytes that are read of a list. git merges tables so that a list names few, in 45 bytes each.
const LIST_LEN_MAX: u64 = 16 << 20;

/// How often the list is read again because a writer has replaced tables meanwhile.
const ATTEMPTS_MAX: usize = 8;

impl Stack {
    /// Creates the stack in `folder`. Nothing is read yet.
    pub(crate) fn new(folder: PathBuf, hash: Kind) -> Self {
        Self {
            list_path: folder.join("tables.list"),
            folder,
            hash,
            tables: Mutex::new(None),
        }
    }

    /// The file that changes whenever any reference or log changes.
    pub(crate) fn list_path(&self) -> &Path {
        &self.list_path
    }

    /// Returns the value of `name`, unless it is deleted.
    pub(crate) fn find(&self, name: &BStr) -> Result<Option<Value>, Error> {
        for table in self.tables()?.iter().rev() {
            if let Some(value) = table.find(name)? {
                return Ok(Some(value).filter(|value| *value != Value::Deleted));
            }
        }
        Ok(None)
    }

    /// Returns the number of records in the log of `name`.
    pub(crate) fn log_count(&self, name: &BStr) -> Result<usize, Error> {
        let mut count = 0_usize;
        self.log_newest_first(name, |_, _| {
            count = count.saturating_add(1);
            true
        })?;
        Ok(count)
    }

    /// Whether there is a log of `name`, be it empty.
    pub(crate) fn has_log(&self, name: &BStr) -> Result<bool, Error> {
        let mut has_log = false;
        merged::for_each_log_record(&self.tables()?, name, |_, _| {
            has_log = true;
            false
        })?;
        Ok(has_log)
    }

    /// Calls `found` with each record in the log of `name` and its message, newest first, until it returns false.
    pub(crate) fn log_newest_first(
        &self,
        name: &BStr,
        mut found: impl FnMut(LogRecord, &BStr) -> bool,
    ) -> Result<(), Error> {
        merged::for_each_log_record(&self.tables()?, name, |record, message| {
            if is_mark(&record) {
                return true;
            }
            let message = message.strip_suffix(b"\n").unwrap_or(message);
            found(record, message.as_bstr())
        })
    }

    /// Copies cached tables to memory so that no file is mapped, if there is room for them.
    pub(crate) fn copy_to_memory(&self) {
        if let Some((_, tables)) = &*self.tables.lock() {
            tables.iter().for_each(|table| table.copy_to_memory());
        }
    }

    /// Returns the tables as they are now.
    pub(crate) fn tables(&self) -> Result<Tables, Error> {
        let failed = |source: std::io::Error| Error::Read {
            path: self.list_path.clone(),
            source,
        };
        let mut cached = self.tables.lock();
        if let Some((observation, tables)) = &*cached
            && observation
                .is_current(&self.list_path)
                .map_err(|error| failed(error.into()))?
        {
            return Ok(Arc::clone(tables));
        }
        for _ in 0..ATTEMPTS_MAX {
            let observation =
                Observation::of(&self.list_path).map_err(|error| failed(error.into()))?;
            // A repository without references may have no list yet.
            let list = if observation.exists() {
                vigil_stamp::file::read_up_to(&self.list_path, LIST_LEN_MAX).map_err(failed)?
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
        Err(Error::KeepsChanging {
            path: self.list_path.clone(),
        })
    }

    /// Opens the tables named in `list`, except those already `known`; `None` if one no longer exists, which
    /// means that there is a newer list.
    fn open(
        &self,
        list: &[u8],
        known: &[Arc<ReftableFile>],
    ) -> Result<Option<Vec<Arc<ReftableFile>>>, Error> {
        let mut tables = Vec::new();
        for name in list.lines().filter(|name| !name.is_empty()) {
            let path = self.folder.join(OsStr::from_bytes(name));
            if let Some(table) = known.iter().find(|table| table.path() == path) {
                tables.push(Arc::clone(table));
                continue;
            }
            // A table is never changed once it has a name.
            match vigil_stamp::file::read_or_map(&path) {
                Ok(bytes) => tables.push(Arc::new(ReftableFile::parse(path, bytes, self.hash)?)),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
                Err(source) => return Err(Error::Read { path, source }),
            }
        }
        Ok(Some(tables))
    }
}

/// Whether the record only marks that there is a log: both ids are null.
fn is_mark(record: &LogRecord) -> bool {
    record.old.is_null() && record.new.is_null()
}

#[cfg(test)]
mod tests;
