//! By what a process sees files: the same path may be another file, or another's, in a container or with other groups.

use std::path::Path;

use bstr::BString;
use rustix::process::{getegid, getgroups};
use vigil_linux::stat::stat_path;
use vigil_model::bytes::Writer;

/// What must be the same of two processes of one user for a path to lead both to the same file, with the same rights: the
/// name spaces of mounts and users, the root directory, and the groups. `None` where that cannot be told.
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
