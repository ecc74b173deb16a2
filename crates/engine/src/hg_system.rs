//! Mercurial as the system of a scan: what the stat data in the dirstate prove, which contents a file has in the first parent,
//! and what is ignored.

mod ignored;
mod mercurial_listings;

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
use vigil_hg::abort::{Abort, Kind};
use vigil_hg::dirstate::{Dirstate, DirstateEntry, Flags};
use vigil_hg::line_endings::LineEndings;
use vigil_hg::node::Node;
use vigil_hg::patterns::{DirectoriesInReach, outside_of_reach};
use vigil_hg::stored::{Flag, Manifest, ManifestEntry, Store};
use vigil_hg::verdict::{Verdict, verdict};
use vigil_hg::working_file;
use vigil_linux::Errno;
use vigil_linux::dir::EntryKind;
use vigil_linux::stat::{Stat, lstat_path, stat_at, stat_path};
use vigil_model::conversion::Conversion;
use vigil_model::facts::RecordedStat;
use vigil_model::index::{Entry, EntryFlags};
use vigil_model::mode::FileMode;
use vigil_model::path::{file_name, join};
use vigil_model::timestamp::Timestamp;
use vigil_model::tracked::{Directory, Tracked, TrackedFile};
use vigil_model::{HashKind, ObjectId};
use vigil_scan::{
    ContentError, Difference, Findings, IgnoreScope, ListedDirectory, Observed, RulesFile,
    RulesWarning, Scan, ScanError, System,
};
use vigil_stamp::Stamp;
use vigil_stamp::file::{self, read_to_end};
use vigil_stamp::paths::is_missing;

pub(crate) use self::ignored::Ignored;
use self::mercurial_listings::MercurialListings;

/// Used in place of a mode: the contents were compared.
pub(crate) const BY_CONTENTS: FileMode = FileMode::NONE;
/// Used in place of a mode: the contents could not be read.
pub(crate) const UNREADABLE: FileMode = FileMode::GITLINK;
/// Used in place of a mode: what is there is neither a file nor a link.
pub(crate) const NO_FILE: FileMode = FileMode::TREE;
/// For files of at least this many bytes, stored lengths are looked up first: they may show that nothing need be read.
const LONG_LEN: u64 = 1 << 20;
/// An additional flag of an entry: it is recorded as a copy.
const IS_COPY: u32 = 1 << 16;

/// How a file compares with its version in the first parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    /// It is the same.
    Same,
    /// The first parent has no such file.
    NotInParent,
    /// Its flag differs from the committed one.
    Flag {
        /// The committed flag.
        committed: Flag,
        /// The file's flag on disk.
        found: Flag,
    },
    /// Its contents differ.
    Contents,
}

/// An unlocked store as it looks, and the first parent. As long as both are the same, Mercurial has written nothing there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoreSeen {
    p1: Node,
    /// The stamp of the folder where writers create the lock.
    stamp: Stamp,
}

impl StoreSeen {
    /// Makes a distinct value for each `number`.
    #[cfg(test)]
    pub(crate) fn for_tests(number: u8) -> Self {
        Self {
            p1: Node::default(),
            stamp: Stamp::from_bytes(&[number; Stamp::LEN]),
        }
    }
}

/// What an [`HgSystem`] is made from.
pub(crate) struct HgSystemInputs<'a> {
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
    /// Whether files may be behind a link or in another repository. Mercurial refuses those when it compares their contents.
    /// A walk for unknown files comes to none, except where a link makes a directory another repository.
    pub(crate) audits: bool,
    /// Whether the findings are kept for later questions.
    pub(crate) is_remembered: bool,
    /// The directories of recorded files that are ignored, or below one that is; `None` if the scan comes to all of them.
    pub(crate) ignored_directories: Option<Arc<[BString]>>,
    /// How files are converted before they are compared.
    pub(crate) line_endings: Option<Arc<LineEndings>>,
    /// Whether the first parent is not in the changelog: then files are compared as if there were none.
    pub(crate) lacks_parent: bool,
}

