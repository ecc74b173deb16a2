//! Status that does not look for untracked files, and so need not list directories.

use std::fs::{create_dir, remove_dir_all, remove_file, rename};
use std::os::unix::fs::symlink;

use crate::sandbox::Sandbox;

#[test]
fn changes_in_small_directories_are_found() {
    type Change = fn(&Sandbox);
    let changes: [(&str, Change); 12] = [
        ("nothing", |_| {}),
        ("other contents", |it| it.write("s/one/f", "new\n")),
        ("other size", |it| {
            it.write("s/two/g", "longer than it was\n")
        }),
        ("gone", |it| remove_file(it.path("s/two/g")).unwrap()),
        ("directory gone", |it| {
            remove_dir_all(it.path("s/one")).unwrap()
        }),
        ("directory moved, and linked to", |it| {
            rename(it.path("s/one"), it.path("moved")).unwrap();
            symlink("../moved", it.path("s/one")).unwrap();
        }),
        ("file moved, and linked to", |it| {
            rename(it.path("s/one/f"), it.path("moved")).unwrap();
            symlink("../../moved", it.path("s/one/f")).unwrap();
        }),
        ("file in the place of a directory", |it| {
            remove_dir_all(it.path("s/two")).unwrap();
            it.write("s/two", "f\n");
        }),
        ("directory in the place of a file", |it| {
            remove_file(it.path("s/one/f")).unwrap();
            create_dir(it.path("s/one/f")).unwrap();
        }),
        ("skipped and gone", |it| {
            it.git(["update-index", "--skip-worktree", "s/one/f"]);
            remove_file(it.path("s/one/f")).unwrap();
        }),
        ("assumed to be unchanged", |it| {
            it.git(["update-index", "--assume-unchanged", "s/one/f"]);
            it.write("s/one/f", "new\n");
        }),
        ("touched", |it| it.age("s/two/f", 30)),
    ];
    for (name, change) in changes {
        let sandbox = Sandbox::empty();
        for path in ["s/one/f", "s/two/f", "s/two/g", "s/two/below/h", "z"] {
            sandbox.write(path, "old\n");
            // So that the index proves the files unchanged by their stat data.
            sandbox.age(path, 60);
        }
        sandbox.git(["add", "."]);
        sandbox.git(["commit", "-q", "-m", "one"]);
        change(&sandbox);
        for arguments in [
            &["status", "--porcelain=v2", "-uno"][..],
            &["status", "-s", "-uno", "--", "s/*"],
            &["describe", "--always", "--dirty"],
        ] {
            println!("{name}: {arguments:?}");
            sandbox.assert_same_as_git(&[&["--no-optional-locks"], arguments].concat());
        }
    }
}
