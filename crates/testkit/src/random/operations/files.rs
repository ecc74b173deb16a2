//! Changes of ordinary files and directories.

use bstr::BString;

use super::operation::table;
use crate::action::Action;
use crate::random::maker::Maker;
use crate::random::names::join;

table! {
    "write a file", 30, write;
    "append to a file", 10, append;
    "truncate a file", 4, truncate;
    "delete a file", 12, |m| { let path = m.file(); m.remove(&path); };
    "rewrite a file unseen", 8, rewrite_unseen;
    "rewrite a file in the index's tick", 8, rewrite_racy;
    "touch a file", 6, touch_file;
    "touch the index", 4, touch_index;
    "change a mode", 8, change_mode;
    "rename a file", 8, |m| { let (from, to) = (m.file(), m.file()); rename(m, &from, &to); };
    "rename a tree", 6, |m| { let (from, to) = (m.directory(), m.directory()); rename(m, &from, &to); };
    "rename a tree to a new name", 3, rename_new;
    "delete a tree", 5, |m| { let path = m.directory(); m.remove(&path); };
    "make an empty directory", 4, empty_directory;
    "make a new directory with files", 5, new_directory;
    "swap two files", 2, swap_files;
    "restore a file's old contents", 4, restore_content;
    "copy a file", 4, |m| { let (from, to) = (m.file(), m.file()); m.act(Action::Copy { from: path_from_root(&from), to: path_from_root(&to) }); };
    "give a file an old time", 2, |m| { let path = path_from_root(&m.file()); m.act(Action::SetTime { path, nanoseconds: 1 }); };
    "write a file with an old time", 3, |m| {
        let path = path_from_root(&m.file());
        let data = m.content();
        m.act(Action::write(path.clone(), data));
        m.act(Action::SetTime { path, nanoseconds: 1 });
    };
    "change a directory's mode", 2, |m| {
        let path = path_from_root(&m.directory());
        let mode = m.rng.pick(&[0o755, 0o700, 0o775]);
        m.act(Action::SetMode { path, mode });
    };
}

/// A path in the working tree, relative to the sandbox's root.
pub(super) fn path_from_root(path: &[u8]) -> BString {
    join(b"work", path)
}

fn write(m: &mut Maker) {
    let path = m.file();
    let data = m.content();
    m.write(&path, data);
}

fn append(m: &mut Maker) {
    let path = path_from_root(&m.file());
    let data = m.rng.pick(&["more\n", "x", "\r\n", "\0"]).into();
    m.act(Action::Append { path, data });
}

fn truncate(m: &mut Maker) {
    let path = path_from_root(&m.file());
    let length = m.rng.pick(&[0, 1, 10, 100_000]);
    m.act(Action::Resize { path, length });
}

fn rewrite_unseen(m: &mut Maker) {
    let path = path_from_root(&m.file());
    m.act(Action::RewriteUnseen { path, data: None });
}

/// Makes a change that only the racy rule finds: same size, same mtime, and the index is not newer.
fn rewrite_racy(m: &mut Maker) {
    let path = m.file();
    let word = m.rng.pick(&["one\n", "two\n"]);
    let nanoseconds = m.later();
    m.act(Action::write(path_from_root(&path), word));
    m.act(Action::SetTime {
        path: path_from_root(&path),
        nanoseconds,
    });
    m.git_paths(&["add"], std::slice::from_ref(&path));
    let index = BString::from(format!("{}/index", m.git_directory));
    let index_time = nanoseconds + m.rng.pick(&[0, 0, 1, 10_000_000]);
    m.act(Action::SetTime {
        path: index,
        nanoseconds: index_time,
    });
    let data = Some(m.rng.pick(&["one\n", "two\n", "six\n"]).into());
    m.act(Action::RewriteUnseen {
        path: path_from_root(&path),
        data,
    });
    m.act(Action::SetTime {
        path: path_from_root(&path),
        nanoseconds,
    });
}

fn touch_file(m: &mut Maker) {
    let path = path_from_root(&m.file());
    let nanoseconds = if m.rng.chance(50) { m.later() } else { m.now() };
    m.act(Action::SetTime { path, nanoseconds });
}

fn touch_index(m: &mut Maker) {
    let path = BString::from(format!("{}/index", m.git_directory));
    let nanoseconds = if m.rng.chance(50) { m.later() } else { m.now() };
    m.act(Action::SetTime { path, nanoseconds });
}

fn change_mode(m: &mut Maker) {
    let path = path_from_root(&m.file());
    let mode = m.rng.pick(&[
        0o755, 0o755, 0o644, 0o644, 0o600, 0o700, 0o777, 0o654, 0o645,
    ]);
    m.act(Action::SetMode { path, mode });
}

fn rename(m: &mut Maker, from: &[u8], to: &[u8]) {
    m.act(Action::Rename {
        from: path_from_root(from),
        to: path_from_root(to),
    });
}

fn rename_new(m: &mut Maker) {
    let from = m.directory();
    let to = m.rng.pick(&["moved", "moved too", "zz/moved"]);
    rename(m, &from, to.as_bytes());
}

fn empty_directory(m: &mut Maker) {
    let path = match m.rng.below(3) {
        0 => m.directory(),
        1 => join(&m.directory(), b"empty"),
        _ => "empty/nested/tree".into(),
    };
    m.act(Action::Directory {
        path: path_from_root(&path),
    });
}

fn new_directory(m: &mut Maker) {
    let parent = if m.rng.chance(50) {
        BString::default()
    } else {
        m.directory()
    };
    let name = m.rng.pick(&["new", "new.o", "vendor", "target"]);
    let directory = join(&parent, name.as_bytes());
    for _ in 0..1 + m.rng.below(3) {
        let file = m.rng.pick(&["x", "y.o", "deep/er/z", "deep/b.log"]);
        let data = m.content();
        m.write(&join(&directory, file.as_bytes()), data);
    }
}

fn swap_files(m: &mut Maker) {
    let (first, second) = (m.file(), m.file());
    rename(m, &first, b"swapped");
    rename(m, &second, &first);
    rename(m, b"swapped", &second);
}

/// Changes a file and changes it back, so that only a comparison of contents shows it unchanged.
fn restore_content(m: &mut Maker) {
    let path = m.file();
    m.git_paths(&["checkout", "-q", "HEAD"], std::slice::from_ref(&path));
    m.act(Action::RewriteUnseen {
        path: path_from_root(&path),
        data: None,
    });
    m.act(Action::RewriteUnseen {
        path: path_from_root(&path),
        data: None,
    });
    let nanoseconds = m.later();
    m.act(Action::SetTime {
        path: path_from_root(&path),
        nanoseconds,
    });
}