/// A working copy, as of one question.
pub(crate) struct HgSystem<'a> {
    pub(crate) inputs: HgSystemInputs<'a>,
    /// The files of the first parent, read on first use.
    manifest: OnceLock<Result<Manifest, Abort>>,
    /// Whether the first parent was looked for and is not in the store.
    lacks_parent: AtomicBool,
    /// The first path, in order, whose contents could not be compared, and why.
    failure: Mutex<Option<(BString, Abort)>>,
    /// The files whose contents were compared.
    compared: Mutex<HashSet<BString>>,
    /// The files whose committed version the system does not let us read.
    without_version: Mutex<HashSet<BString>>,
    /// How often contents could not be compared.
    failures: AtomicUsize,
    /// The files whose stat data do not decide, each with the identity of what it was compared with, if that can be known.
    unsure: Mutex<BTreeMap<BString, u64>>,
    /// As [`Self::look_again`] returns them.
    look_again: Mutex<BTreeSet<BString>>,
    /// Directories with recorded files that are other repositories.
    nested: Mutex<Vec<BString>>,
    /// Directories with recorded files and a link called `.hg`.
    linked: Mutex<Vec<BString>>,
    /// Directories above files that were compared.
    in_reach: DirectoriesInReach,
    /// What the dirstate says about directories that Mercurial listed.
    listed: MercurialListings<'a>,
}

impl<'a> HgSystem<'a> {
    pub(crate) fn new(inputs: HgSystemInputs<'a>) -> Self {
        Self {
            listed: MercurialListings::new(inputs.dirstate, &inputs.ignore.patterns),
            inputs,
            manifest: OnceLock::new(),
            lacks_parent: AtomicBool::new(false),
            failure: Mutex::new(None),
            failures: AtomicUsize::new(0),
            compared: Mutex::default(),
            without_version: Mutex::default(),
            unsure: Mutex::default(),
            look_again: Mutex::default(),
            nested: Mutex::default(),
            linked: Mutex::default(),
            in_reach: DirectoriesInReach::default(),
        }
    }

    /// Returns the contents of the file at `path` as they are compared.
    fn converted(&self, path: &BStr, contents: Vec<u8>) -> Vec<u8> {
        match &self.inputs.line_endings {
            Some(line_endings) => line_endings.committed(path, contents),
            None => contents,
        }
    }

    /// Scans; and once more, without what the dirstate says about directories, if that hid something.
    pub(crate) fn scan(&self, scan: &Scan<'_>) -> Result<Findings, ScanError> {
        let mut found = scan.run()?;
        if self
            .listed
            .was_misled(self.inputs.top, self.inputs.dirstate, &found)
        {
            self.listed.stop_trusting();
            found = scan.run()?;
        }
        self.mark_unreadable(&mut found);
        Ok(found)
    }

