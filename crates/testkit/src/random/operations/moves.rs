//! Moves of trees: into each other, out of the working tree and back, including whole repositories.

use bstr::{BString, ByteSlice};

use super::files::path_from_root;
use super::operation::table;
use crate::action::Action;
use crate::random::maker::Maker;
use crate::random::names::join;

table! {
    "move a tree into another", 4, |m| {
        let (from, to) = (m.directory(), m.directory());
        let to = join(&to, file_name(&from));
        rename(m, path_from_root(&from), path_from_root(&to));
    };
    "move a tree to the top", 3, |m| {
        let from = m.directory();
        rename(m, path_from_root(&from), path_from_root(file_name(&from)));
    };
    "move a tree and write in it", 3, |m| {
        let (from, to, data) = (m.directory(), m.directory(), m.content());
        rename(m, path_from_root(&from), path_from_root(&to));
        m.act(Action::write(path_from_root(&join(&to, b"a")), data));
    };
    "move a tree out", 4, |m| { let (from, to) = (m.directory(), path_outside(m)); rename(m, path_from_root(&from), to); };
    "write in a tree that is outside", 2, |m| {
        let path = join(&path_outside(m), b"a");
        m.act(Action::Append { path, data: "more\n".into() });
    };
    "move a tree in", 5, |m| { let (from, to) = (path_outside(m), m.directory()); rename(m, from, path_from_root(&to)); };
    "move a tree out and back", 3, |m| {
        let path = path_from_root(&m.directory());
        rename(m, path.clone(), "outside/away".into());
        if m.rng.chance(50) {
            let data = m.content();
            m.act(Action::Append { path: "outside/away/a".into(), data });
        }
        rename(m, "outside/away".into(), path);
    };
    "swap two trees", 3, |m| {
        let (first, second) = (m.directory(), m.directory());
        swap_trees(m, &path_from_root(&first), &path_from_root(&second));
    };
    "exchange two paths", 3, |m| {
        let (first, second) = (path_from_root(&m.path()), path_from_root(&m.path()));
        m.act(Action::Exchange { first, second });
    };
    "exchange a tree with one outside", 2, |m| {
        let (first, second) = (path_from_root(&m.directory()), path_outside(m));
        m.act(Action::Exchange { first, second });
    };
    "put a file in a tree's place for a while", 2, |m| {
        let path = move_tree_aside(m);
        m.act(Action::write(path, "a file\n"));
    };
    "put a link in a tree's place for a while", 2, |m| {
        let path = move_tree_aside(m);
        m.act(Action::Link { path, target: "{ROOT}/outside/aside".into() });
    };
    "put a tree back in its place", 4, |m| {
        // The tree there is kept, since there may be none to put back.
        let path = tree_with_a_place(m);
        swap_trees(m, &path, b"outside/aside");
    };
    "put another repository in the repository's place", 2, |m| {
        m.git_in(".", &["clone", "-q", "--no-hardlinks", "work", "other"]);
        swap_trees(m, b"work", b"other");
    };
    "put another git directory in the git directory's place", 1, |m| {
        m.git_in(".", &["clone", "-q", "--no-hardlinks", "work", "other"]);
        swap_trees(m, b"work/.git", b"other/.git");
    };
    "move the repository away and back", 2, |m| {
        rename(m, "work".into(), "away".into());
        if m.rng.chance(50) {
            let path = join(b"away", &m.file());
            m.act(Action::Append { path, data: "written while it was away\n".into() });
        }
        rename(m, "away".into(), "work".into());
    };
}

fn file_name(path: &[u8]) -> &[u8] {
    path.rsplit_once_str("/").map_or(path, |(_, base)| base)
}

fn path_outside(m: &mut Maker) -> BString {
    m.rng.pick(&["outside/tree", "outside/other tree"]).into()
}

/// One of only a few trees, so that one that was put aside can be put back.
fn tree_with_a_place(m: &mut Maker) -> BString {
    let first: Vec<BString> = m.pool.directories.iter().take(2).cloned().collect();
    path_from_root(&m.rng.pick(&first))
}

/// Puts a tree aside, and returns its place.
fn move_tree_aside(m: &mut Maker) -> BString {
    let path = tree_with_a_place(m);
    rename(m, path.clone(), "outside/aside".into());
    m.act(Action::Remove { path: path.clone() });
    path
}

fn rename(m: &mut Maker, from: BString, to: BString) {
    m.act(Action::Rename { from, to });
}

fn swap_trees(m: &mut Maker, first: &[u8], second: &[u8]) {
    rename(m, first.into(), "swapped".into());
    rename(m, second.into(), first.into());
    rename(m, "swapped".into(), second.into());
}
