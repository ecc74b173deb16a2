//! Where a user's daemon is found: a folder that only this user can access, with a socket and a lock file.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{
    AtFlags, Mode, OFlags, Timespec, Timestamps, UTIME_NOW, ftruncate, futimens, mkdir, open,
    openat, statat, unlinkat,
};
use rustix::io::{Errno, pread, pwrite};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with,
};
use rustix::process::geteuid;
use vigil_git::environment::Environment;
use vigil_linux::errno;
use vigil_linux::inotify::Queue;
use vigil_linux::lock::Locked;
use vigil_linux::process::has_open;
use vigil_linux::stat::{Stat, stat_fd, stat_path};

use crate::log::Log;

/// The name of the socket in the folder.
pub const SOCKET: &str = "daemon.sock";
/// The name of the lock file, which the serving process holds locked.
pub(crate) const LOCK: &str = "daemon.lock";
/// The name of the file whose mtime says when the daemon was last too slow for a command.
const SLOW: &str = "daemon.slow";

/// The most connections that wait to be accepted.
pub(crate) const BACKLOG: i32 = 128;

/// How long no command asks a daemon that was too slow for another command.
const SLOW_TIME: Duration = Duration::from_secs(10);

/// The mode of the folder: access for the user only.
const PRIVATE: u32 = 0o700;
/// The permission bits of a mode.
const RIGHTS: u32 = 0o7777;

/// Why a folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// It cannot be created or opened.
    #[error("cannot use the folder {}: {}", path.display(), errno::text(*source))]
    Unusable {
        /// The folder.
        path: PathBuf,
        /// The error of the system call.
        source: Errno,
    },
    /// It is a symbolic link, or not a directory.
    #[error("{} is a link, or not a directory", .0.display())]
    NoDirectory(PathBuf),
    /// It belongs to another user.
    #[error("{} belongs to user {uid}", path.display())]
    Foreign {
        /// The folder.
        path: PathBuf,
        /// Its owner.
        uid: u32,
    },
    /// Other users may read it or write to it.
    #[error("{} has mode {mode:o}, and must have 700", path.display())]
    Open {
        /// The folder.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
}

/// A failure to use a file in the folder.
#[derive(Debug, thiserror::Error)]
#[error("cannot {operation} {}: {}", path.display(), errno::text(*source))]
pub struct FileError {
    /// What could not be done.
    operation: &'static str,
    /// The file.
    path: PathBuf,
    /// The error of the system call.
    source: Errno,
}

impl From<FolderError> for io::Error {
    fn from(error: FolderError) -> Self {
        Self::other(error)
    }
}

/// The folder's path. The folder itself has not been checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimePath(PathBuf);

/// The open folder, checked to be accessible to this user only.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    fd: OwnedFd,
}

