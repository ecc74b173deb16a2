//! Whether somebody may be removing a repository. A folder made in it meanwhile would be in the way: rm(1) would fail.

use std::fs::{metadata, symlink_metadata};
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// How long a repository's own folder must have been left alone before Vigil's folder is made in it.
const LEFT_ALONE: Duration = Duration::from_secs(10);

/// Whether `state_folder` is missing in a repository whose own folder was changed a moment ago.
pub fn may_be_under_way(state_folder: &Path) -> bool {
    let is_missing =
        matches!(symlink_metadata(state_folder), Err(error) if error.kind() == ErrorKind::NotFound);
    let changed_at = || metadata(state_folder.parent()?).ok()?.modified().ok();
    // A time in the future says nothing.
    let age = |changed_at| SystemTime::now().duration_since(changed_at).ok();
    is_missing
        && changed_at()
            .and_then(age)
            .is_some_and(|age| age < LEFT_ALONE)
}
