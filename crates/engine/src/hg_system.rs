//! Mercurial as the system of a scan: what the facts of the dirstate prove, which contents a file has in the first parent, and
//! what is ignored.

mod listed;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::{CStr, OsStr};
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use bstr::{BStr, BString};
use parking_lot::Mutex;
use vigil_hg::abort::Abort;
use vigil_hg::dirstate::{Dirstate, Entry, Flags};
use vigil_hg::node::Node;
use vigil_hg::patterns::{Ignore, Matcher, outside_of_reach};
use vigil_hg::stored::{Flag, Manifest, Store};
use vigil_hg::verdict::{Verdict, verdict};
use vigil_hg::working_file;
use vigil_linux::Errno;
use vigil_linux::dir::EntryKind;
use vigil_linux::stat::{Stat, lstat_path, stat_at, stat_path};
use vigil_model::facts::RecordedStat;
use vigil_model::index::{Entry as Record, EntryFlags};
use vigil_model::mode::FileMode;
use vigil_model::path::{file_name, join};
use vigil_model::timestamp::Timestamp;
use vigil_model::tracked::{Directory, Tracked, TrackedFile};
use vigil_model::{HashKind, ObjectId};
use vigil_scan::{
    ContentError, Difference, Findings, IgnoreScope, ListedDirectory, Observed, RulesFile, Scan,
    ScanError, System,
};
use vigil_stamp::Stamp;
use vigil_stamp::file::read_to_end;
use vigil_stamp::paths::is_missing;

use self::listed::Listed;

/// In the place of a mode: the contents were compared.
pub(crate) const BY_CONTENTS: FileMode = FileMode::NONE;
/// In the place of a mode: the contents could not be read.
pub(crate) const UNREADABLE: FileMode = FileMode::GITLINK;
/// In the place of a mode: what is there is neither a file nor a link.
pub(crate) const NO_FILE: FileMode = FileMode::TREE;
/// From this length on, in bytes, it is looked up whether contents must be read at all.
const LONG_LEN: u64 = 1 << 20;
/// Beside the flags of an entry: it is recorded as a copy.
const IS_COPY: u32 = 1 << 16;

/// How a file compares with what the first parent has of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    /// It is the same.
    Same,
    /// The first parent has no such file.
    NotInParent,
    /// Its flag is not the one that is committed.
    Flag {
        /// The one that is.
        committed: Flag,
        /// The file's.
        found: Flag,
    },
    /// Its contents are others.
    Contents,
}

/// A store that nobody writes to, and the first parent: as long as it is the same, Mercurial has written nothing there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoreSeen {
    p1: Node,
    /// Of the folder in which whoever writes makes a lock.
    stamp: Stamp,
}

impl StoreSeen {
    /// One of many.
    #[cfg(test)]
    pub(crate) fn for_tests(number: u8) -> Self {
        Self {
            p1: Node::default(),
            stamp: Stamp::from_bytes(&[number; Stamp::LEN]),
        }
    }
}

/// A working copy, as of one question.
pub(crate) struct HgSystem<'a> {
    /// The top of the working copy.
    pub(crate) top: &'a Path,
    /// What is recorded.
    pub(crate) dirstate: &'a Dirstate,
    /// What is committed.
    pub(crate) store: &'a Store,
    /// What is ignored.
    pub(crate) ignore: Arc<Ignored>,
    /// A time before anything was looked at.
    pub(crate) now: Timestamp,
    /// The files of the first parent, once they are asked for.
    manifest: OnceLock<Result<Manifest, Abort>>,
    /// Whether the first parent was looked for, and is not there.
    lacks_parent: AtomicBool,
    /// Whether a file may be behind a link or in another repository, which shows once its contents are compared.
    audits: bool,
    /// The first path, in order, whose contents could not be compared, and why.
    failure: Mutex<Option<(BString, Abort)>>,
    /// The files whose contents were compared.
    compared: Mutex<HashSet<BString>>,
    /// How often contents could not be compared.
    failures: AtomicUsize,
    /// The files of which the facts do not decide, each with what it was compared with, where that would show if it were another.
    unsure: Mutex<BTreeMap<BString, u64>>,
    /// The files of which more may be proven by the same facts at another time.
    young: Mutex<BTreeSet<BString>>,
    /// Whether what is found is remembered.
    is_remembered: bool,
    /// Directories with recorded files that are other repositories.
    nested: Mutex<Vec<BString>>,
    /// What Mercurial says of directories that it listed.
    listed: Listed<'a>,
}

