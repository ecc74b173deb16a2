//! Linked worktrees.

use super::operation::table;
use crate::action::Action;

table! {
    "add a worktree", 2, |m| m.git(&["worktree", "add", "-q", "-f", "-B", "linked", "../linked"]);
    "change a file in the worktree", 2, |m| {
        let path = m.file();
        m.act(Action::write(crate::random::names::join(b"linked", &path), "from the worktree\n"));
    };
    "commit in the worktree", 2, |m| {
        m.git_in("linked", &["add", "-A"]);
        m.git_in("linked", &["commit", "-q", "-m", "from the worktree"]);
    };
    "merge in the worktree", 1, |m| m.git_in("linked", &["merge", "-q", "--no-commit", "main"]);
    "give the worktree settings of its own", 1, |m| {
        m.git(&["config", "extensions.worktreeConfig", "true"]);
        m.git_in("linked", &["config", "--worktree", "status.showUntrackedFiles", "no"]);
    };
    "remove the worktree", 1, |m| m.git(&["worktree", "remove", "-f", "-f", "../linked"]);
    "move the worktree", 1, |m| m.git(&["worktree", "move", "../linked", "../linked-moved"]);
}
