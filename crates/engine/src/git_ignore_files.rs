//! The ignore rules of each directory: its `.gitignore`, on disk or only in the index (gitignore(5)).

use std::any::Any;
use std::ffi::CStr;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use bstr::{BStr, BString, ByteSlice};
use parking_lot::Mutex;
use rustix::fs::{CWD, Mode, OFlags};
use vigil_git::objects::LimitedBlob;
use vigil_linux::opening::open_to_read;
use vigil_linux::stat::{Stat, stat_at, stat_fd};
use vigil_linux::{Errno, errno};
use vigil_model::ObjectId;
use vigil_model::path::{PATH_LEN_MAX, join};
use vigil_model::raw_text::{raw, text_bytes};

use vigil_rules::ignore::IgnoreRules;
use vigil_scan::{IgnoreScope, ListedDirectory, RulesFile, RulesWarning};
use vigil_stamp::Stamp;
use vigil_stamp::file::read_to_end;

/// The name of a file of ignore rules.
pub(crate) const FILE_NAME: &[u8] = C_FILE_NAME.to_bytes();
/// The same, for system calls.
pub(crate) const C_FILE_NAME: &CStr = c".gitignore";

/// The length, in bytes, from which git disregards an ignore file.
pub(crate) const FILE_LEN_MAX: u64 = 100 << 20;

/// The ignore rules in force in a directory. If only their digest is known, they are read when first used.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    digest: u128,
    unread: Option<Unread>,
    read: OnceLock<Arc<IgnoreRules>>,
    /// Why the file could not be read, until somebody is told.
    failure: Mutex<Option<Errno>>,
}

/// Where to read rules that have not been read yet.
#[derive(Debug)]
struct Unread {
    above: Arc<Rules>,
    /// The path of the directory, from the top.
    dir: BString,
    /// The directory's path on disk.
    on_disk: PathBuf,
}

impl From<Arc<IgnoreRules>> for Rules {
    fn from(rules: Arc<IgnoreRules>) -> Self {
        Self {
            digest: rules.digest(),
            unread: None,
            read: OnceLock::from(rules),
            failure: Mutex::default(),
        }
    }
}

impl Rules {
    /// Returns the rules `above` together with those of the `.gitignore` in `dir`, as yet unread, which have this
    /// `digest` in all.
    fn unread(above: &Arc<Self>, work_tree: &Path, dir: &BStr, digest: u128) -> Self {
        let unread = Unread {
            above: above.clone(),
            dir: dir.to_owned(),
            on_disk: work_tree.join(std::ffi::OsStr::from_bytes(dir)),
        };
        Self {
            digest,
            unread: Some(unread),
            read: OnceLock::new(),
            failure: Mutex::default(),
        }
    }

    /// Returns these rules together with those in the `.gitignore` of `dir`; these rules themselves if it has none.
    fn with_file(self: &Arc<Self>, dir: &BStr, contents: &[u8]) -> Arc<dyn IgnoreScope> {
        let Some(rules) = self.get() else {
            return self.clone();
        };
        let with = rules.with_file(dir, contents);
        match Arc::ptr_eq(&with, rules) {
            true => self.clone(),
            false => Arc::new(Self::from(with)),
        }
    }

    fn get(&self) -> Option<&Arc<IgnoreRules>> {
        if let Some(read) = self.read.get() {
            return Some(read);
        }
        // From the innermost directory out to rules that were read, and back.
        let mut pending = vec![self];
        while let Some(unread) = pending.last().and_then(|rules| rules.unread.as_ref())
            && unread.above.read.get().is_none()
        {
            pending.push(&unread.above);
        }
        while let Some(rules) = pending.pop() {
            if let Some(unread) = &rules.unread
                && let Some(above) = unread.above.read.get()
            {
                rules.read.get_or_init(|| match unread.read(above) {
                    Ok(read) => read,
                    Err(error) => {
                        *rules.failure.lock() = Some(error);
                        above.clone()
                    }
                });
            }
        }
        self.read.get()
    }
}