/// The ignore patterns, and which directories they matched.
#[derive(Debug)]
pub(crate) struct Ignored {
    pub(crate) patterns: Arc<Ignore>,
    /// Which paths are asked for.
    matcher: Arc<Matcher>,
    directories: Mutex<Vec<BString>>,
}

impl Ignored {
    pub(crate) fn new(patterns: Arc<Ignore>, matcher: Arc<Matcher>) -> Self {
        Self {
            patterns,
            matcher,
            directories: Mutex::default(),
        }
    }

    /// The directories that were found to be ignored.
    pub(crate) fn directories(&self) -> Vec<BString> {
        self.directories.lock().clone()
    }
}

impl IgnoreScope for Ignored {
    fn digest(&self) -> u128 {
        self.patterns.digest()
    }

    fn is_ignored(&self, path: &BStr, is_dir: bool) -> bool {
        // What is not asked for is looked up in no patterns, which may be read for that alone.
        let is_asked_for = match is_dir {
            _ if self.matcher.is_everything() => true,
            true => self.matcher.may_match_below(path),
            false => self.matcher.is_match(path),
        };
        if !is_asked_for {
            return false;
        }
        let is_ignored = self.patterns.is_match(path);
        if is_ignored && is_dir {
            self.directories.lock().push(path.to_owned());
        }
        is_ignored
    }
}

impl<'a> HgSystem<'a> {
    pub(crate) fn new(
        top: &'a Path,
        dirstate: &'a Dirstate,
        store: &'a Store,
        ignore: Arc<Ignored>,
        now: Timestamp,
        audits: bool,
        is_remembered: bool,
    ) -> Self {
        Self {
            top,
            dirstate,
            store,
            listed: Listed::new(dirstate, &ignore.patterns),
            ignore,
            now,
            manifest: OnceLock::new(),
            lacks_parent: AtomicBool::new(false),
            audits,
            failure: Mutex::new(None),
            failures: AtomicUsize::new(0),
            compared: Mutex::default(),
            unsure: Mutex::default(),
            young: Mutex::default(),
            is_remembered,
            nested: Mutex::default(),
        }
    }

    /// Scans, and once more without what Mercurial says of directories where that was not all there is to find.
    pub(crate) fn scan(&self, scan: &Scan<'_>) -> Result<Findings, ScanError> {
        let mut found = scan.run()?;
        if self.listed.was_misled(self.top, self.dirstate, &found) {
            self.listed.disbelieve();
            found = scan.run()?;
        }
        self.settle(&mut found);
        Ok(found)
    }

    /// The files that are recorded, as a scan takes them. All have the same id, so that records are equal where their facts are.
    pub(crate) fn records(dirstate: &Dirstate) -> impl Iterator<Item = (&BStr, Record)> {
        (0usize..)
            .zip(dirstate.iter())
            .map(|(number, (path, entry))| {
                let is_copy = dirstate.copy_source(number).is_some();
                let marks = u32::from(entry.flags.0) | if is_copy { IS_COPY } else { 0 };
                let stat = RecordedStat {
                    size: entry.size,
                    mtime_s: entry.mtime_s,
                    mtime_ns: entry.mtime_ns,
                    uid: marks,
                    ..RecordedStat::default()
                };
                let id = ObjectId::null(HashKind::Sha1);
                let record = Record::new(stat, FileMode::FILE, id, EntryFlags::default());
                (path, record)
            })
    }

    /// The tree of these files.
    pub(crate) fn tracked(dirstate: &Dirstate) -> Tracked {
        Tracked::of_records(HashKind::Sha1, Self::records(dirstate))
    }

    /// Why the scan failed, in Mercurial's words.
    pub(crate) fn failure(&self) -> Option<Abort> {
        self.failure.lock().take().map(|(_, abort)| abort)
    }

