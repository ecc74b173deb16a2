//! How a repository is set up. Every door opens a repository through [`Setup`], in these steps:
//!
//! 1. **Start of the search**: the caller's directory without symbolic links, and errors in the user's own configuration,
//!    which git reports first ([`Setup::discover`]).
//! 2. **The repository's directory**: by `GIT_DIR`, or by walking up (`find`). On the way a `.git` file is followed to the
//!    directory that it names (`gitfile`). A directory must look like a repository's, together with the one that its
//!    `commondir` names (`git_dir`).
//! 3. **Its owner**: a repository that was found by searching must be the user's, or allowed by the user, before a line of
//!    its configuration is read (`ownership`). One that the caller names is not checked.
//! 4. **Format and layout**: the version and extensions in the repository's own file (`format`), and from that the working
//!    tree and the caller's place in it (`layout`).
//! 5. **Directories and files**: all absolute, except for git's own names for them ([`Directories`]).
//! 6. **Configuration**, all scopes, with a record of every file that was read, or looked for and not found.
//! 7. The **[`Repository`]** with all of that; it never changes again. The meaning of configured values is read from it
//!    ([`Settings`](super::settings::Settings)).
//!
//! Steps 1 to 3 lead to a [`Location`]. A long-lived process keeps it, and begins at step 4 from then on
//! ([`Setup::from_location`]).

use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};
use vigil_linux::errno;
use vigil_model::raw_text::raw;

use super::error::Error;
use super::find::{self, Kind, Location};
use super::format::Format;
use super::git_dir::{common_dir_file, common_name};
use super::layout::Layout;
use super::opened::Repository;
use super::paths::{absolute, name_from};
use super::ref_format::RefStorage;
use crate::config::branch::RefLocation;
use crate::config::load::{RecordingReader, RepositoryDirs};
use crate::config::{self, Config};
use crate::environment::Environment;
use vigil_stamp::paths::{bytes_of, path_of};

/// A repository that was found and may be used, ready to be opened.
pub struct Setup<'e> {
    reader: RecordingReader<'e>,
    location: Location,
    /// The caller's directory.
    cwd: PathBuf,
}

impl<'e> Setup<'e> {
    /// Finds the repository for `start` as every git command does: by the environment's `GIT_*` variables, or by walking
    /// up.
    ///
    /// # Errors
    /// There is none, or it may not be used.
    pub fn discover(environment: &'e Environment, start: &Path) -> Result<Self, Error> {
        let cwd = physical(environment, start)?;
        let mut reader = RecordingReader::new(environment);
        reader.check_early()?;
        Self::search(reader, cwd, false)
    }

    /// As [`Self::discover`], for a caller that asks again and again: the user's own configuration is not checked before step 6.
    ///
    /// # Errors
    /// As for [`Self::discover`].
    pub fn locate(environment: &'e Environment, start: &Path) -> Result<Self, Error> {
        let cwd = physical(environment, start)?;
        Self::search(RecordingReader::new(environment), cwd, false)
    }

    /// As [`Self::locate`], for prompts ([`Search::Prompts`](find::Search::Prompts)).
    ///
    /// # Errors
    /// As for [`Self::discover`].
    pub(crate) fn locate_for_prompt(
        environment: &'e Environment,
        start: &Path,
    ) -> Result<Self, Error> {
        let cwd = physical(environment, start)?;
        Self::search(RecordingReader::new(environment), cwd, true)
    }

    fn search(
        mut reader: RecordingReader<'e>,
        cwd: PathBuf,
        is_for_prompts: bool,
    ) -> Result<Self, Error> {
        let location = find::find(&mut reader, &cwd, is_for_prompts)?;
        Ok(Self {
            reader,
            location,
            cwd,
        })
    }

