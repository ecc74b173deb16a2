//! Sparse files that are longer than any that git writes, and things that are not files.

use std::fs::File;
use std::os::unix::fs::symlink;

use rustix::fs::{CWD, FileType, Mode};

use crate::sandbox::{Sandbox, VIGIL};

/// More than the memory available in these tests.
const LARGER_THAN_MEMORY: u64 = 1 << 31;
/// The memory available to Vigil, in KiB.
const MEMORY_KIB: u64 = 700_000;
/// More than is read of any configuration file.
const LARGER_THAN_CONFIG_MAX: u64 = 80 << 20;

/// Extends the file `name` to `len` bytes with a hole.
fn extend_with_hole(sandbox: &Sandbox, name: &str, len: u64) {
    let path = sandbox.top().join(name);
    let file = File::options().append(true).create(true).open(path);
    file.unwrap().set_len(len).unwrap();
}

fn remove(sandbox: &Sandbox, name: &str) {
    let path = sandbox.top().join(name);
    if path.is_dir() {
        std::fs::remove_dir_all(path).unwrap();
    } else {
        std::fs::remove_file(path).unwrap();
    }
}

/// Asserts that both answer alike, Vigil with little memory.
fn assert_same_with_little_memory(sandbox: &Sandbox, arguments: &[&str]) {
    let script = format!("ulimit -v {MEMORY_KIB} && exec \"$0\" \"$@\"");
    let ours = [&["-c", &script, VIGIL], arguments].concat();
    let printed = |program, arguments: &[&str]| {
        let mut command = sandbox.command(program, sandbox.top(), arguments);
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        (output.status.code(), stdout, stderr)
    };
    let (ours, theirs) = (printed("sh", &ours), printed("git", arguments));
    assert!(
        ours == theirs,
        "{arguments:?}: {ours:.300?}\n{theirs:.300?}"
    );
}

/// As [`assert_same_with_little_memory`], with something else, made by `make`, in place of the file `name` meanwhile.
fn assert_same_with_file(sandbox: &Sandbox, name: &str, arguments: &[&str], make: impl FnOnce()) {
    let path = sandbox.top().join(name);
    let aside = sandbox.root().join("aside");
    let is_there = path.exists();
    if is_there {
        std::fs::rename(&path, &aside).unwrap();
    }
    make();
    assert_same_with_little_memory(sandbox, arguments);
    remove(sandbox, name);
    if is_there {
        std::fs::rename(&aside, &path).unwrap();
    }
}

#[test]
fn an_index_is_read_as_far_as_it_makes_sense() {
    let sandbox = Sandbox::with_history();
    let place = sandbox.top().join(".git/index");
    let sound = std::fs::read(&place).unwrap();
    let (body, _) = sound.split_at(sound.len() - 20);
    let extension = |name: &[u8; 4], len: u32| [name.as_slice(), &len.to_be_bytes()].concat();
    for more in [
        Vec::new(),
        // These are skipped, up to the end or to where they stop making sense.
        extension(b"XYZW", u32::MAX),
        extension(b"EOIE", 1 << 30),
        extension(b"xyzw", 1 << 30),
    ] {
        std::fs::write(&place, [body, &more].concat()).unwrap();
        extend_with_hole(&sandbox, ".git/index", LARGER_THAN_MEMORY);
        assert_same_with_little_memory(&sandbox, &["--no-optional-locks", "status", "--porcelain"]);
    }
    std::fs::write(&place, "").unwrap();
    extend_with_hole(&sandbox, ".git/index", LARGER_THAN_MEMORY);
    assert_same_with_little_memory(&sandbox, &["status", "--porcelain"]);
}

