//! The view that a process has of the file system: in a container, or with other groups, the same path may lead to
//! another file, or be denied.

use std::fs;
use std::path::Path;

use bstr::BString;
use rustix::process::{getegid, getgroups};
use rustix::thread::{CapabilitySet, capabilities, no_new_privs};
use vigil_linux::stat::{mount_id, stat_path};
use vigil_model::bytes::ByteWriter;

/// The capabilities that open files to a process which may otherwise not read them.
const READING: CapabilitySet = CapabilitySet::DAC_OVERRIDE.union(CapabilitySet::DAC_READ_SEARCH);

/// The rights of a process that its user does not decide.
struct Rights {
    effective_group: u32,
    groups: Vec<u32>,
    /// Its effective ones.
    capabilities: u64,
    /// Whether it can never gain rights. The rules of Landlock, which may deny it any file, cannot be read, but this goes with them.
    no_new_privs: bool,
}

/// What two processes of one user must share for each path to lead them to the same file with the same rights: the mount
/// and user name spaces, the root directory by the same mount, the groups, and whether they are confined. `None` if it cannot
/// be determined.
pub fn of_process() -> Option<BString> {
    let groups = getgroups().ok()?;
    let rights = Rights {
        effective_group: getegid().as_raw(),
        groups: groups.iter().map(|group| group.as_raw()).collect(),
        capabilities: capabilities(None).ok()?.effective.bits(),
        no_new_privs: no_new_privs().ok()?,
    };
    view(Path::new("/proc/self"), rights)
}

/// The same of the process with the id `pid`.
pub fn of_other_process(pid: i32) -> Option<BString> {
    let folder = Path::new("/proc").join(pid.to_string());
    let status = fs::read(folder.join("status")).ok()?;
    // The name of the program, which is in there too, may be any bytes.
    let status = String::from_utf8_lossy(&status);
    let value = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
    let ids = |name: &str| -> Option<Vec<u32>> {
        let ids = value(name)?.split_ascii_whitespace();
        ids.map(|id| id.parse().ok()).collect()
    };
    let rights = Rights {
        // The real one comes first, and the effective one second.
        effective_group: ids("Gid:")?.get(1).copied()?,
        groups: ids("Groups:")?,
        capabilities: u64::from_str_radix(value("CapEff:")?.trim(), 16).ok()?,
        no_new_privs: ids("NoNewPrivs:")? != [0],
    };
    view(&folder, rights)
}

/// The view of a process with these rights, whose `folder` is that in `/proc`.
fn view(folder: &Path, rights: Rights) -> Option<BString> {
    let mut view = ByteWriter::default();
    for name in ["ns/mnt", "ns/user", "root"] {
        let stat = stat_path(&folder.join(name)).ok()?;
        view.array(&stat.dev.to_le_bytes());
        view.array(&stat.ino.to_le_bytes());
    }
    // By another mount of the same root directory, which a process may have been given by chroot(2), other file systems may lie
    // below. A very old kernel does not tell.
    let root = mount_id(&folder.join("root")).ok().flatten();
    view.array(&root.unwrap_or_default().to_le_bytes());
    view.array(&(rights.capabilities & READING.bits()).to_le_bytes());
    view.u32(rights.no_new_privs.into());
    view.u32(rights.effective_group);
    let mut groups = rights.groups;
    groups.sort_unstable();
    for group in groups {
        view.u32(group);
    }
    Some(view.0.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_has_one_view() {
        assert!(of_process().is_some());
        assert_eq!(of_process(), of_process());
        let own = i32::try_from(std::process::id()).unwrap();
        assert_eq!(of_other_process(own), of_process());
    }
}