impl Unread {
    fn read(&self, above: &Arc<IgnoreRules>) -> Result<Arc<IgnoreRules>, Errno> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = rustix::fs::openat(CWD, &self.on_disk, flags, Mode::empty())?;
        Ok(match read_ignore_file(dir.as_fd())? {
            (Some(contents), _) => above.with_file(self.dir.as_bstr(), &contents),
            (None, _) => above.clone(),
        })
    }
}

impl IgnoreScope for Rules {
    fn digest(&self) -> u128 {
        self.digest
    }

    fn is_true_to_digest(&self) -> bool {
        let read = self.read.get();
        read.is_none_or(|rules| rules.digest() == self.digest)
    }

    fn take_warnings(&self, directory: &BStr) -> Vec<RulesWarning> {
        let unread = std::iter::successors(self.unread.as_ref().map(|unread| (self, unread)), {
            |(_, unread)| {
                let above = &*unread.above;
                above.unread.as_ref().map(|further| (above, further))
            }
        });
        let failed = unread.filter_map(|(rules, unread)| {
            let error = rules.failure.lock().take()?;
            Some(RulesWarning {
                directory: directory.to_owned(),
                text: text_bytes(&inaccessible(unread.dir.as_bstr(), error)?),
                is_of_shortage: errno::is_shortage(error),
            })
        });
        failed.collect()
    }

    fn is_ignored(&self, path: &BStr, is_dir: bool) -> bool {
        self.get()
            .is_some_and(|rules| rules.is_ignored(path, is_dir))
    }
}

/// Returns the rules of a scan in their concrete type; all of them are of this type.
fn of_scan(scope: &Arc<dyn IgnoreScope>) -> Arc<Rules> {
    let scope: Arc<dyn Any + Send + Sync> = scope.clone();
    scope.downcast().unwrap_or_default()
}

/// Returns the rules in force in `directory`, and what is known of its `.gitignore`. `recorded` returns the contents of
/// one that is recorded but left out of the working tree.
pub(crate) fn rules_in(
    directory: &ListedDirectory<'_>,
    above: &Arc<dyn IgnoreScope>,
    looks_at_present_skipped_files: bool,
    recorded: &dyn Fn(&ObjectId) -> Option<LimitedBlob>,
    warnings: &mut Vec<RulesWarning>,
) -> (Arc<dyn IgnoreScope>, RulesFile) {
    let with_file = |contents: &[u8]| of_scan(above).with_file(directory.path, contents);
    // No stamp shows when recorded rules change.
    let with_recorded = |contents| match contents {
        Some(LimitedBlob::Contents(contents)) => (with_file(&contents), RulesFile::Unproven),
        // The warning must be repeated for each question, and what is not here may be later.
        Some(LimitedBlob::TooLong) | None => (above.clone(), RulesFile::Unproven),
    };
    let len = directory
        .path
        .len()
        .saturating_add(1)
        .saturating_add(FILE_NAME.len());
    let is_too_long = len > PATH_LEN_MAX;
    if directory.listing.find(FILE_NAME).is_none() && !is_too_long {
        return match left_out(directory, recorded, warnings) {
            None => (above.clone(), RulesFile::Absent),
            Some(contents) => with_recorded(contents),
        };
    }
    let read = match is_too_long {
        // git opens it by this path, whether it is there or not.
        true => Err(Errno::NAMETOOLONG),
        false => read_ignore_file(directory.dir),
    };
    match read {
        Ok((None, _)) => {
            warn_of_length(directory, warnings);
            // The warning must be repeated for each question.
            (above.clone(), RulesFile::Unproven)
        }
        Ok((Some(contents), stat)) => {
            let file = match Stamp::trusted(&stat, directory.scan_started_at) {
                // With another hard link, it may be written in a folder that nobody watches.
                _ if stat.nlink != 1 => RulesFile::Unproven,
                Some(stamp) => RulesFile::Seen(stamp),
                None => RulesFile::Young,
            };
            let rules = match contents.is_empty() {
                true => above.clone(),
                false => with_file(&contents),
            };
            (rules, file)
        }
        Err(error) => {
            if let Some(text) = inaccessible(directory.path, error) {
                warn(directory, &text, errno::is_shortage(error), warnings);
            }
            let dir = Some(directory.dir);
            let holds = recorded_rules_hold(dir, error, looks_at_present_skipped_files);
            match holds
                .then(|| left_out(directory, recorded, warnings))
                .flatten()
            {
                Some(contents) => with_recorded(contents),
                None => (above.clone(), unreadable(directory.dir, error)),
            }
        }
    }
}

