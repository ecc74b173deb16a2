//! The ignore rules of each directory: its `.gitignore`, on disk or only in the index (gitignore(5)).

use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use bstr::{BStr, BString, ByteSlice};
use rustix::fs::{CWD, Mode, OFlags};
use vigil_linux::dir::{EntryKind, Listing};
use vigil_linux::stat::{Stat, stat_fd};
use vigil_linux::{Errno, errno};
use vigil_model::tracked::Directory;

use super::walk::{Walk, Worker};
use vigil_rules::ignore::IgnoreRules;
use vigil_stamp::Stamp;
use vigil_stamp::file::read_to_end;

/// The largest ignore file that git reads, in bytes.
const IGNORE_FILE_SIZE_MAX: u64 = 100 * 1024 * 1024;

/// The ignore rules in force in a directory. Those of which only the digest is known are read when they are asked.
#[derive(Debug)]
pub(super) struct Rules {
    digest: u128,
    unread: Option<Unread>,
    read: OnceLock<Arc<IgnoreRules>>,
}

/// Where rules come from that were not read.
#[derive(Debug)]
struct Unread {
    above: Arc<Rules>,
    /// The path of the directory, from the top.
    dir: BString,
    /// The directory itself.
    on_disk: PathBuf,
}

impl From<Arc<IgnoreRules>> for Rules {
    fn from(rules: Arc<IgnoreRules>) -> Self {
        Self {
            digest: rules.digest(),
            unread: None,
            read: OnceLock::from(rules),
        }
    }
}

impl Rules {
    /// The rules `above` with those of the `.gitignore` in `dir`, all of which together have this `digest`.
    pub(super) fn unread(above: &Arc<Self>, work_tree: &Path, dir: &BStr, digest: u128) -> Self {
        let unread = Unread {
            above: above.clone(),
            dir: dir.to_owned(),
            on_disk: work_tree.join(std::ffi::OsStr::from_bytes(dir)),
        };
        Self {
            digest,
            unread: Some(unread),
            read: OnceLock::new(),
        }
    }

    /// Equal only where all rules in force are.
    pub(super) fn digest(&self) -> u128 {
        self.digest
    }

    /// Whether a rule ignores `path`.
    pub(super) fn is_ignored(&self, path: &BStr, is_dir: bool) -> bool {
        self.get()
            .is_some_and(|rules| rules.is_ignored(path, is_dir))
    }

    /// These rules with those in the `.gitignore` of `dir`; themselves if there are none in it.
    fn with_file(self: &Arc<Self>, dir: &BStr, contents: &[u8]) -> Arc<Self> {
        let Some(rules) = self.get() else {
            return self.clone();
        };
        let with = rules.with_file(dir, contents);
        match Arc::ptr_eq(&with, rules) {
            true => self.clone(),
            false => Arc::new(with.into()),
        }
    }

    fn get(&self) -> Option<&Arc<IgnoreRules>> {
        if let Some(read) = self.read.get() {
            return Some(read);
        }
        // From the innermost directory out to rules that are known, and back.
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
                rules.read.get_or_init(|| unread.read(above));
            }
        }
        self.read.get()
    }
}

impl Unread {
    fn read(&self, above: &Arc<IgnoreRules>) -> Arc<IgnoreRules> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let contents = rustix::fs::openat(CWD, &self.on_disk, flags, Mode::empty())
            .and_then(|dir| read_ignore_file(dir.as_fd()));
        match contents {
            Ok((contents, _)) => above.with_file(self.dir.as_bstr(), &contents),
            Err(_) => above.clone(),
        }
    }
}

