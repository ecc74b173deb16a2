//! What the kernel tells of changes (inotify(7)), and what is to be looked at again for it: a [`Watcher`] of trees of folders, the
//! one instance of its process.
//!
//! May import `stamp`, `model` and `linux`. It knows no system: whoever watches says which folders matter. A change that the
//! kernel cannot report is never taken for none: such folders are refused.

mod changes;
mod forest;
mod journal;
mod quiet_folders;
mod watcher;

pub use self::changes::Changes;
pub use self::journal::Position;
pub use self::quiet_folders::{HeardOf, QuietFolder, QuietFolders};
pub use self::watcher::{Top, Unwatched, WatchedTree, Watcher};
