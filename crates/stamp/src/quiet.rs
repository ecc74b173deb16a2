//! Folders of which every change is heard (inotify(7)).

use std::os::fd::BorrowedFd;

use vigil_linux::inotify::DirectoryWatch;

use crate::trust::FileSystem;

/// Watches the open directory `folder`; `None` where another machine can write into it unheard, or no more can be watched.
/// What is written by another name of a file is not heard of either: whoever relies on it looks at their numbers of links.
pub fn watch(folder: BorrowedFd<'_>) -> Option<DirectoryWatch> {
    let trust = FileSystem::of(folder).ok()?.trust(None);
    let is_local = trust.directories && trust.contents;
    is_local.then(|| DirectoryWatch::of(folder).ok()).flatten()
}
