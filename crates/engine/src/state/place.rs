//! Where the state of a working copy is, and whose it is.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use bstr::ByteSlice;
use sha2::{Digest, Sha256};
use vigil_linux::stat::stat_path;

use crate::git::repository::Repository;
use crate::state_store::Store;

/// Changes with what the blocks mean.
const FORMAT: &[u8] = b"vigil git state 1";

/// Where the state of `repository`'s working tree may be: in the repository, or where that cannot be written, in the
/// user's cache folder. Nowhere if `vigil.stateFile` is off, or the question is put with another index or working tree
/// than the repository's own.
pub fn places(repository: &Repository) -> Vec<Store> {
    let Some(top) = repository.work_tree.as_deref() else {
        return Vec::new();
    };
    let is_off = repository.config.boolean("vigil.stateFile").ok().flatten() == Some(false);
    let is_own = repository.index_path == repository.git_dir.join("index")
        && repository.environment.get("GIT_WORK_TREE").is_none();
    let Some(identity) = identity(repository, top).filter(|_| !is_off && is_own) else {
        return Vec::new();
    };
    let name: String = identity
        .iter()
        .take(16)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let in_cache = cache_folder(repository).map(|folder| folder.join("vigil").join(name));
    [Some(repository.git_dir.join("vigil")), in_cache]
        .into_iter()
        .flatten()
        .map(|folder| Store::new(folder, identity))
        .collect()
}

/// The user's cache folder (XDG Base Directory Specification).
fn cache_folder(repository: &Repository) -> Option<PathBuf> {
    let variable = |name| {
        let value = repository.environment.get(name)?;
        let path = value.to_path().ok()?;
        path.is_absolute().then(|| path.to_owned())
    };
    variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")))
}

/// What tells this working copy, for this user on this machine, from any other.
fn identity(repository: &Repository, top: &Path) -> Option<[u8; 32]> {
    let mut hash = Sha256::new();
    let mut add = |part: &[u8]| {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    };
    add(FORMAT);
    add(repository.hash.to_string().as_bytes());
    for folder in [repository.git_dir.as_path(), top] {
        let stat = stat_path(folder).ok()?;
        add(folder.as_os_str().as_bytes());
        add(&stat.dev.to_le_bytes());
        add(&stat.ino.to_le_bytes());
    }
    add(&rustix::process::geteuid().as_raw().to_le_bytes());
    add(rustix::system::uname().nodename().to_bytes());
    Some(hash.finalize().into())
}
