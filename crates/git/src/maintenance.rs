//! How well a repository's own directory is maintained: what accumulates there until git's housekeeping runs, and which of git's
//! processes run beside Vigil. Everything is counted up to a bound, since a repository may be anybody's, and nothing is changed.

use std::ffi::CString;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bstr::ByteSlice;
use rustix::fs::CWD;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use vigil_linux::dir::bounded::{Budget, each_entry};
use vigil_linux::dir::{EntryKind, open_dir_at};
use vigil_linux::stat::lstat_path;

use crate::repository::Repository;

/// A number that may be incomplete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// How many were found.
    pub number: u64,
    /// Whether there may be more.
    pub is_incomplete: bool,
}

impl Count {
    /// Multiplies the number by `factor`.
    fn times(self, factor: u64) -> Self {
        Self {
            number: self.number.saturating_mul(factor),
            ..self
        }
    }
}

/// git's built-in file system monitor for one working tree (git-fsmonitor--daemon(1)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Monitor {
    /// It never ran, or ended cleanly.
    Absent,
    /// It is running.
    Runs,
    /// Its socket still exists, but nobody answers there.
    StaleSocket,
}

/// The contents of a repository's directory, as far as they need maintenance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Maintenance {
    /// Loose references.
    pub loose_refs: Count,
    /// Loose objects, estimated: only one of the 256 directories is counted, as git does before its housekeeping.
    pub loose_objects: Count,
    /// Packs.
    pub packs: Count,
    /// The total length of the counted packs' indexes, in bytes.
    pub pack_indexes_len: u64,
    /// Whether there is a commit-graph.
    pub has_commit_graph: bool,
    /// The index file: the version in its first bytes, and its length in bytes; `None` if there is none.
    pub index: Option<(u32, u64)>,
    /// git's own monitor.
    pub monitor: Monitor,
}

/// The depth to which references are looked for.
const REFS_DEPTH_MAX: usize = 64;

impl Maintenance {
    /// Counts for `repository`, each kind of thing with its own `budget`.
    pub fn of(repository: &Repository, budget: &Budget) -> Self {
        let objects = &repository.object_dir;
        let (packs, pack_indexes_len) = packs(&objects.join("pack"), &mut budget.clone());
        let has = |name: &str| lstat_path(&objects.join(name)).is_ok();
        Self {
            loose_refs: loose_refs(&repository.common_ref_dir.join("refs"), &mut budget.clone()),
            loose_objects: loose_objects(&objects.join("17"), &mut budget.clone()),
            packs,
            pack_indexes_len,
            has_commit_graph: has("info/commit-graph")
                || has("info/commit-graphs/commit-graph-chain"),
            index: index(&repository.index_path),
            monitor: monitor(&repository.git_dir.join("fsmonitor--daemon.ipc")),
        }
    }
}

fn open(folder: &Path) -> Option<OwnedFd> {
    let name = CString::new(folder.as_os_str().as_bytes()).ok()?;
    open_dir_at(CWD, &name).ok()
}

/// Counts the files in and below `folder`.
fn loose_refs(folder: &Path, budget: &mut Budget) -> Count {
    let mut count = Count::default();
    let mut pending: Vec<(OwnedFd, Vec<CString>)> = Vec::new();
    let mut current = open(folder);
    while let Some(dir) = current.take() {
        let mut below = Vec::new();
        let read = each_entry(dir.as_fd(), budget, |name, kind| match kind {
            EntryKind::File => count.number = count.number.saturating_add(1),
            EntryKind::Dir => below.push(name.to_owned()),
            _ => {}
        });
        count.is_incomplete |= read != Ok(true);
        if budget.is_spent() {
            break;
        }
        // This also limits how many directories are open at once.
        match pending.len() < REFS_DEPTH_MAX {
            true => pending.push((dir, below)),
            false => count.is_incomplete |= !below.is_empty(),
        }
        while let Some((parent, below)) = pending.last_mut() {
            match below.pop() {
                None => drop(pending.pop()),
                Some(name) => {
                    current = open_dir_at(parent.as_fd(), &name).ok();
                    if current.is_some() {
                        break;
                    }
                }
            }
        }
    }
    count
}

