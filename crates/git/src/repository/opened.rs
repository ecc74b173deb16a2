//! An opened repository.

use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};
use gix_hash::Kind;

use super::error::Error;
use super::paths::join;
use super::ref_format::RefFormat;
use crate::config::{self, Config};
use crate::environment::Environment;
use vigil_stamp::paths::{bytes_of, real_path};

/// A repository and the working tree in use, with absolute paths.
#[derive(Clone, Debug)]
pub struct Repository {
    /// The repository's directory; for a linked worktree, its own (`GIT_DIR`).
    pub git_dir: PathBuf,
    /// git's own name for that directory, absolute or relative to the top of the working tree: it depends on how the
    /// repository was found.
    pub git_dir_name: BString,
    /// The directory shared by all worktrees (`GIT_COMMON_DIR`).
    pub common_dir: PathBuf,
    /// The top of the working tree; `None` in a bare repository.
    pub work_tree: Option<PathBuf>,
    /// The path by which it was named, if it was (`core.worktree`, `GIT_WORK_TREE`): absolute, with its symbolic links.
    pub work_tree_name: Option<PathBuf>,
    /// Whether the configuration names a working tree, but also says that there is none: commands that need one fail.
    pub has_contradictory_work_tree: bool,
    /// The caller's directory inside the working tree, with a `/` at its end, or empty at the top.
    pub prefix: BString,
    /// The index file.
    pub index_path: PathBuf,
    /// The directory of the object database.
    pub object_dir: PathBuf,
    /// The hash function of object ids.
    pub hash: Kind,
    /// A second hash function by whose ids objects can be named, too (`extensions.compatObjectFormat`).
    pub compat_hash: Option<Kind>,
    /// How references are stored.
    pub ref_format: RefFormat,
    /// The directory of the working tree's own references: [`Self::git_dir`], unless they are kept elsewhere.
    pub ref_dir: PathBuf,
    /// The directory of the references that working trees share: [`Self::common_dir`], unless they are kept elsewhere.
    pub common_ref_dir: PathBuf,
    /// The configuration, all scopes merged.
    pub config: Config,
    /// The caller's environment; kept for `GIT_*` variables that are read later.
    pub environment: Environment,
    /// The directory and the working tree of each repository that contains this one as a submodule, outermost first.
    pub superprojects: Vec<(PathBuf, Option<PathBuf>)>,
}

/// The files in a repository's own directories that decide where it is and how it is set up.
const OWN_FILES: [&str; 3] = ["commondir", "config", "config.worktree"];

impl Repository {
    /// git's name for the file `path` in messages: relative to the top of the working tree, if it is inside.
    pub fn shown<'a>(&self, path: &'a Path) -> &'a Path {
        self.work_tree
            .as_deref()
            .and_then(|top| path.strip_prefix(top).ok())
            .unwrap_or(path)
    }

    /// Whether references are kept outside of the repository's own directories.
    pub fn keeps_references_elsewhere(&self) -> bool {
        self.common_ref_dir != self.common_dir
    }

    /// Whether this is one of the submodules that contain it, which `core.worktree` makes possible: git would run itself in it
    /// without end. The outermost repository does not count, since it may have been opened by other means than its configuration.
    pub fn contains_itself(&self) -> bool {
        let mut submodules = self.superprojects.iter().skip(1);
        submodules
            .any(|(git_dir, work_tree)| *git_dir == self.git_dir && *work_tree == self.work_tree)
    }

    /// Returns the top of the working tree, which `git status` requires.
    ///
    /// # Errors
    /// There is none, or it cannot be entered. The text is git's.
    pub fn require_work_tree(&self) -> Result<&Path, Error> {
        if self.has_contradictory_work_tree {
            let text = "unable to set up work tree using invalid config";
            return Err(Error::Refused(text.into()));
        }
        self.work_tree
            .as_deref()
            .filter(|path| {
                // The `.` makes this fail for anything that is not a directory.
                rustix::fs::access(path.join("."), rustix::fs::Access::EXEC_OK).is_ok()
            })
            .ok_or_else(|| Error::Refused("this operation must be run in a work tree".into()))
    }

    /// Whether the configuration, and the files that say where the repository is, are unchanged since it was opened, and
    /// the name of the working tree still leads to it.
    pub fn is_fresh(&self) -> bool {
        self.config.is_fresh() && self.has_named_work_tree()
    }

    /// Whether the name of the working tree, if it has one, still leads to it.
    fn has_named_work_tree(&self) -> bool {
        self.work_tree_name.as_ref().is_none_or(|name| {
            let led_to = real_path(Path::new("/"), bytes_of(name));
            led_to.is_ok_and(|path| self.work_tree.as_ref() == Some(&path))
        })
    }

    /// As [`Self::is_fresh`], but takes for granted that the repository's own files are unchanged.
    pub fn is_fresh_outside(&self) -> bool {
        let is_own = |path: &Path| {
            let in_folder = |folder: &Path| {
                let path = bytes_of(path);
                let name = path.strip_prefix(bytes_of(folder).as_bytes());
                let name = name.and_then(|name| name.strip_prefix(b"/"));
                name.is_some_and(|name| OWN_FILES.iter().any(|own| own.as_bytes() == name))
            };
            in_folder(&self.git_dir) || in_folder(&self.common_dir)
        };
        self.config.is_fresh_except(is_own) && self.has_named_work_tree()
    }

    /// The directory below which messages name the index by a relative path: none if `GIT_INDEX_FILE` names it by an
    /// absolute path.
    pub fn index_shown_from(&self) -> &Path {
        match self.environment.get("GIT_INDEX_FILE") {
            Some(name) if name.starts_with(b"/") => Path::new(""),
            _ => self.work_tree.as_deref().unwrap_or(&self.git_dir),
        }
    }

    /// The directory that commands work in which need no working tree: its top if the caller stands in it, and otherwise
    /// the caller's own directory.
    pub fn directory_without_need(&self) -> &Path {
        let here = self.environment.working_directory();
        match &self.work_tree {
            Some(top) if here.starts_with(top) => top,
            _ => here,
        }
    }

    /// Whether git takes the repository for a bare one. Some have no working tree and are not bare all the same.
    ///
    /// # Errors
    /// `core.bare` is no boolean.
    pub fn is_bare(&self) -> Result<bool, config::Error> {
        Ok(self.work_tree.is_none() && self.config.boolean("core.bare")? != Some(false))
    }

    /// The caller's directory, if there is a working tree and that directory is not in it.
    pub fn directory_outside(&self) -> Option<&Path> {
        let here = self.environment.working_directory();
        let top = self.work_tree.as_ref()?;
        (!here.starts_with(top)).then_some(here)
    }

    /// git's name for `name` in the repository's directory, as used in messages.
    pub(crate) fn name_in_git_dir(&self, name: &str) -> BString {
        let full = join(self.git_dir_name.as_bstr(), name);
        full.strip_prefix(b"./").map_or(full.clone(), BString::from)
    }

    /// The directory that configured paths are relative to: git's working directory.
    pub(super) fn directory(&self) -> &Path {
        self.work_tree.as_deref().unwrap_or(&self.git_dir)
    }
}
