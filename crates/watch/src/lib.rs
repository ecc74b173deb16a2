//! Listens to the kernel's change notifications (inotify(7)) and says what must be looked at again: a [`Watcher`] of trees of
//! folders, the only instance in its process.
//!
//! May import `stamp`, `model` and `linux`. It knows no version control system: the caller says which folders matter. A folder
//! with changes that the kernel cannot report is refused, never taken for unchanged.

mod changes;
mod forest;
mod fully_watched_folders;
mod journal;
mod unwatched;
mod watcher;

pub use self::changes::Changes;
pub use self::fully_watched_folders::{FolderEvents, FullyWatchedFolder, FullyWatchedFolders};
pub use self::journal::Position;
pub use self::unwatched::Unwatched;
pub use self::watcher::{Top, WatchedTree, Watcher};
