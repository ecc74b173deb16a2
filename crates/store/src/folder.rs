//! The files of a store, by name in its open folder.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat};
use vigil_linux::Errno;
use vigil_linux::map::Map;
use vigil_model::state_layout::docket::Docket;

use super::snapshot::Damaged;
use super::{IoError, NoState};
use vigil_stamp::file::read_to_end;

/// The docket's name.
pub(super) const DOCKET: &str = "state";

/// How many times a reader tries to find a docket's data file, in case the docket is being replaced.
pub(super) const DATA_READINGS: usize = 8;

/// Flags for every open: follow no symbolic link, do not block, take no controlling terminal, close on exec.
const GUARDS: OFlags = OFlags::NOFOLLOW
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// The name of a data file.
pub(super) fn data_name(id: u64) -> String {
    format!("{DOCKET}.{id:016x}")
}

/// What a file in the folder is, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Docket,
    Data(u64),
    Temporary,
}

impl Kind {
    /// Classifies a name; `None` if the file is not one of Vigil's.
    fn of(name: &[u8]) -> Option<Self> {
        let rest = name.strip_prefix(DOCKET.as_bytes())?;
        if rest.is_empty() {
            return Some(Self::Docket);
        }
        let rest = rest.strip_prefix(b".")?;
        if rest.starts_with(b"tmp.") {
            return Some(Self::Temporary);
        }
        let id = u64::from_str_radix(str::from_utf8(rest).ok()?, 16).ok()?;
        // Each number has one spelling. A name spelt otherwise is not ours.
        (data_name(id).as_bytes() == name).then_some(Self::Data(id))
    }
}

/// An open folder. Everything in it is done through the descriptor, so that it stays the same folder.
#[derive(Debug)]
pub(super) struct Folder<'a> {
    fd: OwnedFd,
    path: &'a Path,
}

impl AsFd for Folder<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl<'a> Folder<'a> {
    /// Opens the folder `path`, which must not be a symbolic link.
    pub(super) fn open(path: &'a Path) -> Result<Self, Errno> {
        let flags = GUARDS | OFlags::RDONLY | OFlags::DIRECTORY;
        let fd = rustix::fs::openat(CWD, path, flags, Mode::empty())?;
        Ok(Self { fd, path })
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub(super) fn error(&self, operation: &'static str, name: &str, source: Errno) -> IoError {
        IoError::new(operation, &self.path(name), source)
    }

    pub(super) fn stat(&self) -> Result<Stat, IoError> {
        rustix::fs::fstat(&self.fd).map_err(|error| IoError::new("look at", self.path, error))
    }

    /// Opens the file `name`. `None` if there is none; an error unless it is a regular file of the effective user.
    fn open_own(&self, name: &str, access: OFlags) -> Result<Option<(File, Stat)>, NoState> {
        let fd = match rustix::fs::openat(&self.fd, name, access | GUARDS, Mode::empty()) {
            Ok(fd) => fd,
            Err(Errno::NOENT) => return Ok(None),
            // A symbolic link, or a pipe or device that nobody listens to.
            Err(Errno::LOOP | Errno::NXIO | Errno::ISDIR) => return Err(self.not_regular(name)),
            Err(error) => return Err(self.error("open", name, error).into()),
        };
        let stat = rustix::fs::fstat(&fd).map_err(|error| self.error("look at", name, error))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(self.not_regular(name));
        }
        if stat.st_uid != rustix::process::geteuid().as_raw() {
            return Err(NoState::Foreign {
                path: self.path(name),
                owner: "another user",
            });
        }
        Ok(Some((fd.into(), stat)))
    }

    fn not_regular(&self, name: &str) -> NoState {
        Damaged::new(&self.path(name), "it is not a regular file").into()
    }

    /// Reads the published docket, which must be that of `identity`.
    pub(super) fn docket(&self, identity: &[u8; 32]) -> Result<Docket, NoState> {
        let Some((file, stat)) = self.open_own(DOCKET, OFlags::RDONLY)? else {
            return Err(NoState::Absent {
                folder: self.path.to_owned(),
            });
        };
        let len_max = Docket::LEN_MAX.saturating_add(1) as u64;
        let len = u64::try_from(stat.st_size).ok();
        let bytes = read_to_end(file, len, len_max).map_err(|source| IoError {
            operation: "read",
            path: self.path(DOCKET),
            source,
        })?;
        let docket =
            Docket::parse(&bytes).map_err(|error| NoState::of_docket(error, self.path(DOCKET)))?;
        if docket.identity != *identity {
            return Err(NoState::Foreign {
                path: self.path(DOCKET),
                owner: "another working copy",
            });
        }
        Ok(docket)
    }

