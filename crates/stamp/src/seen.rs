//! Files as they were when they were read.

use std::path::PathBuf;

use vigil_linux::stat::stat_path;
use vigil_model::timestamp::Timestamp;

use crate::stamp::Stamp;

/// A file as it was when it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenFile {
    /// The file's path.
    pub path: PathBuf,
    /// Its stamp, taken while the file was open; `None` if there was no file.
    pub stamp: Option<Stamp>,
}

impl SeenFile {
    /// Records that nothing was at `path`.
    pub fn absent(path: PathBuf) -> Self {
        Self { path, stamp: None }
    }

    /// Records the file or folder `path` as it is now. `None` if it is missing, or may have changed at `before` or
    /// later.
    pub fn at_rest(path: PathBuf, before: Timestamp) -> Option<Self> {
        let stamp = Some(Stamp::trusted(&stat_path(&path).ok()?, before)?);
        Some(Self { path, stamp })
    }

    /// Whether the file is still the one that was read at `read_at`. A file written just before that counts as changed.
    pub fn is_current(&self, read_at: Timestamp) -> bool {
        let is_young = self
            .stamp
            .is_some_and(|stamp| stamp.is_written_since(read_at));
        !is_young && self.is_same()
    }

    /// Whether the file has the same stamp now, or is still missing.
    pub fn is_same(&self) -> bool {
        Stamp::of(&self.path).is_ok_and(|now| now == self.stamp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_current_until_it_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let absent = SeenFile::absent(path.clone());
        let long_ago = Timestamp::default();
        assert!(absent.is_same() && absent.is_current(long_ago));
        assert_eq!(SeenFile::at_rest(path.clone(), long_ago), None);
        std::fs::write(&path, "1").unwrap();
        assert!(!absent.is_same() && !absent.is_current(long_ago));
    }

    #[test]
    fn a_file_written_when_it_was_read_or_later_proves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, "1").unwrap();
        // A round time could have been truncated by the file system, and would be judged by that coarser unit.
        let second = Stamp::of(&path).unwrap().unwrap().mtime().s;
        let written_at = Timestamp {
            s: second,
            ns: 123_456_789,
        };
        let since_epoch = std::time::Duration::new(second.unsigned_abs(), written_at.ns);
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(std::time::UNIX_EPOCH + since_epoch)
            .unwrap();
        let stamp = Stamp::of(&path).unwrap();
        let next = Timestamp {
            ns: written_at.ns + 1,
            ..written_at
        };
        let earlier = Timestamp {
            s: written_at.s - 1,
            ..written_at
        };
        let later = Timestamp {
            s: written_at.s + 3600,
            ..written_at
        };
        let file = SeenFile {
            path: path.clone(),
            stamp,
        };
        for (read_at, is_current) in [
            (earlier, false),
            (written_at, false),
            (next, true),
            (later, true),
        ] {
            assert_eq!(file.is_current(read_at), is_current);
        }
        assert_eq!(SeenFile::at_rest(path.clone(), written_at), None);
        assert_eq!(SeenFile::at_rest(path.clone(), later), Some(file.clone()));
        std::fs::write(&path, "22").unwrap();
        assert!(!file.is_same() && !file.is_current(later));
    }
}
