//! Small directories, looked at from the directory above.

use std::ffi::CStr;

use bstr::ByteSlice;
use vigil_linux::stat::{Stat, stat_at};
use vigil_model::path::{file_name, has_impossible_component, join};
use vigil_stamp::Stamp;

use super::cache::Wanted;
use super::ignoring::Ignoring;
use super::open::{CName, OpenDir};
use super::position::{CurrentDir, DirPosition};
use super::walk::Walk;

/// With more files, it is cheaper to open the directory than to look each of them up by way of it.
const FILES_MAX: usize = 8;

impl Walk<'_> {
    /// Whether the stat data of all tracked files in the directory at `position` says that they are as recorded, and nothing else
    /// is there that is asked for, where both can be seen from `parent`. Only small directories are looked at that need not be
    /// listed, or were listed before, when nothing else was there. Any other must be opened.
    pub(super) fn is_clean_from_above(
        &self,
        position: &DirPosition,
        parent: &OpenDir<'_>,
        ignoring: &Ignoring,
    ) -> bool {
        let scan = self.scan;
        let is_plain = scan.focus.is_none() && scan.filter.is_none() && scan.watch.is_none();
        let wants_others = self.wants_others(ignoring);
        let is_unlisted = wants_others && scan.memory.is_none();
        if !is_plain || is_unlisted || self.wants_no_more_tracked() {
            return false;
        }
        let here = CurrentDir::read(position, scan.tracked_files);
        let directory = &here.directory;
        let has_few_files = (1..=FILES_MAX).contains(&directory.files_len());
        if !has_few_files || directory.subdirs().next().is_some() {
            return false;
        }
        let has_nothing_else = match wants_others {
            true => self.had_nothing_else(position, parent, ignoring),
            // It must be a directory all the same, and no symbolic link.
            false => stat_from_above(parent, position).is_some(),
        };
        has_nothing_else && self.are_clean_from_above(&here, parent)
    }

    /// Whether the directory at `position` is as it was when it was listed, and nothing but tracked files was found.
    fn had_nothing_else(
        &self,
        position: &DirPosition,
        parent: &OpenDir<'_>,
        above: &Ignoring,
    ) -> bool {
        let question = self.scan.question();
        let memory = self.scan.memory;
        let memory = memory.and_then(|memory| memory.dir(position.number, Wanted::For(question)));
        let Some(mut memory) = memory.filter(|_| !position.is_below_unlisted) else {
            return false;
        };
        let Some(listed) = memory
            .listed(question)
            .filter(|listed| listed.holds_nothing_else())
        else {
            return false;
        };
        let Some(stat) = stat_from_above(parent, position) else {
            return false;
        };
        // Whoever may not list the directory must be told so. Only the owner's permissions are all in the mode.
        let may_list = stat.uid == self.user_id && stat.mode & 0o500 == 0o500;
        may_list
            && self.survey.is_known_to_trust(stat.dev)
            && listed.is_of(&Stamp::from(&stat), above)
    }

    fn are_clean_from_above(&self, here: &CurrentDir<'_>, parent: &OpenDir<'_>) -> bool {
        let dir_name = file_name(here.path);
        let mut path = Vec::with_capacity(512);
        let are_clean = here.directory.files_from(0).all(|(_, file)| {
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
                    let system = self.scan.system;
                    system.compare_stat(&file, &stat, &path_from_top).is_ok()
                })
        });
        if are_clean && let Some(progress) = self.scan.progress {
            progress.add(here.directory.files_len());
        }
        are_clean
    }
}

/// Returns the stat data of the directory at `position`; `None` if that is not a directory.
fn stat_from_above(parent: &OpenDir<'_>, position: &DirPosition) -> Option<Stat> {
    let name = CName::new(file_name(position.path.as_bstr()))?;
    let stat = stat_at(parent.fd(), name.as_c_str()).ok()?;
    stat.is_dir().then_some(stat)
}
