//! Where a repository is, and what a reader must understand to read it.

mod named;
mod requirements;

use std::io;
use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};
use vigil_linux::Errno;
use vigil_linux::stat::stat_path;

pub use requirements::Requirements;

use crate::abort::{Abort, Kind};
use crate::bytes::{bytes, normal_path};
use crate::config::{Layers, ProcessContext, RepositoryFiles};
use crate::stored::{Names, Store, StoreFeatures};
use crate::text_file;
use vigil_stamp::paths::{bytes_of, path_of};

/// A repository and its working copy.
#[derive(Clone, Debug)]
pub struct Repository {
    /// The top of the working copy.
    pub root: PathBuf,
    /// The folder with the dirstate.
    pub dot_hg: PathBuf,
    /// The `.hg` folder that has the store; in a share, that of the share's source.
    pub shared: PathBuf,
    /// The requirements.
    pub requirements: Requirements,
}

/// Returns the top of the innermost working copy around `folder`.
pub fn find(folder: &Path) -> Option<PathBuf> {
    folder
        .ancestors()
        .find(|path| stat_path(&path.join(".hg")).is_ok_and(|stat| stat.is_dir()))
        .map(Path::to_path_buf)
}

/// Returns the configuration files of the repository at `root`, from the weakest to the strongest. If the system does not let the
/// requirements, or where the share's source is, be read, only the repository's own files are listed.
///
/// # Errors
/// The share's source, of which Mercurial reads the configuration at once, is not there.
fn configuration_files(root: &Path) -> Result<RepositoryFiles, Abort> {
    let dot_hg = root.join(".hg");
    let mut files = Vec::new();
    let mut first_is_late = false;
    if let Ok(requirements) = Requirements::read(&dot_hg, true)
        && requirements.has("share-safe")
        && is_share(&requirements)
    {
        let is_late = !requirements.has("shared");
        match shared_folder(&dot_hg, &requirements) {
            Ok(shared) => {
                files.push(shared.join("hgrc"));
                first_is_late = is_late;
            }
            Err(abort) if is_late || abort.kind == Kind::System => {}
            Err(abort) => return Err(abort),
        }
    }
    files.push(dot_hg.join("hgrc"));
    files.push(dot_hg.join("hgrc-not-shared"));
    Ok(RepositoryFiles {
        files,
        first_is_late,
    })
}

impl Repository {
    /// Opens the repository whose working copy has its top at `root`.
    ///
    /// # Errors
    /// There is no repository, or it has an unknown requirement.
    pub fn open(root: &Path) -> Result<Self, Abort> {
        let repository = Self::unchecked(root)?;
        repository.requirements.check()?;
        Ok(repository)
    }

    /// Does the same, whatever the requirements are.
    ///
    /// # Errors
    /// There is no repository, or its requirements cannot be read.
    pub fn unchecked(root: &Path) -> Result<Self, Abort> {
        let dot_hg = root.join(".hg");
        if !stat_path(&dot_hg).is_ok_and(|stat| stat.is_dir()) {
            return Err(Abort::plain(bytes!(
                "repository ",
                bytes_of(root),
                " not found"
            )));
        }
        let mut requirements = Requirements::read(&dot_hg, true)?;
        let is_share = is_share(&requirements);
        let shared = match is_share {
            true => shared_folder(&dot_hg, &requirements)?,
            false => dot_hg.clone(),
        };
        let help = "see `hg help config.format.use-share-safe` for more information";
        if requirements.has("share-safe") {
            if is_share && !Requirements::read(&shared, true)?.has("share-safe") {
                let message = "share source does not support share-safe requirement";
                return Err(Abort::of(Kind::Share, message).with_hint(help));
            }
            requirements.add(Requirements::read(&shared.join("store"), false)?);
        } else if is_share && Requirements::read(&shared, false)?.has("share-safe") {
            let message = "version mismatch: source uses share-safe functionality while the current share does not";
            return Err(Abort::of(Kind::Share, message).with_hint(help));
        }
        Ok(Self {
            root: root.into(),
            dot_hg,
            shared,
            requirements,
        })
    }

    /// Returns whether the dirstate is of the second format.
    pub fn has_dirstate_v2(&self) -> bool {
        self.requirements.has("dirstate-v2")
    }

    /// Returns whether the working copy may be sparse.
    pub fn is_sparse(&self) -> bool {
        self.requirements.has("exp-sparse")
    }

    /// Returns whether the repository may be a narrow clone, which has only part of the files.
    pub fn is_narrow(&self) -> bool {
        self.requirements.has("narrowhg-experimental")
    }

