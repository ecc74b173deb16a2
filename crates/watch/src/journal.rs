//! A journal of the changes in one tree, in order, for several readers that ask at different times.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bstr::{BStr, BString, ByteSlice};

use vigil_model::timestamp::Timestamp;

use crate::changes::Changes;

/// The most paths that are kept, and the most bytes in them. A reader whose position is older than those must look
/// at everything.
const PATHS_MAX: usize = 100_000;
const BYTES_MAX: usize = 16 << 20;

/// A reader's position in a journal. It is meaningless in any other journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position(u64);

impl Position {
    /// The number of changes before this position. It is unique within one journal.
    pub fn number(self) -> u64 {
        self.0
    }

    /// Returns the position with this [`Self::number`].
    pub fn of_number(number: u64) -> Self {
        Self(number)
    }
}

/// The changes of one tree. Each path is listed once, at its latest change.
#[derive(Debug)]
pub(crate) struct Journal {
    /// The number of the last change.
    last: u64,
    /// Changes up to and including this number were forgotten.
    forgotten: u64,
    paths: BTreeMap<u64, Changed>,
    numbers: HashMap<Arc<[u8]>, u64>,
    bytes: usize,
}

/// A path that changed.
#[derive(Debug)]
struct Changed {
    path: Arc<[u8]>,
    kind: Kind,
    /// Whether its latest event said that it went away.
    went: bool,
    heard_at: Timestamp,
}

/// What a changed path stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The entry itself.
    Entry,
    /// A folder with everything below it.
    Folder,
}

impl Default for Journal {
    /// The journal of a tree of which nothing is known: the default position is older than its first.
    fn default() -> Self {
        Self {
            last: 1,
            forgotten: 1,
            paths: BTreeMap::new(),
            numbers: HashMap::new(),
            bytes: 0,
        }
    }
}

impl Journal {
    /// The position after the last change.
    pub(crate) fn end(&self) -> Position {
        Position(self.last)
    }

    /// The position of the latest change of the entry at `path` and when it was heard, if still known.
    pub(crate) fn last_of(&self, path: &BStr) -> Option<(Position, Timestamp)> {
        let number = self.numbers.get(path.as_bytes())?;
        let changed = self.paths.get(number)?;
        Some((Position(*number), changed.heard_at))
    }

    /// Records that the entry at `path` changed, as was heard at `heard_at`.
    pub(crate) fn add_path(&mut self, path: &BStr, heard_at: Timestamp) {
        self.add(path, Kind::Entry, false, heard_at);
    }

    /// Records that the entry at `path` went away.
    pub(crate) fn add_gone(&mut self, path: &BStr, heard_at: Timestamp) {
        self.add(path, Kind::Entry, true, heard_at);
    }

    /// Records that the folder at `path` and everything below it changed. An empty path means everything.
    pub(crate) fn add_folder(&mut self, path: &BStr, heard_at: Timestamp) {
        match path.is_empty() {
            true => self.add_everything(),
            false => self.add(path, Kind::Folder, false, heard_at),
        }
    }

    /// Records that everything may have changed.
    pub(crate) fn add_everything(&mut self) {
        self.last = self.last.saturating_add(1);
        self.forgotten = self.last;
        self.paths.clear();
        self.numbers.clear();
        self.bytes = 0;
    }

    /// The changes after `position`. A position that this journal never issued counts as older than everything.
    pub(crate) fn since(&self, position: Position) -> Changes {
        let mut changes = Changes::default();
        if position.0 < self.forgotten || position.0 > self.last {
            changes.add_everything();
            return changes;
        }
        let later = self.paths.range(position.0.saturating_add(1)..);
        for (_, changed) in later {
            let path = BString::from(changed.path.to_vec());
            match changed.kind {
                Kind::Entry if changed.went => changes.add_gone(path),
                Kind::Entry => changes.add_path(path),
                Kind::Folder => changes.add_folder(path),
            }
        }
        changes
    }