    /// Returns the recorded files as a scan takes them. All have the same id, so that records are equal if their stat data are.
    pub(crate) fn records(dirstate: &Dirstate) -> impl Iterator<Item = (&BStr, Entry)> {
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
                let record = Entry::new(stat, FileMode::FILE, id, EntryFlags::default());
                (path, record)
            })
    }

    /// Makes the tree of the recorded files.
    pub(crate) fn tracked(dirstate: &Dirstate) -> Tracked {
        Tracked::of_records(HashKind::Sha1, Self::records(dirstate))
    }

    /// Takes the reason why the first file could not be compared, in Mercurial's words.
    pub(crate) fn failure(&self) -> Option<Abort> {
        self.failure.lock().take().map(|(_, abort)| abort)
    }

    /// Notes that the file at `path` could not be compared, and why.
    fn fail(&self, path: &BStr, abort: Abort) {
        let mut failure = self.failure.lock();
        if failure.as_ref().is_none_or(|(known, _)| path < *known) {
            *failure = Some((path.to_owned(), abort));
        }
    }

    /// Takes the files whose stat data do not decide, each with what it was [compared with](Self::compared_with).
    pub(crate) fn take_unsure(&self) -> BTreeMap<BString, u64> {
        std::mem::take(&mut self.unsure.lock())
    }

    /// Identifies what the contents of the file at `path` are compared with. The number changes with the first parent, and when
    /// the file's revlog is written. `None` if that could still happen without showing.
    pub(crate) fn compared_with(&self, path: &BStr) -> Option<u64> {
        let [p1, _] = match self.inputs.lacks_parent {
            true => Default::default(),
            false => self.inputs.dirstate.parents(),
        };
        let stamp = match stat_path(&self.inputs.store.file_index(path)) {
            Ok(stat) => Some(Stamp::trusted(&stat, self.inputs.now)?.to_bytes()),
            Err(error) if is_missing(error) => None,
            Err(_) => return None,
        };
        let mut sum = DefaultHasher::new();
        (p1.0, stamp).hash(&mut sum);
        Some(sum.finish())
    }

    /// Looks at the store; returns `None` if it is locked, or could be written to and look the same.
    pub(crate) fn store_seen(&self) -> Option<StoreSeen> {
        let folder = self.inputs.store.folder();
        let stamp = Stamp::trusted(&stat_path(folder).ok()?, self.inputs.now)?;
        let is_locked = lstat_path(&folder.join("lock")).is_ok();
        let [p1, _] = self.inputs.dirstate.parents();
        (!is_locked).then_some(StoreSeen { p1, stamp })
    }

    /// Same as [`Self::compared_with`], and notes the result. Looks nothing up if findings are not kept.
    fn note_compared_with(&self, path: &BStr) -> Option<u64> {
        if !self.inputs.is_remembered {
            return None;
        }
        let with = self.compared_with(path)?;
        self.unsure.lock().insert(path.to_owned(), with);
        Some(with)
    }

    /// Returns the files so young that the same stat data may prove more later, and those that could not be read, which may be
    /// readable later and look the same.
    pub(crate) fn look_again(&self) -> BTreeSet<BString> {
        self.look_again.lock().clone()
    }

    /// Marks the files in `found` that could not be read, on disk or in the store, as opposed to those with other contents.
    fn mark_unreadable(&self, found: &mut Findings) {
        let compared = self.compared.lock();
        let without_version = self.without_version.lock();
        for (number, observed) in &mut found.tracked {
            if *observed != Observed::Present(BY_CONTENTS) {
                continue;
            }
            let path = self
                .inputs
                .dirstate
                .get(*number as usize)
                .map(|(path, _)| path);
            // A kept verdict needed no comparison now. The file counts as compared if it can be read.
            let can_be_read = |path: &BStr| {
                !without_version.contains(path)
                    && (compared.contains(path)
                        || self.inputs.is_remembered && self.can_be_read(path))
            };
            if !path.is_some_and(can_be_read) {
                *observed = Observed::Present(UNREADABLE);
                self.look_again.lock().extend(path.map(ToOwned::to_owned));
            }
        }
    }

    fn can_be_read(&self, path: &BStr) -> bool {
        let there = self.inputs.top.join(OsStr::from_bytes(path));
        match lstat_path(&there) {
            Ok(stat) if stat.is_symlink() => std::fs::read_link(&there).is_ok(),
            Ok(_) => file::open(&there).is_ok(),
            Err(_) => false,
        }
    }

    /// Returns the directories with recorded files that are other repositories.
    pub(crate) fn nested_repositories(&self) -> Vec<BString> {
        self.nested.lock().clone()
    }

    /// Returns the directories with recorded files, as far as they were listed, that have a link called `.hg`.
    pub(crate) fn linked_repositories(&self) -> Vec<BString> {
        self.linked.lock().clone()
    }

    /// Whether the file at `path`, whose stat data is `stat`, is as in the first parent; `None` if it cannot be read.
    pub(crate) fn is_as_in_parent(&self, path: &BStr, stat: &Stat) -> Option<bool> {
        if !stat.is_symlink() && self.is_too_long(path, stat.size) {
            return Some(false);
        }
        let contents = self.contents(path, stat)?;
        self.compare_or_note(path, flag_of(stat), &contents)
    }

    /// Whether the file at `path`, whose stat data is `stat`, differs from the first parent without its contents, which Mercurial
    /// reads last: by its flag or size, or because the parent has no such file.
    pub(crate) fn differs_unread(&self, path: &BStr, stat: &Stat) -> bool {
        let Ok(manifest) = self.manifest() else {
            return false;
        };
        let Some(entry) = manifest.get(path) else {
            return true;
        };
        if self.inputs.line_endings.is_some() {
            // Mercurial reads it whatever its size is.
            return entry.flag != flag_of(stat);
        }
        entry.flag != flag_of(stat)
            || self
                .inputs
                .store
                .has_other_len(path, &entry.node, stat.size)
    }

    fn manifest(&self) -> Result<&Manifest, Abort> {
        let [p1, _] = self.inputs.dirstate.parents();
        let manifest = self
            .manifest
            .get_or_init(|| match self.inputs.store.manifest_of(&p1) {
                // Mercurial warns, and continues as if there were no parent.
                Err(_) if self.inputs.store.lacks(&p1) => {
                    self.lacks_parent.store(true, Ordering::Relaxed);
                    Ok(Manifest::default())
                }
                manifest => manifest,
            });
        manifest.as_ref().map_err(Clone::clone)
    }

    /// Compares the file at `path`, whose stat data is `stat`, with the first parent; returns `None` if it cannot be read.
    ///
    /// # Errors
    /// The store cannot be read, or is damaged.
    pub(crate) fn compared(&self, path: &BStr, stat: &Stat) -> Result<Option<Compared>, Abort> {
        let contents = self.contents(path, stat);
        let compare = |contents: Vec<u8>| self.compare(path, flag_of(stat), &contents);
        contents.map(compare).transpose()
    }

    /// Whether a file of `size` bytes is longer than its version in the first parent, so that nothing need be read.
    fn is_too_long(&self, path: &BStr, size: u64) -> bool {
        if size < LONG_LEN || self.inputs.line_endings.is_some() {
            return false;
        }
        let manifest = self.manifest();
        let entry = manifest.ok().and_then(|manifest| manifest.get(path));
        entry.is_some_and(|entry| self.inputs.store.is_shorter_than(path, &entry.node, size))
    }

    fn contents(&self, path: &BStr, stat: &Stat) -> Option<Vec<u8>> {
        let there = self.inputs.top.join(OsStr::from_bytes(path));
        let contents = working_file::contents(&there, stat.is_symlink(), u64::MAX).ok()?;
        Some(self.converted(path, contents))
    }

    fn compare(&self, path: &BStr, found: Flag, contents: &[u8]) -> Result<Compared, Abort> {
        let Some(entry) = self.manifest()?.get(path) else {
            if self.lacks_parent.load(Ordering::Relaxed) {
                // The parent may come back, and nothing that is looked at here would show it. So the verdict must not be kept.
                self.failures.fetch_add(1, Ordering::Relaxed);
            }
            return Ok(Compared::NotInParent);
        };
        if entry.flag != found {
            let committed = entry.flag;
            return Ok(Compared::Flag { committed, found });
        }
        // Mercurial checks the path only here, when it reads the file, which it does only if the size is the same. It reads the
        // target of a link without this check.
        if self.inputs.audits && found != Flag::Link {
            let outside = self.in_reach.outside_of_reach(self.inputs.top, path);
            if let Some(abort) = outside {
                let len = u64::try_from(contents.len()).unwrap_or(u64::MAX);
                return match self.is_read(path, &entry, len)? {
                    true => Err(abort),
                    false => Ok(Compared::Contents),
                };
            }
        }
        let is_same = self
            .inputs
            .store
            .has_contents(path, &entry.node, contents)?;
        Ok(match is_same {
            true => Compared::Same,
            false => Compared::Contents,
        })
    }

    /// Whether Mercurial reads a file of `len` bytes to compare it with the committed `entry`. It reads none of another length.
    fn is_read(&self, path: &BStr, entry: &ManifestEntry, len: u64) -> Result<bool, Abort> {
        let is_converted = self.inputs.line_endings.is_some();
        Ok(is_converted || self.inputs.store.contents_len(path, &entry.node)? == len)
    }

    /// Fails for the file at `path`, whose stat data is `stat`, if Mercurial would read it in order to compare it: it refuses to
    /// because of a directory above.
    pub(crate) fn refuse_to_read(&self, path: &BStr, stat: &Stat) {
        let is_refused = || {
            let entry = self.manifest().ok()?.get(path)?;
            let is_same_kind = entry.flag == flag_of(stat) && entry.flag != Flag::Link;
            (is_same_kind && self.is_read(path, &entry, stat.size).ok()?).then_some(())
        };
        let refused = is_refused().and_then(|()| outside_of_reach(self.inputs.top, path));
        if let Some(abort) = refused {
            self.fail(path, abort);
        }
    }

    /// Whether the contents are the same; `None` if the committed ones cannot be read, which counts as if the file could not be.
    /// If they cannot be compared for another reason, notes that and returns false.
    fn compare_or_note(&self, path: &BStr, flag: Flag, contents: &[u8]) -> Option<bool> {
        match self.compare(path, flag, contents) {
            Ok(compared) => Some(compared == Compared::Same),
            Err(abort) if abort.kind == Kind::System => {
                self.failures.fetch_add(1, Ordering::Relaxed);
                self.without_version.lock().insert(path.to_owned());
                None
            }
            Err(abort) => {
                self.failures.fetch_add(1, Ordering::Relaxed);
                self.fail(path, abort);
                Some(false)
            }
        }
    }
}

