//! Sound repositories, each made once: their objects are stored in all ways that git has.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::crafted;
use crate::sandbox::{Sandbox, SandboxError};

/// How objects are stored, by the names that `history.sh` has for it.
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
pub struct Stock {
    /// Where it is.
    pub folder: PathBuf,
    /// Its shape.
    pub shape: &'static str,
    /// The length of its ids, in bytes.
    pub id_len: usize,
    /// Its objects, and those of the repository where nothing is packed; or else those that may be crafted.
    pub ids: Vec<String>,
}

impl Stock {
    /// Whether there are objects both in packs and in files of their own. git streams a blob that is packed as a delta
    /// from its file, if it has one; a candidate may do without the file, and then meets other damage.
    pub fn is_loose_and_packed(&self) -> bool {
        is_loose_and_packed(self.shape)
    }

    /// Whether there are objects in several packs or files. Of these git lists those that the indexes of packs have,
    /// looks up in a multi-pack-index and, unordered, judges each copy by itself. A candidate may trust that they all say
    /// the same, and find another copy.
    pub fn has_copies(&self) -> bool {
        has_copies(self.shape)
    }
}

/// [`Stock::has_copies`] of a shape.
pub fn has_copies(shape: &str) -> bool {
    is_loose_and_packed(shape) || shape == "packs" || shape.starts_with("multi")
}

fn is_loose_and_packed(shape: &str) -> bool {
    matches!(shape, "packed-and-loose" | "replaced" | "alternates")
}

/// All that were made.
#[derive(Debug)]
pub struct Stocks {
    sandbox: Sandbox,
    made: Mutex<BTreeMap<String, Arc<Stock>>>,
}

impl Stocks {
    /// None yet. They are kept in `parent` and made by the program `git`.
    ///
    /// # Errors
    /// When the folder for them cannot be made.
    pub fn new(parent: &Path, git: &Path) -> Result<Self, SandboxError> {
        Ok(Self {
            sandbox: Sandbox::in_folder(parent, git)?,
            made: Mutex::default(),
        })
    }

    /// Where commands find their home.
    pub fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// The repository of a shape with ids of a kind, `sha1` or `sha256`.
    ///
    /// # Errors
    /// When git cannot make it.
    pub fn get(&self, shape: &'static str, hash: &str) -> Result<Arc<Stock>, SandboxError> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let name = format!("stock/{shape}-{hash}");
        if let Some(stock) = made.get(&name) {
            return Ok(stock.clone());
        }
        let folder = self.sandbox.place(&name);
        fs::create_dir_all(&folder).map_err(while_making(&name))?;
        let mut command = self.sandbox.isolated("sh", name.as_bytes());
        command
            .args(["-c", include_str!("history.sh")])
            .env("GIT", self.sandbox.git_program())
            .env("HASH", hash)
            .env("SHAPE", shape);
        let output = command.output().map_err(while_making(&name))?;
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
        if let Some(loose) = made.get(&format!("stock/loose-{hash}")) {
            ids.extend(loose.ids.iter().cloned());
            ids.sort();
            ids.dedup();
        }
        let mut stock = Stock {
            folder,
            shape,
            id_len: if hash == "sha1" { 20 } else { 32 },
            ids,
        };
        if shape == "crafted" {
            stock.ids = crafted::ids(&stock);
        }
        let stock = Arc::new(stock);
        made.insert(name, stock.clone());
        Ok(stock)
    }
}

fn while_making(name: &str) -> impl FnOnce(io::Error) -> SandboxError {
    let deed = format!("making {name}");
    move |source| SandboxError::Io { deed, source }
}

/// Makes `to` a copy of the folder `from`, with the times of packs, which decide in what order they are asked.
///
/// # Errors
/// When a file cannot be read or written.
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
