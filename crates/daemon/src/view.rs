//! The view that a process has of the file system: in a container, or with other groups, the same path may lead to
//! another file, or be denied.

use std::fs;
use std::path::Path;

use bstr::BString;
use rustix::process::{getegid, getgroups};
use vigil_linux::stat::stat_path;
use vigil_model::bytes::Writer;

/// What two processes of one user must share for each path to lead them to the same file with the same rights: the mount
/// and user name spaces, the root directory and the groups. `None` if it cannot be determined.
pub fn of_process() -> Option<BString> {
    let groups = getgroups().ok()?;
    let groups = groups.iter().map(|group| group.as_raw()).collect();
    view(Path::new("/proc/self"), getegid().as_raw(), groups)
}

/// The same of the process with the id `pid`.
pub fn of_other_process(pid: i32) -> Option<BString> {
    let folder = Path::new("/proc").join(pid.to_string());
    let status = fs::read(folder.join("status")).ok()?;
    // The name of the program, which is in there too, may be any bytes.
    let status = String::from_utf8_lossy(&status);
    let ids = |name: &str| -> Option<Vec<u32>> {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        let ids = line.split_ascii_whitespace().map(|id| id.parse().ok());
        ids.collect()
    };
    // The real one comes first, and the effective one second.
    let effective = ids("Gid:")?.get(1).copied()?;
    view(&folder, effective, ids("Groups:")?)
}

/// The view of a process with these groups, whose `folder` is that in `/proc`.
fn view(folder: &Path, effective_group: u32, mut groups: Vec<u32>) -> Option<BString> {
    let mut view = Writer::default();
    for name in ["ns/mnt", "ns/user", "root"] {
        let stat = stat_path(&folder.join(name)).ok()?;
        view.array(&stat.dev.to_le_bytes());
        view.array(&stat.ino.to_le_bytes());
    }
    view.u32(effective_group);
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
