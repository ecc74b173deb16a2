//! What a session's answers rest on, among the changes that the kernel reports.

use std::path::PathBuf;
use std::sync::Arc;

use bstr::BString;
use vigil_linux::stat::lstat_path;
use vigil_model::timestamp::Timestamp;
use vigil_watch::{Position, WatchedTree};

/// How old the lock of a command is at most, in seconds, if the command is likely to be changing the working tree: one that is
/// older may wait for an editor, or have been left by a command that died.
const LOCK_AGE_MAX_S: i64 = 10;

/// The same for git's lock once the new index was written there, as it is last of all.
const WRITTEN_LOCK_AGE_MAX_S: i64 = 2;

/// The position up to which the last answer covers changes, for each watched tree that it rests on.
#[derive(Clone, Debug, Default)]
pub struct WatchPositions {
    pub(crate) trees: Vec<(Arc<WatchedTree>, Position)>,
    /// The file that a command holds as a lock while it changes the working copy, such as git's `index.lock` or Mercurial's `wlock`.
    pub(crate) lock: Option<PathBuf>,
}

impl WatchPositions {
    /// The number of changes heard since, in any session: 0 if the answer still holds.
    pub fn since(&self) -> u64 {
        let since = self.trees.iter().map(|(tree, position)| {
            let until = tree.heard_until().number();
            until.saturating_sub(position.number())
        });
        since.fold(0, u64::saturating_add)
    }

    /// Returns the same trees, with everything that was heard until now.
    pub fn until_now(&self) -> Self {
        let trees = self.trees.iter();
        Self {
            trees: trees
                .map(|(tree, _)| (tree.clone(), tree.heard_until()))
                .collect(),
            lock: self.lock.clone(),
        }
    }

    /// Whether a command is likely to be changing the working copy: it has held its lock for a short time. An answer found
    /// meanwhile soon holds no longer.
    pub fn is_being_changed(&self) -> bool {
        let lock = self.lock.as_deref().and_then(|lock| lstat_path(lock).ok());
        lock.is_some_and(|lock| {
            let age_max_s = match lock.is_symlink() || lock.size == 0 {
                true => LOCK_AGE_MAX_S,
                false => WRITTEN_LOCK_AGE_MAX_S,
            };
            let age_s = vigil_stamp::now().s.checked_sub(lock.mtime_s);
            // A stamp may be a little ahead of that clock.
            age_s.is_some_and(|age_s| (-1..age_max_s).contains(&age_s))
        })
    }
}

/// What is watched in a working copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchReport {
    /// The number of folders that are watched.
    pub watches: usize,
    /// The paths that are looked at for each question even so, and why. Only the first ones are
    /// named.
    pub looked_at: Vec<(BString, BString)>,
    /// How many more there are.
    pub looked_at_more: usize,
}

/// What is known about one path, on which any answer about it is based.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Basis {
    /// When the whole working tree was last looked at, for the most recent question.
    pub looked_at_all: Timestamp,
    /// The last change of the path that was heard after that.
    pub last_change: Option<LastChange>,
    /// Why the path is looked at for each question, if it is.
    pub each_time: Option<String>,
}

/// The last change of one path that was heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastChange {
    /// The path, or the folder or governing file above it that changed.
    pub path: BString,
    /// When the change was heard.
    pub at: Timestamp,
    /// Whether the path was looked at since.
    pub is_looked_at: bool,
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn only_a_fresh_lock_tells_of_a_command_that_changes_the_working_copy() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index.lock");
        let positions = WatchPositions {
            lock: Some(path.clone()),
            ..WatchPositions::default()
        };
        assert!(!WatchPositions::default().is_being_changed());
        assert!(!positions.is_being_changed());
        let lock = fs::File::create(&path).unwrap();
        assert!(positions.is_being_changed());
        assert!(positions.until_now().is_being_changed());
        let now = SystemTime::now();
        let before = |seconds| now.checked_sub(Duration::from_secs(seconds));
        let after = |seconds| now.checked_add(Duration::from_secs(seconds));
        for (contents, at, expected) in [
            ("", before(5), true),
            ("", before(3600), false),
            ("", after(3600), false),
            ("DIRC", before(0), true),
            ("DIRC", before(5), false),
        ] {
            fs::write(&path, contents).unwrap();
            lock.set_modified(at.unwrap()).unwrap();
            assert_eq!(positions.is_being_changed(), expected, "{contents} {at:?}");
        }
        fs::remove_file(&path).unwrap();
        // Mercurial's lock is a symbolic link to nowhere.
        std::os::unix::fs::symlink("host:123", &path).unwrap();
        assert!(positions.is_being_changed());
    }
}
