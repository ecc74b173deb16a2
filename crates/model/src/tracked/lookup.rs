//! Lookup of entries by number and by path.

use bstr::{BStr, BString, ByteSlice};

use super::blocks::ROOT;
use super::tree::{Directory, Placed, Tracked, TrackedEntry};
use crate::index::EntryFlags;
use crate::path::directory_len;

/// Finds entries by their numbers. An entry near the previous one needs no walk from the top: the directories on the way are
/// kept open.
pub struct ByNumber<'t> {
    tracked: &'t Tracked,
    /// The directories from the top to that of the previous entry.
    open: Vec<Open<'t>>,
    /// The path of the last of them, with a trailing `/`, or empty; more bytes may follow it.
    path: BString,
}

/// A directory on the way to an entry.
struct Open<'t> {
    directory: Directory<'t>,
    /// The number of its first entry, and the number after its last.
    first: u32,
    end: u32,
    path_len: usize,
}

impl<'t> ByNumber<'t> {
    /// Starts a lookup in `tracked`.
    pub fn new(tracked: &'t Tracked) -> Self {
        Self {
            tracked,
            open: Vec::new(),
            path: BString::default(),
        }
    }

    /// The entry with number `number`.
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
            // Each step must go down a tree. A path deeper than the number of directories means damage.
            let is_deeper = self.open.len() <= self.tracked.directory_number_end() as usize
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

/// Finds entries by their paths. An entry in the directory of the previous one needs no walk from the top: that directory is
/// kept open.
pub struct ByPath<'t> {
    tracked: &'t Tracked,
    last: Option<LastDirectory<'t>>,
}

/// The directory of the previous entry.
struct LastDirectory<'t> {
    directory: Directory<'t>,
    /// Its path, with a trailing `/`, or empty.
    path: BString,
    /// The number of its first entry.
    first: u32,
}

impl<'t> ByPath<'t> {
    /// Starts a lookup in `tracked`.
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

    /// The first entry of `path`, whatever its stage.
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

    fn open(&mut self, path: &[u8]) -> Option<&LastDirectory<'t>> {
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
            self.last = Some(LastDirectory {
                directory: self.tracked.directory(number),
                path: path.into(),
                first,
            });
        }
        self.last.as_ref()
    }
}

/// Tells which paths are beside all entries. Paths in the folder of the previous one need no walk from the top.
pub struct Beside<'t> {
    tracked: &'t Tracked,
    last: Option<(BString, Above<'t>)>,
}

/// What is known of all paths in one folder.
enum Above<'t> {
    /// They are beside all entries, or they are not.
    Decided(bool),
    /// Entries are in or below the folder.
    Tracked(Directory<'t>),
}

impl<'t> Beside<'t> {
    /// Starts with nothing known of the paths of `tracked`.
    pub fn new(tracked: &'t Tracked) -> Self {
        Self {
            tracked,
            last: None,
        }
    }

    /// Whether no entry is at `path`, below it, or in place of a directory above it; never true of the top. One walk down tells
    /// all of that, so the time grows with the depth, not with its square.
    pub fn has(&mut self, path: &BStr) -> bool {
        let Some((above, name)) = path.split_at_checked(directory_len(path)) else {
            return false;
        };
        if path.is_empty() {
            return false;
        }
        let tracked = self.tracked;
        let same = self.last.take().filter(|(known, _)| known == above);
        let (_, known) = self
            .last
            .insert(same.unwrap_or_else(|| (above.into(), Self::look(tracked, above))));
        match known {
            Above::Decided(decided) => *decided,
            Above::Tracked(directory) => {
                !is_in_place(directory, name) && directory.find_subdir(name).is_none()
            }
        }
    }

    /// Walks down to the folder `above`, which ends in `/` unless it is the top.
    fn look(tracked: &'t Tracked, above: &[u8]) -> Above<'t> {
        let mut directory = tracked.directory(ROOT);
        for name in above.split_str("/").filter(|name| !name.is_empty()) {
            if is_in_place(&directory, name) {
                return Above::Decided(false);
            }
            match directory.find_subdir(name) {
                Some(subdir) => directory = tracked.directory(subdir.number),
                None => return Above::Decided(true),
            }
        }
        Above::Tracked(directory)
    }
}

/// Whether an entry called `name` is in `directory`, or one in place of the directory itself.
fn is_in_place(directory: &Directory<'_>, name: &[u8]) -> bool {
    // An entry without a name stands for the directory itself, outside the sparse checkout.
    directory.has_file(name) || directory.has_file(b"")
}
