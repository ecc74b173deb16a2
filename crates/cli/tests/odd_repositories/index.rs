//! Indexes that are damaged, or hold what git never writes.

use super::sandbox::{DESCRIBE_WITH_MARKS, STATUS_COMMANDS, Sandbox, VIGIL};

/// Changes before something, in path order, that cannot be read: to a file's contents, by its absence, or to what is staged.
const EARLIER_CHANGES: [&[&str]; 4] = [
    &["rm", "-q", "--cached", "a"],
    &["update-index", "--force-remove", "a"],
    &["update-index", "--chmod=+x", "a"],
    &[
        "update-index",
        "--cacheinfo",
        "120000,e69de29bb2d1d6434b8b29ae775ad8c2e48c5391,a",
    ],
];

#[test]
fn errors_after_the_first_difference_do_not_make_a_mark_fail() {
    let sandbox = Sandbox::new();
    sandbox.write("z/file", "z");
    sandbox.git(["add", "z"]);
    sandbox.git(["commit", "-q", "-m", "z"]);
    let tree = sandbox.git(["rev-parse", "HEAD:z"]);
    sandbox.write("z/file", "changed");
    sandbox.git(["add", "z"]);
    std::fs::remove_file(sandbox.loose_object(tree.trim())).unwrap();
    for arguments in DESCRIBE_WITH_MARKS {
        sandbox.assert_same(arguments, "");
    }
    sandbox.write("a", "changed");
    for arguments in DESCRIBE_WITH_MARKS {
        sandbox.assert_same(arguments, "");
    }
    sandbox.write("a", "a");
    for earlier in EARLIER_CHANGES {
        sandbox.git(earlier.iter().copied());
        for arguments in DESCRIBE_WITH_MARKS {
            sandbox.assert_same(arguments, "");
        }
        sandbox.git(["update-index", "--add", "--chmod=-x", "a"]);
    }
}

#[test]
fn a_damaged_index_is_reported_before_a_missing_commit() {
    let sandbox = Sandbox::new();
    sandbox.git(["symbolic-ref", "HEAD", "refs/heads/unborn"]);
    for index in [None, Some("DIRC")] {
        if let Some(text) = index {
            sandbox.write_in_git_dir("index", text);
        }
        for marks in DESCRIBE_WITH_MARKS {
            let arguments = [&["describe", "--all", "--always"], &marks[1..]].concat();
            sandbox.assert_same(marks, "");
            sandbox.assert_same(&arguments, "");
        }
    }
}

#[test]
fn a_submodule_after_the_first_difference_is_not_asked() {
    let sandbox = Sandbox::new();
    sandbox.git(["init", "-q", "m"]);
    sandbox.git(["-C", "m", "commit", "-q", "--allow-empty", "-m", "x"]);
    sandbox.git(["add", "m"]);
    sandbox.git(["commit", "-q", "-m", "m"]);
    sandbox.write("m/.git/index", "no index");
    let compare = |change: &str| {
        for arguments in DESCRIBE_WITH_MARKS {
            sandbox.assert_same(arguments, change);
        }
    };
    compare("nothing");
    sandbox.write("z", "z");
    sandbox.git(["add", "z"]);
    compare("after it");
    sandbox.write("a", "changed");
    compare("before it");
}

/// Changes the index of `sandbox`, whose checksum git does not check.
fn change_index(sandbox: &Sandbox, change: impl FnOnce(&mut Vec<u8>)) {
    let path = sandbox.git_dir().join("index");
    let mut index = std::fs::read(&path).unwrap();
    change(&mut index);
    std::fs::write(path, index).unwrap();
}

#[test]
fn modes_that_git_never_writes_are_read_as_by_git() {
    const MODE_AT: usize = 12 + 24;
    for mode in [
        0o100_600_u32,
        0o100_777,
        0o100_000,
        0o100_100,
        0o120_777,
        0o160_755,
    ] {
        let sandbox = Sandbox::new();
        sandbox.git(["config", "index.skipHash", "true"]);
        // This invalidates what the index knew of directories.
        sandbox.write("d", "d");
        sandbox.git(["add", "d"]);
        change_index(&sandbox, |index| {
            index[MODE_AT..MODE_AT + 4].copy_from_slice(&mode.to_be_bytes());
        });
        let compare = || {
            for arguments in STATUS_COMMANDS {
                sandbox.assert_same(&[&["--no-optional-locks"], *arguments].concat(), "");
            }
        };
        compare();
        sandbox.write("a", "changed");
        compare();
        std::fs::remove_file(sandbox.top().join("a")).unwrap();
        compare();
    }
}

