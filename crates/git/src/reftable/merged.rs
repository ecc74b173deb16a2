//! The references of all tables of a repository, as if there were one table.

use std::collections::BinaryHeap;
use std::sync::Arc;

use bstr::{BStr, BString};

use super::error::Error;
use super::table::{Cursor, Record, ReftableFile, Tables};
use crate::reflog::LogRecord;

/// Decides which references of a table count.
pub(crate) type Filter = fn(&[u8]) -> bool;

/// Tables that together hold the references: if several have the same name, the last one counts.
#[derive(Debug, Default)]
pub(crate) struct Merged(Vec<(Arc<ReftableFile>, Filter)>);

impl Merged {
    /// Adds `tables`, of which those references count for which `filter` is true.
    pub(crate) fn add(&mut self, tables: &Tables, filter: Filter) {
        let tables = tables.iter().map(|table| (Arc::clone(table), filter));
        self.0.extend(tables);
    }

    /// Calls `found` for each reference whose name starts with `prefix`, in byte order, until it fails.
    pub(crate) fn for_each<E: From<Error>>(
        &self,
        prefix: &BStr,
        mut found: impl FnMut(&BStr, Record<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut cursors = Vec::new();
        for (table, filter) in &self.0 {
            let mut cursor = FilteredCursor {
                cursor: table.cursor(prefix)?,
                is_inside: false,
                prefix,
                filter: *filter,
            };
            cursor.skip_excluded()?;
            cursors.push(cursor);
        }
        // The next name in any other table: up to it, the newest table at the least name can be read alone.
        let mut until = BString::default();
        while let Some(newest) = newest_of_least(&cursors) {
            let Some(least) = cursors.get(newest).and_then(FilteredCursor::name) else {
                break;
            };
            until.clear();
            until.extend_from_slice(least);
            for (at, cursor) in cursors.iter_mut().enumerate() {
                if at != newest && cursor.name().is_some_and(|name| *name == until) {
                    cursor.advance()?;
                }
            }
            let others = cursors.iter().enumerate().filter(|(at, _)| *at != newest);
            let bound = others.filter_map(|(_, cursor)| cursor.name()).min();
            let is_bounded = bound.is_some();
            until.clear();
            until.extend_from_slice(bound.unwrap_or_default());
            let Some(cursor) = cursors.get_mut(newest) else {
                break;
            };
            while let Some((name, record)) = cursor.current() {
                if is_bounded && *name >= until {
                    break;
                }
                if !matches!(record, Record::Deleted) {
                    found(name, record)?;
                }
                cursor.advance()?;
            }
        }
        Ok(())
    }
}

/// Returns the index of the cursor at the least name, and among equals the last.
fn newest_of_least(cursors: &[FilteredCursor<'_>]) -> Option<usize> {
    let names = cursors.iter().enumerate();
    let names = names.filter_map(|(at, cursor)| Some((cursor.name()?, at)));
    let least = names.min_by(|one, other| one.0.cmp(other.0).then(other.1.cmp(&one.1)));
    least.map(|(_, at)| at)
}

/// The references of one table that count.
struct FilteredCursor<'t> {
    cursor: Cursor<'t>,
    /// Whether the cursor is at a reference that counts.
    is_inside: bool,
    prefix: &'t BStr,
    filter: Filter,
}

impl<'t> FilteredCursor<'t> {
    fn current(&self) -> Option<(&BStr, Record<'t>)> {
        self.cursor.current().filter(|_| self.is_inside)
    }

    fn name(&self) -> Option<&BStr> {
        self.current().map(|(name, _)| name)
    }

    fn advance(&mut self) -> Result<(), Error> {
        self.cursor.advance()?;
        self.skip_excluded()
    }

    /// Skips references that do not count.
    fn skip_excluded(&mut self) -> Result<(), Error> {
        loop {
            let current = self.cursor.current();
            let name = current.map(|(name, _)| name);
            let name = name.filter(|name| name.starts_with(self.prefix));
            self.is_inside = name.is_some_and(|name| (self.filter)(name));
            if self.is_inside || name.is_none() {
                return Ok(());
            }
            self.cursor.advance()?;
        }
    }
}

/// Calls `found` with each record in the log of `name` and its message, newest first, until it returns false. If several of the
/// `tables` have a record of the same update, the last one counts.
pub(super) fn for_each_log_record(
    tables: &Tables,
    name: &BStr,
    mut found: impl FnMut(LogRecord, &BStr) -> bool,
) -> Result<(), Error> {
    let mut cursors = Vec::new();
    for table in tables.iter() {
        cursors.push(table.log_cursor(name)?);
    }
    let updates = cursors.iter().enumerate();
    let mut updates: BinaryHeap<(u64, usize)> = updates
        .filter_map(|(at, cursor)| Some((cursor.update()?, at)))
        .collect();
    let mut last = None;
    while let Some((update, at)) = updates.pop() {
        let Some(cursor) = cursors.get_mut(at) else {
            break;
        };
        if last.replace(update) != Some(update)
            && let Some((record, message)) = cursor.record()
            && !found(record, message)
        {
            break;
        }
        cursor.advance()?;
        updates.extend(cursor.update().map(|update| (update, at)));
    }
    Ok(())
}
