//! Small directories, looked at from the directory above.

use std::ffi::CStr;

use vigil_linux::stat::stat_at;
use vigil_model::path::{file_name, has_impossible_component, join};

use super::open::{CName, OpenDir};
use super::position::{CurrentDir, DirPosition};
use super::walk::Walk;

/// With more files, it is cheaper to open the directory than to look each of them up by way of it.
const FILES_MAX: usize = 8;

impl Walk<'_> {
    /// Whether the stat data of all tracked files in the directory at `position` says that they are as recorded, where that can be
    /// seen from `parent`. Only directories that are small and need not be listed are looked at. Any other must be opened.
    pub(super) fn is_clean_from_above(&self, position: &DirPosition, parent: &OpenDir<'_>) -> bool {
        let scan = self.scan;
        let is_plain = scan.focus.is_none() && scan.filter.is_none() && scan.watch.is_none();
        if !is_plain || !self.wants_no_more_untracked() || self.wants_no_more_tracked() {
            return false;
        }
        let here = CurrentDir::read(position, scan.tracked_files);
        let directory = &here.directory;
        let has_few_files = (1..=FILES_MAX).contains(&directory.files_len());
        if !has_few_files || directory.subdirs().next().is_some() {
            return false;
        }
        let dir_name = file_name(here.path);
        let is_dir = CName::new(dir_name)
            .and_then(|name| stat_at(parent.fd(), name.as_c_str()).ok())
            .is_some_and(|stat| stat.is_dir());
        if !is_dir {
            return false;
        }
        let mut path = Vec::with_capacity(512);
        let are_clean = directory.files_from(0).all(|(_, file)| {
            if file.is_side()
                || file.is_left_out()
                || file.is_assume_valid()
                || has_impossible_component(file.name())
            {
                return false;
            }
            path.clear();
            path.extend_from_slice(dir_name);
            path.push(b'/');
            path.extend_from_slice(file.c_name().to_bytes_with_nul());
            CStr::from_bytes_until_nul(&path)
                .ok()
                .and_then(|path| stat_at(parent.fd(), path).ok())
                .is_some_and(|stat| {
                    let path_from_top = || join(here.path, file.name());
                    let verdict = scan.system.compare_stat(&file, &stat, &path_from_top);
                    verdict.is_ok()
                })
        });
        if are_clean && let Some(progress) = scan.progress {
            progress.add(directory.files_len());
        }
        are_clean
    }
}