/// Returns the flag with which a file would be committed.
pub(crate) fn flag_of(stat: &Stat) -> Flag {
    if stat.is_symlink() {
        Flag::Link
    } else if stat.mode & 0o100 != 0 {
        Flag::Executable
    } else {
        Flag::Plain
    }
}

/// Returns the entry from which [`HgSystem::tracked`] made `file`, and whether it is a copy. The flags are the low 16 bits.
fn entry_of(file: &TrackedFile<'_>) -> (DirstateEntry, bool) {
    let stat = file.stat();
    let entry = DirstateEntry {
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
        if self.inputs.is_remembered
            && entry.flags.has(Flags::HAS_MTIME)
            && stat.mtime_s >= self.inputs.now.s
        {
            self.look_again.lock().insert(path());
        }
        match verdict(&entry, is_copy, Some(stat), self.inputs.now) {
            Verdict::Modified => Err(Difference::Certain(Observed::Present(FileMode::FILE))),
            Verdict::Unsure => Err(Difference::InContents(BY_CONTENTS)),
            // Where files are converted, more than the contents decides about them; and Mercurial, which knows no
            // nanoseconds when it asks the file system, compares each file whose second is ambiguous.
            Verdict::Clean
                if let Some(line_endings) = &self.inputs.line_endings
                    && (entry.is_second_ambiguous() || line_endings.doubts(path().as_ref())) =>
            {
                Err(Difference::InContents(BY_CONTENTS))
            }
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
        let read = |file: File| {
            let metadata = file.metadata()?;
            let flag = match metadata.mode() & 0o100 != 0 {
                true => Flag::Executable,
                false => Flag::Plain,
            };
            let contents = read_to_end(file, Some(metadata.len()), u64::MAX)?;
            std::io::Result::Ok((flag, contents))
        };
        let Ok((flag, contents)) = read(file).map_err(file::counted) else {
            // It may be readable the next time, and look the same. So the verdict must not be kept.
            self.failures.fetch_add(1, Ordering::Relaxed);
            return Ok(false);
        };
        self.compared.lock().insert(path.to_owned());
        let contents = self.converted(path, contents);
        let is_same = self.compare_or_note(path, flag, &contents);
        Ok(is_same.unwrap_or_default())
    }

    fn conversion(&self, path: &BStr) -> Option<Conversion> {
        self.note_compared_with(path).map(Conversion::known)
    }

    fn link_conversion(&self, path: &BStr) -> Option<Conversion> {
        self.note_compared_with(path).map(Conversion::known)
    }

    fn warnings_len(&self) -> usize {
        self.failures.load(Ordering::Relaxed)
    }

    fn is_unchanged_link(&self, path: &BStr, target: &[u8], _: &ObjectId) -> bool {
        self.compared.lock().insert(path.to_owned());
        let target = self.converted(path, target.to_vec());
        let is_same = self.compare_or_note(path, Flag::Link, &target);
        is_same.unwrap_or_default()
    }

    fn is_repository(&self, path: &BStr) -> Result<bool, Errno> {
        let folder = self.inputs.top.join(OsStr::from_bytes(path)).join(".hg");
        match lstat_path(&folder) {
            Err(Errno::ACCESS) => Err(Errno::ACCESS),
            seen => Ok(seen.is_ok_and(|stat| stat.is_dir())),
        }
    }

    /// Mercurial looks at everything that it lists, and gives up a directory where it may not.
    fn looks_up_listed_names(&self) -> bool {
        true
    }

    fn is_metadata(&self, path: &BStr, kind: EntryKind) -> bool {
        // Below the top, only a directory named `.hg` makes a repository.
        path == ".hg" || kind == EntryKind::Dir && file_name(path) == ".hg"
    }

    fn holds_only_recorded(&self, dir: BorrowedFd<'_>, path: &BStr, stat: &Stat) -> bool {
        // Mercurial may have noted this about another repository only because it did not enter it.
        let is_repository = || stat_at(dir, c".hg") != Err(Errno::NOENT);
        self.listed.holds_only_recorded(path, stat) && !is_repository()
    }

    fn rules_at_top(&self) -> Arc<dyn IgnoreScope> {
        self.inputs.ignore.clone()
    }

    fn rules_in(
        &self,
        directory: &ListedDirectory<'_>,
        above: &Arc<dyn IgnoreScope>,
        _: &mut Vec<RulesWarning>,
    ) -> (Arc<dyn IgnoreScope>, RulesFile) {
        let own = directory.listing.find(b".hg");
        let is_nested =
            !directory.path.is_empty() && own.is_some_and(|own| own.kind == EntryKind::Dir);
        if is_nested {
            self.nested.lock().push(directory.path.to_owned());
        }
        let is_linked = own.is_some_and(|own| own.kind == EntryKind::Symlink)
            && !directory.path.is_empty()
            && directory.tracked.is_some();
        if is_linked {
            self.linked.lock().push(directory.path.to_owned());
        }
        // Every scan must report nested repositories, and, unless they are known, ignored subdirectories: so the findings here are
        // not kept. Another process may not know the subdirectories, so it must not remember the directory either.
        let mut subdirs = directory.tracked.into_iter().flat_map(Directory::subdirs);
        let has_ignored = self.inputs.is_remembered
            && subdirs.any(|sub| above.is_ignored(join(directory.path, sub.name()).as_ref(), true));
        let file = match (is_nested || is_linked, has_ignored) {
            (false, false) => RulesFile::Absent,
            (false, true) if self.inputs.ignored_directories.is_some() => RulesFile::Young,
            _ => RulesFile::Unproven,
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
