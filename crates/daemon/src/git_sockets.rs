//! The sockets at which git looks for its builtin monitor, one for each working tree for which it is wanted.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bstr::{BString, ByteSlice};
use parking_lot::Mutex;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, RenameFlags, linkat, openat, renameat, renameat_with, unlinkat,
};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, Shutdown, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen,
    shutdown, socket_with,
};
use vigil_git::repository::Repository;
use vigil_linux::errno;
use vigil_linux::stat::{FileType, Stat, lstat_path};

use crate::accept::accept_any;
use crate::fsmonitor::{NoSocketPath, socket_path};
use crate::locate::{is_gone, is_same};
use crate::protocol::{MonitorDescription, MonitorQuestion};
use crate::runtime_folder::BACKLOG;

/// The most sockets.
const SOCKETS_MAX: usize = 1024;

/// Why a socket is not served.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotServed {
    #[error(transparent)]
    NoSocketPath(#[from] NoSocketPath),
    #[error("another process serves {}", .0.display())]
    ServedByAnother(PathBuf),
    #[error("{} is in the way", .0.display())]
    Taken(PathBuf),
    #[error("{} was closed", .0.display())]
    Closed(PathBuf),
    #[error("too many sockets are served")]
    TooMany,
    #[error("cannot serve {}: {}", path.display(), errno::text(*source))]
    System { path: PathBuf, source: Errno },
}

/// A socket that listens, with the device and inode of its file.
type Made = Result<(OwnedFd, (u64, u64)), NotServed>;

/// One socket, and the question that git asks by connecting to it.
#[derive(Debug)]
pub(crate) struct GitSocket {
    listener: OwnedFd,
    path: PathBuf,
    /// The device and inode of the socket file when it was created.
    id: (u64, u64),
    /// The repository's directory.
    git_dir: PathBuf,
    question: MonitorQuestion,
}

/// All sockets. Nothing is looked at on a disk while these are locked: it may hang, and others are accepted meanwhile.
#[derive(Debug)]
pub(crate) struct GitSockets {
    epoll: OwnedFd,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    served: HashMap<u64, Arc<GitSocket>>,
    /// Sockets that are served no longer, at which connections may still wait.
    shut: HashMap<u64, Arc<GitSocket>>,
    next: u64,
    /// Sockets that are being created.
    begun: HashSet<PathBuf>,
    /// Sockets that somebody has asked to close.
    closed: HashSet<PathBuf>,
    /// Whether none is served any more, because the daemon ends.
    has_ended: bool,
}

impl Inner {
    fn is_closed(&self, path: &Path) -> bool {
        self.has_ended || self.closed.contains(path)
    }
}

impl GitSocket {
    /// The question of a git that was given `token` last.
    pub(crate) fn question(&self, token: BString) -> MonitorQuestion {
        MonitorQuestion {
            token,
            ..self.question.clone()
        }
    }

    /// The top of its working tree.
    pub(crate) fn top(&self) -> &Path {
        &self.question.directory
    }

    /// The directory of its repository.
    pub(crate) fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// Whether its path still leads to it. A repository that is moved takes its socket along, and another may take its place.
    pub(crate) fn is_in_place(&self) -> bool {
        lstat_path(&self.path).is_ok_and(|stat| id_of(&stat) == self.id)
    }

    /// Whether its working tree is the one at `top`.
    fn is_of(&self, top: &Path) -> bool {
        is_same(self.top(), top)
    }

    /// Refuses new connections. Those that wait can still be accepted: cut off, git would die of SIGPIPE.
    fn shut(&self) {
        // If there is another socket in its place, that belongs to another process.
        if self.is_in_place() {
            let _ = unlinkat(CWD, &self.path, AtFlags::empty());
        }
        let _ = shutdown(&self.listener, Shutdown::Read);
    }
}

fn id_of(stat: &Stat) -> (u64, u64) {
    (stat.dev, stat.ino)
}

