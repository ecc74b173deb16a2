//! The state on disk: blocks of bytes in tables, published atomically and read through a mapping
//! (`docs/state-file.md`). What the blocks mean is not known here.
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

use vigil_linux::Errno;
use vigil_model::state_layout::docket::DocketError;
pub use vigil_model::state_layout::table::Table;

pub use changes::{BlockSource, Changes};
use folder::{DATA_READINGS, Folder};
pub use snapshot::{Damaged, Snapshot};

/// Where the state of one working copy is, and whose it is.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
    identity: [u8; 32],
}

/// Why there is no state that can be used.
#[derive(Debug, thiserror::Error)]
pub enum NoState {
    /// None was ever published here.
    #[error("no state in {}", folder.display())]
    Absent {
        /// The store's folder.
        folder: PathBuf,
    },
    /// The files are not as they were written.
    #[error(transparent)]
    Damaged(#[from] Damaged),
    /// It is somebody else's.
    #[error("{} belongs to {owner}", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Whose it is.
        owner: &'static str,
    },
    /// Another version of Vigil wrote it.
    #[error("{} has format version {version}", path.display())]
    Version {
        /// The docket.
        path: PathBuf,
        /// Its version.
        version: u32,
    },
    /// The system refused.
    #[error(transparent)]
    Io(#[from] IoError),
}

/// A refusal of the system.
#[derive(Debug, thiserror::Error)]
#[error("could not {deed} {}: {source}", path.display())]
pub struct IoError {
    /// What was tried.
    pub deed: &'static str,
    /// With which file.
    pub path: PathBuf,
    /// Why it failed.
    pub source: io::Error,
}

impl IoError {
    fn new(deed: &'static str, path: &Path, source: Errno) -> Self {
        Self {
            deed,
            path: path.to_owned(),
            source: source.into(),
        }
    }
}

/// Why nothing was published. The state that was published before stays in force.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The system refused.
    #[error(transparent)]
    Io(#[from] IoError),
    /// The base turned out to be damaged; [`Store::replace`] publishes without it.
    #[error(transparent)]
    Damaged(#[from] Damaged),
    /// What should be the folder is something else.
    #[error("{} is not a directory", path.display())]
    NoFolder {
        /// It.
        path: PathBuf,
    },
    /// The folder is not the effective user's, who then should leave nothing there.
    #[error("{} belongs to another user", path.display())]
    Foreign {
        /// The store's folder, or the one above where it does not exist.
        path: PathBuf,
    },
    /// More than the format can hold: a block of 4 GiB, 32 GiB in all, or the key `u32::MAX`.
    #[error("the state for {} is too large", folder.display())]
    TooLarge {
        /// The store's folder.
        folder: PathBuf,
    },
}

/// What came of an attempt to publish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Published {
    /// The changes stand behind the older blocks of the same data file.
    Appended {
        /// Bytes written to the data file.
        bytes: u64,
    },
    /// There is a new data file.
    Rewritten {
        /// Its length, in bytes.
        bytes: u64,
    },
    /// There was nothing to change.
    Unchanged,
    /// Somebody else is writing; nothing was done.
    Busy,
    /// Somebody else has published since the base was read; nothing was done.
    Superseded,
}

impl Published {
    /// Whether there is a new state.
    pub fn is_new(self) -> bool {
        matches!(self, Self::Appended { .. } | Self::Rewritten { .. })
    }
}

/// What came of an attempt to remove the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dropped {
    /// It is gone, and the folder with it.
    Removed,
    /// It is gone. The folder stays, since something else is in it.
    Emptied,
    /// There was none.
    Absent,
    /// Somebody is writing; nothing was done.
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

impl Step {
    /// All of them, in their order.
    pub const ALL: [Self; 6] = [
        Self::Locked,
        Self::DataBegun,
        Self::DataWritten,
        Self::DocketWritten,
        Self::DocketPublished,
        Self::OldRemoved,
    ];
}

/// What is told of a publication's progress.
pub trait Steps {
    /// `step` has just been reached.
    fn reached(&self, step: Step);
}

/// Nobody wants to know.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSteps;

impl Steps for NoSteps {
    fn reached(&self, _: Step) {}
}

impl Store {
    /// The store in `folder`, which need not exist: the first publication creates it. `identity` says whose state is
    /// meant; another's is not read.
    pub fn new(folder: PathBuf, identity: [u8; 32]) -> Self {
        Self { folder, identity }
    }

    /// The store's folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The state as published.
    ///
    /// # Errors
    /// Why there is none that can be used.
    pub fn open(&self) -> Result<Snapshot, NoState> {
        let folder = Folder::open(&self.folder).map_err(|error| match error {
            Errno::NOENT | Errno::NOTDIR => NoState::Absent {
                folder: self.folder.clone(),
            },
            error => IoError::new("open", &self.folder, error).into(),
        })?;
        self.open_in(&folder)
    }

    /// A writer may replace the data file between the two readings; then there is a new docket as well.
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