    fn add(&mut self, path: &BStr, kind: Kind, went: bool, heard_at: Timestamp) {
        self.last = self.last.saturating_add(1);
        let before = match self.numbers.get_mut(path.as_bytes()) {
            Some(number) => self.paths.remove(&std::mem::replace(number, self.last)),
            None => None,
        };
        let (path, was_folder) = match before {
            // A reader that has seen neither change must still look below.
            Some(before) => (before.path, before.kind == Kind::Folder),
            None => {
                let path: Arc<[u8]> = Arc::from(path.as_bytes());
                self.bytes = self.bytes.saturating_add(path.len());
                self.numbers.insert(path.clone(), self.last);
                (path, false)
            }
        };
        let changed = Changed {
            path,
            kind: if was_folder { Kind::Folder } else { kind },
            went,
            heard_at,
        };
        self.paths.insert(self.last, changed);
        while self.paths.len() > PATHS_MAX || self.bytes > BYTES_MAX {
            self.forget_first();
        }
    }

    fn forget_first(&mut self) {
        if let Some((number, changed)) = self.paths.pop_first() {
            self.bytes = self.bytes.saturating_sub(changed.path.len());
            self.numbers.remove(&changed.path);
            self.forgotten = number;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp { s: 7, ns: 0 };

    fn paths(changes: &Changes) -> Vec<String> {
        changes.paths.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn each_who_asks_has_what_changed_since() {
        let mut journal = Journal::default();
        assert!(journal.since(Position::default()).everything);
        let begin = journal.end();
        journal.add_path("a".into(), NOW);
        let first = journal.end();
        journal.add_path("b".into(), NOW);
        let second = journal.end();
        journal.add_path("a".into(), NOW);
        assert_eq!(paths(&journal.since(begin)), ["a", "b"]);
        assert_eq!(paths(&journal.since(first)), ["a", "b"]);
        assert_eq!(paths(&journal.since(second)), ["a"]);
        assert_eq!(journal.last_of("b".into()), Some((second, NOW)));
        let later = Timestamp { s: 8, ns: 0 };
        journal.add_path("b".into(), later);
        assert_eq!(journal.last_of("b".into()), Some((journal.end(), later)));
        assert_eq!(journal.last_of("c".into()), None);
        assert!(journal.since(journal.end()).is_empty());
    }

    #[test]
    fn a_folder_stays_one_though_it_changes_as_an_entry() {
        let mut journal = Journal::default();
        let begin = journal.end();
        journal.add_folder("a".into(), NOW);
        journal.add_path("a".into(), NOW);
        let changes = journal.since(begin);
        assert_eq!((changes.paths.len(), changes.folders.len()), (0, 1));
    }

    #[test]
    fn a_path_whose_last_change_was_its_removal_is_gone() {
        let mut journal = Journal::default();
        let begin = journal.end();
        journal.add_gone("a".into(), NOW);
        journal.add_path("b".into(), NOW);
        journal.add_gone("b".into(), NOW);
        journal.add_gone("c".into(), NOW);
        journal.add_path("c".into(), NOW);
        let changes = journal.since(begin);
        assert_eq!(paths(&changes), ["a", "b", "c"]);
        assert_eq!(changes.gone, ["a", "b"].map(BString::from).into());
    }

    #[test]
    fn what_was_forgotten_is_everything() {
        let mut journal = Journal::default();
        let begin = journal.end();
        for number in 0..=PATHS_MAX {
            journal.add_path(number.to_string().as_str().into(), NOW);
        }
        assert!(journal.since(begin).everything);
        let first = Position::of_number(begin.number() + 1);
        assert_eq!(journal.since(first).paths.len(), PATHS_MAX);
        assert_eq!(journal.last_of("0".into()), None);
        // What comes again after it was forgotten counts as a new path.
        journal.add_path("0".into(), NOW);
        assert_eq!(journal.last_of("0".into()), Some((journal.end(), NOW)));
        let bytes = |(_, changed): (&u64, &Changed)| changed.path.len();
        assert_eq!(journal.bytes, journal.paths.iter().map(bytes).sum());
        let end = journal.end();
        journal.add_everything();
        assert!(journal.paths.is_empty() && journal.bytes == 0);
        assert!(journal.since(end).everything);
        assert!(journal.since(journal.end()).is_empty());
    }

    #[test]
    fn long_paths_are_bounded() {
        let mut journal = Journal::default();
        let begin = journal.end();
        for number in 0..5000 {
            let path = format!("{number}{}", "x".repeat(4000));
            journal.add_path(path.as_str().into(), NOW);
        }
        assert!(journal.bytes <= BYTES_MAX);
        assert!(journal.since(begin).everything);
        assert!(journal.paths.len() > 4000);
    }

    #[test]
    fn a_position_of_another_journal_is_no_position() {
        let journal = Journal::default();
        assert!(journal.since(Position::of_number(7)).everything);
    }
}
