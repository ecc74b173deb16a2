//! Mercurial as the system of a scan: what the facts of the dirstate prove, which contents a file has in the first parent, and
//! what is ignored.

use std::collections::BTreeSet;
use std::ffi::{CStr, OsStr};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use bstr::{BStr, BString};
use parking_lot::Mutex;
use vigil_hg::abort::Abort;
use vigil_hg::dirstate::{Dirstate, Entry, Flags};
use vigil_hg::patterns::{Ignore, Matcher, outside_of_reach};
use vigil_hg::stored::{Flag, Manifest, Store};
use vigil_hg::verdict::{Verdict, verdict};
use vigil_linux::dir::EntryKind;
use vigil_linux::stat::{Stat, stat_path};
use vigil_model::facts::RecordedStat;
use vigil_model::index::{Entry as Record, EntryFlags};
use vigil_model::mode::FileMode;
use vigil_model::timestamp::Timestamp;
use vigil_model::tracked::{Tracked, TrackedFile};
use vigil_model::{HashKind, ObjectId};
use vigil_scan::{
    ContentError, Difference, IgnoreScope, ListedDirectory, Observed, RulesFile, System,
};
use vigil_stamp::file::read_to_end;

/// In the place of a mode: the contents were compared, or could not be.
pub(crate) const BY_CONTENTS: FileMode = FileMode::NONE;
/// Beside the flags of an entry: it is recorded as a copy.
const IS_COPY: u32 = 1 << 16;

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
    /// Whether a file may be behind a link or in another repository, which shows once its contents are compared.
    audits: bool,
    /// The first path, in order, whose contents could not be compared, and why.
    failure: Mutex<Option<(BString, Abort)>>,
    /// The files whose contents were compared, by number.
    compared: Mutex<BTreeSet<u32>>,
    /// Directories with recorded files that are other repositories.
    nested: Mutex<Vec<BString>>,
}

/// The ignore patterns, and which directories they matched.
#[derive(Debug)]
pub(crate) struct Ignored {
    pub(crate) patterns: Ignore,
    /// Which paths are asked for.
    matcher: Arc<Matcher>,
    directories: Mutex<Vec<BString>>,
}

impl Ignored {
    pub(crate) fn new(patterns: Ignore, matcher: Arc<Matcher>) -> Self {
        Self {
            patterns,
            matcher,
            directories: Mutex::default(),
        }
    }

    /// The directories that were found to be ignored.
    pub(crate) fn directories(&self) -> Vec<BString> {
        std::mem::take(&mut *self.directories.lock())
    }
}

impl IgnoreScope for Ignored {
    fn digest(&self) -> u128 {
        self.patterns.digest()
    }