#[test]
fn packed_references_are_shown_as_far_as_they_are_text() {
    let sandbox = Sandbox::with_history();
    let id = "0123456789".repeat(4);
    let long = format!("{id} refs/heads/{}\n", "x".repeat(100));
    for contents in [
        format!("# pack-refs with: peeled fully-peeled sorted \n{id} refs/heads/x"),
        format!(
            "# pack-refs with: peeled fully-peeled sorted \n{}",
            long.trim()
        ),
        "# other\n".to_owned(),
        format!("# other{}\n", "x".repeat(100)),
        format!("{id} refs/heads/x\n"),
    ] {
        assert_same_with_file(&sandbox, ".git/packed-refs", &["status", "-sb"], || {
            sandbox.write(".git/packed-refs", &contents);
        });
        let command = &["status", "-sb"];
        assert_same_with_file(&sandbox, ".git/packed-refs", command, || {
            sandbox.write(".git/packed-refs", &contents);
            extend_with_hole(&sandbox, ".git/packed-refs", LARGER_THAN_CONFIG_MAX);
        });
    }
}

#[test]
fn a_large_configuration_is_read_up_to_its_first_bad_line() {
    let sandbox = Sandbox::with_history();
    let place = sandbox.top().join(".git/config");
    let sound = std::fs::read_to_string(&place).unwrap();
    for (contents, len) in [
        (String::new(), LARGER_THAN_CONFIG_MAX),
        (sound, LARGER_THAN_MEMORY),
    ] {
        assert_same_with_file(&sandbox, ".git/config", &["status", "-s"], || {
            sandbox.write(".git/config", &contents);
            extend_with_hole(&sandbox, ".git/config", len);
        });
    }
}

#[test]
fn folders_and_devices_in_the_place_of_files() {
    let sandbox = Sandbox::with_history();
    sandbox.git(["config", "advice.graftFileDeprecated", "false"]);
    for name in [
        ".git/index",
        ".git/HEAD",
        ".git/packed-refs",
        ".git/refs/heads/main",
        ".git/refs/stash",
        ".git/logs/refs/stash",
        ".git/shallow",
        ".git/info/grafts",
        ".git/info/attributes",
        ".git/info/sparse-checkout",
        ".gitattributes",
        ".gitignore",
    ] {
        let path = sandbox.top().join(name);
        assert_same_with_file(&sandbox, name, &["status", "-sb", "--show-stash"], || {
            std::fs::create_dir(&path).unwrap();
        });
        assert_same_with_file(&sandbox, name, &["status", "-sb", "--show-stash"], || {
            symlink("/dev/null", &path).unwrap();
        });
    }
    for name in [".git/index", ".git/HEAD", ".git/packed-refs", ".gitignore"] {
        assert_same_with_file(&sandbox, name, &["status", "-sb"], || {
            symlink("/dev/zero", sandbox.top().join(name)).unwrap();
        });
    }
}

#[test]
fn histories_are_changed_by_what_can_be_read() {
    let sandbox = Sandbox::with_history();
    let stretched = |name: &'static str, contents: &'static str, len| {
        assert_same_with_file(&sandbox, name, &["status", "-sb"], || {
            sandbox.write(name, contents);
            extend_with_hole(&sandbox, name, len);
        });
    };
    sandbox.git(["config", "advice.graftFileDeprecated", "false"]);
    for contents in ["", "x", "x\n", "0123456789012345678901234567890123456789\n"] {
        stretched(".git/shallow", contents, LARGER_THAN_MEMORY);
        stretched(".git/info/grafts", contents, LARGER_THAN_CONFIG_MAX);
    }
    let long = "0123456789".repeat(500);
    sandbox.write(".git/shallow", &long);
    assert_same_with_little_memory(&sandbox, &["status", "-sb"]);
    sandbox.write(".git/shallow", long.replace('9', "9\n"));
    assert_same_with_little_memory(&sandbox, &["status", "-sb"]);
}