impl RuntimePath {
    /// Returns `$VIGIL_RUNTIME_DIR`, else `$XDG_RUNTIME_DIR/vigil`, else `/tmp/vigil-UID`. Relative paths are ignored, and so is
    /// an `XDG_RUNTIME_DIR` of another user, which `su` leaves set: a folder that root makes there shuts that user out.
    pub fn of(environment: &Environment) -> Self {
        let uid = geteuid().as_raw();
        let absolute = |name: &str| {
            let value = environment.get(name)?;
            let path = Path::new(OsStr::from_bytes(value));
            path.is_absolute().then(|| path.to_owned())
        };
        Self(
            absolute("VIGIL_RUNTIME_DIR")
                .or_else(|| {
                    let folder = absolute("XDG_RUNTIME_DIR")?;
                    let is_foreign = stat_path(&folder).is_ok_and(|stat| stat.uid != uid);
                    (!is_foreign).then(|| folder.join("vigil"))
                })
                .unwrap_or_else(|| format!("/tmp/vigil-{uid}").into()),
        )
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The path of the socket.
    pub fn socket(&self) -> PathBuf {
        self.0.join(SOCKET)
    }

    /// Whether the daemon was too slow for a command just now. A folder that belongs to another user may claim so at any time,
    /// but is not used anyway.
    pub fn was_slow(&self) -> bool {
        let Ok(stat) = stat_path(&self.0.join(SLOW)) else {
            return false;
        };
        let written = u64::try_from(stat.mtime_s).map(Duration::from_secs);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        // A time in the future was set by another clock.
        let age = written.ok().zip(now.ok());
        age.and_then(|(written, now)| now.checked_sub(written))
            .is_some_and(|age| age < SLOW_TIME)
    }

    /// Tells other commands that the daemon is too slow. If that fails, each of them waits for itself.
    pub fn note_slow(&self) {
        let _ = self.open().map(|folder| folder.note_slow());
    }

    /// Whether a process holds the lock: it serves, is about to, or just did. A folder that cannot be checked counts as free.
    pub fn is_taken(&self) -> bool {
        self.open().is_ok_and(|folder| folder.is_locked())
    }

    /// The path of the lock file.
    pub fn lock_file(&self) -> PathBuf {
        self.0.join(LOCK)
    }

    /// The process that holds the lock, if proc(5) confirms it.
    pub fn holder(&self) -> Option<u32> {
        self.open().ok()?.holder()
    }

    /// Whether the process `pid` holds the lock, by what proc(5) says: in another pid name space, that may be another process.
    pub fn is_held_by(&self, pid: u32) -> bool {
        self.holder() == Some(pid)
    }

    /// Opens the folder, creating it if needed.
    ///
    /// # Errors
    /// It cannot be created, or other users have access to it.
    pub fn make(&self) -> Result<Folder, FolderError> {
        match mkdir(&self.0, Mode::from_raw_mode(PRIVATE)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(source) => {
                let path = self.0.clone();
                return Err(FolderError::Unusable { path, source });
            }
        }
        self.open()
    }

    /// Opens the folder.
    ///
    /// # Errors
    /// It does not exist, or other users have access to it.
    pub fn open(&self) -> Result<Folder, FolderError> {
        let path = || self.0.clone();
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = open(&self.0, flags, Mode::empty()).map_err(|source| match source {
            Errno::NOTDIR | Errno::LOOP => FolderError::NoDirectory(path()),
            source => FolderError::Unusable {
                path: path(),
                source,
            },
        })?;
        let unusable = |source| FolderError::Unusable {
            path: path(),
            source,
        };
        let stat = stat_fd(fd.as_fd()).map_err(unusable)?;
        if stat.uid != geteuid().as_raw() {
            let uid = stat.uid;
            return Err(FolderError::Foreign { path: path(), uid });
        }
        let mode = stat.mode & RIGHTS;
        if mode != PRIVATE {
            return Err(FolderError::Open { path: path(), mode });
        }
        Ok(Folder { path: path(), fd })
    }
}

impl Folder {
    /// The address of the socket. A path that is too long for an address goes through the open folder, which must stay open.
    ///
    /// # Errors
    /// Neither path fits into an address.
    pub fn address(&self) -> Result<SocketAddrUnix, Errno> {
        SocketAddrUnix::new(self.path.join(SOCKET)).or_else(|_| {
            let fd = self.fd.as_raw_fd();
            SocketAddrUnix::new(format!("/proc/self/fd/{fd}/{SOCKET}"))
        })
    }

    /// Creates the socket and listens, replacing a stale socket. No live daemon can be listening there: it would hold the lock.
    ///
    /// # Errors
    /// A stale socket cannot be removed, or a new one cannot be created.
    pub(crate) fn listen(&self, lock: &Lock) -> Result<OwnedFd, FileError> {
        self.remove_socket(lock)?;
        self.try_listen().map_err(|source| FileError {
            operation: "listen at",
            path: self.path.join(SOCKET),
            source,
        })
    }

    fn try_listen(&self) -> Result<OwnedFd, Errno> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let listener = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        bind(&listener, &self.address()?)?;
        listen(&listener, BACKLOG)?;
        Ok(listener)
    }

    /// Locks the lock file, creating it if needed. `None` if another process holds it. Never waits.
    ///
    /// # Errors
    /// The file cannot be created or locked.
    pub fn lock(&self) -> Result<Option<Lock>, FileError> {
        self.try_lock().map_err(|source| FileError {
            operation: "lock",
            path: self.path.join(LOCK),
            source,
        })
    }

    fn try_lock(&self) -> Result<Option<Lock>, Errno> {
        loop {
            let flags = OFlags::CREATE | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let file = openat(&self.fd, LOCK, flags, Mode::from_raw_mode(0o600))?;
            let Some(held) = Locked::try_new(file)? else {
                return Ok(None);
            };
            let held = Lock {
                path: self.path.join(LOCK),
                held,
            };
            // The last holder removes the file before it unlocks it: a file opened before that is not the lock any more.
            if held.is_in(&self.fd)? {
                // Where the path leads elsewhere or is too long, no client finds this folder, and trying again changes nothing.
                stat_path(&held.path)?;
                if !held.is_in_place() {
                    return Err(Errno::STALE);
                }
                // If nothing can be written, as on a full disk, the lock is held all the same, but nobody learns by whom.
                ftruncate(held.held.file(), 0)?;
                let pid = std::process::id().to_string();
                let _ = pwrite(held.held.file(), pid.as_bytes(), 0);
                return Ok(Some(held));
            }
        }
    }

