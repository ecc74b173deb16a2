//! The operation in progress, as the sentences of the long format describe it (git-status(1)). The other
//! description, in the parent module, is gitstatusd's, which looks at other files.

use std::io::ErrorKind;

use bstr::{BStr, BString, ByteSlice};
use gix_hash::ObjectId;
use vigil_linux::errno;
use vigil_linux::stat::{lstat_path, stat_path};

use super::error::Error;
use super::todo::{Todo, read_todo};
use crate::objects::Objects;
use crate::refs::{self, Raw, Refs};
use crate::repository::Repository;
use vigil_model::c_string::until_nul;
use vigil_model::raw_text::{raw, text_bytes};
use vigil_stamp::file::{Contents, read_or_map};

/// The list of the commands that are left when several commits are picked or reverted.
const SEQUENCER_LIST: &str = "sequencer/todo";

/// The operations in progress; there may be several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperationState {
    /// A merge that has not been committed yet.
    pub is_merge: bool,
    /// `git am`.
    pub am: Option<Am>,
    /// A rebase.
    pub rebase: Option<RebaseSteps>,
    /// Commits are being picked: the abbreviated id of the current one, `None` between two of them.
    pub cherry_pick: Option<Option<BString>>,
    /// Commits are being reverted: the id as for picks.
    pub revert: Option<Option<BString>>,
    /// A bisection, and where it was started.
    pub bisect: Option<Option<BString>>,
    /// Whether the next commit is an ordinary one, neither a merge nor a cherry-pick.
    pub is_plain_commit: bool,
}

/// A mailbox being applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Am {
    /// The current patch is empty.
    pub is_patch_empty: bool,
}

/// A rebase.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RebaseSteps {
    /// The branch being rebased, or `None` for a detached HEAD.
    pub branch: Option<BString>,
    /// What it is rebased onto.
    pub onto: Option<BString>,
    /// The commands done and left, for a rebase with a todo list.
    pub commands: Option<Commands>,
    /// A commit message is waiting (`MERGE_MSG`).
    pub has_message: bool,
    /// The commit being edited has been undone in order to be split.
    pub is_split: bool,
}

/// The commands of an interactive rebase.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commands {
    /// The commands already done.
    pub done: Todo,
    /// git's name for the file that lists them.
    pub done_path: BString,
    /// The commands left, `None` if the list is missing.
    pub left: Option<Todo>,
}

impl OperationState {
    /// Detects the operations in progress in the worktree of `repo`.
    ///
    /// # Errors
    /// A reference, log or object cannot be read.
    pub fn detect(repo: &Repository, refs: &Refs, objects: &Objects) -> Result<Self, Error> {
        let reader = OperationReader {
            repo,
            refs,
            objects,
        };
        let mut this = Self {
            is_merge: reader.has("MERGE_HEAD"),
            ..Self::default()
        };
        let cherry_pick_head = refs.resolve("CHERRY_PICK_HEAD".into())?;
        if reader.has("rebase-apply/applying") {
            let patch = stat_path(&repo.git_dir.join("rebase-apply/patch"));
            this.am = Some(Am {
                is_patch_empty: patch.is_ok_and(|stat| stat.size == 0),
            });
        } else if let Some(folder) = reader.rebase_folder() {
            this.rebase = Some(reader.rebase(folder)?);
        } else if let Some(id) = cherry_pick_head.filter(|_| !this.is_merge) {
            this.cherry_pick = Some(reader.abbreviate_commit(&id)?);
        }
        if reader.has("BISECT_LOG") {
            this.bisect = Some(reader.branch_in("BISECT_START")?);
        }
        if let Some(id) = refs.resolve("REVERT_HEAD".into())? {
            this.revert = Some(reader.abbreviate_commit(&id)?);
        }
        match reader.sequencer_command() {
            Some(Command::Pick) => {
                this.cherry_pick.get_or_insert(None);
            }
            Some(Command::Revert) => {
                this.revert.get_or_insert(None);
            }
            None => {}
        }
        // Here git counts a dangling symbolic link as the file.
        let is_to_be_merged = lstat_path(&repo.git_dir.join("MERGE_HEAD")).is_ok();
        this.is_plain_commit = !is_to_be_merged && cherry_pick_head.is_none();
        Ok(this)
    }
}

