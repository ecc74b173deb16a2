//! What a submodule's status came to for the repository around it.

use std::path::PathBuf;
use std::ptr::fn_addr_eq;

use vigil_git::config::{self, ConfigEntry};

use super::watched::Resting;

/// Checks an entry of the configuration that is no setting of a session. Returns whether it is one that the command knows.
pub(crate) type EntryCheck = fn(&ConfigEntry<'_>) -> Result<bool, config::Error>;

/// What the changes in a submodule come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dirtiness {
    /// Whether there is a change besides untracked files.
    pub(super) modified: bool,
    /// Whether there are untracked files.
    pub(super) untracked: bool,
}

/// What is asked of a submodule.
#[derive(Clone, Copy)]
pub(super) struct DirtinessQuestion {
    pub(super) looks_for_untracked: bool,
    /// The check of its configuration.
    pub(super) check: EntryCheck,
}

impl PartialEq for DirtinessQuestion {
    fn eq(&self, other: &Self) -> bool {
        self.looks_for_untracked == other.looks_for_untracked && fn_addr_eq(self.check, other.check)
    }
}

/// The last answer of a submodule's session for which git had nothing to say, and what it rests on besides the repository's own
/// folders and the user's configuration.
pub(super) struct KnownDirtiness {
    pub(super) question: DirtinessQuestion,
    pub(super) working_tree: Resting,
    /// The files of HEAD's commit and tree, if they are not in packs: git gives up if these are gone.
    pub(super) loose_objects: Vec<PathBuf>,
    pub(super) dirtiness: Dirtiness,
}
