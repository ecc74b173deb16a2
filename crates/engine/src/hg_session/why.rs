//! Explains what a status says about single paths.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bstr::{BStr, BString, ByteSlice};
use vigil_hg::abort::Abort;
use vigil_hg::dirstate::{Dirstate, DirstateEntry};
use vigil_hg::patterns::{
    Ignore, IgnoreLine, Matcher, MatcherQuestion, Portion, ignore_line, outside_of_reach,
};
use vigil_hg::repository::Repository;
use vigil_hg::subrepositories::Subrepositories;
use vigil_hg::verdict::{Reason, Verdict, reason};
use vigil_linux::stat::{Stat, lstat_path};
use vigil_linux::{Errno, errno};
use vigil_model::path::directories_above;

use super::HgSession;
use crate::hg_status::{HgRequest, HgStatus};
use crate::hg_system::{HgSystem, HgSystemInputs, Ignored};

pub use crate::hg_system::Compared;

/// The context in which paths are explained.
#[derive(Debug)]
pub struct HgWhyQuestion<'q> {
    /// The repository, as it is now.
    pub repository: &'q Repository,
    /// Its ignore patterns.
    pub ignore: Arc<Ignore>,
    /// The files with those patterns.
    pub ignore_files: &'q [PathBuf],
    /// The part of the files that a narrow clone has.
    pub narrow: Option<Arc<Portion>>,
}

/// The explanation of one path.
#[derive(Clone, Debug)]
pub struct HgWhy {
    /// The path, from the top; empty for the top.
    pub path: BString,
    /// What was found there.
    pub found: HgPathKind,
}

/// What a path is.
#[derive(Clone, Debug)]
pub enum HgPathKind {
    /// A recorded file.
    Recorded(Box<HgRecorded>),
    /// A directory with recorded files, or the top.
    Directory(Box<HgDirectory>),
    /// A file that is neither recorded nor ignored.
    Unknown,
    /// An ignored file or directory.
    Ignored {
        /// The path itself, or the ignored directory above it.
        path: BString,
        /// The line of an ignore file that matches it.
        line: Option<IgnoreLine>,
    },
    /// A path where no status looks, and why.
    Beyond(BString),
    /// A directory without recorded files.
    OtherDirectory,
    /// Something other than a file, link or directory.
    Special,
    /// A path that cannot be looked at, and why.
    Unreadable(String),
    /// Neither recorded nor on disk.
    Absent,
    /// Not part of what the working copy has.
    LeftOut(LeftOut),
}

/// Why a path is not part of the working copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftOut {
    /// The repository is a narrow clone without it.
    Narrow,
    /// The working copy is sparse, and excludes it.
    Sparse,
}

/// A directory, or the top.
#[derive(Clone, Debug)]
pub struct HgDirectory {
    /// The number of recorded files in it.
    pub recorded: usize,
    /// The status of the directory.
    pub status: HgStatus,
}

/// A recorded file.
#[derive(Clone, Debug)]
pub struct HgRecorded {
    /// Its entry in the dirstate.
    pub entry: DirstateEntry,
    /// The source, if it is recorded as a copy.
    pub copy_source: Option<BString>,
    /// What is on disk.
    pub seen: Seen,
    /// The fact that decides, or why the contents must be compared.
    pub reason: Reason,
    /// How the contents compare, if they must decide; `None` if they need not, or cannot be read.
    pub compared: Option<Compared>,
}

/// What is at the path of a recorded file.
#[derive(Clone, Debug)]
pub enum Seen {
    /// A file, or a link.
    File(Stat),
    /// Nothing.
    Nothing,
    /// A directory.
    Directory,
    /// Something else.
    Special,
    /// A path where no status looks, and why.
    Beyond(BString),
    /// A path that cannot be looked at, and why.
    Unreadable(String),
}