#[test]
fn unusable_extensions_of_the_index_are_reported() {
    const MODES: &[u8] = b"path\x00100644\x000\x000\0";
    let undo = |ids: &[u8]| [MODES, ids].concat();
    let extensions: &[(&[u8; 4], &[u8])] = &[
        (b"ZZZZ", b"data"),
        (b"Z\0ZZ", b""),
        (b"Z\xff\nZ", b""),
        (b"zzzz", b""),
        (b"z\0zz", b""),
        (b"\xffzzz", b""),
        (b"REUC", b""),
        (b"REUC", b"x"),
        (b"REUC", b"path\0"),
        (b"REUC", b"path\x00100644\0"),
        (b"REUC", b"path\x008\x000\x000\0more"),
        (b"REUC", b"path\x00 +0\x000\x000\0"),
        (b"REUC", b"path\x00 +0\x000\x000\0path"),
        (b"REUC", &undo(&[b'i'; 20])),
        (b"REUC", &undo(&[b'i'; 19])),
        (b"REUC", &undo(&[b'i'; 21])),
        (b"FSMN", b"12345678"),
        (b"FSMN", b"\xff\xff\xff\xff56789"),
    ];
    for (name, data) in extensions {
        let sandbox = Sandbox::new();
        sandbox.git(["config", "index.skipHash", "true"]);
        sandbox.write("d", "d");
        sandbox.git(["add", "d"]);
        change_index(&sandbox, |index| {
            let sum = index.split_off(index.len() - 20);
            index.extend_from_slice(*name);
            index.extend(u32::try_from(data.len()).unwrap().to_be_bytes());
            index.extend_from_slice(data);
            index.extend(sum);
        });
        for arguments in [
            &["--no-optional-locks", "status", "-s"][..],
            &["cat-file", "-t", ":a"],
            &["cat-file", "-p", ":b"],
        ] {
            let printed = |program| sandbox.run(program, arguments, "");
            let (ours, theirs) = (printed(VIGIL), printed("git"));
            assert_eq!(ours, theirs, "{arguments:?} {name:?} {data:?}");
        }
    }
}

/// git does not write such an index, but other programs may.
#[test]
fn files_at_the_top_are_compared_whatever_the_cache_tree_says() {
    let sandbox = Sandbox::new();
    sandbox.git(["config", "index.skipHash", "true"]);
    sandbox.write("dir/file", "x");
    sandbox.git(["add", "dir"]);
    sandbox.git(["commit", "-q", "-m", "dir"]);
    sandbox.git(["reset", "-q", "--hard"]);
    for (name, other) in [("HEAD:dir/file", "HEAD:b"), ("HEAD:a", "HEAD:b")] {
        let id = |name| hex(&sandbox.git(["rev-parse", name]));
        let (id, other) = (id(name), id(other));
        change_index(&sandbox, |index| {
            let at = index.windows(20).position(|bytes| bytes == id).unwrap();
            index.splice(at..at + 20, other.iter().copied());
        });
        for arguments in STATUS_COMMANDS {
            let arguments = [&["--no-optional-locks"], *arguments].concat();
            sandbox.assert_same(&arguments, name);
        }
    }
}

fn hex(id: &str) -> Vec<u8> {
    id.as_bytes()
        .chunks(2)
        .map(|digits| u8::from_str_radix(std::str::from_utf8(digits).unwrap(), 16).unwrap())
        .collect()
}

#[test]
fn an_index_that_is_named_as_a_folder_cannot_be_opened() {
    let mut sandbox = Sandbox::new();
    let absolute = sandbox.git_dir().join("index/");
    let none = sandbox.git_dir().join("none/");
    for name in [
        ".git/index/",
        absolute.to_str().unwrap(),
        none.to_str().unwrap(),
    ] {
        sandbox.0.set_variable("GIT_INDEX_FILE", name);
        let asked = DESCRIBE_WITH_MARKS.iter().chain(STATUS_COMMANDS);
        for arguments in asked.copied().chain([&["cat-file", "-t", ":a"][..]]) {
            sandbox.assert_same(arguments, "");
        }
    }
}
