//! A repository that was found, and what is known of it.

use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};
use gix_hash::Kind;

use super::error::Error;
use super::paths::join;
use super::ref_format::RefFormat;
use crate::config::Config;
use crate::environment::Environment;
use vigil_stamp::paths::{bytes_of, real_path};

/// A repository and the working tree in use, all folders absolute.
#[derive(Clone, Debug)]
pub struct Repository {
    /// The repository's folder, of a linked worktree its own (`GIT_DIR`).
    pub git_dir: PathBuf,
    /// git's own name for that folder, absolute or relative to the top of the working tree: it depends on how the
    /// repository was found.
    pub git_dir_name: BString,
    /// The folder shared by all worktrees (`GIT_COMMON_DIR`).
    pub common_dir: PathBuf,
    /// The top of the working tree; `None` in a bare repository.
    pub work_tree: Option<PathBuf>,
    /// By what name, where it was named (`core.worktree`, `GIT_WORK_TREE`): absolute, and with its symbolic links.
    pub work_tree_name: Option<PathBuf>,
    /// The caller's directory inside the working tree, with a `/` at its end, or empty at the top.
    pub prefix: BString,
    /// The index file.
    pub index_path: PathBuf,
    /// The folder of the object database.
    pub object_dir: PathBuf,
    /// The kind of object ids.
    pub hash: Kind,
    /// The kind of ids by which objects can be named, too (`extensions.compatObjectFormat`).
    pub compat_hash: Option<Kind>,
    /// How references are stored.
    pub ref_format: RefFormat,
    /// The configuration, all scopes merged.
    pub config: Config,
    /// What the process told us; kept for `GIT_*` variables that are read later.
    pub environment: Environment,
    /// Folder and working tree of each repository that this one is in as a submodule, the outermost first.
    pub outer: Vec<(PathBuf, Option<PathBuf>)>,
}

/// The files in a repository's own folders that say where it is and how it is set up.
const OWN_FILES: [&str; 3] = ["commondir", "config", "config.worktree"];

impl Repository {
    /// How git names the file `path` in what it says: it stands at the top of the working tree.
    pub fn shown<'a>(&self, path: &'a Path) -> &'a Path {
        self.work_tree
            .as_deref()
            .and_then(|top| path.strip_prefix(top).ok())
            .unwrap_or(path)
    }

    /// Whether this is one of the submodules around it, which `core.worktree` makes possible: git runs itself in it over
    /// and over. The outermost repository does not count, since it may be asked for otherwise than by its configuration.
    pub fn is_in_itself(&self) -> bool {
        let mut submodules = self.outer.iter().skip(1);
        submodules
            .any(|(git_dir, work_tree)| *git_dir == self.git_dir && *work_tree == self.work_tree)
    }

    /// The top of the working tree, which must be there to be entered: what `git status` insists on.
    pub fn require_work_tree(&self) -> Result<&Path, Error> {
        self.work_tree
            .as_deref()
            .filter(|path| {
                // Of what is no directory there is none.
                rustix::fs::access(path.join("."), rustix::fs::Access::EXEC_OK).is_ok()
            })
            .ok_or_else(|| Error::Refused("this operation must be run in a work tree".into()))
    }

    /// Whether the configuration, and the files that say where the repository is, are what they were when it was opened,
    /// and the working tree's name leads where it led.
    pub fn is_fresh(&self) -> bool {
        self.config.is_fresh() && self.has_named_work_tree()
    }

    /// Whether the working tree's name, if it has one, leads to it still.
    fn has_named_work_tree(&self) -> bool {
        self.work_tree_name.as_ref().is_none_or(|name| {
            let led_to = real_path(Path::new("/"), bytes_of(name));
            led_to.is_ok_and(|path| self.work_tree.as_ref() == Some(&path))
        })
    }

    /// As [`Self::is_fresh`], where the repository's own files are known to say the same.
    pub fn is_fresh_elsewhere(&self) -> bool {
        let is_own = |path: &Path| {
            let in_folder = |folder: &Path| {
                let path = bytes_of(path);
                let name = path.strip_prefix(bytes_of(folder).as_bytes());
                let name = name.and_then(|name| name.strip_prefix(b"/"));
                name.is_some_and(|name| OWN_FILES.iter().any(|own| own.as_bytes() == name))
            };
            in_folder(&self.git_dir) || in_folder(&self.common_dir)
        };
        self.config.is_fresh_beside(is_own) && self.has_named_work_tree()
    }

    /// The folder below which messages name the index by its path from there: none where `GIT_INDEX_FILE` names it by
    /// its whole path.
    pub fn index_shown_from(&self) -> &Path {
        match self.environment.get("GIT_INDEX_FILE") {
            Some(name) if name.starts_with(b"/") => Path::new(""),
            _ => self.work_tree.as_deref().unwrap_or(&self.git_dir),
        }
    }

    /// git's name for `name` in the repository's folder, as messages have it.
    pub(crate) fn name_in_git_dir(&self, name: &str) -> BString {
        let full = join(self.git_dir_name.as_bstr(), name);
        full.strip_prefix(b"./").map_or(full.clone(), BString::from)
    }

    /// Where a path that the configuration gives relates to: git's working directory.
    pub(super) fn directory(&self) -> &Path {
        self.work_tree.as_deref().unwrap_or(&self.git_dir)
    }
}
