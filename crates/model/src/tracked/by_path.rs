//! Entries by their paths.

use bstr::{BStr, BString, ByteSlice};

use super::blocks::ROOT;
use super::tree::{Directory, Tracked, TrackedEntry};
use crate::index::EntryFlags;
use crate::path::directory_len;

/// Finds entries by their paths. One in the directory of the one before costs no walk from the top: that is kept open.
pub struct ByPath<'t> {
    tracked: &'t Tracked,
    last: Option<Open<'t>>,
}

/// The directory of the last entry.
struct Open<'t> {
    directory: Directory<'t>,
    /// Its path, with a `/` at its end, or empty.
    path: BString,
    /// The number of its first entry.
    first: u32,
}

impl<'t> ByPath<'t> {
    /// Finds those of `tracked`.
    pub fn new(tracked: &'t Tracked) -> Self {
        Self {
            tracked,
            last: None,
        }
    }

    /// The entry of `path` and `stage`.
    pub fn find(&mut self, path: &BStr, stage: u8) -> Option<TrackedEntry> {
        self.find_where(path, |flags| flags.stage() == stage)
    }

    /// The first entry of `path`, of whatever stage.
    pub fn find_first(&mut self, path: &BStr) -> Option<TrackedEntry> {
        self.find_where(path, |_| true)
    }

    fn find_where(
        &mut self,
        path: &BStr,
        is_wanted: impl Fn(EntryFlags) -> bool,
    ) -> Option<TrackedEntry> {
        let (above, name) = path.split_at_checked(directory_len(path))?;
        let open = self.open(above)?;
        let mut at = open.directory.position(name);
        loop {
            let file = open.directory.file(at).filter(|file| file.name() == name)?;
            if is_wanted(file.flags()) {
                let number = open.first.saturating_add(open.directory.offset(at));
                return Some(TrackedEntry::new(number, path.to_owned(), &file));
            }
            at = at.saturating_add(1);
        }
    }

    fn open(&mut self, path: &[u8]) -> Option<&Open<'t>> {
        if self.last.as_ref().is_none_or(|last| last.path != path) {
            let mut number = ROOT;
            let mut first = 0u32;
            let mut rest = path;
            while let Some(slash) = rest.find_byte(b'/') {
                let subdir = self
                    .tracked
                    .subdir_called(number, rest.get(..slash)?.into())?;
                first = first.saturating_add(subdir.before);
                number = subdir.number;
                rest = rest.get(slash.saturating_add(1)..)?;
            }
            self.last = Some(Open {
                directory: self.tracked.directory(number),
                path: path.into(),
                first,
            });
        }
        self.last.as_ref()
    }
}
