//! Where the state of a Mercurial working copy is on disk.

use std::path::{Path, PathBuf};

use bstr::BString;
use vigil_git::state_place::{cache_folder, identity, in_cache};
use vigil_hg::repository::Repository;
use vigil_store::Store;

/// Changes whenever the meaning of the blocks does.
const FORMAT: &[u8] = b"vigil hg state 1";

/// The place in the repository. Nothing is ever written in the repository outside it.
pub fn in_repository(dot_hg: &Path) -> PathBuf {
    dot_hg.join("vigil")
}

/// Where the state of the working copy of `repository` may be: in the repository, or if that cannot be written or a group shares
/// it, in the user's cache folder, found by environment variables (`variable`). Empty if the working copy cannot be told from
/// others.
pub fn places(repository: &Repository, variable: impl Fn(&str) -> Option<BString>) -> Vec<Store> {
    let top = &repository.root;
    let Some(identity) = identity(FORMAT, "sha1", &[&repository.dot_hg, top]) else {
        return Vec::new();
    };
    let cache = cache_folder(variable).map(|cache| in_cache(&cache, &identity));
    // Saving must not change the answer: a cache inside the working copy would show up as unknown files.
    let cache = cache.filter(|cache| !cache.starts_with(top));
    [Some(in_repository(&repository.dot_hg)), cache]
        .into_iter()
        .flatten()
        .map(|folder| Store::new(folder, identity))
        .collect()
}
