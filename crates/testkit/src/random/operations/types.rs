//! Replaces paths by another type of file.

use super::operation::table;
use crate::action::Action;
use crate::random::maker::Maker;
use crate::random::names::join;

table! {
    "put a directory in a file's place", 4, directory_for_file;
    "put a file in a directory's place", 4, file_for_directory;
    "put a link in a path's place", 10, link;
    "put a file in a path's place", 5, file;
    "put a pipe in a path's place", 2, |m| { let path = removed_path(m); m.act(Action::Fifo { path }); };
    "put a socket in a path's place", 2, |m| { let path = removed_path(m); m.act(Action::Socket { path }); };
    "replace a tree by a link to its copy", 2, linked_tree;
}

/// Removes a random path, and returns it relative to the sandbox's root.
fn removed_path(m: &mut Maker) -> bstr::BString {
    let path = m.path();
    m.remove(&path);
    join(b"work", &path)
}

fn directory_for_file(m: &mut Maker) {
    let path = m.file();
    m.remove(&path);
    if m.rng.chance(70) {
        let data = m.content();
        m.write(&join(&path, b"inside"), data);
    } else {
        m.act(Action::Directory {
            path: join(b"work", &path),
        });
    }
}

fn file_for_directory(m: &mut Maker) {
    let path = m.directory();
    m.remove(&path);
    let data = m.content();
    m.write(&path, data);
}

fn link(m: &mut Maker) {
    let path = removed_path(m);
    // No target may be outside of the sandbox: other operations write and delete through links.
    let target = match m.rng.below(9) {
        0 => "missing".into(),
        1 => ".".into(),
        2 => "loop-a".into(),
        3 => "/vigil-missing/file".into(),
        4 => m.directory(),
        5 => "{ROOT}/work/a".into(),
        6 => path
            .rsplit(|byte| *byte == b'/')
            .next()
            .unwrap_or_default()
            .into(),
        _ => m.file(),
    };
    m.act(Action::Link {
        path: path.clone(),
        target,
    });
    if m.rng.chance(50) {
        let nanoseconds = m.later();
        m.act(Action::SetTime { path, nanoseconds });
    }
    if m.rng.chance(20) {
        m.act(Action::Link {
            path: "work/loop-a".into(),
            target: "loop-b".into(),
        });
        m.act(Action::Link {
            path: "work/loop-b".into(),
            target: "loop-a".into(),
        });
    }
}

fn file(m: &mut Maker) {
    let path = m.path();
    m.remove(&path);
    let data = m.content();
    m.write(&path, data);
}

/// Makes tracked files reachable only through a link, which does not count for git.
fn linked_tree(m: &mut Maker) {
    let path = m.directory();
    m.act(Action::Rename {
        from: join(b"work", &path),
        to: "work/real-tree".into(),
    });
    m.act(Action::Link {
        path: join(b"work", &path),
        target: "{ROOT}/work/real-tree".into(),
    });
}
