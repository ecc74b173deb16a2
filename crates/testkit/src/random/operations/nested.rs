//! Repositories within the working tree that are not submodules.

use bstr::BString;

use super::operation::table;
use crate::action::Action;
use crate::random::maker::Maker;
use crate::random::names::join;

table! {
    "make a repository without commits inside", 2, |m| { let path = nested_path(m); init(m, &path); };
    "make a repository with commits inside", 3, |m| {
        let path = nested_path(m);
        init(m, &path);
        m.write(&join(&path, b"tracked"), "t\n");
        m.git_in(join(b"work", &path), &["add", "tracked"]);
        m.git_in(join(b"work", &path), &["commit", "-q", "-m", "inside"]);
    };
    "put files into a repository inside", 2, |m| {
        let path = nested_path(m);
        m.write(&join(&path, b"deep/file"), "x\n");
    };
    "make something that looks like a repository", 2, |m| {
        let path = nested_path(m);
        let name = m.rng.pick(&[".git", ".git/HEAD", ".git/objects/x"]);
        m.write(&join(&path, name.as_bytes()), "gitdir: /vigil-missing\n");
    };
    "remove the repositories inside", 5, |m| {
        for path in PATHS {
            m.remove(path.as_bytes());
        }
    };
    "remove a repository's git directory", 2, |m| { let path = nested_path(m); m.remove(&join(&path, b".git")); };
    "make a bare repository inside", 1, |m| {
        m.git_in(".", &["init", "-q", "--bare", "work/bare.git"]);
    };
    "remove the bare repository", 1, |m| m.remove(b"bare.git");
    "add a worktree inside", 1, |m| m.git(&["worktree", "add", "-q", "--detach", "inner-worktree"]);
    "move a repository into a tracked directory", 1, |m| {
        let from = nested_path(m);
        let to = join(&m.directory(), b"repo");
        m.act(Action::Rename { from: join(b"work", &from), to: join(b"work", &to) });
    };
}

const PATHS: &[&str] = &["nested", "dir/nested", "deep/er/nested"];

fn nested_path(m: &mut Maker) -> BString {
    m.rng.pick(PATHS).into()
}

fn init(m: &mut Maker, path: &[u8]) {
    let mut arguments: Vec<BString> = ["init", "-q"].map(BString::from).to_vec();
    arguments.push(join(b"work", path));
    m.git_run(crate::action::GitRun {
        directory: ".".into(),
        arguments,
        ..Default::default()
    });
}
