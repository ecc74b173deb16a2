//! The operation in progress in a worktree: a merge, a rebase and so on (git-status(1), long format, and
//! gitstatusd's field 9).

mod error;
pub(crate) mod todo;
pub mod under_way;

use std::io::Read;
use std::path::Path;

use bstr::BString;
use gix_hash::ObjectId;
use vigil_linux::Errno;
use vigil_linux::stat::{lstat_path, stat_path};

pub use self::error::Error;
pub use self::todo::{Todo, comment_prefix};
use super::refs::{self, Refs};
use super::repository::Repository;

/// The names in a worktree's folder by which operations are known.
const NAMES: [&str; 7] = [
    "rebase-merge",
    "rebase-apply",
    "MERGE_HEAD",
    "REVERT_HEAD",
    "CHERRY_PICK_HEAD",
    "BISECT_LOG",
    "sequencer",
];

/// The program that left a rebase's directory behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RebaseKind {
    /// `git rebase -i` (`rebase-merge/interactive`): since git 2.26, every rebase.
    Interactive,
    /// `rebase-merge` without that file.
    Merge,
    /// `git rebase --apply` (`rebase-apply/rebasing`).
    Apply,
    /// `git am` (`rebase-apply/applying`).
    Am,
    /// `rebase-apply` without either file.
    AmOrRebase,
}

/// A rebase, or the application of a mailbox, which uses the same directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rebase {
    /// Which of them it is.
    pub kind: RebaseKind,
    /// The numbers of the current and the last step, as they are written, if both are known.
    pub progress: Option<(BString, BString)>,
}

/// The operations in progress; there may be several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Operation {
    /// A rebase or `git am`.
    pub rebase: Option<Rebase>,
    /// A merge that has not been committed yet (`MERGE_HEAD`).
    pub is_merge: bool,
    /// The commit that is being reverted.
    pub revert_head: Option<ObjectId>,
    /// The commit that is being cherry-picked.
    pub cherry_pick_head: Option<ObjectId>,
    /// More commits remain to be reverted or picked (`sequencer/todo`).
    pub is_sequence: bool,
    /// `git bisect` was started.
    pub is_bisect: bool,
}

impl Operation {
    /// Detects the operations in progress in the worktree of `repo`.
    ///
    /// # Errors
    /// A reference cannot be read.
    pub fn detect(repo: &Repository, refs: &Refs) -> Result<Self, refs::Error> {
        let is_file =
            |name: &str| stat_path(&repo.git_dir.join(name)).is_ok_and(|stat| stat.is_file());
        let is_dir =
            |name: &str| stat_path(&repo.git_dir.join(name)).is_ok_and(|stat| stat.is_dir());
        let word = |name: &str| first_word(&repo.git_dir.join(name));

        let has_merge = is_dir("rebase-merge");
        let has_apply = is_dir("rebase-apply");
        let kind = if has_merge && is_file("rebase-merge/interactive") {
            Some(RebaseKind::Interactive)
        } else if has_merge {
            Some(RebaseKind::Merge)
        } else if has_apply && is_file("rebase-apply/rebasing") {
            Some(RebaseKind::Apply)
        } else if has_apply && is_file("rebase-apply/applying") {
            Some(RebaseKind::Am)
        } else if has_apply {
            Some(RebaseKind::AmOrRebase)
        } else {
            None
        };
        let progress = if has_merge {
            word("rebase-merge/msgnum").zip(word("rebase-merge/end"))
        } else if has_apply {
            word("rebase-apply/next").zip(word("rebase-apply/last"))
        } else {
            None
        };
        let revert_head = refs.resolve("REVERT_HEAD".into())?;
        let cherry_pick_head = refs.resolve("CHERRY_PICK_HEAD".into())?;
        Ok(Self {
            rebase: kind.map(|kind| Rebase { kind, progress }),
            is_merge: is_file("MERGE_HEAD"),
            // This matters only while a commit is being reverted or picked.
            is_sequence: (revert_head.is_some() || cherry_pick_head.is_some())
                && is_file("sequencer/todo"),
            revert_head,
            cherry_pick_head,
            is_bisect: is_file("BISECT_LOG"),
        })
    }

    /// Whether anything in the worktree's folder has a name by which an operation is known. If it stands for none now, it may do
    /// so later: what it leads to may come.
    pub fn may_come(repo: &Repository) -> bool {
        let mut names = NAMES.iter();
        names.any(|name| lstat_path(&repo.git_dir.join(name)) != Err(Errno::NOENT))
    }

    /// gitstatusd's name for the operation in progress; empty if there is none. Of several, the first in the
    /// order rebase, merge, revert, cherry-pick, bisect counts.
    pub(crate) fn action_name(&self) -> &'static str {
        if let Some(rebase) = &self.rebase {
            return match rebase.kind {
                RebaseKind::Interactive => "rebase-i",
                RebaseKind::Merge => "rebase-m",
                RebaseKind::Apply => "rebase",
                RebaseKind::Am => "am",
                RebaseKind::AmOrRebase => "am/rebase",
            };
        }
        if self.is_merge {
            "merge"
        } else if self.revert_head.is_some() {
            if self.is_sequence {
                "revert-seq"
            } else {
                "revert"
            }
        } else if self.cherry_pick_head.is_some() {
            if self.is_sequence {
                "cherry-seq"
            } else {
                "cherry"
            }
        } else if self.is_bisect {
            "bisect"
        } else {
            ""
        }
    }

    /// gitstatusd's field 9: the name, then a space and the progress if it is known (`rebase-i 2/5`).
    pub fn action(&self) -> BString {
        let mut action = BString::from(self.action_name());
        if let Some((next, last)) = self
            .rebase
            .as_ref()
            .and_then(|rebase| rebase.progress.as_ref())
        {
            for part in [b" ".as_slice(), next, b"/", last] {
                action.extend_from_slice(part);
            }
        }
        action
    }
}

/// Returns the first word in a small file; `None` if there is none.
fn first_word(path: &Path) -> Option<BString> {
    let mut content = Vec::new();
    vigil_stamp::file::open(path)
        .ok()?
        .take(64)
        .read_to_end(&mut content)
        .ok()?;
    let mut words = content.split(u8::is_ascii_whitespace);
    words.find(|word| !word.is_empty()).map(BString::from)
}

#[cfg(test)]
mod tests;