/// Returns what a rebase in progress puts commits onto, as [`RebaseSteps::onto`]; `None` if there is no rebase.
///
/// # Errors
/// An object cannot be read.
pub fn rebased_onto(
    repo: &Repository,
    refs: &Refs,
    objects: &Objects,
) -> Result<Option<Option<BString>>, Error> {
    let reader = OperationReader {
        repo,
        refs,
        objects,
    };
    let folder = reader.rebase_folder();
    let onto = folder.map(|folder| reader.branch_in(&format!("{folder}/onto")));
    onto.transpose()
}

/// Whether git looks up which commit is picked: no merge and no rebase is in progress.
pub fn may_be_picking(repo: &Repository) -> bool {
    let names = ["MERGE_HEAD", "rebase-apply", "rebase-merge"];
    !names.iter().any(|name| is_there(repo, name))
}

/// Returns what git writes in any format if there is a list of the sequencer's commands that cannot be read.
pub fn sequencer_complaint(repo: &Repository) -> Option<BString> {
    let error = read_or_map(&repo.git_dir.join(SEQUENCER_LIST)).err()?;
    let is_absent = [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&error.kind());
    (!is_absent).then(|| {
        let name = repo.name_in_git_dir(SEQUENCER_LIST);
        let text = format!(
            "error: unable to open '{}': {}",
            raw(&name),
            errno::text_of(&error)
        );
        text_bytes(&text)
    })
}

/// The next command of the sequencer.
enum Command {
    Pick,
    Revert,
}

/// Reads the files that operations leave in the git directory.
struct OperationReader<'a> {
    repo: &'a Repository,
    refs: &'a Refs,
    objects: &'a Objects,
}

/// Whether there is a file or folder of this name in the git directory.
fn is_there(repo: &Repository, name: &str) -> bool {
    stat_path(&repo.git_dir.join(name)).is_ok()
}

