//! From where a repository was found to how it is used: format, working tree, prefix.
//!
//! git does this by changing its working directory back and forth. Here the directory that a name is relative to is
//! always given next to it. The cases are those of git's t1510.

use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};
use vigil_linux::errno;
use vigil_model::raw_text::raw;

use super::error::Error;
use super::find::{Kind, Location};
use super::format::Format;
use super::git_dir::common_name;
use super::paths::{join, part_inside};
use crate::config::load::RecordingReader;
use crate::config::value::environment_boolean;
use vigil_stamp::paths::{bytes_of, path_of, real_path};

/// Where a repository's parts are, according to its directory and its format.
pub(super) struct Layout {
    /// git's name for the repository's directory, absolute or relative to `directory`.
    pub(super) name: BString,
    /// git's working directory after its setup, before it enters a working tree elsewhere.
    pub(super) directory: PathBuf,
    /// The top of the working tree, if there is one.
    pub(super) work_tree: Option<PathBuf>,
    /// The path by which it was named, if it was: symbolic links in that may later lead elsewhere.
    pub(super) work_tree_name: Option<PathBuf>,
    /// The caller's directory inside it.
    pub(super) prefix: BString,
    /// Whether the configuration names a working tree, but also says that there is none.
    pub(super) is_contradictory: bool,
}

impl Layout {
    /// Reads the format of the repository at `location`, and decides by it where everything is, as seen from the
    /// physical directory `cwd`.
    pub(super) fn read(
        reader: &mut RecordingReader<'_>,
        location: &Location,
        cwd: &Path,
    ) -> Result<(Self, Format), Error> {
        let environment = reader.environment;
        let mut decision = Decision {
            reader,
            cwd,
            format: Format::default(),
            is_bare: false,
            core_work_tree: None,
            work_tree_name: None,
            ends_inside: false,
        };
        let mut layout = match location.kind {
            Kind::Explicit => decision.explicit(location.name.as_bstr())?,
            Kind::Discovered => decision.discovered(location)?,
            Kind::Bare => decision.bare(location)?,
            Kind::Named => decision.named(location)?,
        };
        layout.work_tree_name = decision.work_tree_name;
        let is_configured = environment.get("GIT_WORK_TREE").is_none();
        if is_configured && decision.is_bare && decision.core_work_tree.is_some() {
            layout.is_contradictory = true;
            let text = "warning: core.bare and core.worktree do not make sense".to_owned();
            decision.reader.messages.push(text);
        }
        Ok((layout, decision.format))
    }
}

/// The state of the decision.
struct Decision<'r, 'e> {
    reader: &'r mut RecordingReader<'e>,
    /// The caller's directory.
    cwd: &'r Path,
    format: Format,
    is_bare: bool,
    core_work_tree: Option<BString>,
    work_tree_name: Option<PathBuf>,
    /// The search ended inside the repository.
    ends_inside: bool,
}

impl Decision<'_, '_> {
    /// Reads the repository's format; `name` is relative to `directory`, git's working directory meanwhile.
    fn read_format(&mut self, directory: &Path, name: &BStr) -> Result<(), Error> {
        let common = common_name(self.reader, directory, name)?;
        let (format, is_own) = Format::read(
            self.reader,
            directory,
            name,
            common.as_ref().map(|common| common.as_bstr()),
        )?;
        if is_own {
            self.is_bare = format.is_bare.unwrap_or(self.is_bare);
            if format.work_tree.is_some() {
                self.core_work_tree.clone_from(&format.work_tree);
            }
        }
        if self.reader.environment.is_bare() {
            self.is_bare = true;
            self.core_work_tree = None;
        }
        self.format = format;
        Ok(())
    }

    /// Whether the caller's directory is the working tree if nothing else is configured.
    fn has_implicit_work_tree(&self) -> Result<bool, Error> {
        let environment = self.reader.environment;
        Ok(!self.ends_inside && environment_boolean(environment, "GIT_IMPLICIT_WORK_TREE", true)?)
    }

    fn names_work_tree(&self) -> bool {
        self.reader.environment.get("GIT_WORK_TREE").is_some() || self.core_work_tree.is_some()
    }

    fn without_work_tree(&self, name: &BStr) -> Layout {
        Layout {
            name: name.to_owned(),
            directory: self.cwd.to_owned(),
            work_tree: None,
            work_tree_name: None,
            prefix: BString::default(),
            is_contradictory: false,
        }
    }