#[test]
fn a_common_folder_is_named_by_text() {
    let sandbox = Sandbox::with_history();
    for contents in ["", ".\n", "../.git\n", "x"] {
        for len in [LARGER_THAN_CONFIG_MAX, 1000] {
            assert_same_with_file(&sandbox, ".git/commondir", &["status", "-sb"], || {
                sandbox.write(".git/commondir", contents);
                extend_with_hole(&sandbox, ".git/commondir", len);
            });
        }
    }
}

#[test]
fn alternates_that_cannot_be_read_are_complained_of() {
    let sandbox = Sandbox::with_history();
    std::fs::create_dir(sandbox.top().join(".git/objects/info/alternates")).unwrap();
    assert_same_with_little_memory(&sandbox, &["cat-file", "-t", "HEAD"]);
}

/// git would wait for them, or read forever.
#[test]
fn pipes_and_endless_devices_are_not_waited_for() {
    let sandbox = Sandbox::with_history();
    sandbox.git(["gc", "-q"]);
    sandbox.git(["commit-graph", "write", "--reachable"]);
    sandbox.write(".git/rebase-merge/interactive", "");
    let pack = std::fs::read_dir(sandbox.top().join(".git/objects/pack")).unwrap();
    let packs = pack.map(|entry| entry.unwrap().path());
    let fixed = [
        "index",
        "HEAD",
        "config",
        "packed-refs",
        "refs/heads/main",
        "refs/stash",
        "logs/refs/stash",
        "commondir",
        "shallow",
        "info/grafts",
        "info/exclude",
        "info/attributes",
        "info/sparse-checkout",
        "objects/info/alternates",
        "objects/info/commit-graph",
        "objects/info/commit-graphs/commit-graph-chain",
        "objects/pack/multi-pack-index",
        "MERGE_HEAD",
        "MERGE_MSG",
        "CHERRY_PICK_HEAD",
        "REVERT_HEAD",
        "BISECT_START",
        "sequencer/todo",
        "rebase-merge/done",
        "rebase-merge/git-rebase-todo",
        "rebase-merge/head-name",
        "rebase-merge/onto",
        "rebase-merge/amend",
        "rebase-merge/orig-head",
        "rebase-apply/next",
        "vigil/state",
        "vigil",
        "../.gitignore",
        "../.gitattributes",
        "../.gitmodules",
        "../.mailmap",
    ];
    let fixed = fixed.map(|name| sandbox.top().join(".git").join(name));
    for path in fixed.into_iter().chain(packs) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let aside = sandbox.root().join("aside");
        let is_there = path.exists();
        if is_there {
            std::fs::rename(&path, &aside).unwrap();
        }
        let ask = || {
            for arguments in [
                &["status"][..],
                &["status", "-s", "--show-stash"],
                &["describe", "--always", "--all"],
                &["cat-file", "-s", "HEAD~1"],
            ] {
                let command = sandbox.command(VIGIL, sandbox.top(), arguments);
                let output = { command }.output().unwrap();
                let printed = String::from_utf8_lossy(&output.stderr).into_owned();
                assert!(
                    !printed.contains("panicked"),
                    "{} {printed}",
                    path.display()
                );
                assert!(output.status.code().is_some(), "{}", path.display());
            }
        };
        rustix::fs::mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        ask();
        std::fs::remove_file(&path).unwrap();
        symlink("/dev/zero", &path).unwrap();
        ask();
        std::fs::remove_file(&path).unwrap();
        if is_there {
            std::fs::rename(&aside, &path).unwrap();
        }
    }
}

/// From this length on, git ignores a file of patterns.
const PATTERNS_MAX: u64 = 100 << 20;

