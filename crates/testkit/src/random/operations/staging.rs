//! Adds paths to the index and removes them.

use super::operation::table;
use crate::random::maker::Maker;

table! {
    "add all", 14, |m| m.git(&["add", "-A"]);
    "add a path", 16, |m| paths(m, &["add"]);
    "add tracked files", 4, |m| m.git(&["add", "-u"]);
    "add with intent only", 8, |m| paths(m, &["add", "-N"]);
    "add by force", 4, |m| paths(m, &["add", "-f"]);
    "add with a mode", 3, |m| paths(m, &["add", "--chmod=+x"]);
    "add again with new line ends", 2, |m| m.git(&["add", "--renormalize", "."]);
    "remove a path", 5, |m| paths(m, &["rm", "-q", "-r", "-f"]);
    "remove a path from the index alone", 6, |m| paths(m, &["rm", "-q", "-r", "-f", "--cached"]);
    "move a file", 8, |m| { let both = [m.file(), m.file()]; m.git_paths(&["mv", "-k", "-f"], &both); };
    "move a tree", 5, |m| { let both = [m.directory(), m.directory()]; m.git_paths(&["mv", "-k"], &both); };
    "move a file to a new name", 5, move_new;
    "unstage a path", 5, |m| paths(m, &["reset", "-q"]);
    "restore a path", 5, |m| paths(m, &["checkout", "-q"]);
    "restore a path from HEAD", 4, |m| paths(m, &["checkout", "-q", "HEAD"]);
    "restore a path from an older commit", 4, |m| paths(m, &["checkout", "-q", "HEAD~1"]);
    "restore the index from an older commit", 3, |m| paths(m, &["reset", "-q", "HEAD~1"]);
    "restore without overlay", 2, |m| paths(m, &["restore", "--source=HEAD~1", "--staged", "--worktree"]);
    "empty the index", 1, |m| m.git(&["read-tree", "--empty"]);
    "read HEAD into the index", 2, |m| m.git(&["read-tree", "HEAD"]);
}

fn paths(m: &mut Maker, arguments: &[&str]) {
    let paths: Vec<_> = (0..1 + m.rng.below(3)).map(|_| m.path()).collect();
    m.git_paths(arguments, &paths);
}

fn move_new(m: &mut Maker) {
    let from = m.file();
    let to = m.rng.pick(&["renamed", "renamed to\tthis", "zz-renamed"]);
    m.git_paths(&["mv", "-k", "-f"], &[from, to.into()]);
    if m.rng.chance(30) {
        let data = m.content();
        m.write(to.as_bytes(), data);
        m.git(&["add", to]);
    }
}
