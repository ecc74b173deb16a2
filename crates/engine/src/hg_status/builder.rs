//! Puts what a scan found into the lists of a status, as Mercurial's verdicts have it.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bstr::{BStr, BString, ByteSlice};
use vigil_hg::abort::Abort;
use vigil_hg::dirstate::{Dirstate, DirstateEntry};
use vigil_hg::patterns::{Matcher, outside_of_reach};
use vigil_hg::verdict::{Verdict, verdict};
use vigil_linux::stat::{FileType, Stat, lstat_path};
use vigil_linux::{Errno, errno};
use vigil_model::path::directory_len;
use vigil_model::path_set::PathSet;
use vigil_model::timestamp::Timestamp;
use vigil_scan::{Findings, Observed, Unseen};

use super::walk::Walk;
use super::{BadPath, HgStatus};
use crate::hg_system::{HgSystem, NO_FILE, UNREADABLE};

/// Where files that are not recorded were found.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum UnrecordedFiles {
    Nothing,
    Elsewhere,
    /// At least one is below the directory in question.
    Below,
}

/// A file in the dirstate.
pub(super) struct RecordedFile<'d> {
    path: &'d BStr,
    entry: &'d DirstateEntry,
    is_copy: bool,
}

impl<'d> RecordedFile<'d> {
    pub(super) fn numbered(dirstate: &'d Dirstate, number: usize) -> Option<Self> {
        let (path, entry) = dirstate.get(number)?;
        Some(Self {
            path,
            entry,
            is_copy: dirstate.copy_source(number).is_some(),
        })
    }

    /// Returns the verdict if the file was `seen` on disk, or is gone.
    pub(super) fn verdict(&self, seen: Option<&Stat>, now: Timestamp) -> Verdict {
        verdict(self.entry, self.is_copy, seen, now)
    }
}

/// An answer that is being put together.
pub(super) struct StatusBuilder<'a> {
    pub(super) system: &'a HgSystem<'a>,
    pub(super) dirstate: &'a Dirstate,
    pub(super) matcher: &'a Matcher,
    pub(super) is_filtered: bool,
    pub(super) walk: &'a Walk<'a>,
    pub(super) now: Timestamp,
    /// Whether recorded files are looked for behind links and in other repositories, as Mercurial does unless unknown files
    /// are asked for.
    pub(super) looks_through_links: bool,
    /// Whether only files and subrepositories by name are asked for.
    pub(super) is_only_named: bool,
    pub(super) lists_clean: bool,
    pub(super) status: HgStatus,
}

