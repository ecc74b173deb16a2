//! Loose references: one file, or symbolic link, each (gitrepository-layout(5)).

mod reader;

use std::ffi::OsStr;
use std::io::Read;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};
use gix_hash::{Kind, ObjectId};
use rustix::fs::{AtFlags, CWD, OFlags, readlinkat, statat};
use rustix::io::retry_on_intr;
use vigil_linux::opening::open_to_read;
use vigil_linux::{Errno, errno};
use vigil_model::path::join;

pub(super) use self::reader::{LooseRef, read_under};
use super::name;
use super::owner::is_per_worktree;
use super::raw::Raw;
use super::unread::Unread;
use vigil_model::c_string::until_nul;
use vigil_model::white_space;

/// More bytes than any reference has; a longer file is not a reference.
const LENGTH_MAX: u64 = 64 * 1024;

/// The result of reading a loose reference.
#[derive(Debug)]
pub(super) enum Loose {
    /// It exists, though it may be broken.
    Found(Raw),
    /// Nothing is there, or a directory: the reference may be packed.
    Absent,
    /// A component of its name is a file: no such reference can exist.
    Impossible,
    /// There are too many open files, or too little memory, to open it. git need not open what is not there.
    Unopened(Errno),
}

/// The directories that hold the loose references of a worktree.
#[derive(Clone, Copy, Debug)]
pub(super) struct Folders<'a> {
    /// For the worktree's own references.
    pub(super) own: &'a Path,
    /// For references that all worktrees share.
    pub(super) common: &'a Path,
}

impl<'a> Folders<'a> {
    /// The directory that holds the loose reference `name`.
    pub(super) fn of(self, name: &[u8]) -> &'a Path {
        if is_per_worktree(name) {
            self.own
        } else {
            self.common
        }
    }
}

/// Reads the loose reference in the file `path`.
///
/// A file that cannot be read is unreadable; a pipe, on which git would wait, is broken.
pub(super) fn read(path: &Path, hash: Kind, unread: &Unread) -> Loose {
    // Most names that are asked for are not there, and the kernel takes longer to fail to open a file.
    match statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => Loose::Absent,
        _ => read_at(CWD, path, hash, unread),
    }
}

/// As [`read`], with a path relative to `folder`.
fn read_at(folder: BorrowedFd<'_>, path: &Path, hash: Kind, unread: &Unread) -> Loose {
    let unreadable = |error| {
        unread.note(error);
        Loose::Found(Raw::Unreadable)
    };
    let fd = match open_to_read(folder, path, OFlags::NOFOLLOW) {
        Ok(fd) => fd,
        Err(Errno::NOENT) => return Loose::Absent,
        Err(Errno::NOTDIR) => return Loose::Impossible,
        // As long as it has this name.
        Err(Errno::NAMETOOLONG) => return Loose::Found(Raw::Unreadable),
        Err(Errno::LOOP) => {
            if let Some(target) = link_target(folder, path) {
                return Loose::Found(Raw::Symbolic(target));
            }
            match open_to_read(folder, path, OFlags::empty()) {
                Ok(fd) => fd,
                Err(Errno::NOENT | Errno::NOTDIR) => return Loose::Impossible,
                Err(error) => return unreadable(error),
            }
        }
        Err(error) if errno::is_shortage(error) => {
            unread.note(error);
            return match statat(folder, path, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => Loose::Absent,
                Err(Errno::NOTDIR) => Loose::Impossible,
                _ => Loose::Unopened(error),
            };
        }
        Err(error) => return unreadable(error),
    };
    match read_all(std::fs::File::from(fd)) {
        Ok(content) => Loose::Found(parse(&content, hash)),
        Err(error) if error.kind() == std::io::ErrorKind::IsADirectory => Loose::Absent,
        Err(error) => unreadable(errno::of(&error)),
    }
}

