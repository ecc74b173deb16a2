//! The ignore rules that hold for a whole working tree: `core.excludesFile` and `info/exclude`.

use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;

use bstr::{BStr, BString};
use vigil_linux::errno;

use vigil_git::repository::Repository;
use vigil_git::repository::settings::Settings;
use vigil_rules::ignore::{GlobalSources, IgnoreRules};
use vigil_stamp::Observation;

/// The rules, and the files that they came from.
pub(super) struct Excludes {
    excludes_file: Option<Source>,
    info_exclude: Source,
    ignore_case: bool,
    rules: Option<Arc<IgnoreRules>>,
}

struct Source {
    path: PathBuf,
    seen: Option<Observation>,
    contents: Option<Vec<u8>>,
    complaint: Option<BString>,
}

impl Excludes {
    pub(super) fn new(repository: &Repository, settings: &Settings) -> Self {
        Self {
            excludes_file: settings.excludes_file.clone().map(Source::new),
            info_exclude: Source::new(repository.common_dir.join("info/exclude")),
            ignore_case: settings.ignore_case,
            rules: None,
        }
    }

    /// The rules as the files are now: the same value as last time if they say the same.
    pub(super) fn rules(&mut self, warnings: &mut Vec<BString>) -> Arc<IgnoreRules> {
        let mut is_same = true;
        for source in self
            .excludes_file
            .iter_mut()
            .chain([&mut self.info_exclude])
        {
            is_same &= source.is_same_after_refresh();
            warnings.extend(source.complaint.clone());
        }
        match &self.rules {
            Some(rules) if is_same => rules.clone(),
            _ => {
                let rules = IgnoreRules::root(GlobalSources {
                    excludes_file: self.excludes_file.as_ref().and_then(Source::part),
                    info_exclude: self.info_exclude.part(),
                    ignore_case: self.ignore_case,
                });
                self.rules.insert(rules).clone()
            }
        }
    }
}

impl Source {
    fn new(path: PathBuf) -> Self {
        Self {
            path,
            seen: None,
            contents: None,
            complaint: None,
        }
    }

    fn part(&self) -> Option<(&std::path::Path, &[u8])> {
        self.contents
            .as_deref()
            .map(|contents| (self.path.as_path(), contents))
    }

    /// Reads the file again if it may have moved; whether it says what it said.
    fn is_same_after_refresh(&mut self) -> bool {
        if self
            .seen
            .is_some_and(|seen| seen.holds(&self.path).unwrap_or(false))
        {
            return true;
        }
        let is_first = self.seen.is_none();
        self.seen = Observation::of(&self.path).ok();
        let (contents, complaint) = match vigil_stamp::file::read(&self.path) {
            Ok(contents) => (Some(contents), None),
            Err(error) if is_silent(&error) => (None, None),
            Err(error) => {
                let path = BStr::new(self.path.as_os_str().as_bytes());
                let reason = errno::text_of(&error);
                (
                    None,
                    Some(format!("unable to access '{path}': {reason}").into()),
                )
            }
        };
        let is_same = !is_first && contents == self.contents;
        self.contents = contents;
        self.complaint = complaint;
        is_same
    }
}

/// A file that is not there, or is a directory, is no reason to speak.
fn is_silent(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::IsADirectory
    )
}
