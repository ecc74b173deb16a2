//! The limits of a user and a process, and how much of them is in use, as proc(5) reports them.

use std::collections::HashSet;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hasher};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::process::{Resource, getrlimit};

use crate::dir::bounded::Budget;

/// The mount point of proc(5).
pub const PROC: &str = "/proc";

/// The number of files that this process may have open (`RLIMIT_NOFILE` in getrlimit(2)). `None` if there is no
/// limit.
pub fn open_files_max() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}

/// A limit, and the sysctl(8) variable that sets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// How much is allowed.
    pub most: u64,
    /// The name of the variable.
    pub variable: &'static str,
}

/// The inotify(7) limits of a user. `None` if the system does not report one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InotifyLimits {
    /// Watches per user: the lower of the system's limit and that of the user namespace (user_namespaces(7)).
    pub watches: Option<Limit>,
    /// Instances per user, limited in the same way.
    pub instances: Option<Limit>,
    /// Events queued in one instance.
    pub queued_events: Option<u64>,
}

impl InotifyLimits {
    /// Reads the limits from the proc(5) at `proc`.
    pub fn of(proc: &Path) -> Self {
        let value = |variable: &str| {
            let path = proc.join("sys").join(variable.replace('.', "/"));
            fs::read_to_string(path).ok()?.trim().parse().ok()
        };
        let lower = |variables: [&'static str; 2]| {
            let limits = variables.into_iter().filter_map(|variable| {
                let most = value(variable)?;
                Some(Limit { most, variable })
            });
            limits.min_by_key(|limit| limit.most)
        };
        Self {
            watches: lower(["fs.inotify.max_user_watches", "user.max_inotify_watches"]),
            instances: lower([
                "fs.inotify.max_user_instances",
                "user.max_inotify_instances",
            ]),
            queued_events: value("fs.inotify.max_queued_events"),
        }
    }
}

/// The inotify(7) resources that the processes of a user have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InotifyUse {
    /// Watches.
    pub watches: u64,
    /// Instances.
    pub instances: u64,
    /// Whether all processes were examined. If not, there may be more.
    pub is_whole: bool,
}

/// The start of a line that describes a watch.
const WATCH: &[u8] = b"inotify wd:";

impl InotifyUse {
    /// Counts the resources of the user `uid` in the proc(5) at `proc`. Each descriptor and each watch costs a step
    /// of `budget`.
    pub fn of(proc: &Path, uid: u32, budget: &mut Budget) -> Self {
        let mut found = Self::default();
        let processes = fs::read_dir(proc).into_iter().flatten().flatten();
        for process in processes {
            let name = process.file_name();
            let is_process = name.as_encoded_bytes().iter().all(u8::is_ascii_digit);
            let folder = process.path();
            let is_own = is_process && fs::metadata(&folder).is_ok_and(|stat| stat.uid() == uid);
            if !is_own {
                continue;
            }
            // Several descriptors of one instance list the same watches.
            let mut seen = HashSet::new();
            let descriptors = fs::read_dir(folder.join("fd"));
            for descriptor in descriptors.into_iter().flatten().flatten() {
                if !budget.step() {
                    return found;
                }
                let target = fs::read_link(descriptor.path());
                if target.is_ok_and(|target| target == Path::new("anon_inode:inotify")) {
                    let info = folder.join("fdinfo").join(descriptor.file_name());
                    let info = File::open(info).map(|info| watches_in(info, budget));
                    let (watches, digest) = info.unwrap_or_default();
                    if watches == 0 || seen.insert(digest) {
                        found.instances = found.instances.saturating_add(1);
                        found.watches = found.watches.saturating_add(watches);
                    }
                }
            }
        }
        found.is_whole = !budget.is_spent();
        found
    }
}