impl HgRecorded {
    /// Returns what a status says about the file.
    pub fn verdict(&self) -> Verdict {
        match (self.reason.verdict(), self.compared) {
            (Verdict::Unsure, Some(Compared::Same)) => Verdict::Clean,
            (Verdict::Unsure, Some(_)) => Verdict::Modified,
            (Verdict::Unsure, None) => Verdict::Deleted,
            (certain, _) => certain,
        }
    }
}

impl HgSession {
    /// Explains what a status says about `path`, which is relative to the top. Always looks at the disk.
    ///
    /// # Errors
    /// The dirstate, the working copy or the store cannot be read, or is damaged.
    pub fn why(&mut self, question: &HgWhyQuestion<'_>, path: &BStr) -> Result<HgWhy, Abort> {
        let dirstate = self.dirstate(question.repository)?;
        let is_beyond = || outside_of_reach(&self.root, path).is_some();
        // An unknown file may have taken its place.
        let is_file = || look(&self.root, path).is_ok_and(is_file_or_link);
        let is_directory =
            path.is_empty() || dirstate.has_directory(path) && !is_beyond() && !is_file();
        let found = match self.left_out(question, path, is_directory)? {
            Some(left_out) => HgPathKind::LeftOut(left_out),
            None => self.found(question, &dirstate, path, is_directory)?,
        };
        Ok(HgWhy {
            path: path.to_owned(),
            found,
        })
    }

    /// Returns why `path` is not part of the working copy; `None` if it is.
    fn left_out(
        &mut self,
        question: &HgWhyQuestion<'_>,
        path: &BStr,
        is_directory: bool,
    ) -> Result<Option<LeftOut>, Abort> {
        let is_folder = is_directory || look(&self.root, path).is_ok_and(|seen| seen.is_dir());
        let has = |portion: &Option<Arc<Portion>>| {
            portion.as_ref().is_none_or(|portion| {
                portion.is_match(path) || is_folder && portion.may_match_below(path)
            })
        };
        Ok(match has(&question.narrow) {
            false => Some(LeftOut::Narrow),
            true => {
                let sparse = self.sparse(question.repository)?;
                (!has(&sparse.portion.clone()?)).then_some(LeftOut::Sparse)
            }
        })
    }

    fn found(
        &mut self,
        question: &HgWhyQuestion<'_>,
        dirstate: &Dirstate,
        path: &BStr,
        is_directory: bool,
    ) -> Result<HgPathKind, Abort> {
        Ok(
            match dirstate
                .position(path)
                .and_then(|at| Some((at, dirstate.get(at)?)))
            {
                Some((at, (_, entry))) => {
                    let source = dirstate.copy_source(at).map(BStr::to_owned);
                    let recorded = recorded(question.repository, dirstate, path, *entry, source)?;
                    HgPathKind::Recorded(Box::new(recorded))
                }
                None if is_directory => {
                    let status = self.status_below(question, path)?;
                    let is_in = |other: &BStr| {
                        let rest = other.strip_prefix(path.as_bytes());
                        path.is_empty() || rest.is_some_and(|rest| rest.starts_with(b"/"))
                    };
                    let recorded = dirstate.iter().filter(|(other, _)| is_in(other)).count();
                    HgPathKind::Directory(Box::new(HgDirectory { recorded, status }))
                }
                None => other(&self.root, question, path),
            },
        )
    }

    /// Returns the status of everything in a directory.
    fn status_below(
        &mut self,
        question: &HgWhyQuestion<'_>,
        path: &BStr,
    ) -> Result<HgStatus, Abort> {
        let patterns = match path.is_empty() {
            true => Vec::new(),
            false => vec![BString::from([b"path:", path.as_bytes()].concat())],
        };
        let matcher = Matcher::new(&MatcherQuestion {
            root: &self.root,
            cwd: &self.root,
            patterns: &patterns,
            include: &[],
            exclude: &[],
            subrepositories: Some(&Subrepositories::default()),
        })?;
        let sparse = self.sparse(question.repository)?.portion.clone()?;
        let matcher = matcher.within_narrow(question.narrow.clone());
        let matcher = Arc::new(matcher.within_sparse(sparse));
        self.status(&HgRequest {
            repository: question.repository,
            ignore: question.ignore.clone(),
            matcher,
            clean: true,
            unknown: true,
            ignored: false,
        })
    }
}