/// Returns the contents of the `.gitignore` that is recorded in `directory` but left out of the working tree, if there is one; the
/// inner `None` if they cannot be read. Warns if it is too long.
fn left_out(
    directory: &ListedDirectory<'_>,
    recorded: &dyn Fn(&ObjectId) -> Option<LimitedBlob>,
    warnings: &mut Vec<RulesWarning>,
) -> Option<Option<LimitedBlob>> {
    let tracked = directory.tracked?;
    let file = tracked.file(tracked.position(FILE_NAME))?;
    let is_left_out = file.name() == FILE_NAME && file.is_left_out();
    let contents = is_left_out.then(|| recorded(&file.id()))?;
    if matches!(contents, Some(LimitedBlob::TooLong)) {
        warn_of_length(directory, warnings);
    }
    Some(contents)
}

/// Warns of the `.gitignore` of `directory`, if git asks for its rules.
fn warn(
    directory: &ListedDirectory<'_>,
    text: &str,
    is_of_shortage: bool,
    warnings: &mut Vec<RulesWarning>,
) {
    if (directory.asks_for_rules)() {
        warnings.push(RulesWarning {
            directory: directory.path.to_owned(),
            text: text_bytes(text),
            is_of_shortage,
        });
    }
}

/// Warns that the `.gitignore` of `directory` is too long.
fn warn_of_length(directory: &ListedDirectory<'_>, warnings: &mut Vec<RulesWarning>) {
    let shown = join(directory.path, BStr::new(FILE_NAME));
    warn(directory, &too_large(shown.as_bstr()), false, warnings);
}

/// Returns git's warning about the `.gitignore` of `directory`, which cannot be read because of `error`; `None` if git says nothing.
fn inaccessible(directory: &BStr, error: Errno) -> Option<String> {
    let is_silent = matches!(error, Errno::NOENT | Errno::NOTDIR | Errno::ISDIR);
    let shown = join(directory, BStr::new(FILE_NAME));
    let reason = errno::text(error);
    (!is_silent).then(|| format!("unable to access '{shown}': {reason}", shown = raw(&shown)))
}

/// Returns what is known of the `.gitignore` in `dir`, which cannot be read because of `error`.
fn unreadable(dir: BorrowedFd<'_>, error: Errno) -> RulesFile {
    let has_other_names = || {
        let stat = stat_at(dir, C_FILE_NAME);
        stat.is_ok_and(|stat| stat.is_file() && stat.nlink != 1)
    };
    match error {
        // An event tells when it may be read, or is no link any more.
        Errno::ACCESS | Errno::LOOP if !has_other_names() => RulesFile::Young,
        _ => RulesFile::Unproven,
    }
}

/// Returns the rules in force in the directory `dir` of the working tree `work_tree`, which have this digest together
/// with those `above`; they are read when first used.
pub(crate) fn rules_of_digest(
    above: &Arc<dyn IgnoreScope>,
    work_tree: &Path,
    dir: &BStr,
    digest: u128,
) -> Arc<dyn IgnoreScope> {
    Arc::new(Rules::unread(&of_scan(above), work_tree, dir, digest))
}

/// Whether a recorded `.gitignore` that is left out of the working tree applies when the one on disk cannot be read
/// because of `error`. It does if none is seen there. If one is, it does unless git looks at it anyway
/// (`looks_at_present_skipped_files`). `dir` is its directory, if that could be opened.
pub(crate) fn recorded_rules_hold(
    dir: Option<BorrowedFd<'_>>,
    error: Errno,
    looks_at_present_skipped_files: bool,
) -> bool {
    match error {
        Errno::NOENT => true,
        // git can open a directory, but reads no rules from it.
        Errno::ISDIR => false,
        _ => {
            let is_unseen = |dir| stat_at(dir, C_FILE_NAME).is_err();
            !looks_at_present_skipped_files || dir.is_none_or(is_unseen)
        }
    }
}

