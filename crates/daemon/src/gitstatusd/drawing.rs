//! The prompt that follows the fields of an answer, ready to show. The functions are passed in, since this crate
//! knows no formats.

use std::sync::Arc;

use bstr::BStr;
use vigil_git::environment::Environment;

/// Where the shell that asks is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whereabouts<'a> {
    /// The directory that the shell shows; empty if it did not say.
    pub directory: &'a BStr,
    /// Whether the shell asks about its GIT_DIR, wherever that is.
    pub has_git_dir: bool,
}

/// Appends to a response what the shell shows of it.
pub type Drawer = Arc<dyn Fn(Whereabouts<'_>, Vec<u8>) -> Vec<u8> + Send + Sync>;

/// Returns the drawer for the shell of that name, as configured by the environment.
pub type Drawers<'a> = &'a dyn Fn(&BStr, &Environment) -> Option<Drawer>;
