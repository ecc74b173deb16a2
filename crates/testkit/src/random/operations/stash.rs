//! The stash.

use super::operation::table;

table! {
    "stash", 4, |m| m.git(&["stash", "push", "-q"]);
    "stash with untracked files", 2, |m| m.git(&["stash", "push", "-q", "-u"]);
    "stash with ignored files", 1, |m| m.git(&["stash", "push", "-q", "-a"]);
    "stash and keep the index", 2, |m| m.git(&["stash", "push", "-q", "--keep-index"]);
    "stash a path", 1, |m| { let path = m.path(); m.git_paths(&["stash", "push", "-q"], &[path]); };
    "pop the stash", 4, |m| m.git(&["stash", "pop", "-q"]);
    "pop the stash with its index", 2, |m| m.git(&["stash", "pop", "-q", "--index"]);
    "apply the stash", 2, |m| m.git(&["stash", "apply", "-q"]);
    "drop from the stash", 1, |m| m.git(&["stash", "drop", "-q"]);
    "clear the stash", 1, |m| m.git(&["stash", "clear"]);
}