/// Reads `.gitignore` in `dir`. Like git, follows no symbolic link. `None` if it is too large.
pub(crate) fn read_ignore_file(dir: BorrowedFd<'_>) -> Result<(Option<Vec<u8>>, Stat), Errno> {
    let fd = open_to_read(dir, C_FILE_NAME, OFlags::NOFOLLOW)?;
    let stat = stat_fd(fd.as_fd())?;
    if stat.is_dir() {
        return Err(Errno::ISDIR);
    }
    Ok((read_patterns(fd.into(), &stat)?, stat))
}

/// Reads a file of ignore rules, up to the size in `stat`: a device has none. `None` if it is too large.
pub(crate) fn read_patterns(file: File, stat: &Stat) -> Result<Option<Vec<u8>>, Errno> {
    if stat.size >= FILE_LEN_MAX {
        return Ok(None);
    }
    if stat.size == 0 {
        return Ok(Some(Vec::new()));
    }
    let regular_len = stat.is_file().then_some(stat.size);
    let contents = read_to_end(file, regular_len, stat.size.saturating_add(1));
    let contents = contents.map_err(|error| errno::of(&error))?;
    Ok(Some(contents))
}

/// Returns git's warning about a file of ignore rules that is too large.
pub(crate) fn too_large(shown: &BStr) -> String {
    format!(
        "ignoring excessively large pattern file: {shown}",
        shown = raw(shown)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_that_are_not_those_of_the_digest_are_noticed_once_they_are_read() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("dir")).unwrap();
        let file = folder.path().join("dir/.gitignore");
        std::fs::write(&file, "*.o\n").unwrap();
        let top: Arc<dyn IgnoreScope> =
            Arc::new(Rules::from(IgnoreRules::root(Default::default())));
        let dir = BStr::new("dir");
        let with_file = of_scan(&top).with_file(dir, b"*.o\n");
        let unread = || rules_of_digest(&top, folder.path(), dir, with_file.digest());
        let is_ignored = |rules: &Arc<dyn IgnoreScope>| rules.is_ignored("dir/x.o".into(), false);
        let rules = unread();
        assert!(rules.is_true_to_digest());
        assert!(is_ignored(&rules) && rules.is_true_to_digest());
        for contents in [Some("*.c\n"), None] {
            match contents {
                Some(contents) => std::fs::write(&file, contents).unwrap(),
                None => std::fs::remove_file(&file).unwrap(),
            }
            let rules = unread();
            assert!(rules.is_true_to_digest());
            assert!(!is_ignored(&rules) && !rules.is_true_to_digest());
            let below = rules_of_digest(&rules, folder.path(), "dir/e".into(), rules.digest());
            assert!(!is_ignored(&below) && !below.is_true_to_digest());
        }
    }

    #[test]
    fn rules_that_cannot_be_read_are_told_of_once() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("dir")).unwrap();
        let top: Arc<dyn IgnoreScope> =
            Arc::new(Rules::from(IgnoreRules::root(Default::default())));
        let rules = rules_of_digest(&top, folder.path(), "dir".into(), 1);
        let below = rules_of_digest(&rules, folder.path(), "dir/e".into(), 2);
        assert_eq!(below.take_warnings("dir/e".into()), []);
        std::os::unix::fs::symlink("elsewhere", folder.path().join("dir/.gitignore")).unwrap();
        assert!(!below.is_ignored("dir/e/x.o".into(), false));
        let warning = RulesWarning {
            directory: "dir/e".into(),
            text: "unable to access 'dir/.gitignore': Too many levels of symbolic links".into(),
            is_of_shortage: false,
        };
        assert_eq!(below.take_warnings("dir/e".into()), [warning]);
        assert_eq!(rules.take_warnings("dir".into()), []);
    }
}