    /// Takes the repository whose directory, or a file that names it, is `path`: nothing is searched, whatever `GIT_DIR`
    /// says. Its working tree is `core.worktree`, or the directory that contains it.
    ///
    /// # Errors
    /// The path is not a repository.
    pub fn named(environment: &'e Environment, path: &Path) -> Result<Self, Error> {
        let name = bytes_of(path).to_owned();
        Self::explicit(environment, Kind::Named, Path::new("/"), &name)
    }

    /// Takes the repository `git_dir` of a submodule in `directory`, where git runs itself with `GIT_DIR` set.
    pub(super) fn inside(
        environment: &'e Environment,
        directory: &Path,
        git_dir: &BStr,
    ) -> Result<Self, Error> {
        Self::explicit(environment, Kind::Explicit, directory, &git_dir.to_owned())
    }

    fn explicit(
        environment: &'e Environment,
        kind: Kind,
        directory: &Path,
        name: &BString,
    ) -> Result<Self, Error> {
        let mut reader = RecordingReader::new(environment);
        let name = find::explicit(&mut reader, directory, name)?;
        let location = Location {
            kind,
            name,
            directory: directory.to_owned(),
        };
        Ok(Self {
            reader,
            location,
            cwd: directory.to_owned(),
        })
    }

    /// Takes the repository found earlier at `location`, as seen from where that search ended.
    pub(crate) fn from_location(environment: &'e Environment, location: &Location) -> Self {
        Self {
            reader: RecordingReader::new(environment),
            location: location.clone(),
            cwd: location.directory.clone(),
        }
    }

    /// Returns where the repository is, without reading its configuration.
    pub(crate) fn into_location(self) -> Location {
        self.location
    }

    /// Opens the repository: steps 4 to 7.
    ///
    /// # Errors
    /// Its format, working tree or configuration is invalid; the text is git's.
    pub fn open(self) -> Result<Repository, Error> {
        self.open_with(RecordingReader::config)
    }

    /// As [`Self::open`], for a caller that needs no configuration but the format: step 6 is left out.
    pub(super) fn open_for_references(self) -> Result<Repository, Error> {
        self.open_with(|_, _| Ok(Config::default()))
    }

    fn open_with(
        self,
        read: impl FnOnce(RecordingReader<'e>, &RepositoryDirs<'_>) -> Result<Config, config::Error>,
    ) -> Result<Repository, Error> {
        let Self {
            mut reader,
            location,
            cwd,
        } = self;
        let environment = reader.environment;
        let (layout, format) = Layout::read(&mut reader, &location, &cwd)?;
        let directories = Directories::of(&mut reader, &layout)?;
        remember_gitfile(&mut reader, &location);
        let used = used_references(environment, &format)?;
        let (ref_dir, common_ref_dir) = used
            .directories(&directories.git_dir, &directories.own_common_dir)
            .map_err(Error::Refused)?;
        let dirs = RepositoryDirs {
            directory: layout.work_tree.as_ref().unwrap_or(&layout.directory),
            git_dir: directories.git_dir_name.as_bstr(),
            common_dir: directories.common_dir_name.as_bstr(),
            work_tree: layout.work_tree.as_deref(),
            has_worktree_config: format.has_worktree_config,
            references: RefLocation {
                ref_dir: ref_dir.clone(),
                common_ref_dir: common_ref_dir.clone(),
                ref_format: used.format,
                hash: format.hash,
            },
        };
        let config = read(reader, &dirs)?;
        Ok(Repository {
            git_dir: directories.git_dir,
            git_dir_name: directories.git_dir_name,
            common_dir: directories.common_dir,
            work_tree: layout.work_tree,
            work_tree_name: layout.work_tree_name,
            has_contradictory_work_tree: layout.is_contradictory,
            prefix: layout.prefix,
            index_path: directories.index_path,
            object_dir: directories.object_dir,
            hash: format.hash,
            compat_hash: format.compat_hash,
            ref_format: used.format,
            ref_dir,
            common_ref_dir,
            config,
            environment: environment.clone(),
            superprojects: Vec::new(),
        })
    }
}