impl Walk<'_> {
    /// The rules in force in directory `path`, and of its `.gitignore`: `None` if there is none, else its stamp if
    /// that can be trusted.
    #[allow(
        clippy::too_many_arguments,
        reason = "the state of one step of the walk"
    )]
    pub(super) fn rules_of(
        &self,
        directory: &Directory<'_>,
        dir: BorrowedFd<'_>,
        path: &BStr,
        listing: &Listing,
        above: &Arc<Rules>,
        is_excluded: bool,
        worker: &mut Worker,
    ) -> (Arc<Rules>, Option<Option<Stamp>>) {
        self.rules_in(
            Some(directory),
            dir,
            path,
            listing,
            above,
            is_excluded,
            worker.warnings(),
        )
    }

    /// As [`Self::rules_of`], in a directory that has tracked files or has none.
    #[allow(
        clippy::too_many_arguments,
        reason = "the state of one step of the walk"
    )]
    pub(super) fn rules_in(
        &self,
        tracked: Option<&Directory<'_>>,
        dir: BorrowedFd<'_>,
        path: &BStr,
        listing: &Listing,
        above: &Arc<Rules>,
        is_excluded: bool,
        warnings: &mut Vec<BString>,
    ) -> (Arc<Rules>, Option<Option<Stamp>>) {
        // All below an excluded directory is excluded, whatever ignore files in it say.
        if is_excluded {
            return (above.clone(), None);
        }
        let left_out = || tracked.and_then(|tracked| self.ignore_file_not_checked_out(tracked));
        if listing.find(b".gitignore").is_none() {
            return match left_out() {
                None => (above.clone(), None),
                // No stamp tells when these change.
                Some(contents) => (above.with_file(path, &contents), Some(None)),
            };
        }
        match read_ignore_file(dir) {
            Ok((contents, stat)) => {
                let stamp = Stamp::trusted(&stat, self.started_at);
                let rules = if contents.is_empty() {
                    above.clone()
                } else {
                    above.with_file(path, &contents)
                };
                (rules, Some(stamp))
            }
            Err(error) => {
                let is_silent = matches!(error, Errno::NOENT | Errno::NOTDIR | Errno::ISDIR);
                if !is_silent && self.asks_for_rules(tracked, path, listing) {
                    let shown = vigil_model::path::join(path, BStr::new(".gitignore"));
                    warnings
                        .push(format!("unable to access '{shown}': {}", errno::text(error)).into());
                }
                let looks = self.scan.looks_at_present_skipped_files;
                let contents = recorded_rules_hold(error, looks).then(left_out).flatten();
                let rules = match contents {
                    Some(contents) => above.with_file(path, &contents),
                    None => above.clone(),
                };
                (rules, Some(None))
            }
        }
    }

    /// Whether anything in the directory `path` is looked up in ignore rules: git does not read them otherwise.
    fn asks_for_rules(
        &self,
        tracked: Option<&Directory<'_>>,
        path: &BStr,
        listing: &Listing,
    ) -> bool {
        let is_tracked = |name: &[u8]| {
            tracked.is_some_and(|directory| {
                let file = directory.file(directory.position(name));
                file.is_some_and(|file| file.name() == name)
            })
        };
        listing.entries().any(|entry| {
            let name = entry.name.to_bytes();
            let path = vigil_model::path::join(path, name.as_bstr());
            !self.is_dot_git(path.as_bstr())
                && self
                    .scan
                    .filter
                    .is_none_or(|filter| filter.may_match_below(path.as_bstr()))
                && (entry.kind == EntryKind::Dir || !is_tracked(name))
        })
    }

    fn ignore_file_not_checked_out(&self, directory: &Directory<'_>) -> Option<Vec<u8>> {
        let name = b".gitignore";
        let file = directory.file(directory.position(name))?;
        let is_left_out = file.name() == name && file.flags().is_skip_worktree();
        is_left_out.then(|| self.scan.surroundings.blob(&file.id()))?
    }
}

/// Whether a recorded `.gitignore` that is not checked out holds where one on disk cannot be read for `error`: where
/// none is there; and where something is there but is expected to be, which `looks_at_present_skipped_files` denies.
pub(crate) fn recorded_rules_hold(error: Errno, looks_at_present_skipped_files: bool) -> bool {
    match error {
        Errno::NOENT => true,
        // git opens a directory, and reads no rules from it.
        Errno::ISDIR => false,
        _ => !looks_at_present_skipped_files,
    }
}

/// Reads `.gitignore` in `dir`, not following a symbolic link, as git does not.
pub(crate) fn read_ignore_file(dir: BorrowedFd<'_>) -> Result<(Vec<u8>, Stat), Errno> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let fd = rustix::fs::openat(dir, c".gitignore", flags, Mode::empty())?;
    let stat = stat_fd(fd.as_fd())?;
    if stat.is_dir() {
        return Err(Errno::ISDIR);
    }
    if stat.size > IGNORE_FILE_SIZE_MAX {
        return Ok((Vec::new(), stat));
    }
    let regular_len = stat.is_file().then_some(stat.size);
    let contents = read_to_end(fd.into(), regular_len, u64::MAX)
        .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    Ok((contents, stat))
}
