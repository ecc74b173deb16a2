//! Files that decided an answer, recorded so that a long-lived process can tell whether they still say the same.

use std::fs::File;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, OFlags};
use vigil_linux::opening::open_to_read;
use vigil_linux::stat::{Stat, stat_fd, stat_path};
use vigil_linux::{Errno, errno};

use vigil_stamp::{Observation, now};

/// The most bytes read of a configuration file: far above any real one.
pub const FILE_LEN_MAX: u64 = 64 << 20;

/// One file that was read, or was looked for and not found.
#[derive(Clone, Debug)]
pub(crate) struct RecordedFile {
    path: PathBuf,
    /// The file's stat data when it was open; the error if it did not exist or could not be read.
    seen: Result<Observation, Errno>,
    /// The contents, kept only if the stat data alone proves nothing because the file had just changed when it was read.
    contents: Option<Vec<u8>>,
    /// Set once the contents were found unchanged after the file had long been at rest: from then on the stamp is proof.
    is_settled: Arc<AtomicBool>,
}

impl RecordedFile {
    /// Reads `path`, and records what was seen.
    pub(crate) fn read(path: &Path) -> (Self, Result<Vec<u8>, Errno>) {
        let (file, bytes) = Self::read_beginning(path);
        (file, bytes.and_then(whole))
    }

    /// As [`Self::read`], but accepts a file that is too long if it has a NUL in the part read: only the text before it counts.
    pub(crate) fn read_text(path: &Path) -> (Self, Result<Vec<u8>, Errno>) {
        let (file, bytes) = Self::read_beginning(path);
        let text = bytes.and_then(|bytes| match bytes.contains(&0) {
            true => Ok(bytes),
            false => whole(bytes),
        });
        (file, text)
    }

    /// As [`Self::read`], but of a file that is too long returns the part that was read: [`FILE_LEN_MAX`] bytes.
    pub(crate) fn read_beginning(path: &Path) -> (Self, Result<Vec<u8>, Errno>) {
        let read_at = now();
        let outcome = open(path).and_then(|file| {
            let stat = stat_fd(file.as_fd())?;
            Ok((stat, read_all(file, &stat)?))
        });
        let (seen, bytes) = match outcome {
            Ok((stat, bytes)) => (Ok(Observation::at(read_at, Some(&stat))), Ok(bytes)),
            Err(errno) => (Err(errno), Err(errno)),
        };
        let is_proof = seen.is_ok_and(|seen| seen.is_proof());
        let file = Self {
            path: path.to_owned(),
            seen,
            contents: (bytes.as_ref().ok().filter(|_| !is_proof)).cloned(),
            is_settled: Arc::default(),
        };
        (file, bytes)
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The error, if the file could not be read.
    pub(crate) fn errno(&self) -> Option<Errno> {
        self.seen.err()
    }

    /// Whether the file is unchanged.
    pub(crate) fn is_fresh(&self) -> bool {
        let (then, stat) = match (self.seen, stat_path(&self.path)) {
            (Ok(then), Ok(stat)) => (then, stat),
            (Ok(_), Err(_)) => return false,
            // A file that is missing is no error, and one that cannot be looked at may be.
            (Err(then), Err(now)) => return then == now,
            // A file that cannot be read may have existed all along.
            (Err(then), Ok(_)) => return open(&self.path).err() == Some(then),
        };
        then.is_same(Some(&stat))
            && self
                .contents
                .as_ref()
                .is_none_or(|contents| self.contents_unchanged(contents, &stat))
    }

    fn contents_unchanged(&self, contents: &[u8], stat: &Stat) -> bool {
        if self.is_settled.load(Ordering::Relaxed) {
            return true;
        }
        let looked_at = now();
        let is_same = open(&self.path)
            .and_then(|file| read_all(file, stat))
            .is_ok_and(|bytes| bytes == contents);
        if is_same && Observation::at(looked_at, Some(stat)).is_proof() {
            self.is_settled.store(true, Ordering::Relaxed);
        }
        is_same
    }
}

fn open(path: &Path) -> Result<File, Errno> {
    open_to_read(CWD, path, OFlags::empty()).map(File::from)
}

/// Returns the `bytes` that were read of a file, unless it may have more.
fn whole(bytes: Vec<u8>) -> Result<Vec<u8>, Errno> {
    match bytes.len() as u64 {
        FILE_LEN_MAX.. => Err(Errno::FBIG),
        _ => Ok(bytes),
    }
}

fn read_all(file: File, stat: &Stat) -> Result<Vec<u8>, Errno> {
    let regular_len = stat.is_file().then_some(stat.size);
    vigil_stamp::file::read_to_end(file, regular_len, FILE_LEN_MAX)
        .map_err(|error| errno::of(&error))
}

#[cfg(test)]
mod tests {
    use vigil_model::timestamp::Timestamp;

    use super::*;

    #[test]
    fn any_change_is_seen_however_fast() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let (absent, outcome) = RecordedFile::read(&path);
        assert_eq!(outcome, Err(Errno::NOENT));
        assert!(absent.is_fresh());
        std::fs::write(&path, "one").unwrap();
        assert!(!absent.is_fresh());

        let (file, outcome) = RecordedFile::read(&path);
        assert_eq!(outcome, Ok(b"one".to_vec()));
        assert!(file.is_fresh());
        std::fs::write(&path, "two").unwrap();
        assert!(!file.is_fresh());
    }

    #[test]
    fn a_missing_file_is_not_taken_for_one_that_cannot_be_opened() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let (absent, _) = RecordedFile::read(&path);
        std::os::unix::fs::symlink("file", &path).unwrap();
        assert!(!absent.is_fresh());
        let (link, outcome) = RecordedFile::read(&path);
        assert_eq!(outcome, Err(Errno::LOOP));
        assert!(link.is_fresh());
        std::fs::remove_file(&path).unwrap();
        assert!(!link.is_fresh() && absent.is_fresh());
    }

    #[test]
    fn a_young_file_is_read_each_time() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, "one").unwrap();
        let stat = stat_path(&path).unwrap();
        for (age_s, is_read) in [(-1000, true), (1000, false)] {
            let (file, _) = RecordedFile::read(&path);
            let stat = Stat {
                mtime_s: stat.mtime_s - age_s,
                ctime_s: stat.ctime_s - age_s,
                ..stat
            };
            assert!(file.contents_unchanged(b"one", &stat));
            assert_eq!(file.contents_unchanged(b"two", &stat), !is_read);
        }
    }

    #[test]
    fn a_file_at_rest_is_not_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, "one").unwrap();
        let (mut file, _) = RecordedFile::read(&path);
        let stat = stat_path(&path).unwrap();
        let later = Timestamp {
            s: stat.ctime_s + 10,
            ns: 0,
        };
        let at_rest = Observation::at(later, Some(&stat));
        assert!(at_rest.is_proof());
        file.seen = Ok(at_rest);
        file.contents = None;
        assert!(file.is_fresh());
        std::fs::remove_file(&path).unwrap();
        assert!(!file.is_fresh());
    }
}