/// The directories and files on which everything else depends.
struct Directories {
    git_dir: PathBuf,
    git_dir_name: BString,
    common_dir: PathBuf,
    common_dir_name: BString,
    /// Without `GIT_COMMON_DIR`, which does not count for references.
    own_common_dir: PathBuf,
    object_dir: PathBuf,
    index_path: PathBuf,
}

impl Directories {
    fn of(reader: &mut RecordingReader<'_>, layout: &Layout) -> Result<Self, Error> {
        let environment = reader.environment;
        // git finally works in the working tree, and relative paths are relative to that.
        let directory = layout.work_tree.as_ref().unwrap_or(&layout.directory);
        let git_dir = absolute(&layout.directory, layout.name.as_bstr());
        let git_dir_name = if layout.name.first() == Some(&b'/') || *directory == layout.directory {
            layout.name.clone()
        } else {
            name_from(&layout.directory.join(path_of(&layout.name)), directory)
        };
        let common_name = common_name(reader, directory, git_dir_name.as_bstr())?;
        let common_dir = match &common_name {
            Some(name) => absolute(directory, name.as_bstr()),
            None => git_dir.clone(),
        };
        let own_common_dir = match environment.get("GIT_COMMON_DIR") {
            Some(_) => {
                let own = common_dir_file(&git_dir, |file| reader.text_bytes(file))?;
                own.unwrap_or_else(|| git_dir.clone())
            }
            None => common_dir.clone(),
        };
        let object_dir = match environment.get("GIT_OBJECT_DIRECTORY") {
            Some(name) => absolute(&layout.directory, name),
            None => common_dir.join("objects"),
        };
        let index_path = match environment.get("GIT_INDEX_FILE") {
            Some(name) => {
                let mut path = absolute(directory, name);
                // The system opens a folder only by such a path.
                if name.ends_with(b"/") {
                    path.push("");
                }
                path
            }
            None => git_dir.join("index"),
        };
        Ok(Self {
            git_dir,
            common_dir_name: common_name.unwrap_or_else(|| git_dir_name.clone()),
            git_dir_name,
            common_dir,
            own_common_dir,
            object_dir,
            index_path,
        })
    }
}

/// Returns how references are stored: according to the environment, or to the repository's own file.
fn used_references(environment: &Environment, format: &Format) -> Result<RefStorage, Error> {
    let Some(uri) = environment.get("GIT_REFERENCE_BACKEND") else {
        return Ok(format.references.clone());
    };
    RefStorage::parse(uri).ok_or_else(|| {
        let name = uri
            .split_once_str("://")
            .map_or(uri.as_bytes(), |(name, _)| name);
        Error::Refused(format!("unknown ref storage format: '{}'", raw(name)))
    })
}

/// Records a `.git` file that led here, so that a check for freshness notices when it changes.
fn remember_gitfile(reader: &mut RecordingReader<'_>, location: &Location) {
    if location.kind == Kind::Discovered && location.name != ".git" {
        // Its contents have been checked already; here only its stamp counts.
        drop(reader.bytes(&location.directory.join(".git")));
    }
}

/// Resolves symbolic links, as the kernel does for a working directory.
fn physical(environment: &Environment, start: &Path) -> Result<PathBuf, Error> {
    let error = match std::fs::canonicalize(start) {
        Ok(path) => return Ok(path),
        Err(error) => error,
    };
    // Nothing is searched for from the working directory.
    let mut names = ["GIT_DIR", "GIT_WORK_TREE"].iter();
    let is_named = names.all(|name| environment.get(name).is_some());
    match vigil_linux::Errno::from_io_error(&error).unwrap_or(vigil_linux::Errno::NOENT) {
        errno @ vigil_linux::Errno::NOENT => Err(Error::NotFound(format!(
            "Unable to read current working directory: {}",
            errno::text(errno)
        ))),
        // The kernel names a working directory although a folder above it may not be searched.
        vigil_linux::Errno::ACCESS if is_named => Ok(start.to_owned()),
        errno => Err(find::cannot_stat(start, errno)),
    }
}
