//! The ignore rules that apply to a whole working tree: `core.excludesFile` and `info/exclude`.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bstr::BString;
use vigil_linux::stat::stat_fd;
use vigil_linux::{Errno, errno};
use vigil_model::raw_text::{raw, text_bytes};

use crate::git_ignore_files::{read_patterns, too_large};
use vigil_git::repository::Repository;
use vigil_git::repository::settings::Settings;
use vigil_rules::ignore::{GlobalSources, IgnoreRules};
use vigil_scan::ScanError;
use vigil_stamp::Observation;

/// The rules, and the files that they come from.
pub(super) struct Excludes {
    excludes_file: Option<ExcludeFile>,
    info_exclude: ExcludeFile,
    ignore_case: bool,
    rules: Option<Arc<IgnoreRules>>,
}

/// A file of ignore rules outside the working tree, as it was last read.
struct ExcludeFile {
    path: PathBuf,
    /// The path as git shows it.
    shown: BString,
    seen: Option<Observation>,
    contents: Option<Vec<u8>>,
    complaint: Option<Complaint>,
}

/// What is wrong with a file.
#[derive(Clone)]
enum Complaint {
    /// The file could not be opened.
    Warning {
        text: BString,
        /// Whether only because this process has too many files open, or no memory.
        is_of_shortage: bool,
    },
    /// The file could be opened, but not read, or was too large.
    Unusable { is_large: bool },
}

/// A file of ignore rules that can be opened but not used: git gives up.
#[derive(Clone, Debug, thiserror::Error)]
#[error("cannot use {path} as an exclude file", path = raw(path))]
pub struct UnusableExcludes {
    path: BString,
    /// The warnings before the error.
    pub(super) messages: Vec<BString>,
}

impl Excludes {
    pub(super) fn new(repository: &Repository, settings: &Settings) -> Self {
        let info_exclude = repository.common_dir.join("info/exclude");
        Self {
            excludes_file: settings
                .excludes_file
                .as_deref()
                .map(|path| ExcludeFile::new(path, &settings.excludes_file_name)),
            info_exclude: ExcludeFile::new(&info_exclude, repository.shown(&info_exclude)),
            ignore_case: settings.ignore_case,
            rules: None,
        }
    }

    /// Appends the `warnings` that git gives if it reads the files `readings` times.
    ///
    /// # Errors
    /// A file that can be opened but not used.
    pub(super) fn check(
        &mut self,
        readings: usize,
        warnings: &mut Vec<BString>,
    ) -> Result<(), UnusableExcludes> {
        if readings == 0 {
            return Ok(());
        }
        self.rules();
        let mut messages = Vec::new();
        for file in self.excludes_file.iter().chain([&self.info_exclude]) {
            match &file.complaint {
                None => {}
                Some(Complaint::Warning { text, .. }) => messages.push(text.clone()),
                Some(Complaint::Unusable { is_large }) => {
                    if *is_large {
                        messages.push(text_bytes(&too_large(file.shown.as_ref())));
                    }
                    let path = file.shown.clone();
                    return Err(UnusableExcludes { path, messages });
                }
            }
        }
        warnings.extend((0..readings).flat_map(|_| messages.iter().cloned()));
        Ok(())
    }

    /// Whether anything is wrong with the files, as they were last read.
    pub(super) fn has_complaint(&self) -> bool {
        let mut files = self.excludes_file.iter().chain([&self.info_exclude]);
        files.any(|file| file.complaint.is_some())
    }

    /// Why a file was not read, if that is only because this process has too many files open, or no memory. A client of a
    /// long-lived process may have more.
    pub(super) fn beyond_means(&self) -> Option<ScanError> {
        let mut files = self.excludes_file.iter().chain([&self.info_exclude]);
        files.find_map(|file| match &file.complaint {
            Some(Complaint::Warning {
                text,
                is_of_shortage: true,
            }) => Some(ScanError::Rules(text.clone())),
            _ => None,
        })
    }

    /// Returns the current rules: the same value as last time if the files have the same contents.
    pub(super) fn rules(&mut self) -> Arc<IgnoreRules> {
        let mut is_same = true;
        for file in self
            .excludes_file
            .iter_mut()
            .chain([&mut self.info_exclude])
        {
            is_same &= file.is_same_after_refresh();
        }
        match &self.rules {
            Some(rules) if is_same => rules.clone(),
            _ => {
                let rules = IgnoreRules::root(GlobalSources {
                    excludes_file: self.excludes_file.as_ref().and_then(ExcludeFile::part),
                    info_exclude: self.info_exclude.part(),
                    ignore_case: self.ignore_case,
                });
                self.rules.insert(rules).clone()
            }
        }
    }
}