/// Estimates the loose objects of the whole database from one of the 256 directories.
fn loose_objects(folder: &Path, budget: &mut Budget) -> Count {
    let mut count = Count::default();
    let Some(dir) = open(folder) else {
        return count;
    };
    let read = each_entry(dir.as_fd(), budget, |name, _| {
        let is_object = name.to_bytes().iter().all(u8::is_ascii_hexdigit);
        count.number = count.number.saturating_add(is_object.into());
    });
    count.is_incomplete = read != Ok(true);
    count.times(256)
}

/// Counts the packs, and adds up the lengths of their indexes.
fn packs(folder: &Path, budget: &mut Budget) -> (Count, u64) {
    let (mut count, mut len) = (Count::default(), 0_u64);
    let Some(dir) = open(folder) else {
        return (count, len);
    };
    let read = each_entry(dir.as_fd(), budget, |name, _| {
        if name.to_bytes().ends_with(b".pack") {
            count.number = count.number.saturating_add(1);
        }
        if name.to_bytes().ends_with(b".idx") {
            let stat = vigil_linux::stat::stat_at(dir.as_fd(), name);
            len = len.saturating_add(stat.map_or(0, |stat| stat.size));
        }
    });
    count.is_incomplete = read != Ok(true);
    (count, len)
}

/// Returns the version and length of the index.
fn index(path: &Path) -> Option<(u32, u64)> {
    let stat = lstat_path(path).ok().filter(|stat| stat.is_file())?;
    let mut head = [0; 8];
    let mut file: File = vigil_stamp::file::open(path).ok()?;
    file.read_exact(&mut head).ok()?;
    let [b'D', b'I', b'R', b'C', version @ ..] = head else {
        return None;
    };
    Some((u32::from_be_bytes(version), stat.size))
}

