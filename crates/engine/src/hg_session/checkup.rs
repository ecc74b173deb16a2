//! Finds out what makes a working copy slow to look at. No contents are compared, and nothing is written.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use bstr::{BStr, BString};
use vigil_hg::abort::Abort;
use vigil_hg::dirstate::Dirstate;
use vigil_hg::repository::Repository;
use vigil_hg::verdict::{Verdict, verdict};
use vigil_linux::dir::bounded::Budget;
use vigil_linux::stat::{lstat_path, stat_path};
use vigil_model::path::parent;

use super::HgSession;

/// The result of a checkup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HgCheckup {
    /// Whether the dirstate is of the second format.
    pub is_v2: bool,
    /// The length in bytes of the dirstate, or of its docket.
    pub dirstate_len: u64,
    /// The number of recorded files.
    pub files: u64,
    /// The number of directories with recorded files.
    pub directories: u64,
    /// The number of recorded files whose stat data was looked at.
    pub looked_at: u64,
    /// How many of those must have their contents compared.
    pub unsure: u64,
    /// Whether all recorded files were looked at.
    pub is_whole: bool,
    /// Whether repositories in the working copy belong to it.
    pub has_subrepositories: bool,
}

impl HgSession {
    /// Looks at the dirstate, and at as many recorded files as `budget` has steps.
    ///
    /// # Errors
    /// The dirstate cannot be read, or is damaged.
    pub fn checkup(
        &mut self,
        repository: &Repository,
        mut budget: Budget,
    ) -> Result<HgCheckup, Abort> {
        let dirstate = self.dirstate(repository)?;
        let path = repository.dot_hg.join("dirstate");
        let mut found = HgCheckup {
            is_v2: repository.has_dirstate_v2(),
            dirstate_len: stat_path(&path).map_or(0, |stat| stat.size),
            files: dirstate.len() as u64,
            directories: directories(&dirstate),
            is_whole: true,
            has_subrepositories: dirstate.position(BStr::new(".hgsub")).is_some(),
            ..HgCheckup::default()
        };
        let now = vigil_stamp::now();
        for (at, (path, entry)) in dirstate.iter().enumerate() {
            if !budget.step() {
                found.is_whole = false;
                break;
            }
            let there = self.root.join(OsStr::from_bytes(path));
            let Ok(stat) = lstat_path(&there) else {
                continue;
            };
            found.looked_at = found.looked_at.saturating_add(1);
            let is_copy = dirstate.copy_source(at).is_some();
            if verdict(entry, is_copy, Some(&stat), now) == Verdict::Unsure {
                found.unsure = found.unsure.saturating_add(1);
            }
        }
        Ok(found)
    }
}

/// Counts the directories with files, those above them, and the top.
fn directories(dirstate: &Dirstate) -> u64 {
    let mut all: BTreeSet<BString> = BTreeSet::new();
    let mut last = BString::default();
    for (path, _) in dirstate.iter() {
        let mut above = parent(path);
        // Neighbours in the dirstate often share their directory.
        if above == last {
            continue;
        }
        last = above.into();
        while !above.is_empty() && all.insert(above.into()) {
            above = parent(above);
        }
    }
    (all.len() as u64).saturating_add(1)
}
