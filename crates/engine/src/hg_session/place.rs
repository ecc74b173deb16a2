//! Where the state of a working copy of Mercurial's is on disk.

use std::path::{Path, PathBuf};

use bstr::BString;
use vigil_git::state_place::{cache_folder, identity, in_cache};
use vigil_hg::repository::Repository;
use vigil_store::Store;

/// Changes with what the blocks mean.
const FORMAT: &[u8] = b"vigil hg state 1";

/// The place in the repository: all that is ever written there is below it.
pub fn in_repository(dot_hg: &Path) -> PathBuf {
    dot_hg.join("vigil")
}

/// Where the state of the working copy of `repository` may be: there, or where that cannot be written, in the user's cache folder,
/// which `variable` of the environment tells. Nowhere where it cannot be told from others.
pub fn places(repository: &Repository, variable: impl Fn(&str) -> Option<BString>) -> Vec<Store> {
    let top = &repository.root;
    let Some(identity) = identity(FORMAT, "sha1", &[&repository.dot_hg, top]) else {
        return Vec::new();
    };
    let cache = cache_folder(variable).map(|cache| in_cache(&cache, &identity));
    // What is saved must not change the answer.
    let cache = cache.filter(|cache| !cache.starts_with(top));
    [Some(in_repository(&repository.dot_hg)), cache]
        .into_iter()
        .flatten()
        .map(|folder| Store::new(folder, identity))
        .collect()
}
