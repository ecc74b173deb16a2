//! Directories with few files, which are not opened where nothing is listed, or a listing is remembered.

use std::fs::{Permissions, create_dir, remove_dir_all, remove_file, rename, set_permissions};
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::sandbox::Sandbox;

#[test]
fn changes_in_small_directories_are_found() {
    type Change = fn(&Sandbox);
    let changes: [(&str, Change); 17] = [
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
        ("more", |it| it.write("s/one/more", "")),
        ("more below", |it| it.write("s/two/below/more/still", "")),
        ("more, and ignored", |it| it.write("s/one/x.o", "")),
        ("rules", |it| {
            it.write("s/one/.gitignore", "!*.o\n");
            it.write("s/one/x.o", "");
        }),
        ("may not be listed", |it| {
            set_permissions(it.path("s/one"), Permissions::from_mode(0o311)).unwrap()
        }),
    ];
    for (name, change) in changes {
        let sandbox = Sandbox::empty();
        for path in ["s/one/f", "s/two/f", "s/two/g", "s/two/below/h", "z"] {
            sandbox.write(path, "old\n");
            // So that the index proves the files unchanged by their stat data.
            sandbox.age(path, 60);
        }
        sandbox.write(".gitignore", "*.o\n");
        sandbox.git(["add", "."]);
        sandbox.git(["commit", "-q", "-m", "one"]);
        sandbox.settle();
        // What is remembered on disk, too, must not hide a change.
        for _ in 0..2 {
            assert_eq!(sandbox.status(&["status", "-s"]), "");
        }
        change(&sandbox);
        for arguments in [
            &["status", "--porcelain=v2", "-uno"][..],
            &["status", "-s", "-uno", "--", "s/*"],
            &["status", "-s"],
            &["status", "-s", "--ignored"],
            &["describe", "--always", "--dirty"],
        ] {
            println!("{name}: {arguments:?}");
            sandbox.assert_same_as_git(&[&["--no-optional-locks"], arguments].concat());
        }
    }
}