    fn is_locked(&self) -> bool {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(&self.fd, LOCK, flags, Mode::empty());
        // A process that tries to lock it at this very moment fails, and tries again.
        file.is_ok_and(|file| matches!(Locked::try_new(file), Ok(None)))
    }

    /// The process that locked the lock file last, as it recorded itself there. It may be gone.
    pub(crate) fn last_holder(&self) -> Option<u32> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(&self.fd, LOCK, flags, Mode::empty()).ok()?;
        let mut text = [0; 16];
        let len = pread(&file, &mut text[..], 0).ok()?;
        std::str::from_utf8(text.get(..len)?).ok()?.parse().ok()
    }

    /// The process that holds the lock, if proc(5) confirms that it has the lock file open: in another pid name space the number
    /// may belong to another process.
    pub(crate) fn holder(&self) -> Option<u32> {
        let pid = self.is_locked().then(|| self.last_holder())??;
        let lock = stat_path(&self.path.join(LOCK)).ok()?;
        has_open(pid, (lock.dev, lock.ino)).then_some(pid)
    }

    fn note_slow(&self) -> Result<(), Errno> {
        let flags =
            OFlags::CREATE | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(&self.fd, SLOW, flags, Mode::from_raw_mode(0o600))?;
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: UTIME_NOW,
        };
        let times = Timestamps {
            last_access: now,
            last_modification: now,
        };
        futimens(&file, &times)
    }

    /// The note that the daemon was too slow. Only the holder of the lock can know that this is over.
    ///
    /// # Errors
    /// A system call failed.
    pub(crate) fn slow_note(&self, _: &Lock) -> Result<SlowNote, Errno> {
        Ok(SlowNote {
            folder: rustix::io::fcntl_dupfd_cloexec(&self.fd, 3)?,
            path: self.path.join(SLOW),
        })
    }

    /// The open folder, for other modules' files in it.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// The daemon's log in it.
    pub(crate) fn log(&self) -> Result<Log, Errno> {
        Ok(Log::new(rustix::io::fcntl_dupfd_cloexec(&self.fd, 0)?))
    }

    /// Watches the folder for changes. `None` if the user has no inotify(7) instance or watch left.
    pub(crate) fn changes(&self) -> Option<Queue> {
        let queue = Queue::new().ok()?;
        queue.watch(self.fd.as_fd()).ok()?;
        Some(queue)
    }

    /// The identity of the socket at its path, if there is one.
    pub fn socket(&self) -> Option<SocketId> {
        let stat = stat_path(&self.path.join(SOCKET)).ok()?;
        Some(SocketId(stat.dev, stat.ino))
    }

    /// Removes the socket. Only the holder of the lock may do so: otherwise the socket may be that of a live daemon.
    ///
    /// # Errors
    /// It exists, and cannot be removed.
    pub(crate) fn remove_socket(&self, _: &Lock) -> Result<(), FileError> {
        self.remove(SOCKET)
    }

    /// Removes the lock file, and then unlocks it.
    ///
    /// # Errors
    /// It exists, and cannot be removed.
    pub(crate) fn remove_lock(&self, lock: Lock) -> Result<(), FileError> {
        let removed = self.remove(LOCK);
        drop(lock);
        removed
    }

    fn remove(&self, name: &str) -> Result<(), FileError> {
        remove_at(self.fd.as_fd(), name, &self.path.join(name))
    }
}

/// Removes `name` in `folder`, if it exists. `path` is its path, for errors.
fn remove_at(folder: BorrowedFd<'_>, name: &str, path: &Path) -> Result<(), FileError> {
    match unlinkat(folder, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(source) => Err(FileError {
            operation: "remove",
            path: path.to_owned(),
            source,
        }),
    }
}

/// The note that the daemon was too slow, which may or may not exist.
#[derive(Debug)]
pub(crate) struct SlowNote {
    folder: OwnedFd,
    path: PathBuf,
}

impl SlowNote {
    /// Removes the note.
    ///
    /// # Errors
    /// It exists, and cannot be removed.
    pub(crate) fn forget(&self) -> Result<(), FileError> {
        remove_at(self.folder.as_fd(), SLOW, &self.path)
    }
}

/// The identity of a socket file: its device and inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketId(u64, u64);

/// The lock that the only daemon of a user holds.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    held: Locked,
}