#[test]
fn ignore_files_may_be_too_large() {
    let sandbox = Sandbox::with_history();
    sandbox.write("new/file", "");
    sandbox.write("dir/new", "");
    sandbox.write("empty/.gitignore", "");
    let ask = || {
        for arguments in [
            // Ask twice: the second time with what is cached.
            &["status", "-s"][..],
            &["status", "-s"],
            &["status", "-s", "-uno"],
            &["status", "-s", "-uall", "--ignored"],
        ] {
            assert_same_with_little_memory(&sandbox, arguments);
        }
    };
    for (name, lens) in [
        (".gitignore", &[PATTERNS_MAX - 1, PATTERNS_MAX][..]),
        ("dir/.gitignore", &[2 * PATTERNS_MAX]),
        ("new/.gitignore", &[PATTERNS_MAX]),
    ] {
        for &len in lens {
            sandbox.write(name, "*w\n");
            extend_with_hole(&sandbox, name, len);
            ask();
        }
        std::fs::remove_file(sandbox.top().join(name)).unwrap();
    }
    let elsewhere = sandbox.root().join("ignore");
    sandbox.git(["config", "core.excludesFile", elsewhere.to_str().unwrap()]);
    let inside = sandbox.top().join(".git/info/exclude");
    for path in [elsewhere, inside] {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "*w\n").unwrap();
        ask();
        let file = File::options().append(true).open(&path).unwrap();
        file.set_len(PATTERNS_MAX).unwrap();
        ask();
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        std::fs::write(path.join("something"), "").unwrap();
        ask();
        std::fs::remove_dir_all(&path).unwrap();
        symlink(&path, &path).unwrap();
        ask();
        std::fs::remove_file(&path).unwrap();
        ask();
    }
    for (name, len) in [("left-out", PATTERNS_MAX - 1), ("too-large", PATTERNS_MAX)] {
        sandbox.write(name, "*w\n");
        extend_with_hole(&sandbox, name, len);
        let id = sandbox.git(["hash-object", "-w", name]);
        std::fs::remove_file(sandbox.top().join(name)).unwrap();
        let entry = format!("100644,{},dir/.gitignore", id.trim());
        sandbox.git(["update-index", "--add", "--cacheinfo", &entry]);
        sandbox.git(["update-index", "--skip-worktree", "dir/.gitignore"]);
        ask();
    }
    let unborn = Sandbox::empty();
    unborn.write("new/file", "");
    unborn.write(".git/info/exclude", "");
    extend_with_hole(&unborn, ".git/info/exclude", PATTERNS_MAX);
    assert_same_with_little_memory(&unborn, &["status", "-s", "-uno"]);
    assert_same_with_little_memory(&unborn, &["status", "-s"]);
}

#[test]
fn the_rules_of_a_sparse_checkout_may_be_too_large() {
    let sandbox = Sandbox::with_history();
    // Otherwise git looks at their contents, and warns again each time.
    for name in ["a", "b", "c", "dir/d", "dir/e"] {
        sandbox.age(name, 100);
    }
    sandbox.git(["update-index", "--refresh"]);
    sandbox.git(["sparse-checkout", "set", "--cone", "dir"]);
    sandbox.git(["config", "index.sparse", "true"]);
    sandbox.write("new", "");
    let rules = "/*\n!/*/\n/dir/\n";
    for len in [rules.len() as u64, PATTERNS_MAX, LARGER_THAN_MEMORY] {
        sandbox.write(".git/info/sparse-checkout", rules);
        extend_with_hole(&sandbox, ".git/info/sparse-checkout", len);
        assert_same_with_little_memory(&sandbox, &["--no-optional-locks", "status", "-s"]);
    }
}

