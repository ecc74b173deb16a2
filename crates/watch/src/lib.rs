//! What the kernel tells of changes (inotify(7)), and what is to be looked at again for it.
//!
//! May import `stamp`, `model` and `linux`. It knows no system: whoever watches says which folders matter. A change that the
//! kernel cannot report is never taken for none: such folders are refused.

mod quiet_folders;

pub use self::quiet_folders::QuietFolders;