impl OperationReader<'_> {
    fn has(&self, name: &str) -> bool {
        is_there(self.repo, name)
    }

    fn read(&self, name: &str) -> Option<Contents> {
        read_or_map(&self.repo.git_dir.join(name)).ok()
    }

    fn abbreviate(&self, id: &ObjectId) -> Result<BString, Error> {
        Ok(self.objects.abbreviate(id, &self.repo.config)?)
    }

    /// Abbreviates a commit id; the null id means that there is no commit.
    fn abbreviate_commit(&self, id: &ObjectId) -> Result<Option<BString>, Error> {
        if id.is_null() {
            return Ok(None);
        }
        self.abbreviate(id).map(Some)
    }

    /// The folder of the rebase in progress; that of `git am` is none.
    fn rebase_folder(&self) -> Option<&'static str> {
        if self.has("rebase-apply") {
            let is_am = self.has("rebase-apply/applying");
            return (!is_am).then_some("rebase-apply");
        }
        self.has("rebase-merge").then_some("rebase-merge")
    }

    fn rebase(&self, folder: &str) -> Result<RebaseSteps, Error> {
        let is_interactive = folder == "rebase-merge" && self.has("rebase-merge/interactive");
        Ok(RebaseSteps {
            branch: self.branch_in(&format!("{folder}/head-name"))?,
            onto: self.branch_in(&format!("{folder}/onto"))?,
            commands: is_interactive.then(|| self.commands()).transpose()?,
            has_message: self.has("MERGE_MSG"),
            is_split: is_interactive && self.is_split()?,
        })
    }

    fn commands(&self) -> Result<Commands, Error> {
        let list = |name: &str| match read_or_map(&self.repo.git_dir.join(name)) {
            Ok(text) => read_todo(&text, self.repo, self.refs, self.objects).map(Some),
            Err(reason) => match reason.kind() {
                ErrorKind::NotFound | ErrorKind::IsADirectory => Ok(None),
                _ => Err(Error::Commands {
                    path: self.repo.name_in_git_dir(name),
                    reason,
                }),
            },
        };
        Ok(Commands {
            done: list("rebase-merge/done")?.unwrap_or_default(),
            done_path: self.repo.name_in_git_dir("rebase-merge/done"),
            left: list("rebase-merge/git-rebase-todo")?,
        })
    }

    /// Whether HEAD has moved away from the commit being edited.
    fn is_split(&self) -> Result<bool, Error> {
        let (Raw::Direct(head), Raw::Direct(orig_head)) = (
            self.refs.read("HEAD".into())?,
            self.refs.read("ORIG_HEAD".into())?,
        ) else {
            return Ok(false);
        };
        let names = ["rebase-merge/amend", "rebase-merge/orig-head"];
        let [Some(amend), Some(rebase_orig_head)] = names.map(|name| self.read(name)) else {
            return Ok(false);
        };
        let (amend, rebase_orig_head) = (first_line(&amend), first_line(&rebase_orig_head));
        Ok(if amend == rebase_orig_head {
            amend != head.to_string()
        } else {
            rebase_orig_head != orig_head.to_string()
        })
    }

    /// Returns the branch or the commit named by a file of a rebase or a bisection.
    fn branch_in(&self, name: &str) -> Result<Option<BString>, Error> {
        let Some(text) = self.read(name) else {
            return Ok(None);
        };
        let text = text.trim_end_with(|byte| byte == '\n');
        if text.is_empty() {
            return Ok(None);
        }
        // For git it is a C string.
        let text = until_nul(text);
        if let Some(branch) = text.strip_prefix(b"refs/heads/") {
            return Ok(Some(branch.into()));
        }
        if text.starts_with(b"refs/") {
            return Ok(Some(text.into()));
        }
        let id = text
            .get(..self.repo.hash.len_in_hex())
            .and_then(|hex| ObjectId::from_hex(hex).ok());
        match id {
            Some(id) => self.abbreviate(&id).map(Some),
            None if text == b"detached HEAD" => Ok(None),
            None => Ok(Some(text.into())),
        }
    }

    /// Returns the first command in the sequencer's list.
    fn sequencer_command(&self) -> Option<Command> {
        let text = self.read(SEQUENCER_LIST)?;
        let text = text.trim_start_with(|byte| matches!(byte, ' ' | '\t' | '\r' | '\n'));
        let end = text.find_byteset(b" \t")?;
        match text.get(..end)? {
            b"pick" | b"p" => Some(Command::Pick),
            b"revert" => Some(Command::Revert),
            _ => None,
        }
    }
}

/// Returns the commit and the target of the last switch in the log of HEAD.
///
/// # Errors
/// The log cannot be read.
pub fn last_switch(refs: &Refs) -> Result<Option<(ObjectId, BString)>, refs::Error> {
    let mut switch = None;
    refs.log("HEAD".into(), |record, message| {
        switch = switched_to(message).map(|target| (record.new, target.to_owned()));
        switch.is_none()
    })?;
    Ok(switch)
}

/// Returns the target of a switch from its message in the log.
pub(crate) fn switched_to(message: &BStr) -> Option<&BStr> {
    let names = message.strip_prefix(b"checkout: moving from ")?;
    let (_, target) = names.split_once_str(" to ")?;
    Some(target.as_bstr())
}

fn first_line(text: &[u8]) -> &BStr {
    let end = text.find_byte(b'\n').unwrap_or(text.len());
    text.get(..end).unwrap_or_default().as_bstr()
}
