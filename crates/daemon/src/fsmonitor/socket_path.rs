//! The path of the socket at which git looks for its builtin monitor.

use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};
use sha1::{Digest, Sha1};
use vigil_git::repository::Repository;
use vigil_linux::{Errno, filesystem};
use vigil_stamp::paths::path_of;

/// The name of the socket in a repository.
const SOCKET: &str = "fsmonitor--daemon.ipc";

/// File systems where git puts no socket in repositories: CIFS, SMB, SMB2, NFS, AFS, Coda, FUSE.
const REMOTE: [u32; 7] = [
    0xff53_4d42,
    0x517b,
    0xfe53_4d42,
    0x6969,
    0x5346_414f,
    0x7375_7245,
    0x6573_5546,
];

/// Why git would look for no socket.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoSocketPath {
    #[error("there is no working tree")]
    NoWorkTree,
    #[error(
        "the working tree is on a file system of another machine, and fsmonitor.allowRemote is not set"
    )]
    Remote,
    #[error("git supports no socket on the file system of {}", .0.display())]
    NoSockets(PathBuf),
    #[error("cannot look at {}: {}", path.display(), vigil_linux::errno::text(*source))]
    Unknown { path: PathBuf, source: Errno },
}

/// Returns the path to which git connects for `repository`.
pub(crate) fn socket_path(repository: &Repository) -> Result<PathBuf, NoSocketPath> {
    let top = repository
        .work_tree
        .clone()
        .ok_or(NoSocketPath::NoWorkTree)?;
    let allows_remote = repository.config.boolean("fsmonitor.allowRemote");
    if is_remote(&top)? && !matches!(allows_remote, Ok(Some(true))) {
        return Err(NoSocketPath::Remote);
    }
    if !is_remote(&repository.git_dir)? {
        return Ok(repository.git_dir.join(SOCKET));
    }
    let home = || {
        repository
            .environment
            .get("HOME")
            .map(|home| path_of(home).to_owned())
    };
    let folder = match repository.config.path("fsmonitor.socketDir") {
        Ok(Some(folder)) if !folder.as_os_str().is_empty() => Some(folder),
        _ => home(),
    };
    let folder = folder.ok_or(NoSocketPath::NoSockets(repository.git_dir.clone()))?;
    let digest = Sha1::digest(top.as_os_str().as_bytes());
    let name: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    match is_remote(&folder)? {
        true => Err(NoSocketPath::NoSockets(folder)),
        false => Ok(folder.join(format!(".git-fsmonitor-{name}"))),
    }
}

fn is_remote(path: &Path) -> Result<bool, NoSocketPath> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let kind = openat(CWD, path, flags, Mode::empty())
        .and_then(|folder| filesystem::kind_of(folder.as_fd()));
    match kind {
        Ok(kind) => Ok(REMOTE.contains(&kind)),
        Err(source) => Err(NoSocketPath::Unknown {
            path: path.to_owned(),
            source,
        }),
    }
}
