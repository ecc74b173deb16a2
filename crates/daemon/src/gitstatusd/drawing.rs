//! What a shell shows, ready, behind the fields of an answer: it is handed in, since this crate knows no formats.

use std::sync::Arc;

use bstr::BStr;
use vigil_git::environment::Environment;

/// Adds to a response, which is about a directory (not about a GIT_DIR of that path), what a shell shows of it.
pub type Drawer = Arc<dyn Fn(&BStr, Vec<u8>) -> Vec<u8> + Send + Sync>;

/// Knows for each shell by its name how answers are drawn, as the environment says.
pub type Drawers<'a> = &'a dyn Fn(&BStr, &Environment) -> Option<Drawer>;
