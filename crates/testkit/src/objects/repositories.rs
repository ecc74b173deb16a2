//! Sound repositories, each created once. Together they store objects in all the ways that git has.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::crafted;
use crate::sandbox::{Sandbox, SandboxError, while_doing};

/// The ways of storing objects, as `history.sh` names them.
pub const SHAPES: [&str; 14] = [
    "loose",
    "offset-deltas",
    "id-deltas",
    "old-index",
    "wide-index",
    "packed-and-loose",
    "packs",
    "multi-pack-index",
    "multi-pack-index-chain",
    "alternates",
    "replaced",
    "promisor",
    "large",
    "crafted",
];

/// A sound repository, in the folder `work` below `folder`.
#[derive(Clone, Debug)]
pub struct SoundRepository {
    /// The folder.
    pub folder: PathBuf,
    /// Its shape, one of [`SHAPES`].
    pub shape: &'static str,
    /// The length of its object ids, in bytes.
    pub id_len: usize,
    /// The ids of its objects, and of those in the loose repository; for a crafted one, of those that may be crafted.
    pub ids: Vec<String>,
}

impl SoundRepository {
    /// Whether objects are both in packs and in loose files. If a blob that is packed as a delta also has a loose file,
    /// git streams it from there; a candidate may ignore the file, and then comes across other damage.
    pub fn is_loose_and_packed(&self) -> bool {
        is_loose_and_packed(self.shape)
    }

    /// Whether objects are in several packs or files. For these, git lists the ids in the indexes of the packs, looks
    /// them up in a multi-pack-index and, if unordered, judges each copy separately. A candidate may trust that all
    /// copies are equal, and use another one.
    pub fn has_copies(&self) -> bool {
        has_copies(self.shape)
    }
}

/// [`SoundRepository::has_copies`] for a shape.
pub fn has_copies(shape: &str) -> bool {
    is_loose_and_packed(shape) || shape == "packs" || shape.starts_with("multi")
}

fn is_loose_and_packed(shape: &str) -> bool {
    matches!(shape, "packed-and-loose" | "replaced" | "alternates")
}

/// All the repositories created so far.
#[derive(Debug)]
pub struct SoundRepositories {
    sandbox: Sandbox,
    created: Mutex<BTreeMap<String, Arc<SoundRepository>>>,
}

impl SoundRepositories {
    /// Starts without repositories. They are created in `parent` by the program `git`.
    ///
    /// # Errors
    /// Their folder cannot be created.
    pub fn new(parent: &Path, git: &Path) -> Result<Self, SandboxError> {
        Ok(Self {
            sandbox: Sandbox::in_folder(parent, git)?,
            created: Mutex::default(),
        })
    }

    /// The sandbox that holds them, in which commands run.
    pub fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// The repository with the given shape and hash function, `sha1` or `sha256`. Creates it on first use.
    ///
    /// # Errors
    /// git cannot create it.
    pub fn get(
        &self,
        shape: &'static str,
        hash: &str,
    ) -> Result<Arc<SoundRepository>, SandboxError> {
        let mut created = self.created.lock().unwrap_or_else(PoisonError::into_inner);
        let name = format!("stock/{shape}-{hash}");
        if let Some(repository) = created.get(&name) {
            return Ok(repository.clone());
        }
        let folder = self.sandbox.path_from_root(&name);
        fs::create_dir_all(&folder).map_err(while_doing(format!("making {name}")))?;
        let mut command = self.sandbox.isolated("sh", name.as_bytes());
        command
            .args(["-c", include_str!("history.sh")])
            .env("GIT", self.sandbox.git_program())
            .env("HASH", hash)
            .env("SHAPE", shape);
        let output = command
            .output()
            .map_err(while_doing(format!("making {name}")))?;
        if !output.status.success() {
            return Err(SandboxError::Git {
                arguments: name.into(),
                stderr: output.stderr.into(),
            });
        }
        let work = format!("{name}/work");
        let arguments = [
            "cat-file",
            "--batch-all-objects",
            "--batch-check=%(objectname)",
        ];
        let listed = self.sandbox.run_git(&work, &arguments)?;
        let mut ids: Vec<String> = String::from_utf8_lossy(&listed)
            .lines()
            .map(str::to_owned)
            .collect();
        if let Some(loose) = created.get(&format!("stock/loose-{hash}")) {
            ids.extend(loose.ids.iter().cloned());
            ids.sort();
            ids.dedup();
        }
        let mut repository = SoundRepository {
            folder,
            shape,
            id_len: if hash == "sha1" { 20 } else { 32 },
            ids,
        };
        if shape == "crafted" {
            repository.ids = crafted::ids(&repository);
        }
        let repository = Arc::new(repository);
        created.insert(name, repository.clone());
        Ok(repository)
    }
}

/// Copies the folder `from` to `to`, with the mtimes of packs, which decide the order in which packs are searched.
///
/// # Errors
/// A file cannot be read or written.
pub fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            copy(&entry.path(), &target)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(entry.path())?, target)?;
        } else {
            fs::write(&target, fs::read(entry.path())?)?;
            if target.extension().is_some_and(|name| name == "pack") {
                let file = fs::File::options().write(true).open(&target)?;
                file.set_modified(entry.metadata()?.modified()?)?;
            }
        }
    }
    Ok(())
}
