//! Submodules.

use bstr::BString;

use super::operation::table;
use crate::action::Action;
use crate::random::maker::Maker;
use crate::random::names::join;

table! {
    "add a submodule", 5, add;
    "add and commit a submodule", 3, |m| { add(m); m.commit("with a submodule"); };
    "change a file in a submodule", 5, |m| write_inside(m, "file", "changed\n");
    "leave an untracked file in a submodule", 5, |m| write_inside(m, "untracked", "u\n");
    "stage a change in a submodule", 2, |m| { write_inside(m, "file", "staged\n"); git(m, &["add", "-A"]); };
    "commit in a submodule", 4, |m| {
        write_inside(m, "file", "committed\n");
        git(m, &["add", "-A"]);
        git(m, &["commit", "-q", "-m", "inside"]);
    };
    "go back in a submodule", 2, |m| git(m, &["checkout", "-q", "HEAD~1"]);
    "clean a submodule", 3, |m| { git(m, &["reset", "-q", "--hard"]); git(m, &["clean", "-qfd"]); };
    "add a submodule's commit", 4, |m| { let path = submodule_path(m); m.git_paths(&["add"], &[path]); };
    "update the submodules", 3, |m| m.git(&["submodule", "--quiet", "update", "--init", "-f"]);
    "close a submodule", 2, |m| { let path = submodule_path(m); m.git_paths(&["submodule", "--quiet", "deinit", "-f"], &[path]); };
    "absorb the submodules' git directories", 1, |m| m.git(&["submodule", "--quiet", "absorbgitdirs"]);
    "add a repository as a submodule without .gitmodules", 3, add_bare;
    "set what a submodule ignores", 4, |m| {
        let name = submodule_path(m);
        let value = m.rng.pick(&["none", "untracked", "dirty", "all"]);
        let mut key = BString::from("submodule.");
        key.extend_from_slice(&name);
        key.extend_from_slice(b".ignore");
        let key = String::from_utf8_lossy(&key).into_owned();
        if m.rng.chance(50) {
            m.git(&["config", &key, value]);
        } else {
            m.git(&["config", "-f", ".gitmodules", &key, value]);
        }
    };
    "remove .gitmodules", 1, |m| m.remove(b".gitmodules");
    "remove a submodule's working tree", 2, |m| { let path = submodule_path(m); m.remove(&path); };
    "empty a submodule", 1, |m| {
        let path = submodule_path(m);
        m.remove(&path);
        m.act(Action::Directory { path: join(b"work", &path) });
    };
    "put a submodule in a submodule", 1, |m| {
        git(m, &["submodule", "--quiet", "add", "{ROOT}/library", "inner"]);
        let mut inner = join(b"work", &submodule_path(m));
        inner.extend_from_slice(b"/inner/untracked");
        m.act(Action::write(inner, "u\n"));
    };
    "put a file in a submodule's place", 1, |m| {
        let path = submodule_path(m);
        m.remove(&path);
        m.write(&path, "a file\n");
    };
}

/// The path of a random submodule.
fn submodule_path(m: &mut Maker) -> BString {
    m.rng.pick(&["module", "dir/module", "a module"]).into()
}

fn git(m: &mut Maker, arguments: &[&str]) {
    // Through -C, so that nothing happens if the submodule does not exist: git would find the outer repository.
    let path = submodule_path(m);
    let git_file = BString::from([&join(b"work", &path)[..], b"/.git"].concat());
    let mut all: Vec<BString> = vec![
        "--git-dir".into(),
        [b"{ROOT}/", &git_file[..]].concat().into(),
    ];
    all.extend([
        BString::from("--work-tree"),
        [b"{ROOT}/work/", &path[..]].concat().into(),
    ]);
    all.extend(arguments.iter().map(|argument| BString::from(*argument)));
    let run = crate::action::GitRun {
        directory: join(b"work", &path),
        arguments: all,
        ..Default::default()
    };
    m.git_run(run);
}

fn write_inside(m: &mut Maker, name: &str, data: &str) {
    let path = submodule_path(m);
    m.write(&join(&path, name.as_bytes()), data);
}

fn make_library(m: &mut Maker) {
    m.git_in(".", &["init", "-q", "library"]);
    m.act(Action::write("library/file", "from the library\n"));
    m.act(Action::write("library/sub/.gitignore", "*.o\n"));
    m.git_in("library", &["add", "-A"]);
    m.git_in("library", &["commit", "-q", "-m", "library"]);
}

fn add(m: &mut Maker) {
    make_library(m);
    let path = submodule_path(m);
    m.git_paths(
        &["submodule", "--quiet", "add", "-f"],
        &["{ROOT}/library".into(), path],
    );
}

fn add_bare(m: &mut Maker) {
    make_library(m);
    let path = submodule_path(m);
    m.git_paths(&["clone", "-q"], &["{ROOT}/library".into(), path.clone()]);
    m.git_paths(&["add", "-f"], &[path]);
}