    /// The files of which the facts do not decide, each with what it was [compared with](Self::compared_with).
    pub(crate) fn take_unsure(&self) -> BTreeMap<BString, u64> {
        std::mem::take(&mut self.unsure.lock())
    }

    /// What the contents of the file at `path` are compared with: another number where the first parent is another one, or what is
    /// stored of the file was written again. `None` where that may still happen and not show.
    pub(crate) fn compared_with(&self, path: &BStr) -> Option<u64> {
        let [p1, _] = self.dirstate.parents();
        let stamp = match stat_path(&self.store.file_index(path)) {
            Ok(stat) => Some(Stamp::trusted(&stat, self.now)?.to_bytes()),
            Err(error) if is_missing(error) => None,
            Err(_) => return None,
        };
        let mut sum = DefaultHasher::new();
        (p1.0, stamp).hash(&mut sum);
        Some(sum.finish())
    }

    /// The store, as it is now; `None` where it is locked, or may be written to and look the same.
    pub(crate) fn store_seen(&self) -> Option<StoreSeen> {
        let folder = self.store.folder();
        let stamp = Stamp::trusted(&stat_path(folder).ok()?, self.now)?;
        let is_locked = lstat_path(&folder.join("lock")).is_ok();
        let [p1, _] = self.dirstate.parents();
        (!is_locked).then_some(StoreSeen { p1, stamp })
    }

    /// As [`Self::compared_with`], and remembers it. Where nothing is remembered nothing is looked up.
    fn noted_with(&self, path: &BStr) -> Option<u64> {
        if !self.is_remembered {
            return None;
        }
        let with = self.compared_with(path)?;
        self.unsure.lock().insert(path.to_owned(), with);
        Some(with)
    }

    /// The files of which more may be proven by the same facts at another time.
    pub(crate) fn young(&self) -> BTreeSet<BString> {
        self.young.lock().clone()
    }

    /// Tells in `found` files that could not be read from those with other contents.
    fn settle(&self, found: &mut Findings) {
        let compared = self.compared.lock();
        for (number, observed) in &mut found.tracked {
            if *observed != Observed::Present(BY_CONTENTS) {
                continue;
            }
            let path = self.dirstate.get(*number as usize).map(|(path, _)| path);
            // What is remembered could be read, and so it can be now.
            let can_be_read = |path: &BStr| {
                compared.contains(path) || self.is_remembered && self.can_be_read(path)
            };
            if !path.is_some_and(can_be_read) {
                *observed = Observed::Present(UNREADABLE);
            }
        }
    }

    fn can_be_read(&self, path: &BStr) -> bool {
        let there = self.top.join(OsStr::from_bytes(path));
        match lstat_path(&there) {
            Ok(stat) if stat.is_symlink() => std::fs::read_link(&there).is_ok(),
            Ok(_) => vigil_stamp::file::open(&there).is_ok(),
            Err(_) => false,
        }
    }

    /// Directories with recorded files that are other repositories.
    pub(crate) fn nested(&self) -> Vec<BString> {
        self.nested.lock().clone()
    }

    /// Whether what is at `path`, and looks like `stat`, is as in the first parent; `None` where it cannot be read.
    pub(crate) fn is_as_in_parent(&self, path: &BStr, stat: &Stat) -> Option<bool> {
        if !stat.is_symlink() && self.is_too_long(path, stat.size) {
            return Some(false);
        }
        let contents = self.contents(path, stat)?;
        Some(self.compare_or_note(path, flag_of(stat), &contents))
    }

    /// Whether what is at `path`, and looks like `stat`, differs from what the first parent has by more than its contents, which
    /// Mercurial reads last.
    pub(crate) fn differs_unread(&self, path: &BStr, stat: &Stat) -> bool {
        let manifest = self.manifest();
        let Some(entry) = manifest.ok().and_then(|manifest| manifest.get(path)) else {
            return true;
        };
        let stored = || self.store.contents(path, &entry.node);
        entry.flag != flag_of(stat)
            || stored().is_ok_and(|stored| u64::try_from(stored.len()) != Ok(stat.size))
    }