/// Tells what is at the other end of the socket, without sending anything. A socket of another user, or a link, counts as none.
fn monitor(socket: &Path) -> Monitor {
    const S_IFMT: u32 = 0o170_000;
    const S_IFSOCK: u32 = 0o140_000;
    let uid = rustix::process::geteuid().as_raw();
    let is_own =
        lstat_path(socket).is_ok_and(|stat| stat.mode & S_IFMT == S_IFSOCK && stat.uid == uid);
    if !is_own {
        return Monitor::Absent;
    }
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let connected = || {
        // If the path is too long for an address, the socket is reached by its directory's descriptor.
        let folder = open(socket.parent().ok_or(Errno::NOENT)?).ok_or(Errno::NOENT)?;
        let name = socket.file_name().ok_or(Errno::NOENT)?;
        let by_folder = [
            format!(
                "/proc/self/fd/{}/",
                std::os::fd::AsRawFd::as_raw_fd(&folder)
            )
            .as_bytes(),
            name.as_bytes(),
        ]
        .concat();
        let address = SocketAddrUnix::new(socket)
            .or_else(|_| SocketAddrUnix::new(by_folder.to_path_lossy().as_ref()))?;
        let end = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        connect(&end, &address)
    };
    match connected() {
        Err(Errno::CONNREFUSED) => Monitor::StaleSocket,
        // EAGAIN means that the queue of waiting connections is full.
        Ok(()) | Err(Errno::AGAIN) => Monitor::Runs,
        Err(_) => Monitor::Absent,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::net::UnixListener;
    use std::time::Duration;

    use vigil_testkit::sandbox::Sandbox;

    use super::*;
    use crate::environment::Environment;
    use crate::repository::discover;

    fn maintenance(sandbox: &Sandbox, steps: u64) -> Maintenance {
        let environment = Environment::new(sandbox.environment(), sandbox.top());
        let repository = discover(&environment, &sandbox.top()).unwrap();
        Maintenance::of(&repository, &Budget::new(steps, Duration::from_secs(3600)))
    }

    fn count(number: u64) -> Count {
        let is_incomplete = false;
        Count {
            number,
            is_incomplete,
        }
    }

    #[test]
    fn what_piles_up_is_counted_until_it_is_tidied_up() {
        let sandbox = Sandbox::new().with_five_commits();
        for name in ["a", "b/c", "b/d/e"] {
            sandbox.git(["branch", name]);
        }
        let objects = sandbox.git_dir().join("objects");
        fs::create_dir_all(objects.join("17")).unwrap();
        for name in ["0".repeat(38), "1".repeat(38), "tmp_obj_x".to_owned()] {
            fs::write(objects.join("17").join(name), "").unwrap();
        }
        let found = maintenance(&sandbox, 1000);
        assert_eq!(found.loose_refs, count(4));
        assert_eq!(found.loose_objects.number % 256, 0);
        assert!(found.loose_objects.number >= 512);
        assert_eq!((found.packs, found.pack_indexes_len), (count(0), 0));
        assert!(!found.has_commit_graph);
        let len = fs::metadata(sandbox.git_dir().join("index")).unwrap().len();
        assert_eq!(found.index, Some((2, len)));

        fs::remove_dir_all(objects.join("17")).unwrap();
        sandbox.git(["gc", "-q"]);
        sandbox.git(["commit-graph", "write", "--reachable"]);
        sandbox.git(["update-index", "--index-version", "4"]);
        let found = maintenance(&sandbox, 1000);
        assert_eq!(found.loose_refs, count(0));
        assert_eq!(found.loose_objects, count(0));
        assert_eq!(found.packs, count(1));
        assert!(found.pack_indexes_len > 1000);
        assert!(found.has_commit_graph);
        assert_eq!(found.index.map(|(version, _)| version), Some(4));
    }

    #[test]
    fn a_folder_without_end_is_counted_to_the_bound() {
        let sandbox = Sandbox::new();
        let refs = sandbox.git_dir().join("refs/heads");
        let mut deep = refs.clone();
        for _ in 0..200 {
            deep.push("d");
        }
        fs::create_dir_all(&deep).unwrap();
        fs::write(deep.join("f"), "").unwrap();
        let found = maintenance(&sandbox, 1000).loose_refs;
        assert!(found.is_incomplete && found.number == 0, "{found:?}");
        for number in 0..50 {
            fs::write(refs.join(number.to_string()), "").unwrap();
        }
        let found = maintenance(&sandbox, 20).loose_refs;
        assert!(found.is_incomplete && found.number <= 20, "{found:?}");
    }

    #[test]
    fn what_is_no_index_and_no_socket_is_none() {
        let sandbox = Sandbox::new();
        let socket = sandbox.git_dir().join("fsmonitor--daemon.ipc");
        fs::write(sandbox.git_dir().join("index"), "garbage, and more").unwrap();
        fs::write(&socket, "").unwrap();
        let found = maintenance(&sandbox, 1000);
        assert_eq!((found.index, found.monitor), (None, Monitor::Absent));
        fs::remove_file(&socket).unwrap();
        let listener = UnixListener::bind(&socket).unwrap();
        assert_eq!(maintenance(&sandbox, 1000).monitor, Monitor::Runs);
        // Another test may be starting a program right now, which holds our descriptors for a moment.
        rustix::net::shutdown(&listener, rustix::net::Shutdown::Both).unwrap();
        drop(listener);
        assert_eq!(maintenance(&sandbox, 1000).monitor, Monitor::StaleSocket);
        let other = sandbox.path_from_root("other.sock");
        let _listener = UnixListener::bind(&other).unwrap();
        fs::remove_file(&socket).unwrap();
        std::os::unix::fs::symlink(&other, &socket).unwrap();
        assert_eq!(maintenance(&sandbox, 1000).monitor, Monitor::Absent);
    }
}
