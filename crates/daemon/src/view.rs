//! The view that a process has of the file system: in a container, or with other groups, the same path may lead to
//! another file, or be denied.

use std::path::Path;

use bstr::BString;
use rustix::process::{getegid, getgroups};
use vigil_linux::stat::stat_path;
use vigil_model::bytes::Writer;

/// What two processes of one user must share for each path to lead them to the same file with the same rights: the mount
/// and user name spaces, the root directory and the groups. `None` if it cannot be determined.
pub fn of_process() -> Option<BString> {
    let mut view = Writer::default();
    for path in ["/proc/self/ns/mnt", "/proc/self/ns/user", "/"] {
        let stat = stat_path(Path::new(path)).ok()?;
        view.array(&stat.dev.to_le_bytes());
        view.array(&stat.ino.to_le_bytes());
    }
    view.u32(getegid().as_raw());
    let mut groups: Vec<u32> = getgroups()
        .ok()?
        .iter()
        .map(|group| group.as_raw())
        .collect();
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
    }
}