/// The top of the working tree that `repository` has of its own, whatever the environment of a client chose. `None` if it is not
/// known, or there is none.
fn own_top(repository: &Repository) -> Option<PathBuf> {
    let is_set = |name| repository.environment.get(name).is_some();
    let is_chosen = is_set("GIT_DIR") || is_set("GIT_WORK_TREE");
    let git_dir = &repository.git_dir;
    let is_configured = repository.config.entry("core.worktree").is_some();
    if !is_chosen || is_configured && !is_set("GIT_WORK_TREE") {
        repository.work_tree.clone()
    } else if is_configured || *git_dir != repository.common_dir {
        None
    } else if git_dir.ends_with(".git") {
        std::fs::canonicalize(git_dir.parent()?).ok()
    } else {
        repository.work_tree.clone()
    }
}

impl GitSockets {
    /// Creates an empty set.
    ///
    /// # Errors
    /// A system call failed.
    pub(crate) fn new() -> Result<Self, Errno> {
        Ok(Self {
            epoll: epoll::create(CreateFlags::CLOEXEC)?,
            inner: Mutex::default(),
        })
    }

    /// A descriptor that is readable while a connection waits.
    pub(crate) fn waiting(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }

    /// Serves the socket of `repository` from now on, and returns its path. Does nothing if it is served already.
    ///
    /// # Errors
    /// It cannot be served, for the reason returned.
    pub(crate) fn open(&self, repository: &Repository) -> Result<PathBuf, NotServed> {
        let path = socket_path(repository)?;
        self.inner.lock().closed.remove(&path);
        let top = repository.work_tree.as_ref();
        let top = top.ok_or(NoSocketPath::NoWorkTree)?;
        self.open_unless_closed(&path, top, &repository.git_dir)?;
        Ok(path)
    }

    /// Serves the socket like [`Self::open`], if the configuration asks for it and nobody has asked to close it since. It is about
    /// the repository's own working tree, even if the client chose another one.
    pub(crate) fn open_if_wanted(&self, repository: &Repository) {
        let is_set = |key| matches!(repository.config.boolean(key), Ok(Some(true)));
        if is_set("vigil.fsmonitor")
            && is_set("core.fsmonitor")
            && let Ok(path) = socket_path(repository)
            && let Some(top) = own_top(repository)
        {
            // git connects there, and does its own work if nobody answers.
            let _ = self.open_unless_closed(&path, &top, &repository.git_dir);
        }
    }

    fn open_unless_closed(&self, path: &Path, top: &Path, git_dir: &Path) -> Result<(), NotServed> {
        self.shut_those(|socket| {
            socket.path == path && !(socket.is_in_place() && socket.is_of(top))
        });
        self.shut_moved_to(path);
        if self.is_served(path, top) {
            return Ok(());
        }
        match self.begin(path)? {
            true => self.finish(path, (top, git_dir), make(path)),
            false => Ok(()),
        }
    }

    /// Stops serving the socket that is at `path` because its repository was moved. Otherwise it would seem to be another
    /// process's.
    fn shut_moved_to(&self, path: &Path) {
        if let Ok(stat) = lstat_path(path) {
            let is_at_path = |socket: &GitSocket| socket.path != path && socket.id == id_of(&stat);
            self.shut_those(|socket| is_at_path(socket) && !socket.is_in_place());
        }
    }

    /// Whether the socket to which `path` leads, perhaps through links, is served for the working tree at `top`.
    fn is_served(&self, path: &Path, top: &Path) -> bool {
        let there = lstat_path(path).ok().map(|stat| id_of(&stat));
        let served = self.served();
        let mut served = served.iter().map(|(_, socket)| socket);
        served.any(|socket| there == Some(socket.id) && socket.is_in_place() && socket.is_of(top))
    }

    /// Returns whether the socket at `path` is to be made, and then passed to [`Self::finish`]. If not, it is served already.
    fn begin(&self, path: &Path) -> Result<bool, NotServed> {
        let mut inner = self.inner.lock();
        if inner.is_closed(path) {
            return Err(NotServed::Closed(path.to_owned()));
        }
        let is_served = inner.served.values().any(|socket| socket.path == path);
        if is_served || inner.begun.contains(path) {
            return Ok(false);
        }
        if inner.served.len().saturating_add(inner.begun.len()) >= SOCKETS_MAX {
            return Err(NotServed::TooMany);
        }
        inner.begun.insert(path.to_owned());
        Ok(true)
    }

