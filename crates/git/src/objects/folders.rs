//! Where a repository's objects are, according to its set-up, configuration and environment.

use bstr::BString;
use vigil_model::raw_text::{raw, raw_path};
use vigil_objects::ObjectFolders;

use crate::config;
use crate::repository::Repository;

/// Returns where the objects of `repo` are. Nothing is fetched.
///
/// # Errors
/// `core.multiPackIndex` is not a boolean.
pub(crate) fn object_folders(repo: &Repository) -> Result<ObjectFolders, config::Error> {
    let environment = &repo.environment;
    let alternates = environment.get("GIT_ALTERNATE_OBJECT_DIRECTORIES");
    // git changes to the top of the working tree if it is started inside it.
    let directory = environment.working_directory();
    let top = repo.work_tree.as_deref();
    let top = top.filter(|top| directory.starts_with(top));
    let shown = match environment.get("GIT_OBJECT_DIRECTORY") {
        Some(name) => raw(name).to_string(),
        None if repo.common_dir == repo.git_dir => format!("{}/objects", raw(&repo.git_dir_name)),
        None => raw_path(repo.shown(&repo.object_dir)).to_string(),
    };
    Ok(ObjectFolders {
        hash: repo.hash,
        folder: repo.object_dir.clone(),
        shown,
        alternates: alternates.map_or_else(BString::default, Into::into),
        working_directory: top.unwrap_or(directory).to_owned(),
        work_tree: repo.work_tree.clone(),
        uses_multi_pack_index: repo.config.boolean("core.multiPackIndex")? != Some(false),
        promisor: None,
    })
}
