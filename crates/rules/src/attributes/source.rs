//! Reads one attributes file, and later checks whether it is still the same.

use std::fs::File;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bstr::BString;
use rustix::fs::{CWD, OFlags};
use rustix::io::Errno;
use vigil_linux::errno;
use vigil_linux::opening::open_to_read;
use vigil_linux::stat::{Stat, lstat_path, stat_fd, stat_path};

use super::blobs::IndexBlobs;
use super::parse::{ParseContext, Rules};
use crate::messages::{FileMessages, bytes};
use vigil_stamp::file::read_to_end;
use vigil_stamp::paths::is_missing;
use vigil_stamp::{Observation, now};

/// Files of at least this size in bytes are ignored.
const FILE_SIZE_MAX: u64 = 100 * 1024 * 1024;

/// A place that may hold attributes: a file, a blob, or both.
#[derive(Debug)]
pub(super) struct RuleSource {
    /// The file on disk, if one may count.
    pub(super) file: Option<PathBuf>,
    /// Whether symbolic links are followed; inside the working tree they are not.
    pub(super) follow: bool,
    /// The path of the blob that is used where there is no file.
    pub(super) blob: Option<BString>,
    /// Its name in messages.
    pub(super) origin: BString,
    /// Whether it may define macros.
    pub(super) macros: bool,
}

/// The contents of a place when it was read.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) rules: Arc<Rules>,
    /// git's messages on reading it.
    pub(super) complaints: Vec<BString>,
    seen: Seen,
}

/// What the rules were made from.
#[derive(Debug)]
enum Seen {
    /// A file.
    File(Observation),
    /// The blob, or `None` if there was none, because no file could be used. `absent` is the observation that the file
    /// was missing; `None` if there was a file that could not be used.
    Blob {
        absent: Option<Observation>,
        blob: Option<Vec<u8>>,
    },
}

impl RuleSource {
    /// Reads the place, or returns `earlier` if it is still up to date.
    pub(super) fn load(&self, earlier: Option<Arc<Loaded>>, blobs: &dyn IndexBlobs) -> Arc<Loaded> {
        if let Some(earlier) = earlier.filter(|earlier| self.is_current(earlier, blobs)) {
            return earlier;
        }
        let mut complaints = FileMessages::default();
        let (rules, seen) = self.read(blobs, &mut complaints);
        Arc::new(Loaded {
            rules: Arc::new(rules),
            complaints: complaints.into_lines(),
            seen,
        })
    }

    fn is_current(&self, earlier: &Loaded, blobs: &dyn IndexBlobs) -> bool {
        match &earlier.seen {
            Seen::File(seen) => self.holds(*seen),
            Seen::Blob { absent, blob } => {
                absent.is_some_and(|absent| self.holds(absent)) && *blob == self.blob(blobs)
            }
        }
    }

    fn holds(&self, seen: Observation) -> bool {
        seen.is_current_by(|| self.stat()).unwrap_or(false)
    }

    fn stat(&self) -> Result<Stat, Errno> {
        match &self.file {
            Some(path) if self.follow => stat_path(path),
            Some(path) => lstat_path(path),
            None => Err(Errno::NOENT),
        }
    }

    fn blob(&self, blobs: &dyn IndexBlobs) -> Option<Vec<u8>> {
        self.blob
            .as_ref()
            .and_then(|path| blobs.blob(path.as_ref()))
    }

    fn read(&self, blobs: &dyn IndexBlobs, complaints: &mut FileMessages) -> (Rules, Seen) {
        let context = ParseContext {
            origin: self.origin.as_ref(),
            macros: self.macros,
        };
        let before = now();
        let file = match &self.file {
            Some(path) => self.read_file(path, complaints),
            None => Err(Errno::NOENT),
        };
        let absent = match file {
            Ok((Some(bytes), stat)) => {
                let seen = Seen::File(Observation::at(before, Some(&stat)));
                return (Rules::from_file(&bytes, context, complaints), seen);
            }
            // Too large: git uses the blob instead, if there is one.
            Ok((None, _)) => None,
            Err(errno) if is_missing(errno) => Some(Observation::at(before, None)),
            Err(errno) => {
                complaints.warning(bytes!(
                    "unable to access '",
                    self.origin,
                    "': ",
                    errno::text(errno)
                ));
                None
            }
        };
        let blob = self.blob(blobs);
        let rules = match &blob {
            Some(bytes) if bytes.len() as u64 >= FILE_SIZE_MAX => {
                complaints.warning(bytes!(
                    "ignoring overly large gitattributes blob '",
                    self.origin,
                    "'"
                ));
                Rules::default()
            }
            Some(bytes) => Rules::from_blob(bytes, context, complaints),
            None => Rules::default(),
        };
        (rules, Seen::Blob { absent, blob })
    }

    /// Returns the file's bytes, or `None` if it is too large, and its stat data when it was open.
    fn read_file(
        &self,
        path: &Path,
        complaints: &mut FileMessages,
    ) -> Result<(Option<Vec<u8>>, Stat), Errno> {
        let flags = match self.follow {
            true => OFlags::empty(),
            false => OFlags::NOFOLLOW,
        };
        let file = File::from(open_to_read(CWD, path, flags)?);
        let stat = stat_fd(file.as_fd())?;
        if stat.size >= FILE_SIZE_MAX {
            complaints.warning(bytes!(
                "ignoring overly large gitattributes file '",
                self.origin,
                "'"
            ));
            return Ok((None, stat));
        }
        // As in git, something that is no file, such as a directory, has no lines. A file that the system fails to read would
        // have none either, and nothing on the disk would change when it can be read again.
        let bytes = match stat.is_file() {
            true => read_to_end(file, Some(stat.size), FILE_SIZE_MAX)
                .map_err(|error| errno::of(&error))?,
            false => Vec::new(),
        };
        Ok((Some(bytes), stat))
    }
}