    /// Serves the socket `made` for the working tree at `top` of the repository in `git_dir`.
    fn finish(
        &self,
        path: &Path,
        (top, git_dir): (&Path, &Path),
        made: Made,
    ) -> Result<(), NotServed> {
        let mut inner = self.inner.lock();
        inner.begun.remove(path);
        let (listener, file_id) = made?;
        let socket = GitSocket {
            listener,
            path: path.to_owned(),
            id: file_id,
            git_dir: git_dir.to_owned(),
            question: MonitorQuestion {
                directory: top.to_owned(),
                variables: Vec::new(),
                index: None,
                token: BString::default(),
            },
        };
        let id = inner.next;
        inner.next = id.wrapping_add(1);
        let data = EventData::new_u64(id);
        // It may have been closed while it was made.
        let added = match inner.is_closed(path) {
            true => Err(NotServed::Closed(path.to_owned())),
            false => {
                let added = epoll::add(&self.epoll, &socket.listener, data, EventFlags::IN);
                added.map_err(|source| NotServed::System {
                    path: path.to_owned(),
                    source,
                })
            }
        };
        match added {
            Ok(()) => {
                inner.served.insert(id, Arc::new(socket));
            }
            Err(_) => {
                drop(inner);
                socket.shut();
            }
        }
        added
    }

    /// Returns the path of the socket of `repository`, and whether it is served.
    ///
    /// # Errors
    /// The working tree has no socket.
    pub(crate) fn status(&self, repository: &Repository) -> Result<(PathBuf, bool), NotServed> {
        let path = socket_path(repository)?;
        let top = repository.work_tree.as_ref();
        let is_served = top.is_some_and(|top| self.is_served(&path, top));
        Ok((path, is_served))
    }

    /// The sockets that are served, with their numbers.
    fn served(&self) -> Vec<(u64, Arc<GitSocket>)> {
        let inner = self.inner.lock();
        let served = inner.served.iter();
        served.map(|(id, socket)| (*id, socket.clone())).collect()
    }

    /// Describes the sockets that are served, sorted by path.
    pub(crate) fn describe(&self) -> Vec<MonitorDescription> {
        let bytes = |path: &Path| BString::from(path.as_os_str().as_bytes());
        let served = self.served();
        let served = served.iter().filter(|(_, socket)| socket.is_in_place());
        let mut monitors: Vec<MonitorDescription> = served
            .map(|(_, socket)| MonitorDescription {
                socket: bytes(&socket.path),
                path: bytes(&socket.question.directory),
            })
            .collect();
        monitors.sort_by(|one, other| one.socket.cmp(&other.socket));
        monitors
    }

    /// Stops serving the socket at `path`. Returns whether it was served.
    pub(crate) fn close(&self, path: &Path) -> bool {
        self.inner.lock().closed.insert(path.to_owned());
        self.shut_those(|socket| socket.path == path) > 0
    }

    /// Stops serving `socket`.
    pub(crate) fn close_socket(&self, socket: &GitSocket) {
        self.close(&socket.path);
    }

    /// Closes sockets that nobody can find any more, because they were removed or replaced, and forgets which ones were closed
    /// in folders that are gone.
    pub(crate) fn drop_lost(&self) {
        self.shut_those(|socket| !socket.is_in_place());
        let closed = self.inner.lock().closed.clone();
        for path in closed {
            if path.parent().is_some_and(is_gone) {
                self.inner.lock().closed.remove(&path);
            }
        }
    }

    /// Closes and removes all sockets. A question that is still being answered opens none again.
    pub(crate) fn close_all(&self) {
        self.inner.lock().has_ended = true;
        self.shut_those(|_| true);
    }

    /// Closes the sockets for which `is_meant` holds, and returns their number.
    fn shut_those(&self, is_meant: impl Fn(&GitSocket) -> bool) -> usize {
        let meant = self.served().into_iter();
        let meant: Vec<u64> = meant
            .filter_map(|(id, socket)| is_meant(&socket).then_some(id))
            .collect();
        let mut inner = self.inner.lock();
        let taken = meant.into_iter();
        let taken = taken.filter_map(|id| Some((id, inner.served.remove(&id)?)));
        let taken: Vec<(u64, Arc<GitSocket>)> = taken.collect();
        drop(inner);
        let count = taken.len();
        for (id, socket) in taken {
            socket.shut();
            self.inner.lock().shut.insert(id, socket);
        }
        count
    }