    /// Maps the used part of the docket's data file, and returns it with its path; `None` if the file is missing.
    pub(super) fn map(&self, docket: &Docket) -> Result<Option<(PathBuf, Map)>, NoState> {
        let name = data_name(docket.data_id.get());
        let Some((file, stat)) = self.open_own(&name, OFlags::RDONLY)? else {
            return Ok(None);
        };
        let used = docket.used_len.get();
        let len = match usize::try_from(used) {
            Ok(len) if u64::try_from(stat.st_size).is_ok_and(|size| size >= used) => len,
            _ => return Err(Damaged::new(&self.path(&name), "it is cut off").into()),
        };
        let map = Map::read_only(file, len).map_err(|error| self.error("map", &name, error))?;
        Ok(Some((self.path(&name), map)))
    }

    /// Opens the docket's data file for appending, if it exists and is long enough.
    pub(super) fn data_to_append(&self, docket: &Docket) -> Option<File> {
        let name = data_name(docket.data_id.get());
        let (file, stat) = self.open_own(&name, OFlags::WRONLY).ok()??;
        let used = docket.used_len.get();
        u64::try_from(stat.st_size)
            .is_ok_and(|size| size >= used)
            .then_some(file)
    }

    /// Creates the file `name`, which must not exist.
    pub(super) fn create(&self, name: &str) -> Result<File, IoError> {
        let flags = GUARDS | OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let created = rustix::fs::openat(&self.fd, name, flags, Mode::RUSR | Mode::WUSR);
        created
            .map(File::from)
            .map_err(|error| self.error("create", name, error))
    }

    /// Renames the file `name` to the docket's name.
    pub(super) fn publish(&self, name: &str) -> Result<(), IoError> {
        rustix::fs::renameat(&self.fd, name, &self.fd, DOCKET)
            .map_err(|error| self.error("rename", name, error))
    }

    /// Removes the file `name`, and returns whether it existed.
    pub(super) fn remove(&self, name: &str) -> Result<bool, IoError> {
        match rustix::fs::unlinkat(&self.fd, name, AtFlags::empty()) {
            Ok(()) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(self.error("remove", name, error)),
        }
    }

    /// Removes temporary files and all data files but that of `kept`. Returns whether all are gone. The caller must
    /// hold the lock.
    pub(super) fn sweep(&self, kept: Option<&Docket>) -> bool {
        let Ok(orphans) = self.orphans(kept) else {
            return false;
        };
        let mut are_gone = true;
        for name in orphans {
            are_gone &= self.remove(&name).is_ok();
        }
        are_gone
    }

    /// Removes all temporary files and data files. Returns whether there were any. The caller must hold the lock.
    pub(super) fn clear(&self) -> Result<bool, IoError> {
        let orphans = self.orphans(None);
        let orphans = orphans.map_err(|error| IoError::new("read", self.path, error))?;
        let mut any = false;
        for name in orphans {
            any |= self.remove(&name)?;
        }
        Ok(any)
    }

    /// Returns the names of temporary files and of all data files but that of `kept`.
    fn orphans(&self, kept: Option<&Docket>) -> Result<Vec<String>, Errno> {
        let is_orphan = |name: &[u8]| match Kind::of(name) {
            None | Some(Kind::Docket) => false,
            Some(Kind::Temporary) => true,
            Some(Kind::Data(id)) => kept.is_none_or(|kept| kept.data_id != id),
        };
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.fd)? {
            let entry = entry?;
            let name = entry.file_name();
            if is_orphan(name.to_bytes()) {
                let name = name.to_str().map_err(|_| Errno::ILSEQ)?;
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_are_written_are_recognized() {
        let own = [
            ("state", Kind::Docket),
            ("state.tmp.12-3", Kind::Temporary),
            ("state.0123456789abcdef", Kind::Data(0x0123_4567_89ab_cdef)),
        ];
        for (name, kind) in own {
            assert_eq!(Kind::of(name.as_bytes()), Some(kind), "{name}");
        }
        for name in [
            "stat",
            "states",
            "state.",
            "state.tmp",
            "state.0123456789ABCDEF",
            "state.+123456789abcdef",
            "state.0123456789abcde",
            "state.00123456789abcdef",
        ] {
            assert_eq!(Kind::of(name.as_bytes()), None, "{name}");
        }
    }
}