    fn manifest(&self) -> Result<&Manifest, Abort> {
        let [p1, _] = self.dirstate.parents();
        let manifest = self
            .manifest
            .get_or_init(|| match self.store.manifest_of(&p1) {
                // Mercurial goes on as if there were no parent, and says so.
                Err(_) if self.store.lacks(&p1) => {
                    self.lacks_parent.store(true, Ordering::Relaxed);
                    Ok(Manifest::default())
                }
                manifest => manifest,
            });
        manifest.as_ref().map_err(Clone::clone)
    }

    /// How what is at `path`, and looks like `stat`, compares with what the first parent has; `None` where it cannot be read.
    ///
    /// # Errors
    /// The store cannot be read, or is damaged.
    pub(crate) fn compared(&self, path: &BStr, stat: &Stat) -> Result<Option<Compared>, Abort> {
        let contents = self.contents(path, stat);
        let compare = |contents: Vec<u8>| self.compare(path, flag_of(stat), &contents);
        contents.map(compare).transpose()
    }

    /// Whether a file of `size` bytes has more than the first parent has of it, so that nothing need be read.
    fn is_too_long(&self, path: &BStr, size: u64) -> bool {
        if size < LONG_LEN {
            return false;
        }
        let manifest = self.manifest();
        let entry = manifest.ok().and_then(|manifest| manifest.get(path));
        entry.is_some_and(|entry| self.store.is_shorter_than(path, &entry.node, size))
    }

    fn contents(&self, path: &BStr, stat: &Stat) -> Option<Vec<u8>> {
        let there = self.top.join(OsStr::from_bytes(path));
        working_file::contents(&there, stat.is_symlink(), u64::MAX).ok()
    }

    fn compare(&self, path: &BStr, found: Flag, contents: &[u8]) -> Result<Compared, Abort> {
        let Some(entry) = self.manifest()?.get(path) else {
            if self.lacks_parent.load(Ordering::Relaxed) {
                // What is not there now may be there again, and nothing that is looked at here would tell.
                self.failures.fetch_add(1, Ordering::Relaxed);
            }
            return Ok(Compared::NotInParent);
        };
        if entry.flag != found {
            let committed = entry.flag;
            return Ok(Compared::Flag { committed, found });
        }
        // Mercurial reads a file only now, and only where the size is the same; where a link leads it reads without asking how
        // it came there.
        if self.audits
            && found != Flag::Link
            && let Some(abort) = outside_of_reach(self.top, path)
        {
            let stored = self.store.contents(path, &entry.node)?;
            return match stored.len() == contents.len() {
                true => Err(abort),
                false => Ok(Compared::Contents),
            };
        }
        let is_same = self.store.has_contents(path, &entry.node, contents)?;
        Ok(match is_same {
            true => Compared::Same,
            false => Compared::Contents,
        })
    }

    /// Compares, and remembers why that was not possible.
    fn compare_or_note(&self, path: &BStr, flag: Flag, contents: &[u8]) -> bool {
        match self.compare(path, flag, contents) {
            Ok(compared) => compared == Compared::Same,
            Err(abort) => {
                self.failures.fetch_add(1, Ordering::Relaxed);
                let mut failure = self.failure.lock();
                if failure.as_ref().is_none_or(|(known, _)| path < *known) {
                    *failure = Some((path.to_owned(), abort));
                }
                false
            }
        }
    }
}

/// The flag with which a file would be committed.
pub(crate) fn flag_of(stat: &Stat) -> Flag {
    if stat.is_symlink() {
        Flag::Link
    } else if stat.mode & 0o100 != 0 {
        Flag::Executable
    } else {
        Flag::Plain
    }
}

/// The entry that [`HgSystem::tracked`] made `file` of, and whether it is a copy.
#[allow(
    clippy::cast_possible_truncation,
    reason = "the flags are the lowest 16 bits"
)]
fn entry_of(file: &TrackedFile<'_>) -> (Entry, bool) {
    let stat = file.stat();
    let entry = Entry {
        flags: Flags(stat.uid as u16),
        size: stat.size,
        mtime_s: stat.mtime_s,
        mtime_ns: stat.mtime_ns,
    };
    (entry, stat.uid & IS_COPY != 0)
}

