//! Searches the log of a reference: its former values and their times (gitrevisions(7), "`<refname>@{<n>}`").

use bstr::BStr;

use super::Unresolved;
use vigil_git::refs::{LogRecord, Refs};

/// The newest records of a log, the newest first.
#[derive(Debug, Default)]
pub(super) struct Log {
    pub(super) records: Vec<LogRecord>,
}

impl Log {
    /// Reads the log of the reference `name` up to the record `at`, counted from the newest; all of it if it is shorter.
    pub(super) fn up_to(refs: &Refs, name: &BStr, at: usize) -> Result<Self, Unresolved> {
        let mut log = Self::default();
        refs.log(name, |record, _| {
            log.records.push(record);
            log.records.len() <= at
        })?;
        Ok(log)
    }

    /// Reads the log of the reference `name` up to the newest record from `time_s` or before, and returns the number of that
    /// record; reads all of the log if there is none.
    pub(super) fn up_to_time(
        refs: &Refs,
        name: &BStr,
        time_s: i64,
    ) -> Result<(Self, Option<usize>), Unresolved> {
        let mut log = Self::default();
        let mut found = None;
        refs.log(name, |record, _| {
            if record.time_s <= time_s {
                found = Some(log.records.len());
            }
            log.records.push(record);
            found.is_none()
        })?;
        Ok((log, found))
    }
}
