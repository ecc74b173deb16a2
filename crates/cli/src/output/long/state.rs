//! The operations in progress, and how to end them.

use bstr::{BString, ByteSlice};
use vigil_engine::status::SparseState;
use vigil_git::operation::under_way::{Am, Commands, RebaseSteps};

use super::Writer;
use crate::reply::bytes;

/// How many commands of each list are shown.
const SHOWN: usize = 2;

impl Writer<'_> {
    /// Writes all operations in progress, and how much of a sparse checkout is present.
    pub(super) fn state(&mut self) {
        let under_way = &self.long.under_way;
        if under_way.is_merge {
            if let Some(commands) = under_way
                .rebase
                .as_ref()
                .and_then(|rebase| rebase.commands.as_ref())
            {
                self.commands(commands);
                self.lines.out.push(b'\n');
            }
            self.merge();
        } else if let Some(am) = under_way.am {
            self.am(am);
        } else if let Some(rebase) = &under_way.rebase {
            self.rebase(rebase);
        } else if let Some(commit) = &under_way.cherry_pick {
            self.replay(&CHERRY_PICK, commit.as_ref());
        } else if let Some(commit) = &under_way.revert {
            self.replay(&REVERT, commit.as_ref());
        }
        if let Some(from) = &under_way.bisect {
            self.bisect(from.as_ref());
        }
        match self.long.sparse {
            None => {}
            Some(SparseState::SparseIndex) => {
                self.header_line("You are in a sparse checkout.");
                self.blank_line();
            }
            Some(SparseState::Percent(percent)) => {
                self.header_line(format!(
                    "You are in a sparse checkout with {percent}% of tracked files present."
                ));
                self.blank_line();
            }
        }
    }

    fn merge(&mut self) {
        if self.gist.has_conflicts {
            self.header_line("You have unmerged paths.");
            self.hint("  (fix conflicts and run \"git commit\")");
            self.hint("  (use \"git merge --abort\" to abort the merge)");
        } else {
            self.header_line("All conflicts fixed but you are still merging.");
            self.hint("  (use \"git commit\" to conclude merge)");
        }
        self.blank_line();
    }

    fn am(&mut self, am: Am) {
        self.header_line("You are in the middle of an am session.");
        if am.is_patch_empty {
            self.header_line("The current patch is empty.");
        } else {
            self.hint("  (fix conflicts and then run \"git am --continue\")");
        }
        self.hint("  (use \"git am --skip\" to skip this patch)");
        if am.is_patch_empty {
            self.hint("  (use \"git am --allow-empty\" to record this patch as an empty commit)");
        }
        self.hint("  (use \"git am --abort\" to restore the original branch)");
        self.blank_line();
    }

    fn commands(&mut self, commands: &Commands) {
        if commands.left.is_none() {
            self.header_line("git-rebase-todo is missing.");
        }
        match commands.done.count {
            0 => self.header_line("No commands done."),
            1 => self.header_line("Last command done (1 command done):"),
            count => self.header_line(format!("Last commands done ({count} commands done):")),
        }
        for line in &commands.done.last {
            self.header_line(bytes!["   ", line]);
        }
        if commands.done.count > SHOWN {
            self.hint(bytes!["  (see more in file ", commands.done_path, ")"]);
        }
        let left = commands.left.as_ref().filter(|left| left.count > 0);
        let Some(left) = left else {
            self.header_line("No commands remaining.");
            return;
        };
        match left.count {
            1 => self.header_line("Next command to do (1 remaining command):"),
            count => {
                self.header_line(format!("Next commands to do ({count} remaining commands):"));
            }
        }
        for line in &left.first {
            self.header_line(bytes!["   ", line]);
        }
        self.hint("  (use \"git rebase --edit-todo\" to view and edit)");
    }

    fn rebase(&mut self, rebase: &RebaseSteps) {
        if let Some(commands) = &rebase.commands {
            self.commands(commands);
        }
        if self.gist.has_conflicts {
            self.rebase_line(rebase, "rebasing", "");
            self.hint("  (fix conflicts and then run \"git rebase --continue\")");
            self.hint("  (use \"git rebase --skip\" to skip this patch)");
            self.hint("  (use \"git rebase --abort\" to check out the original branch)");
        } else if rebase.commands.is_none() || rebase.has_message {
            self.rebase_line(rebase, "rebasing", "");
            self.hint("  (all conflicts fixed: run \"git rebase --continue\")");
        } else if rebase.is_split && self.gist.is_dirty {
            self.rebase_line(rebase, "splitting a commit", " during a rebase");
            self.hint("  (Once your working directory is clean, run \"git rebase --continue\")");
        } else {
            self.rebase_line(rebase, "editing a commit", " during a rebase");
            self.hint("  (use \"git commit --amend\" to amend the current commit)");
            self.hint("  (use \"git rebase --continue\" once you are satisfied with your changes)");
        }
        self.blank_line();
    }

    /// Writes what is being done, with the branch, or with `otherwise` at the end if there is none.
    fn rebase_line(&mut self, rebase: &RebaseSteps, doing: &str, otherwise: &str) {
        let Some(branch) = &rebase.branch else {
            self.header_line(format!("You are currently {doing}{otherwise}."));
            return;
        };
        let doing = match doing {
            "rebasing" => doing.to_owned(),
            _ => format!("{doing} while rebasing"),
        };
        let onto = or_null(rebase.onto.as_ref());
        self.header_line(bytes![
            "You are currently ",
            doing,
            " branch '",
            branch,
            "' on '",
            onto,
            "'."
        ]);
    }

    fn replay(&mut self, replay: &Replay, commit: Option<&BString>) {
        let command = replay.command;
        match commit {
            Some(commit) => self.header_line(bytes![
                "You are currently ",
                replay.doing,
                " commit ",
                commit,
                "."
            ]),
            None => self.header_line(format!("{} currently in progress.", replay.title)),
        }
        self.hint(if self.gist.has_conflicts {
            format!("  (fix conflicts and run \"git {command} --continue\")")
        } else if commit.is_none() {
            format!("  (run \"git {command} --continue\" to continue)")
        } else {
            format!("  (all conflicts fixed: run \"git {command} --continue\")")
        });
        self.hint(format!(
            "  (use \"git {command} --skip\" to skip this patch)"
        ));
        self.hint(format!(
            "  (use \"git {command} --abort\" to cancel the {command} operation)"
        ));
        self.blank_line();
    }

    fn bisect(&mut self, from: Option<&BString>) {
        match from {
            Some(from) => self.header_line(bytes![
                "You are currently bisecting, started from branch '",
                from,
                "'."
            ]),
            None => self.header_line("You are currently bisecting."),
        }
        self.hint("  (use \"git bisect reset\" to get back to the original branch)");
        self.blank_line();
    }
}

/// A command that replays commits.
struct Replay {
    command: &'static str,
    title: &'static str,
    doing: &'static str,
}

const CHERRY_PICK: Replay = Replay {
    command: "cherry-pick",
    title: "Cherry-pick",
    doing: "cherry-picking",
};

const REVERT: Replay = Replay {
    command: "revert",
    title: "Revert",
    doing: "reverting",
};

/// git prints a missing text as the C library prints a null pointer.
pub(super) fn or_null(text: Option<&BString>) -> &[u8] {
    text.map_or(b"(null)", |text| text.as_bytes())
}