impl System for HgSystem<'_> {
    fn compare_stat(
        &self,
        file: &TrackedFile<'_>,
        stat: &Stat,
        path: &dyn Fn() -> BString,
    ) -> Result<(), Difference> {
        if !stat.is_file() && !stat.is_symlink() {
            return Err(Difference::Certain(Observed::Present(NO_FILE)));
        }
        let (entry, is_copy) = entry_of(file);
        if self.is_remembered && entry.flags.has(Flags::HAS_MTIME) && stat.mtime_s >= self.now.s {
            self.young.lock().insert(path());
        }
        match verdict(&entry, is_copy, Some(stat), self.now) {
            Verdict::Modified => Err(Difference::Certain(Observed::Present(FileMode::FILE))),
            Verdict::Unsure => Err(Difference::InContents(BY_CONTENTS)),
            _ => Ok(()),
        }
    }

    fn is_unchanged(
        &self,
        path: &BStr,
        file: File,
        size: u64,
        _: &ObjectId,
    ) -> Result<bool, ContentError> {
        if self.is_too_long(path, size) {
            self.compared.lock().insert(path.to_owned());
            return Ok(false);
        }
        let Ok(metadata) = file.metadata() else {
            return Ok(false);
        };
        let flag = match metadata.mode() & 0o100 != 0 {
            true => Flag::Executable,
            false => Flag::Plain,
        };
        let Ok(contents) = read_to_end(file, Some(metadata.len()), u64::MAX) else {
            return Ok(false);
        };
        self.compared.lock().insert(path.to_owned());
        Ok(self.compare_or_note(path, flag, &contents))
    }

    fn conversion(&self, path: &BStr) -> Option<u64> {
        self.noted_with(path)
    }

    fn link_conversion(&self, path: &BStr) -> Option<u64> {
        self.noted_with(path)
    }

    fn warnings_len(&self) -> usize {
        self.failures.load(Ordering::Relaxed)
    }

    fn is_unchanged_link(&self, path: &BStr, target: &[u8], _: &ObjectId) -> bool {
        self.compared.lock().insert(path.to_owned());
        self.compare_or_note(path, Flag::Link, target)
    }

    fn is_repository(&self, path: &BStr) -> bool {
        let folder = self.top.join(OsStr::from_bytes(path)).join(".hg");
        lstat_path(&folder).is_ok_and(|stat| stat.is_dir())
    }

    fn is_metadata(&self, path: &BStr, kind: EntryKind) -> bool {
        // Below the top only a directory of that name makes a repository.
        path == ".hg" || kind == EntryKind::Dir && file_name(path) == ".hg"
    }

    fn holds_only_recorded(&self, dir: BorrowedFd<'_>, path: &BStr, stat: &Stat) -> bool {
        // Of another repository Mercurial may have said so because it did not enter it.
        let is_repository = || stat_at(dir, c".hg") != Err(Errno::NOENT);
        self.listed.holds_only_recorded(path, stat) && !is_repository()
    }

    fn rules_at_top(&self) -> Arc<dyn IgnoreScope> {
        self.ignore.clone()
    }

    fn rules_in(
        &self,
        directory: &ListedDirectory<'_>,
        above: &Arc<dyn IgnoreScope>,
        _: &mut Vec<BString>,
    ) -> (Arc<dyn IgnoreScope>, RulesFile) {
        let own = directory.listing.find(b".hg");
        let is_nested =
            !directory.path.is_empty() && own.is_some_and(|own| own.kind == EntryKind::Dir);
        if is_nested {
            self.nested.lock().push(directory.path.to_owned());
        }
        // Each scan is to tell of such directories: what is found there is not remembered, and looked at for each question.
        let mut subdirs = directory.tracked.into_iter().flat_map(Directory::subdirs);
        let has_ignored = self.is_remembered
            && subdirs.any(|sub| above.is_ignored(join(directory.path, sub.name()).as_ref(), true));
        let file = match is_nested || has_ignored {
            true => RulesFile::Unproven,
            false => RulesFile::Absent,
        };
        (above.clone(), file)
    }

    fn rules_of_digest(
        &self,
        above: &Arc<dyn IgnoreScope>,
        _: &BStr,
        _: u128,
    ) -> Arc<dyn IgnoreScope> {
        above.clone()
    }

    fn rules_file_name(&self) -> &'static CStr {
        c".hgignore"
    }
}