fn recorded(
    repository: &Repository,
    dirstate: &Dirstate,
    path: &BStr,
    entry: DirstateEntry,
    copy_source: Option<BString>,
) -> Result<HgRecorded, Abort> {
    let root = &repository.root;
    let now = vigil_stamp::now();
    let seen = match (outside_of_reach(root, path), look(root, path)) {
        (Some(abort), _) => Seen::Beyond(abort.message),
        (None, Ok(stat)) if is_file_or_link(stat) => Seen::File(stat),
        (None, Ok(stat)) if stat.is_dir() => Seen::Directory,
        (None, Ok(_)) => Seen::Special,
        (None, Err(Errno::NOENT | Errno::NOTDIR)) => Seen::Nothing,
        (None, Err(error)) => Seen::Unreadable(errno::text(error)),
    };
    let file = match &seen {
        Seen::File(stat) => Some(stat),
        _ => None,
    };
    let reason = reason(&entry, copy_source.is_some(), file, now);
    let compared = match file {
        Some(stat) if reason.verdict() == Verdict::Unsure => {
            let store = repository.store();
            let system = HgSystem::new(HgSystemInputs {
                top: root,
                dirstate,
                store: &store,
                ignore: Arc::new(Ignored::new(Arc::default(), Arc::default())),
                now,
                audits: false,
                is_remembered: false,
                ignored_directories: None,
                line_endings: None,
                // Nothing is kept.
                lacks_parent: false,
            });
            system.compared(path, stat)?
        }
        _ => None,
    };
    Ok(HgRecorded {
        entry,
        copy_source,
        seen,
        reason,
        compared,
    })
}

fn look(root: &Path, path: &BStr) -> Result<Stat, Errno> {
    lstat_path(&root.join(OsStr::from_bytes(path)))
}

fn is_file_or_link(stat: Stat) -> bool {
    stat.is_file() || stat.is_symlink()
}

/// Finds out what a path is that is not recorded.
fn other(root: &Path, question: &HgWhyQuestion<'_>, path: &BStr) -> HgPathKind {
    if let Some(abort) = outside_of_reach(root, path) {
        return HgPathKind::Beyond(abort.message);
    }
    let stat = match look(root, path) {
        Err(Errno::NOENT | Errno::NOTDIR) => return HgPathKind::Absent,
        Err(error) => return HgPathKind::Unreadable(errno::text(error)),
        Ok(stat) => stat,
    };
    // Directories above come first: a walk lists nothing below an ignored directory.
    let mut all = directories_above(path).chain([path]);
    if let Some(ignored) = all.find(|path| question.ignore.is_match(path)) {
        return HgPathKind::Ignored {
            path: ignored.to_owned(),
            line: ignore_line(root, question.ignore_files, ignored),
        };
    }
    match stat {
        stat if is_file_or_link(stat) => HgPathKind::Unknown,
        stat if stat.is_dir() => other_directory(root, path),
        _ => HgPathKind::Special,
    }
}

/// Finds out what the directory at `path` is, in which no file is recorded.
fn other_directory(root: &Path, path: &BStr) -> HgPathKind {
    let directory = root.join(OsStr::from_bytes(path));
    if lstat_path(&directory.join(".hg")).is_ok_and(|stat| stat.is_dir()) {
        return HgPathKind::Beyond("it is a repository of its own".into());
    }
    match std::fs::read_dir(&directory) {
        Ok(_) => HgPathKind::OtherDirectory,
        Err(error) => HgPathKind::Unreadable(errno::text_of(&error)),
    }
}