    /// Whether connections may wait at sockets that are served no longer.
    pub(crate) fn are_waiting_at_shut(&self) -> bool {
        !self.inner.lock().shut.is_empty()
    }

    /// Accepts a waiting connection, which may be of another user, and returns it with that socket.
    ///
    /// # Errors
    /// As for [`accept_any`].
    pub(crate) fn accept(&self) -> Result<Option<(OwnedFd, Arc<GitSocket>)>, Errno> {
        let mut events = [Event {
            flags: EventFlags::empty(),
            data: EventData::new_u64(0),
        }];
        let at_once = rustix::event::Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        if !matches!(
            epoll::wait(&self.epoll, &mut events, Some(&at_once)),
            Ok(1..)
        ) {
            return Ok(None);
        }
        let [event] = events;
        let data = event.data;
        let id = data.u64();
        let inner = self.inner.lock();
        let socket = inner.served.get(&id).or_else(|| inner.shut.get(&id));
        let Some(socket) = socket.cloned() else {
            return Ok(None);
        };
        drop(inner);
        let accepted = accept_any(socket.listener.as_fd())?;
        if accepted.is_none() && self.inner.lock().shut.remove(&id).is_some() {
            let _ = epoll::delete(&self.epoll, &socket.listener);
        }
        Ok(accepted.map(|connection| (connection, socket)))
    }
}

/// Creates a listening socket at `path`, and returns it with its identity. A stale one, at which nobody listens, is replaced.
fn make(path: &Path) -> Made {
    let failed = |source| NotServed::System {
        path: path.to_owned(),
        source,
    };
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(failed(Errno::INVAL));
    };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = openat(CWD, above, flags, Mode::empty()).map_err(failed)?;
    // This address is short, however long the path is.
    let address = |name: &OsString| {
        let path = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
        SocketAddrUnix::new(path.join(name))
    };
    let is_left = match lstat_path(path) {
        Err(Errno::NOENT) => false,
        Err(error) => return Err(failed(error)),
        Ok(stat) if stat.file_type() != FileType::Socket => {
            return Err(NotServed::Taken(path.to_owned()));
        }
        Ok(_) => true,
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let new = || socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
    if is_left {
        let own = address(&name.to_owned()).map_err(failed)?;
        match connect(&new().map_err(failed)?, &own) {
            Err(Errno::CONNREFUSED | Errno::NOENT) => {}
            _ => return Err(NotServed::ServedByAnother(path.to_owned())),
        }
    }
    let mut temporary = name.to_owned();
    temporary.push(format!(".{}", std::process::id()));
    // The socket listens under a temporary name before it can be found.
    let made = || {
        let _ = unlinkat(&folder, &temporary, AtFlags::empty());
        let listener = new()?;
        bind(&listener, &address(&temporary)?)?;
        let mut there = above.to_owned();
        there.push(&temporary);
        let id = id_of(&lstat_path(&there)?);
        listen(&listener, BACKLOG)?;
        match is_left {
            true => renameat(&folder, &temporary, &folder, name)?,
            false => rename_new(&folder, &temporary, name)?,
        }
        Ok((listener, id))
    };
    made().map_err(|error| {
        let _ = unlinkat(&folder, &temporary, AtFlags::empty());
        match error {
            Errno::EXIST => NotServed::ServedByAnother(path.to_owned()),
            error => failed(error),
        }
    })
}

/// Renames a file in `folder`, unless there is one of the name `to`.
///
/// # Errors
/// `EXIST`: there is one. A system call failed: then the file may have both names.
fn rename_new(folder: &OwnedFd, from: &OsStr, to: &OsStr) -> Result<(), Errno> {
    match renameat_with(folder, from, folder, to, RenameFlags::NOREPLACE) {
        // Some file systems cannot, such as OpenZFS before 2.2.
        Err(Errno::INVAL | Errno::NOSYS) => {
            linkat(folder, from, folder, to, AtFlags::empty())?;
            unlinkat(folder, from, AtFlags::empty())
        }
        renamed => renamed,
    }
}