    fn is_ignored(&self, path: &BStr, is_dir: bool) -> bool {
        // What is not asked for is looked up in no patterns, which may be read for that alone.
        if !is_dir && !self.matcher.is_everything() && !self.matcher.is_match(path) {
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
    ) -> Self {
        Self {
            top,
            dirstate,
            store,
            ignore,
            now,
            manifest: OnceLock::new(),
            audits,
            failure: Mutex::new(None),
            compared: Mutex::default(),
            nested: Mutex::default(),
        }
    }

    /// The files that are recorded, as a scan takes them: each has its number for an id.
    pub(crate) fn tracked(dirstate: &Dirstate) -> Tracked {
        let records: Vec<Record> = (0u32..)
            .zip(dirstate.iter())
            .map(|(number, (_, entry))| {
                let is_copy = dirstate.copy_source(number as usize).is_some();
                let marks = u32::from(entry.flags.0) | if is_copy { IS_COPY } else { 0 };
                let stat = RecordedStat {
                    size: entry.size,
                    mtime_s: entry.mtime_s,
                    mtime_ns: entry.mtime_ns,
                    uid: marks,
                    ..RecordedStat::default()
                };
                Record::new(stat, FileMode::FILE, id_of(number), EntryFlags::default())
            })
            .collect();
        let paths = dirstate.iter().map(|(path, _)| path);
        Tracked::of_records(HashKind::Sha1, paths.zip(&records))
    }

    /// Why the scan failed, in Mercurial's words.
    pub(crate) fn failure(&self) -> Option<Abort> {
        self.failure.lock().take().map(|(_, abort)| abort)
    }

    /// Whether the contents of the file of this number were compared.
    pub(crate) fn was_compared(&self, number: u32) -> bool {
        self.compared.lock().contains(&number)
    }

    /// Directories with recorded files that are other repositories.
    pub(crate) fn nested(&self) -> Vec<BString> {
        self.nested.lock().clone()
    }

    /// Whether what is at `path`, and looks like `stat`, is as in the first parent; `None` where it cannot be read.
    pub(crate) fn is_as_in_parent(&self, path: &BStr, stat: &Stat) -> Option<bool> {
        let there = self.top.join(OsStr::from_bytes(path));
        let flag = flag_of(stat);
        let contents = match stat.is_symlink() {
            true => std::fs::read_link(&there)
                .map(|target| target.into_os_string().into_encoded_bytes()),
            false => vigil_stamp::file::read(&there),
        };
        Some(self.compare_or_note(path, flag, &contents.ok()?))
    }

    fn manifest(&self) -> Result<&Manifest, Abort> {
        let [p1, _] = self.dirstate.parents();
        let manifest = self.manifest.get_or_init(|| self.store.manifest_of(&p1));
        manifest.as_ref().map_err(Clone::clone)
    }

    fn compare(&self, path: &BStr, flag: Flag, contents: &[u8]) -> Result<bool, Abort> {
        if self.audits
            && let Some(abort) = outside_of_reach(self.top, path)
        {
            return Err(abort);
        }
        let Some(entry) = self.manifest()?.get(path) else {
            return Ok(false);
        };
        if entry.flag != flag {
            return Ok(false);
        }
        self.store.has_contents(path, &entry.node, contents)
    }

    /// Compares, and remembers why that was not possible.
    fn compare_or_note(&self, path: &BStr, flag: Flag, contents: &[u8]) -> bool {
        match self.compare(path, flag, contents) {
            Ok(is_same) => is_same,
            Err(abort) => {
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

fn id_of(number: u32) -> ObjectId {
    let mut bytes = [0; 20];
    if let Some(first) = bytes.first_chunk_mut() {
        *first = number.to_be_bytes();
    }
    ObjectId::Sha1(bytes)
}

fn number_of(id: &ObjectId) -> u32 {
    id.as_bytes()
        .first_chunk()
        .map_or(u32::MAX, |bytes| u32::from_be_bytes(*bytes))
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
    fn by_facts(
        &self,
        file: &TrackedFile<'_>,
        stat: &Stat,
        _: &dyn Fn() -> BString,
    ) -> Result<(), Difference> {
        if !stat.is_file() && !stat.is_symlink() {
            return Err(Difference::Certain(Observed::Missing));
        }
        let (entry, is_copy) = entry_of(file);
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
        _: u64,
        recorded: &ObjectId,
    ) -> Result<bool, ContentError> {
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
        self.compared.lock().insert(number_of(recorded));
        Ok(self.compare_or_note(path, flag, &contents))
    }

    fn conversion(&self, _: &BStr) -> Option<u64> {
        Some(0)
    }

    fn told(&self) -> usize {
        0
    }

    fn is_unchanged_link(&self, target: &[u8], recorded: &ObjectId) -> bool {
        let number = number_of(recorded);
        self.compared.lock().insert(number);
        let Some((path, _)) = self.dirstate.get(number as usize) else {
            return false;
        };
        self.compare_or_note(path, Flag::Link, target)
    }

    fn is_repository(&self, path: &BStr) -> bool {
        let folder = self.top.join(OsStr::from_bytes(path)).join(".hg");
        stat_path(&folder).is_ok_and(|stat| stat.is_dir())
    }

    fn is_own_name(&self, name: &[u8]) -> bool {
        name == b".hg"
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
        if !directory.path.is_empty() && own.is_some_and(|own| own.kind == EntryKind::Dir) {
            self.nested.lock().push(directory.path.to_owned());
        }
        (above.clone(), RulesFile::Absent)
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
