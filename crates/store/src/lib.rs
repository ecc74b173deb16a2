//! The state on disk: blocks of bytes in tables, published atomically and read through a mapping
//! (`docs/state-file.md`). This crate does not know what the blocks mean.
//!
//! Readers take no lock and never wait; one writer at a time appends to the data file, or replaces it.
//!
//! May import `stamp`, `model` and `linux`. Never trusts a byte that it reads, and knows nothing of git or Mercurial.

mod changes;
mod folder;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod image;
mod plan;
mod publish;
mod snapshot;
#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};

use vigil_linux::{Errno, errno};
use vigil_model::state_layout::docket::DocketError;
pub use vigil_model::state_layout::table::StateTable;

pub use changes::{BlockSource, Changes};
use folder::{DATA_READINGS, Folder};
pub use snapshot::{Damaged, Snapshot};

/// Where the state of one working copy is kept, and the identity it must have.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
    identity: [u8; 32],
}

/// Why there is no usable state.
#[derive(Debug, thiserror::Error)]
pub enum NoState {
    /// No state was ever published here.
    #[error("no state in {}", folder.display())]
    Absent {
        /// The store's folder.
        folder: PathBuf,
    },
    /// The files are not as Vigil wrote them.
    #[error(transparent)]
    Damaged(#[from] Damaged),
    /// The state belongs to another user or working copy.
    #[error("{} belongs to {owner}", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Whose it is.
        owner: &'static str,
    },
    /// Another version of Vigil wrote the state.
    #[error("{} has format version {version}", path.display())]
    Version {
        /// The docket.
        path: PathBuf,
        /// Its version.
        version: u32,
    },
    /// A system call failed.
    #[error(transparent)]
    Io(#[from] IoError),
}

/// A failed system call.
#[derive(Debug, thiserror::Error)]
#[error("could not {operation} {}: {}", path.display(), errno::text_of(source))]
pub struct IoError {
    /// What was tried.
    pub operation: &'static str,
    /// The file it was tried on.
    pub path: PathBuf,
    /// The system's error.
    pub source: io::Error,
}

impl IoError {
    fn new(operation: &'static str, path: &Path, source: Errno) -> Self {
        Self {
            operation,
            path: path.to_owned(),
            source: source.into(),
        }
    }
}

/// Why nothing was published. The state that was published before stays in force.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A system call failed.
    #[error(transparent)]
    Io(#[from] IoError),
    /// The base turned out to be damaged; [`Store::replace`] publishes without it.
    #[error(transparent)]
    Damaged(#[from] Damaged),
    /// The store's folder is not a directory.
    #[error("{} is not a directory", path.display())]
    NoFolder {
        /// The folder's path.
        path: PathBuf,
    },
    /// The folder belongs to another user, so nothing may be written there.
    #[error("{} belongs to another user", path.display())]
    Foreign {
        /// The store's folder, or its parent if it does not exist.
        path: PathBuf,
    },
    /// A group shares the directory, so no folder that only one of its members can remove may be made there.
    #[error("{} is shared with a group", path.display())]
    Shared {
        /// The parent of the store's folder.
        path: PathBuf,
    },
    /// More than the format can hold: a block of 4 GiB, 32 GiB in all, or the key `u32::MAX`.
    #[error("the state for {} is too large", folder.display())]
    TooLarge {
        /// The store's folder.
        folder: PathBuf,
    },
}

/// The outcome of an attempt to publish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublishOutcome {
    /// The changes were appended to the same data file.
    Appended {
        /// Bytes written to the data file.
        bytes: u64,
    },
    /// A new data file was written.
    Rewritten {
        /// Its length, in bytes.
        bytes: u64,
    },
    /// There was nothing to change.
    Unchanged,
    /// Another writer holds the lock; nothing was done.
    Busy,
    /// Another writer has published since the base was read; nothing was done.
    Superseded,
}

impl PublishOutcome {
    /// Whether a new state was published.
    pub fn is_new(self) -> bool {
        matches!(self, Self::Appended { .. } | Self::Rewritten { .. })
    }

    /// Whether the state on disk is now what was to be published.
    pub fn is_on_disk(self) -> bool {
        self.is_new() || self == Self::Unchanged
    }
}

/// The outcome of an attempt to remove the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoveOutcome {
    /// The state and its folder are gone.
    Removed,
    /// The state is gone. The folder stays, since it holds something else.
    Emptied,
    /// There was no state.
    Absent,
    /// Another writer holds the lock; nothing was done.
    Busy,
}

/// The points of a publication at which a test may stop the writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The folder is locked, and the published docket is the expected one.
    Locked,
    /// The first bytes (at most 1 MiB, unless a block is larger) are in the data file.
    DataBegun,
    /// The data file is complete.
    DataWritten,
    /// The new docket is complete, under its temporary name.
    DocketWritten,
    /// The new docket is in force.
    DocketPublished,
    /// The old data file is removed.
    OldRemoved,
}

/// Observes the progress of a publication.
pub trait Steps {
    /// Called when `step` has just been reached.
    fn reached(&self, step: Step);
}

/// Observes nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSteps;

impl Steps for NoSteps {
    fn reached(&self, _: Step) {}
}

impl Store {
    /// Creates the store in `folder`, which need not exist: the first publication creates it. `identity` says whose
    /// state it is; a state with another identity is not read.
    pub fn new(folder: PathBuf, identity: [u8; 32]) -> Self {
        Self { folder, identity }
    }

    /// The store's folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Opens the published state.
    ///
    /// # Errors
    /// There is no usable state.
    pub fn open(&self) -> Result<Snapshot, NoState> {
        let folder = Folder::open(&self.folder).map_err(|error| match error {
            Errno::NOENT | Errno::NOTDIR => NoState::Absent {
                folder: self.folder.clone(),
            },
            error => IoError::new("open", &self.folder, error).into(),
        })?;
        self.open_in(&folder)
    }

    /// Retries, since a writer may replace the data file after the docket was read. Then there is also a new docket.
    fn open_in(&self, folder: &Folder) -> Result<Snapshot, NoState> {
        for _ in 0..DATA_READINGS {
            let docket = folder.docket(&self.identity)?;
            if let Some((path, map)) = folder.map(&docket)? {
                return Ok(Snapshot::mapped(path, docket, map)?);
            }
        }
        let path = self.folder.join(folder::DOCKET);
        Err(Damaged::new(&path, "its data file is missing").into())
    }
}

impl NoState {
    fn of_docket(error: DocketError, path: PathBuf) -> Self {
        match error {
            DocketError::Version(version) => Self::Version { path, version },
            DocketError::Damaged(what) => Damaged::new(&path, what).into(),
        }
    }
}
