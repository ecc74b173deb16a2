//! Where the state of a working tree is, and to whom it belongs.

use std::fs::DirBuilder;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};
use sha2::{Digest, Sha256};
use vigil_linux::stat::stat_path;

use crate::repository::Repository;
use vigil_store::Store;

/// To be changed when the blocks change their meaning.
const FORMAT: &[u8] = b"vigil git state 3";

/// Where older versions kept what they had read of references and commits, in the git directory shared by all worktrees.
const OLDER: [&str; 2] = ["vigil/refs", "vigil/commits"];

/// Why a working tree has no state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoStateReason {
    /// `vigil.stateFile` is off.
    Off,
    /// There is no working tree.
    NoWorkTree,
    /// The question concerns another index or working tree than the repository's own.
    ForeignIndexOrTree,
    /// The repository or the working tree cannot be examined.
    Unknown,
}

/// Returns where the state of `repository`'s working tree may be: in the repository, or in the user's cache directory if the
/// repository cannot be written, or a group shares it. Empty if [`places_or_reason`] fails.
pub fn places(repository: &Repository) -> Vec<Store> {
    places_or_reason(repository).unwrap_or_default()
}

/// As [`places`].
///
/// # Errors
/// The reason why there is no such place.
pub fn places_or_reason(repository: &Repository) -> Result<Vec<Store>, NoStateReason> {
    match is_off(repository) {
        true => Err(NoStateReason::Off),
        false => places_even_if_off(repository),
    }
}

fn is_off(repository: &Repository) -> bool {
    repository.config.boolean("vigil.stateFile").ok().flatten() == Some(false)
}

/// Returns the stores that older versions may have left, even if `vigil.stateFile` is off: they can only be dropped.
pub fn left_by_older_versions(repository: &Repository) -> Vec<Store> {
    let folders = OLDER.iter().map(|name| repository.common_dir.join(name));
    let top = repository.work_tree.as_deref();
    folders
        .filter(|folder| top.is_none_or(|top| !would_be_untracked(folder, top)))
        // Nothing reads them, so their identity does not matter.
        .map(|folder| Store::new(folder, [0; 32]))
        .collect()
}

/// As [`places`], even if `vigil.stateFile` is off now: a state may be left from before.
///
/// # Errors
/// The reason why there is no such place.
pub fn places_even_if_off(repository: &Repository) -> Result<Vec<Store>, NoStateReason> {
    let top = repository
        .work_tree
        .as_deref()
        .ok_or(NoStateReason::NoWorkTree)?;
    let is_own = repository.index_path == repository.git_dir.join("index")
        && repository.environment.get("GIT_WORK_TREE").is_none();
    if !is_own {
        return Err(NoStateReason::ForeignIndexOrTree);
    }
    let folders = [repository.git_dir.as_path(), top];
    let hash = repository.hash.to_string();
    let identity = identity(FORMAT, &hash, &folders).ok_or(NoStateReason::Unknown)?;
    let cache = cache_folder(|name| repository.environment.get(name).map(BStr::to_owned));
    let in_cache = cache.map(|cache| in_cache(&cache, &identity));
    Ok([Some(in_repository(repository)), in_cache]
        .into_iter()
        .flatten()
        .filter(|folder| !would_be_untracked(folder, top))
        .map(|folder| Store::new(folder, identity))
        .collect())
}

/// Whether a status of the working tree at `top` would show files in `folder`: saving a state must not change the answer.
fn would_be_untracked(folder: &Path, top: &Path) -> bool {
    let inside = folder.strip_prefix(top);
    inside.is_ok_and(|inside| !inside.iter().any(|name| name.eq_ignore_ascii_case(".git")))
}

/// The place inside the repository.
pub fn in_repository(repository: &Repository) -> PathBuf {
    repository.git_dir.join("vigil")
}

/// Returns the user's cache directory (XDG Base Directory Specification), according to the environment variables.
pub fn cache_folder(variable: impl Fn(&str) -> Option<BString>) -> Option<PathBuf> {
    let absolute = |name| {
        let value = variable(name)?;
        let path = value.to_path().ok()?;
        path.is_absolute().then(|| path.to_owned())
    };
    absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))
}

/// Returns the place in the user's cache directory for this identity.
pub fn in_cache(cache: &Path, identity: &[u8; 32]) -> PathBuf {
    let digits = identity.iter().take(16).map(|byte| format!("{byte:02x}"));
    cache.join("vigil").join(digits.collect::<String>())
}

/// Creates the directory above a store's own and the user's cache directory, accessible only to the user, but not the home
/// directory that contains it: if that does not exist, it is not meant to. Nothing is created in another user's directory,
/// unless that is root's, like `/tmp`: if root has the home of a user, it must not lock that one out of a directory there.
pub fn create_parents(folder: &Path) {
    let above = folder.ancestors().skip(1).take(2);
    for folder in above.collect::<Vec<_>>().into_iter().rev() {
        let owner = folder.parent().and_then(|above| stat_path(above).ok());
        let is_allowed = owner
            .is_some_and(|stat| stat.uid == 0 || stat.uid == rustix::process::geteuid().as_raw());
        // If nothing is created, nothing is published, and the store says why.
        if is_allowed {
            let _ = DirBuilder::new().mode(0o700).create(folder);
        }
    }
}

/// Computes what distinguishes the working copy or repository in `folders`, for this user on this machine, from any other;
/// `format` changes with the meaning of what is kept. `None` if the directories cannot be examined.
pub fn identity(format: &[u8], hash: &str, folders: &[&Path]) -> Option<[u8; 32]> {
    let mut sum = Sha256::new();
    let mut add = |part: &[u8]| {
        sum.update((part.len() as u64).to_le_bytes());
        sum.update(part);
    };
    add(format);
    add(hash.as_bytes());
    for folder in folders {
        let stat = stat_path(folder).ok()?;
        add(folder.as_os_str().as_bytes());
        add(&stat.dev.to_le_bytes());
        add(&stat.ino.to_le_bytes());
    }
    add(&rustix::process::geteuid().as_raw().to_le_bytes());
    add(rustix::system::uname().nodename().to_bytes());
    Some(sum.finalize().into())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::chown;

    use super::*;
    use vigil_testkit::sandbox::skip_test;

    #[test]
    fn the_cache_is_created_but_not_in_the_home_of_another_user() {
        let home = tempfile::tempdir().unwrap();
        let cache = home.path().join(".cache");
        let above = cache.join("vigil");
        let create = || create_parents(&above.join("0123"));
        create();
        assert!(above.is_dir() && !above.join("0123").exists());
        if !rustix::process::geteuid().is_root() {
            return skip_test("another user's home", "only root may give files away");
        }
        for (given_away, gone) in [(&cache, &above), (&home.path().to_owned(), &cache)] {
            chown(given_away, Some(1), None).unwrap();
            std::fs::remove_dir(gone).unwrap();
            create();
            assert!(!gone.exists(), "{gone:?}");
        }
    }
}