#[test]
fn long_lists_of_commands_are_counted_where_they_are() {
    const LEN: u64 = 150 << 20;
    let sandbox = Sandbox::with_history();
    sandbox.write(".git/rebase-merge/interactive", "");
    sandbox.write(".git/rebase-merge/head-name", "refs/heads/main\n");
    for name in ["done", "git-rebase-todo"].map(|name| format!(".git/rebase-merge/{name}")) {
        for list in ["pick a\npick b\nexec c\n#", "pick a\npick b\0c\nexec d\n"] {
            sandbox.write(&name, list);
            extend_with_hole(&sandbox, &name, LEN);
            assert_same_with_little_memory(&sandbox, &["status"]);
        }
        sandbox.write(&name, "pick a\n");
    }
    sandbox.write(".git/rebase-merge/done", "x\n".repeat(20_000_000));
    assert_same_with_little_memory(&sandbox, &["status"]);
    sandbox.write(".git/rebase-merge/done", "");
    for name in ["head-name", "onto", "amend", "orig-head"] {
        let name = format!(".git/rebase-merge/{name}");
        extend_with_hole(&sandbox, &name, LEN);
        assert_same_with_little_memory(&sandbox, &["status"]);
        sandbox.write(&name, "");
    }
}

#[test]
fn a_list_of_reftables_without_end_is_refused() {
    let sandbox = Sandbox::initialised(&["--ref-format=reftable"]).with_commits();
    let list = ".git/reftable/tables.list";
    extend_with_hole(&sandbox, list, LARGER_THAN_MEMORY);
    for arguments in [
        &["status"][..],
        &["describe", "--all"],
        &["cat-file", "-t", "HEAD"],
    ] {
        let command = sandbox.command(VIGIL, sandbox.top(), arguments);
        let output = { command }.output().unwrap();
        let printed = String::from_utf8_lossy(&output.stderr).into_owned();
        let path = sandbox.top().join(list);
        let expected = format!("fatal: unable to read {}: File too large\n", path.display());
        assert_eq!((output.status.code(), printed), (Some(128), expected));
    }
}

#[test]
fn recorded_files_of_which_nothing_counts_are_not_read() {
    let sandbox = Sandbox::with_history();
    extend_with_hole(&sandbox, "hole", LARGER_THAN_MEMORY / 2);
    let id = sandbox.git(["-c", "core.compression=1", "hash-object", "-w", "hole"]);
    std::fs::remove_file(sandbox.top().join("hole")).unwrap();
    symlink("target", sandbox.top().join("link")).unwrap();
    for (mode, path) in [("120000", "link"), ("100644", ".gitignore")] {
        let entry = format!("{mode},{},{path}", id.trim());
        sandbox.git(["update-index", "--add", "--cacheinfo", &entry]);
    }
    sandbox.git(["update-index", "--skip-worktree", ".gitignore"]);
    assert_same_with_little_memory(&sandbox, &["status", "-s"]);
}

#[test]
fn attribute_files_may_be_too_large() {
    let sandbox = Sandbox::with_history();
    let ask = || {
        sandbox.write("a", "other\r\n");
        sandbox.write("dir/d", "other\r\n");
        assert_same_with_little_memory(&sandbox, &["status", "-s"]);
    };
    for name in [
        ".gitattributes",
        "dir/.gitattributes",
        ".git/info/attributes",
    ] {
        for len in [PATTERNS_MAX - 1, PATTERNS_MAX] {
            sandbox.write(name, "* x text eol=crlf\n");
            extend_with_hole(&sandbox, name, len);
            ask();
        }
        std::fs::remove_file(sandbox.top().join(name)).unwrap();
    }
    for len in [2047, 2048] {
        let line = format!("* x{}", " y".repeat(len));
        sandbox.write(".gitattributes", &line[..len]);
        ask();
    }
}

#[test]
fn submodules_are_not_read_from_a_hole() {
    let sandbox = Sandbox::with_history();
    let id = sandbox.git(["rev-parse", "HEAD"]);
    let entry = format!("160000,{},sub", id.trim());
    sandbox.git(["update-index", "--add", "--cacheinfo", &entry]);
    for before in ["", "[submodule \"sub\"]\n\tpath = sub\n"] {
        sandbox.write(".gitmodules", before);
        extend_with_hole(&sandbox, ".gitmodules", LARGER_THAN_MEMORY);
        assert_same_with_little_memory(&sandbox, &["status", "--porcelain"]);
    }
}