/// The reply about the socket at `path`.
pub(crate) fn line(path: &Path, said: &str) -> Vec<u8> {
    let path = path.as_os_str().as_encoded_bytes().as_bstr();
    [said.as_bytes(), b" ", path, b"\n"].concat()
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_socket_that_is_closed_while_it_is_made_is_not_served() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let sockets = GitSockets::new().unwrap();
        assert!(sockets.begin(&path).unwrap());
        let made = make(&path);
        assert!(lstat_path(&path).is_ok());
        sockets.close(&path);
        let finished = sockets.finish(&path, (folder.path(), folder.path()), made);
        assert!(matches!(finished, Err(NotServed::Closed(_))));
        assert!(lstat_path(&path).is_err());
        assert_eq!(sockets.describe(), []);
    }

    /// Serves a socket at `path`.
    fn serve(sockets: &GitSockets, path: &Path) {
        assert!(sockets.begin(path).unwrap());
        let made = make(path);
        let folder = path.parent().unwrap();
        sockets.finish(path, (folder, folder), made).unwrap();
    }

    #[test]
    fn those_who_wait_when_a_socket_is_closed_are_answered() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let sockets = GitSockets::new().unwrap();
        serve(&sockets, &path);
        let _waiting = [1, 2].map(|_| UnixStream::connect(&path).unwrap());
        assert!(sockets.close(&path));
        for _ in 0..2 {
            assert!(sockets.are_waiting_at_shut());
            assert!(sockets.accept().unwrap().is_some());
        }
        assert!(sockets.accept().unwrap().is_none());
        assert!(!sockets.are_waiting_at_shut());
    }

    #[test]
    fn what_was_closed_is_forgotten_along_with_its_folder() {
        let [kept, gone] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let [at_kept, at_gone] = [&kept, &gone].map(|folder| folder.path().join("socket"));
        let sockets = GitSockets::new().unwrap();
        for path in [&at_kept, &at_gone] {
            assert!(!sockets.close(path));
        }
        gone.close().unwrap();
        sockets.drop_lost();
        assert!(matches!(sockets.begin(&at_kept), Err(NotServed::Closed(_))));
        assert!(sockets.begin(&at_gone).unwrap());
    }

    #[test]
    fn no_socket_is_opened_once_all_are_closed() {
        let folder = tempfile::tempdir().unwrap();
        let [path, begun] = ["socket", "begun"].map(|name| folder.path().join(name));
        let sockets = GitSockets::new().unwrap();
        assert!(sockets.begin(&begun).unwrap());
        let made = make(&begun);
        sockets.close_all();
        let finished = sockets.finish(&begun, (folder.path(), folder.path()), made);
        assert!(matches!(finished, Err(NotServed::Closed(_))));
        assert!(lstat_path(&begun).is_err());
        assert!(matches!(sockets.begin(&path), Err(NotServed::Closed(_))));
    }

    #[test]
    fn a_socket_that_was_moved_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let [path, moved] = ["socket", "moved"].map(|name| folder.path().join(name));
        let sockets = GitSockets::new().unwrap();
        serve(&sockets, &path);
        std::fs::rename(&path, &moved).unwrap();
        sockets.shut_moved_to(&moved);
        serve(&sockets, &moved);
        let served = sockets.describe();
        assert_eq!(served.len(), 1, "{served:?}");
        // One that is in its place stays.
        sockets.shut_moved_to(&moved);
        assert_eq!(sockets.describe(), served);
    }

    #[test]
    fn a_socket_that_cannot_be_waited_at_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let sockets = GitSockets {
            epoll: std::fs::File::open(folder.path()).unwrap().into(),
            inner: Mutex::default(),
        };
        assert!(sockets.begin(&path).unwrap());
        let made = make(&path);
        let finished = sockets.finish(&path, (folder.path(), folder.path()), made);
        assert!(matches!(finished, Err(NotServed::System { .. })));
        assert!(lstat_path(&path).is_err());
    }
}
