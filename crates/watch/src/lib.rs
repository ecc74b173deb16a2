//! Listens to the kernel's change notifications (inotify(7)) and says what must be looked at again: a [`Watcher`] of trees of
//! folders, the only instance in its process.
//!
//! May import `stamp`, `model` and `linux`. It knows no version control system: the caller says which folders matter. Changes
//! that the kernel cannot report are never taken for no changes: such folders are refused.

mod changes;
mod forest;
mod journal;
mod quiet_folders;
mod watcher;

pub use self::changes::Changes;
pub use self::journal::Position;
pub use self::quiet_folders::{HeardOf, QuietFolder, QuietFolders};
pub use self::watcher::{Top, Unwatched, WatchedTree, Watcher};