impl ExcludeFile {
    fn new(path: &Path, shown: &Path) -> Self {
        Self {
            path: path.to_owned(),
            shown: shown.as_os_str().as_bytes().into(),
            seen: None,
            contents: None,
            complaint: None,
        }
    }

    fn part(&self) -> Option<(&Path, &[u8])> {
        self.contents
            .as_deref()
            .map(|contents| (self.path.as_path(), contents))
    }

    /// Reads the file again if it may have changed. Returns whether its contents are the same as
    /// before.
    fn is_same_after_refresh(&mut self) -> bool {
        self.is_same_after_refresh_by(read_pattern_file)
    }

    /// The same, with `read` to read the file.
    fn is_same_after_refresh_by(
        &mut self,
        read: impl FnOnce(&Path) -> Result<Option<Vec<u8>>, Unread>,
    ) -> bool {
        if self
            .seen
            .is_some_and(|seen| seen.is_current(&self.path).unwrap_or(false))
        {
            return true;
        }
        self.seen = Observation::of(&self.path).ok();
        let read = read(&self.path);
        if let Err(Unread::NotOpened(error) | Unread::NotRead(error)) = read
            && !errno::is_lasting(error)
        {
            // It may be read the next time, though nothing about it changed.
            self.seen = None;
        }
        let (contents, complaint) = match read {
            Ok(Some(contents)) => (Some(contents), None),
            Ok(None) => (None, Some(Complaint::Unusable { is_large: true })),
            Err(Unread::NotRead(_)) => (None, Some(Complaint::Unusable { is_large: false })),
            Err(Unread::NotOpened(Errno::NOENT | Errno::NOTDIR)) => (None, None),
            Err(Unread::NotOpened(error)) => {
                let shown = &self.shown;
                let text = format!(
                    "unable to access '{shown}': {}",
                    errno::text(error),
                    shown = raw(&shown)
                );
                let complaint = Complaint::Warning {
                    text: text_bytes(&text),
                    is_of_shortage: errno::is_shortage(error),
                };
                (None, Some(complaint))
            }
        };
        let is_same = contents == self.contents;
        self.contents = contents;
        self.complaint = complaint;
        is_same
    }
}

/// Why a file's contents are not known.
pub(super) enum Unread {
    NotOpened(Errno),
    NotRead(Errno),
}

/// Reads the file of patterns `path`; `None` if it is too large.
pub(super) fn read_pattern_file(path: &Path) -> Result<Option<Vec<u8>>, Unread> {
    let failed = |error: io::Error| Unread::NotOpened(errno::of(&error));
    let file = vigil_stamp::file::open(path).map_err(failed)?;
    let stat = stat_fd(file.as_fd()).map_err(Unread::NotOpened)?;
    read_patterns(file, &stat).map_err(Unread::NotRead)
}

#[cfg(test)]
mod tests {
    use vigil_testkit::clock::wait_for_tick;

    use super::*;

    #[test]
    fn a_file_that_could_not_be_read_is_read_again_though_it_stayed_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("exclude");
        std::fs::write(&path, "*.o\n").unwrap();
        wait_for_tick();
        for unread in [Unread::NotOpened(Errno::MFILE), Unread::NotRead(Errno::IO)] {
            let mut file = ExcludeFile::new(&path, &path);
            file.is_same_after_refresh_by(|_| Err(unread));
            assert!(file.part().is_none() && file.complaint.is_some());
            assert!(!file.is_same_after_refresh());
            assert_eq!(file.part(), Some((path.as_path(), &b"*.o\n"[..])));
            assert!(file.complaint.is_none());
            // Once it was read, it is read again only if it changes.
            assert!(file.is_same_after_refresh_by(|_| Err(Unread::NotRead(Errno::IO))));
            assert!(file.complaint.is_none());
        }
    }

    #[test]
    fn only_a_shortage_of_this_process_is_beyond_its_means() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("exclude");
        for (error, is_beyond) in [(Errno::MFILE, true), (Errno::IO, false)] {
            let mut info_exclude = ExcludeFile::new(&path, &path);
            info_exclude.is_same_after_refresh_by(|_| Err(Unread::NotOpened(error)));
            let excludes = Excludes {
                excludes_file: None,
                info_exclude,
                ignore_case: false,
                rules: None,
            };
            assert_eq!(excludes.beyond_means().is_some(), is_beyond, "{error:?}");
        }
    }
}