    /// The store, which has everything that is committed.
    pub fn store(&self) -> Store {
        let has = |name| self.requirements.has(name);
        let features = StoreFeatures {
            trees: has("treemanifest"),
            copies_by_changeset: has("exp-copies-sidedata-changeset"),
            ellipses: self.is_narrow(),
            lfs: has("lfs"),
        };
        if !has("store") {
            let folder = self.shared.clone();
            return Store::new(folder, Names::Plain, features);
        }
        let is_underscored = has("exp-very-fragile-and-unsafe-plain-store-encoding");
        let dots = has("dotencode");
        let names = match (has("fncache"), has("fileindex-v1")) {
            (false, false) => Names::Encoded,
            _ if is_underscored => Names::Underscored,
            (true, _) => Names::Hybrid { dots },
            // The list of files has no influence on their names.
            (false, true) => Names::Hybrid { dots: true },
        };
        Store::new(self.shared.join("store"), names, features)
    }

    /// Returns the files with ignore patterns: `.hgignore` if it exists, and those that the configuration names.
    ///
    /// # Errors
    /// Whether there is a `.hgignore` cannot be found out. Or as for [`ProcessContext::expand_path`].
    pub fn ignore_files(
        &self,
        layers: &crate::config::Config,
        process: &ProcessContext<'_>,
    ) -> Result<Vec<PathBuf>, Abort> {
        let own = self.root.join(".hgignore");
        let own = match stat_path(&own) {
            Ok(_) => Some(own),
            Err(Errno::NOENT) => None,
            Err(errno) => return Err(Abort::io(&own, &errno.into())),
        };
        let named = layers
            .section("ui")
            .filter(|item| item.name == "ignore" || item.name.starts_with(b"ignore."));
        let named = named.map(|item| {
            let path = process.expand_path(&item.value)?;
            Ok(self.root.join(path_of(&path)))
        });
        own.into_iter().map(Ok).chain(named).collect()
    }
}

/// Whether these are the requirements of a share.
fn is_share(requirements: &Requirements) -> bool {
    requirements.has("shared") || requirements.has("relshared")
}

/// The `.hg` folder of a share's source.
fn shared_folder(dot_hg: &Path, requirements: &Requirements) -> Result<PathBuf, Abort> {
    let file = dot_hg.join("sharedpath");
    let text = text_file::read(&file).map_err(|error| Abort::io(&file, &error))?;
    let path = text.trim_end_with(|letter| letter == '\n');
    let path = match requirements.has("relshared") {
        true => normal_path(bytes_of(&dot_hg.join(path_of(path)))),
        // Mercurial would look for it below the working directory.
        false if !path.starts_with(b"/") => {
            let message = bytes!("the relative path of the source of a share, '", path, "'");
            return Err(Abort::unsupported(message));
        }
        false => path.into(),
    };
    let folder = path_of(&path);
    let real = std::fs::canonicalize(folder);
    real.map_err(|_| {
        let message = ".hg/sharedpath points to nonexistent directory ";
        Abort::plain(bytes!(message, normal_path(&path)))
    })
}

/// Returns the top of the requested working copy: the folder that `-R` names, or the innermost one around the working directory.
///
/// # Errors
/// There is no working copy.
pub fn locate(process: &ProcessContext<'_>, named: Option<&BString>) -> Result<PathBuf, Abort> {
    if let Some(named) = named {
        return named::locate(process, named.as_bstr());
    }
    if let Some(root) = find(&process.cwd) {
        return Ok(root);
    }
    // Mercurial then tries the working directory, as if it had been named.
    named::has_dot_hg(&process.cwd)?;
    let cwd = bytes_of(&process.cwd);
    let message = bytes!("no repository found in '", cwd, "' (.hg not found)");
    Err(Abort::of(Kind::Input, message))
}

/// Returns the top of the working copy that has all of `paths`, judged by their text alone: what `-R` might have named. `None` if
/// there is no single such one, or no path, and if Mercurial fails at the working directory before it looks at paths.
pub fn infer_root(cwd: &Path, paths: &[BString]) -> Option<BString> {
    named::has_dot_hg(cwd).ok()?;
    let mut tops = paths.iter().map(|path| top_above(cwd, path.as_bstr()));
    let first = tops.next()??;
    tops.all(|top| top.as_ref() == Some(&first))
        .then_some(first)
}

fn top_above(cwd: &Path, path: &BStr) -> Option<BString> {
    let mut path = path.as_bytes();
    loop {
        let folder = cwd.join(path_of(path)).join(".hg");
        if stat_path(&folder).is_ok_and(|stat| stat.is_dir()) {
            return Some(path.into());
        }
        let (above, _) = path.split_at(path.rfind_byte(b'/')?.saturating_add(1));
        let plain = above.trim_end_with(|letter| letter == '/');
        let above = if plain.is_empty() { above } else { plain };
        if above == path {
            return None;
        }
        path = above;
    }
}

/// Returns the layers of the configuration with those of the repository at `root`.
///
/// # Errors
/// A trusted file is not valid configuration, or belongs to the source of a share, which is not there.
pub fn configure(layers: Layers<'_>, root: &Path) -> Result<crate::config::Configuration, Abort> {
    layers.with_repository(|| configuration_files(root))
}

fn is_missing(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}

#[cfg(test)]
mod tests;
