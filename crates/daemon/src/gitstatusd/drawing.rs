//! What a shell shows, ready, behind the fields of an answer: it is handed in, since this crate knows no formats.

use std::sync::Arc;

use bstr::BStr;
use vigil_git::environment::Environment;

/// Where a shell is that asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whereabouts<'a> {
    /// The directory that it shows; empty if it did not say.
    pub directory: &'a BStr,
    /// Whether it asks about its GIT_DIR, wherever it is.
    pub has_git_dir: bool,
}

/// Adds to a response what a shell shows of it.
pub type Drawer = Arc<dyn Fn(Whereabouts<'_>, Vec<u8>) -> Vec<u8> + Send + Sync>;

/// Knows for each shell by its name how answers are drawn, as the environment says.
pub type Drawers<'a> = &'a dyn Fn(&BStr, &Environment) -> Option<Drawer>;