/// Returns the number of lines in `info` that describe a watch, and a digest of these lines.
fn watches_in(mut info: impl Read, budget: &mut Budget) -> (u64, u64) {
    let mut watches = 0;
    let mut digest = DefaultHasher::new();
    let mut is_watch = false;
    let mut buffer = [0; 8192];
    // How much of `WATCH` the current line matches so far. `None` if the rest of the line does not matter.
    let mut matched = Some(0);
    loop {
        let bytes = match info.read(&mut buffer) {
            Ok(0) | Err(_) => return (watches, digest.finish()),
            Ok(len) => buffer.get(..len).unwrap_or_default(),
        };
        for byte in bytes {
            is_watch &= *byte != b'\n';
            if is_watch {
                digest.write_u8(*byte);
            }
            matched = match matched {
                _ if *byte == b'\n' => Some(0),
                Some(at) if WATCH.get(at) == Some(byte) => Some(at.saturating_add(1)),
                _ => None,
            };
            if matched == Some(WATCH.len()) {
                if !budget.step() {
                    return (watches, digest.finish());
                }
                watches = watches.saturating_add(1);
                is_watch = true;
                matched = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::time::Duration;

    use super::*;

    fn budget(steps: u64) -> Budget {
        Budget::new(steps, Duration::from_secs(3600))
    }

    /// A folder like proc(5), with a process that has one inotify instance with `watches` watches.
    fn proc(watches: usize) -> tempfile::TempDir {
        let proc = tempfile::tempdir().unwrap();
        let process = proc.path().join("17");
        for folder in ["fd", "fdinfo"] {
            fs::create_dir_all(process.join(folder)).unwrap();
        }
        symlink("/dev/null", process.join("fd/0")).unwrap();
        symlink("anon_inode:inotify", process.join("fd/3")).unwrap();
        let line = "inotify wd:1 ino:2 sdev:3 mask:inotify wd: ignored_mask:0\n";
        let text = format!("pos:\t0\nflags:\t00\n{}", line.repeat(watches));
        fs::write(process.join("fdinfo/3"), text).unwrap();
        fs::create_dir_all(proc.path().join("self/fd")).unwrap();
        symlink("anon_inode:inotify", proc.path().join("self/fd/3")).unwrap();
        proc
    }

    #[test]
    fn watches_are_counted_however_their_lines_are_cut() {
        let proc = proc(1000);
        let uid = fs::metadata(proc.path()).unwrap().uid();
        let all = InotifyUse {
            watches: 1000,
            instances: 1,
            is_whole: true,
        };
        assert_eq!(InotifyUse::of(proc.path(), uid, &mut budget(2000)), all);
        let others = InotifyUse::of(proc.path(), uid.wrapping_add(1), &mut budget(2000));
        let nothing = InotifyUse {
            is_whole: true,
            ..InotifyUse::default()
        };
        assert_eq!(others, nothing);
        let some = InotifyUse::of(proc.path(), uid, &mut budget(500));
        assert!(!some.is_whole && some.watches < 500, "{some:?}");
    }

    #[test]
    fn an_instance_with_two_descriptors_counts_once() {
        let proc = proc(10);
        let uid = fs::metadata(proc.path()).unwrap().uid();
        let count = || {
            let found = InotifyUse::of(proc.path(), uid, &mut budget(2000));
            (found.instances, found.watches)
        };
        assert_eq!(count(), (1, 10));
        let process = proc.path().join("17");
        let info = fs::read_to_string(process.join("fdinfo/3")).unwrap();
        let copy = |name: &str, info: &str| {
            symlink("anon_inode:inotify", process.join("fd").join(name)).unwrap();
            fs::write(process.join("fdinfo").join(name), info).unwrap();
        };
        // The flags of a descriptor are its own.
        copy("4", &format!("flags:\t0\n{info}"));
        assert_eq!(count(), (1, 10));
        copy("5", "flags:\t0\ninotify wd:1 ino:99\n");
        assert_eq!(count(), (2, 11));
    }

    #[test]
    fn a_watch_of_this_process_is_seen() {
        let queue = crate::inotify::Queue::new().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let open = File::open(folder.path()).unwrap();
        queue.watch(std::os::fd::AsFd::as_fd(&open)).unwrap();
        let user = rustix::process::geteuid().as_raw();
        let found = InotifyUse::of(Path::new(PROC), user, &mut budget(1 << 20));
        assert!(found.instances >= 1 && found.watches >= 1, "{found:?}");
    }

    #[test]
    fn limits_are_read_and_missing_ones_are_not_known() {
        let proc = tempfile::tempdir().unwrap();
        assert_eq!(InotifyLimits::of(proc.path()), InotifyLimits::default());
        let folder = proc.path().join("sys/fs/inotify");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("max_user_watches"), "8192\n").unwrap();
        fs::write(folder.join("max_user_instances"), "many\n").unwrap();
        let watches = || InotifyLimits::of(proc.path()).watches;
        let of_system = Limit {
            most: 8192,
            variable: "fs.inotify.max_user_watches",
        };
        assert_eq!(watches(), Some(of_system));
        assert_eq!(InotifyLimits::of(proc.path()).instances, None);
        let of_namespace = proc.path().join("sys/user/max_inotify_watches");
        fs::create_dir_all(of_namespace.parent().unwrap()).unwrap();
        for (text, most) in [("2147483647\n", 8192), ("8192\n", 8192), ("10\n", 10)] {
            fs::write(&of_namespace, text).unwrap();
            assert_eq!(watches().unwrap().most, most);
        }
        assert_eq!(watches().unwrap().variable, "user.max_inotify_watches");
        assert!(open_files_max().is_none_or(|most| most > 0));
    }
}
