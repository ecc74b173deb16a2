//! Entries by their numbers.

use bstr::BString;

use super::blocks::ROOT;
use super::tree::{Directory, Placed, Tracked, TrackedEntry};

/// Finds entries by their numbers. One that is near the one before costs no walk from the top: the directories on the way are
/// kept open.
pub struct ByNumber<'t> {
    tracked: &'t Tracked,
    /// From the top to the directory of the last entry.
    open: Vec<Open<'t>>,
    /// The path of the last of them, with a `/` at its end, or empty, and whatever follows.
    path: BString,
}

/// A directory on the way to an entry.
struct Open<'t> {
    directory: Directory<'t>,
    /// The number of its first entry, and the one after its last.
    first: u32,
    end: u32,
    path_len: usize,
}

impl<'t> ByNumber<'t> {
    /// Finds those of `tracked`.
    pub fn new(tracked: &'t Tracked) -> Self {
        Self {
            tracked,
            open: Vec::new(),
            path: BString::default(),
        }
    }

    /// The entry of number `number`.
    pub fn get(&mut self, number: u32) -> Option<TrackedEntry> {
        let has = |open: &Open<'_>| open.first <= number && number < open.end;
        while self.open.last().is_some_and(|last| !has(last)) {
            self.open.pop();
        }
        if self.open.is_empty() {
            self.open.push(Open {
                directory: self.tracked.directory(ROOT),
                first: 0,
                end: u32::MAX,
                path_len: 0,
            });
        }
        loop {
            let last = self.open.last()?;
            self.path.truncate(last.path_len);
            let rest = number.saturating_sub(last.first);
            let order = last.directory.order();
            let begun = order.partition_point(|subdir| subdir.before <= rest);
            let placed = begun.checked_sub(1).and_then(|at| order.get(at));
            let Some(placed) = placed.filter(|placed| rest < placed.end()) else {
                let after = |placed: &Placed| {
                    let files = rest.saturating_sub(placed.end());
                    placed.files_before.saturating_add(files)
                };
                let file = placed.map_or(rest, after);
                let file = last.directory.file(file as usize)?;
                let path = [self.path.as_slice(), file.name()].concat();
                return Some(TrackedEntry::new(number, path.into(), &file));
            };
            let subdir = last.directory.subdir(placed.at as usize)?;
            self.path.extend_from_slice(subdir.name());
            self.path.push(b'/');
            // Each step goes down in a tree; one that goes on longer than there are directories is damaged.
            let is_deeper = self.open.len() <= self.tracked.directories() as usize
                && self.path.len() <= self.tracked.path_len_max();
            let first = last.first.saturating_add(placed.before);
            let opened = is_deeper.then(|| Open {
                directory: self.tracked.directory(subdir.number),
                first,
                end: first.saturating_add(placed.entries),
                path_len: self.path.len(),
            });
            self.open.push(opened?);
        }
    }
}