impl Lock {
    /// Whether the locked file is still the one of its name in the folder that was opened.
    fn is_in(&self, folder: &OwnedFd) -> Result<bool, Errno> {
        let ours = stat_fd(self.held.file().as_fd())?;
        match statat(folder, LOCK, AtFlags::SYMLINK_NOFOLLOW).map(Stat::from) {
            Ok(named) => Ok((named.dev, named.ino) == (ours.dev, ours.ino)),
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Whether the locked file is still the one at its path, so that others find it locked.
    pub(crate) fn is_in_place(&self) -> bool {
        let id = |stat: Stat| (stat.dev, stat.ino);
        let ours = stat_fd(self.held.file().as_fd()).map(id);
        ours.is_ok() && ours == stat_path(&self.path).map(id)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn place(variables: &[(&str, &str)]) -> PathBuf {
        let variables = variables
            .iter()
            .map(|&(name, value)| (name.into(), value.into()));
        RuntimePath::of(&Environment::new(variables, "/")).0
    }

    #[test]
    fn the_first_absolute_path_that_is_set_counts() {
        let own = ("VIGIL_RUNTIME_DIR", "/own");
        let run = ("XDG_RUNTIME_DIR", "/run/user/1");
        assert_eq!(place(&[own, run]), Path::new("/own"));
        assert_eq!(place(&[run]), Path::new("/run/user/1/vigil"));
        assert_eq!(
            place(&[("VIGIL_RUNTIME_DIR", ""), run]),
            Path::new("/run/user/1/vigil")
        );
        let last = format!("/tmp/vigil-{}", geteuid().as_raw());
        assert_eq!(place(&[("XDG_RUNTIME_DIR", "relative")]), Path::new(&last));
        // The root folder belongs to another user, unless this is root.
        let folder = tempfile::tempdir().unwrap();
        let foreign = match geteuid().is_root() {
            true => folder.path(),
            false => Path::new("/"),
        };
        if geteuid().is_root() {
            std::os::unix::fs::chown(foreign, Some(1), None).unwrap();
        }
        let foreign = foreign.to_str().unwrap();
        assert_eq!(place(&[("XDG_RUNTIME_DIR", foreign)]), Path::new(&last));
        let here = ("VIGIL_RUNTIME_DIR", foreign);
        assert_eq!(place(&[here, run]), Path::new(foreign));
    }

    #[test]
    fn a_folder_must_be_a_directory_of_the_user_alone() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("own");
        let place = RuntimePath(path.clone());
        assert!(matches!(place.open(), Err(FolderError::Unusable { .. })));
        place.make().unwrap();
        place.make().unwrap();
        let link = parent.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(matches!(
            RuntimePath(link).make(),
            Err(FolderError::NoDirectory(_))
        ));
        let file = parent.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert!(matches!(
            RuntimePath(file).make(),
            Err(FolderError::NoDirectory(_))
        ));
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        let error = place.make().unwrap_err();
        assert!(
            error
                .to_string()
                .ends_with("has mode 755, and must have 700"),
            "{error}"
        );
    }

    #[test]
    fn one_has_the_lock_and_a_removed_one_is_none() {
        let parent = tempfile::tempdir().unwrap();
        let folder = RuntimePath(parent.path().join("own")).make().unwrap();
        let lock = folder.lock().unwrap().unwrap();
        assert!(folder.lock().unwrap().is_none());
        assert!(lock.is_in_place());
        std::fs::remove_file(parent.path().join("own").join(LOCK)).unwrap();
        assert!(!lock.is_in_place());
        let second = folder.lock().unwrap().unwrap();
        assert!(second.is_in_place());
        folder.remove_lock(second).unwrap();
        drop(lock);
        assert!(folder.lock().unwrap().is_some());
    }

    #[test]
    fn a_folder_that_its_path_does_not_lead_to_cannot_be_locked() {
        let parent = tempfile::tempdir().unwrap();
        let own = parent.path().join("own");
        let folder = RuntimePath(own.clone()).make().unwrap();
        std::fs::rename(&own, parent.path().join("moved")).unwrap();
        let error = folder.lock().unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "cannot lock {}: No such file or directory",
                own.join(LOCK).display()
            )
        );
        let other = RuntimePath(own).make().unwrap();
        let lock = other.lock().unwrap();
        assert!(lock.is_some());
        let error = folder.lock().unwrap_err();
        assert!(error.to_string().ends_with("Stale file handle"), "{error}");
    }

    #[test]
    fn a_socket_has_an_address_however_long_its_path_is() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("x".repeat(200));
        let folder = RuntimePath(path).make().unwrap();
        assert!(folder.address().is_ok());
    }

    #[test]
    fn an_error_says_where_there_can_be_no_socket() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("run");
        let folder = RuntimePath(path.clone()).make().unwrap();
        let lock = folder.lock().unwrap().unwrap();
        std::fs::remove_dir_all(&path).unwrap();
        let error = folder.listen(&lock).unwrap_err();
        let socket = path.join(SOCKET);
        let text = format!(
            "cannot listen at {}: No such file or directory",
            socket.display()
        );
        assert_eq!(error.to_string(), text);
    }
}