impl StatusBuilder<'_> {
    /// Returns whether the recorded file `path` is looked up, if only names are.
    fn is_looked_up(&self, path: &BStr) -> bool {
        self.matcher.is_exact(path) && !self.matcher.names_subrepository(path)
    }

    /// Takes the recorded files into the answer. Those in the directories `gone_with` count as missing.
    pub(super) fn add_tracked(
        &mut self,
        findings: &Findings,
        special: &[u32],
        gone_with: Option<&PathSet<BString>>,
    ) {
        let gone_with = gone_with.filter(|directories| !directories.is_empty());
        let observed = self.observed(findings);
        let len = u32::try_from(self.dirstate.len()).unwrap_or(u32::MAX);
        let numbers: Box<dyn Iterator<Item = u32>> = match self.lists_clean {
            // The other files are not reported, and may be many.
            false if gone_with.is_none() => {
                let differing = observed.iter().map(|(number, _)| *number);
                let mut reported: Vec<u32> = differing.chain(special.iter().copied()).collect();
                reported.sort_unstable();
                reported.dedup();
                Box::new(reported.into_iter())
            }
            _ => Box::new(0..len),
        };
        let mut observed = observed.iter().peekable();
        for number in numbers {
            let Some(file) = RecordedFile::numbered(self.dirstate, number as usize) else {
                continue;
            };
            let mut found = None;
            // The last observation of a file counts.
            while let Some((of, next)) = observed.next_if(|(of, _)| *of <= number) {
                found = (*of == number).then_some(*next);
            }
            if self.is_filtered && !self.matcher.is_match(file.path)
                || self.is_only_named && !self.is_looked_up(file.path)
            {
                continue;
            }
            let is_nested = gone_with.is_some_and(|directories| directories.has_above(file.path));
            let verdict = match is_nested {
                true => file.verdict(None, self.now),
                false => self.verdict(&file, found),
            };
            let lists = &mut self.status.lists;
            let list = match verdict {
                Verdict::Clean | Verdict::Unsure if !self.lists_clean => continue,
                Verdict::Clean | Verdict::Unsure => &mut lists.clean,
                Verdict::Modified => &mut lists.modified,
                Verdict::Added => &mut lists.added,
                Verdict::Removed => &mut lists.removed,
                Verdict::Deleted => &mut lists.deleted,
            };
            list.push(file.path.to_owned());
        }
    }

    /// Returns what was observed of recorded files, ordered by their numbers. What could not be looked at counts as missing.
    fn observed<'f>(&self, findings: &'f Findings) -> Cow<'f, [(u32, Observed)]> {
        let mut observed = Cow::Borrowed(findings.tracked.as_slice());
        if !findings.unknown.is_empty() {
            let all = observed.to_mut();
            for unseen in &findings.unknown {
                let number = self.dirstate.position(unseen.path.as_bstr());
                let number = number.and_then(|number| u32::try_from(number).ok());
                all.extend(number.map(|number| (number, Observed::Missing)));
            }
            all.sort_by_key(|&(number, _)| number);
        }
        observed
    }

    /// Returns the verdict on a file, which is unchanged on disk if nothing was `found`.
    fn verdict(&self, file: &RecordedFile<'_>, found: Option<Observed>) -> Verdict {
        match found {
            None if file.entry.has_p2_info() => Verdict::Modified,
            None if file.entry.is_added() => Verdict::Added,
            None if file.entry.is_removed() => Verdict::Removed,
            None => Verdict::Clean,
            Some(Observed::Present(UNREADABLE)) => self.verdict_if_unreadable(file),
            Some(Observed::Present(NO_FILE)) if !self.looks_through_links => {
                self.verdict_if_no_file(file)
            }
            Some(Observed::Present(NO_FILE) | Observed::Missing | Observed::Nested) => {
                self.verdict_if_missing(file)
            }
            Some(Observed::Present(_)) => Verdict::Modified,
        }
    }

    /// Returns the verdict on a file that the scan did not meet: it may be there behind a link.
    fn verdict_if_missing(&self, file: &RecordedFile<'_>) -> Verdict {
        let if_gone = file.verdict(None, self.now);
        if !self.looks_through_links {
            return if_gone;
        }
        let seen = self.look_at(file.path).ok();
        let Some(seen) = seen.filter(|seen| seen.is_file() || seen.is_symlink()) else {
            return if_gone;
        };
        // For files that its walk does not reach, Mercurial's compiled code ignores the nanoseconds of the mtime. That decides
        // whether it reads the file, which shows if it refuses to.
        let without_ns = Stat {
            mtime_ns: 0,
            ..seen
        };
        match file.verdict(Some(&without_ns), self.now) {
            Verdict::Unsure => match self.system.is_as_in_parent(file.path, &seen) {
                Some(true) => Verdict::Clean,
                Some(false) => Verdict::Modified,
                None => self.verdict_if_unreadable(file),
            },
            certain => certain,
        }
    }

    /// Returns the verdict on a file whose contents cannot be read. Mercurial compares contents last, after size and flag.
    fn verdict_if_unreadable(&self, file: &RecordedFile<'_>) -> Verdict {
        let seen = self.look_at(file.path);
        match seen.is_ok_and(|seen| self.system.differs_unread(file.path, &seen)) {
            true => Verdict::Modified,
            false => file.verdict(None, self.now),
        }
    }

    /// Returns the verdict on a recorded file whose place is taken by something that is neither a file nor a link. Mercurial
    /// takes that for the file if its walk does not come there.
    fn verdict_if_no_file(&self, file: &RecordedFile<'_>) -> Verdict {
        let is_met = self.matcher.is_exact(file.path)
            || self.walk.comes_to(file.path)
            || outside_of_reach(self.system.inputs.top, file.path).is_some();
        let Some(seen) = self.look_at(file.path).ok().filter(|_| !is_met) else {
            return file.verdict(None, self.now);
        };
        match file.verdict(Some(&seen), self.now) {
            Verdict::Unsure => self.verdict_if_unreadable(file),
            certain => certain,
        }
    }

    pub(super) fn look_at(&self, path: &BStr) -> Result<Stat, Errno> {
        lstat_path(&self.system.inputs.top.join(OsStr::from_bytes(path)))
    }

    /// Takes the files that are not recorded into the answer. Returns whether there are any, and whether one is below `below`.
    pub(super) fn add_unrecorded(
        &mut self,
        findings: Cow<'_, Findings>,
        unknown: bool,
        ignored: bool,
        nested: &PathSet<BString>,
        below: &BStr,
    ) -> UnrecordedFiles {
        // Mercurial's walk begins only at named paths, if there are any, whatever else the patterns match.
        let named = PathSet::new(self.matcher.named());
        let is_at_named = |path: &BString| named.is_empty() || named.has_at_or_above(path);
        // To the scan, a folder named `.git` has no recorded files: these have long names in the folder above.
        let is_recorded = |path: &BString| {
            directory_len(path.as_bstr()) < path.rfind_byte(b'/').unwrap_or_default()
                && self.dirstate.position(path.as_bstr()).is_some()
        };
        // Entries that end in a slash are nested repositories, not files.
        let is_file = |path: &BString| {
            is_at_named(path)
                && !path.ends_with(b"/")
                && !nested.has_above(path)
                && !is_recorded(path)
        };
        let all = findings.untracked.iter().chain(&findings.ignored);
        let mut all = all.filter(|path| is_file(path)).peekable();
        let found = match (
            all.peek().is_some(),
            all.any(|path| path.starts_with(below)),
        ) {
            (false, _) => UnrecordedFiles::Nothing,
            (true, false) => UnrecordedFiles::Elsewhere,
            (true, true) => UnrecordedFiles::Below,
        };
        // Findings that are kept hold more than is asked for, and may be long.
        let (all_unknown, all_ignored, unlisted) = match findings {
            Cow::Borrowed(known) => {
                let files = |paths: &[BString], are_asked_for| {
                    let files = paths.iter().filter(|path| are_asked_for && is_file(path));
                    files.cloned().collect::<Vec<_>>()
                };
                let unlisted = known.unlisted.clone();
                let (unknown, ignored) = (
                    files(&known.untracked, unknown),
                    files(&known.ignored, ignored),
                );
                (unknown, ignored, unlisted)
            }
            Cow::Owned(mut found) => {
                found.untracked.retain(is_file);
                found.ignored.retain(is_file);
                (found.untracked, found.ignored, found.unlisted)
            }
        };
        if unknown {
            self.status.lists.unknown = all_unknown;
        }
        if ignored {
            self.status.lists.ignored = all_ignored;
        }
        let top = self.system.inputs.top;
        let met = unlisted.into_iter().map(|unseen| BadPath {
            abort: unlisted_abort(top, &unseen),
            path: unseen.path,
            reason: errno::text(unseen.reason).into(),
            was_met: true,
        });
        self.status.bad.extend(met);
        self.status.bad.sort_by(|a, b| a.path.cmp(&b.path));
        self.status.bad.dedup();
        found
    }

    /// Looks at the paths that are asked for by name, and notes those that cannot be looked at.
    pub(super) fn add_bad_names(&mut self) {
        let mut bad = Vec::new();
        for path in self.matcher.named() {
            let is_recorded = self.dirstate.position(path).is_some();
            let reason = match self.look_at(path) {
                Ok(stat) if stat.is_dir() || stat.is_file() || stat.is_symlink() => continue,
                Ok(stat) => {
                    let kind = kind_name(stat.file_type());
                    format!("unsupported file type (type is {kind})")
                }
                Err(_) if is_recorded || self.dirstate.has_directory(path) => continue,
                Err(error) => errno::text(error),
            };
            bad.push(BadPath {
                path: path.to_owned(),
                reason: reason.into(),
                was_met: false,
                abort: None,
            });
        }
        bad.append(&mut self.status.bad);
        self.status.bad = bad;
    }
}

/// How Mercurial ends if a directory below `top` cannot be listed. It only warns where it may not look, or nothing is there.
fn unlisted_abort(top: &Path, unseen: &Unseen) -> Option<Abort> {
    let only_warns = matches!(unseen.reason, Errno::ACCESS | Errno::PERM | Errno::NOENT);
    let place = || top.join(OsStr::from_bytes(&unseen.path));
    (!only_warns).then(|| Abort::io(&place(), &unseen.reason.into()))
}

fn kind_name(file_type: FileType) -> &'static str {
    match file_type {
        FileType::CharacterDevice => "character device",
        FileType::BlockDevice => "block device",
        FileType::Fifo => "fifo",
        FileType::Socket => "socket",
        _ => "unknown",
    }
}