/// Reads a file that is usually short: then one read is enough, since a file that returns less than was asked for has no
/// more.
fn read_all(file: std::fs::File) -> std::io::Result<Vec<u8>> {
    let mut start = [0; 512];
    let len = retry_on_intr(|| rustix::io::read(&file, &mut start))?;
    let mut content = start.get(..len).unwrap_or_default().to_vec();
    if len == start.len() {
        file.take(LENGTH_MAX).read_to_end(&mut content)?;
    }
    Ok(content)
}

/// Returns the target of a symbolic link that stands for a symbolic reference, as the oldest versions of git wrote them.
fn link_target(folder: BorrowedFd<'_>, path: &Path) -> Option<BString> {
    let target = readlinkat(folder, path, Vec::new()).ok()?;
    let target = target.as_bytes();
    (target.starts_with(b"refs/") && name::is_valid(target)).then(|| target.into())
}

/// Parses the contents of a loose reference.
pub(crate) fn parse(content: &[u8], hash: Kind) -> Raw {
    let content = white_space::trim_end(content);
    // git reads the contents as a C string.
    let content = until_nul(content);
    if let Some(target) = content.strip_prefix(b"ref:") {
        return Raw::Symbolic(white_space::trim_start(target).into());
    }
    // FETCH_HEAD and the like have more after the id.
    let Some((id, rest)) = content.split_at_checked(hash.len_in_hex()) else {
        return Raw::Broken;
    };
    match ObjectId::from_hex(id) {
        Ok(id) if rest.first().is_none_or(|byte| white_space::is_space(*byte)) => Raw::Direct(id),
        _ => Raw::Broken,
    }
}

/// A directory that may contain loose references, and the names in it.
#[derive(Debug)]
pub(super) struct Folder {
    pub(super) path: PathBuf,
    /// The full names of files that may be references.
    pub(super) files: Vec<BString>,
    /// The full names of symbolic links that lead to no file or directory yet.
    pub(super) dangling: Vec<BString>,
}

/// Calls `found` with every directory under `root`/`prefix`, including that one; `prefix` has no trailing slash. Lock files
/// and names that no reference can have are left out. Unreadable directories count as empty.
pub(super) fn list(root: &Path, prefix: &[u8], unread: &Unread, found: &mut dyn FnMut(Folder)) {
    // A linked directory inside a linked one is not entered, so that links to one another do not multiply.
    let mut pending = vec![(BString::from(prefix), false)];
    while let Some((name, is_linked)) = pending.pop() {
        let mut folder = Folder {
            path: root.join(OsStr::from_bytes(&name)),
            files: Vec::new(),
            dangling: Vec::new(),
        };
        folder.read_names(&name, unread, |inner, is_link| {
            if !is_link || !is_linked {
                pending.push((inner, is_link || is_linked));
            }
        });
        found(folder);
    }
}

impl Folder {
    /// Reads the names in the directory `name`. Calls `inner` with each directory in it, and whether that is a symbolic link.
    fn read_names(
        &mut self,
        name: &BString,
        unread: &Unread,
        mut inner: impl FnMut(BString, bool),
    ) {
        let note = |error: &std::io::Error| unread.note(errno::of(error));
        let entries = std::fs::read_dir(&self.path).inspect_err(note);
        for entry in entries.into_iter().flatten() {
            let Ok(entry) = entry.inspect_err(note) else {
                continue;
            };
            let file_name = entry.file_name();
            let file_name = file_name.as_bytes();
            if file_name.starts_with(b".") || file_name.ends_with(b".lock") {
                continue;
            }
            let Ok(kind) = entry.file_type().inspect_err(note) else {
                continue;
            };
            let is_link = kind.is_symlink();
            // A dangling link is not listed, though its target may be the name of a reference.
            let kind = match is_link {
                true => entry
                    .path()
                    .metadata()
                    .ok()
                    .map(|target| target.file_type()),
                false => Some(kind),
            };
            let full = join(name.as_ref(), file_name.as_bstr());
            match kind {
                Some(kind) if kind.is_file() => self.files.push(full),
                Some(kind) if kind.is_dir() => inner(full, is_link),
                _ if is_link => self.dangling.push(full),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests;