    /// The repository is the directory `name`, relative to the caller's directory: the working tree need not be the
    /// directory that contains it.
    fn explicit(&mut self, name: &BStr) -> Result<Layout, Error> {
        let cwd = self.cwd;
        self.read_format(cwd, name)?;
        let work_tree = if let Some(path) = self.reader.environment.get("GIT_WORK_TREE") {
            self.work_tree_name = Some(cwd.join(path_of(path)));
            real_path(cwd, path).map_err(Error::Refused)?
        } else if self.is_bare {
            return Ok(self.without_work_tree(name));
        } else if let Some(path) = &self.core_work_tree {
            let (work_tree, path) = configured_work_tree(cwd, name, path.as_bstr())?;
            self.work_tree_name = Some(path);
            work_tree
        } else if !self.has_implicit_work_tree()? {
            return Ok(self.without_work_tree(name));
        } else {
            cwd.to_owned()
        };
        match part_inside(cwd, &work_tree) {
            Some(inside) if !inside.is_empty() => {
                let git_dir = real_path(cwd, name).map_err(Error::Refused)?;
                Ok(Layout {
                    name: bytes_of(&git_dir).to_owned(),
                    prefix: join(inside, ""),
                    is_contradictory: false,
                    directory: work_tree.clone(),
                    work_tree: Some(work_tree),
                    work_tree_name: None,
                })
            }
            _ => Ok(Layout {
                name: name.to_owned(),
                directory: cwd.to_owned(),
                work_tree: Some(work_tree),
                work_tree_name: None,
                prefix: BString::default(),
                is_contradictory: false,
            }),
        }
    }

    /// The working tree is the directory in which `.git` was found, unless it is configured otherwise.
    fn discovered(&mut self, location: &Location) -> Result<Layout, Error> {
        let name = location.name.as_bstr();
        let top = location.directory.as_path();
        self.read_format(top, name)?;
        if self.names_work_tree() || self.is_bare {
            let name = if top == self.cwd {
                name.to_owned()
            } else {
                bytes_of(&real_path(top, name).map_err(Error::Refused)?).to_owned()
            };
            return if self.names_work_tree() {
                self.explicit(name.as_bstr())
            } else {
                Ok(self.without_work_tree(name.as_bstr()))
            };
        }
        let prefix = match part_inside(self.cwd, top) {
            Some(inside) if !inside.is_empty() => join(inside, ""),
            _ => BString::default(),
        };
        Ok(Layout {
            name: name.to_owned(),
            directory: top.to_owned(),
            work_tree: Some(top.to_owned()),
            work_tree_name: None,
            prefix,
            is_contradictory: false,
        })
    }

    /// The search ended inside a repository: there is a working tree only if one is configured.
    fn bare(&mut self, location: &Location) -> Result<Layout, Error> {
        self.read_format(&location.directory, ".".into())?;
        self.ends_inside = true;
        let name = if location.directory == self.cwd {
            BStr::new(".")
        } else {
            bytes_of(&location.directory)
        };
        if self.names_work_tree() {
            self.explicit(name)
        } else {
            Ok(self.without_work_tree(name))
        }
    }

    /// The repository is named, without a directory to work in.
    fn named(&mut self, location: &Location) -> Result<Layout, Error> {
        let git_dir = location.git_dir();
        let name = bytes_of(&git_dir);
        self.read_format(Path::new("/"), name)?;
        let work_tree = if self.is_bare {
            None
        } else if let Some(path) = &self.core_work_tree {
            let (work_tree, path) = configured_work_tree(&git_dir, name, path.as_bstr())?;
            self.work_tree_name = Some(path);
            Some(work_tree)
        } else {
            containing_directory(self.reader, &git_dir)
        };
        Ok(Layout {
            name: name.to_owned(),
            directory: work_tree.clone().unwrap_or_else(|| git_dir.clone()),
            work_tree,
            work_tree_name: None,
            prefix: BString::default(),
            is_contradictory: false,
        })
    }
}

/// Returns the directory that `core.worktree` names, relative to the repository's directory; and the path by which it is named.
fn configured_work_tree(
    cwd: &Path,
    git_dir: &BStr,
    path: &BStr,
) -> Result<(PathBuf, PathBuf), Error> {
    let name = cwd.join(path_of(git_dir)).join(path_of(path));
    if path.is_empty() {
        // chdir(2) fails for an empty path.
        let reason = errno::text(vigil_linux::Errno::NOENT);
        return Err(Error::Refused(format!("cannot chdir to '': {reason}")));
    }
    if path.first() == Some(&b'/') {
        let work_tree = real_path(cwd, path).map_err(Error::Refused)?;
        return Ok((work_tree, name));
    }
    std::fs::canonicalize(&name)
        // For `..`, realpath(3) of the C library uses faccessat2(2), which old container run-times refuse.
        .or_else(|error| real_path(cwd, bytes_of(&name)).map_err(|_| error))
        // Like chdir(2), this needs a directory that may be searched, whether or not it may be listed.
        .and_then(|path| std::fs::metadata(path.join(".")).map(|_| path))
        .map(|work_tree| (work_tree, name))
        .map_err(|error| {
            let errno =
                vigil_linux::Errno::from_io_error(&error).unwrap_or(vigil_linux::Errno::NOENT);
            Error::Refused(format!(
                "cannot chdir to '{path}': {}",
                errno::text(errno),
                path = raw(path)
            ))
        })
}

/// Returns the directory that contains the repository's; for a linked working tree, the one that contains its `.git` file.
fn containing_directory(reader: &mut RecordingReader<'_>, git_dir: &Path) -> Option<PathBuf> {
    if reader.bytes(&git_dir.join("commondir")).is_err() {
        return git_dir.parent().map(Path::to_owned);
    }
    let gitfile = reader.bytes(&git_dir.join("gitdir")).ok()?;
    let gitfile = real_path(git_dir, gitfile.trim_end()).ok()?;
    gitfile.parent().map(Path::to_owned)
}
