//! Paths that git never writes to an index, but reads.

use std::fs;
use std::os::unix::fs::symlink;

use crate::sandbox::{Sandbox, VIGIL};

/// An index entry: mode, stage, path.
type Entry<'a> = (u32, u16, &'a str);

const FILE: u32 = 0o100_644;
const LINK: u32 = 0o120_000;
const SUBMODULE: u32 = 0o160_000;

/// An index without stat data, in which all files have the id `id`.
fn index(id: &str, entries: &[Entry<'_>]) -> Vec<u8> {
    let id: Vec<u8> = (0..id.len() / 2)
        .map(|at| u8::from_str_radix(&id[2 * at..2 * at + 2], 16).unwrap())
        .collect();
    let mut out = b"DIRC\0\0\0\x02".to_vec();
    out.extend((entries.len() as u32).to_be_bytes());
    for (mode, stage, path) in entries {
        let start = out.len();
        out.extend([0; 24]);
        out.extend(mode.to_be_bytes());
        out.extend([0; 12]);
        out.extend(&id);
        out.extend((stage << 12 | path.len() as u16).to_be_bytes());
        out.extend(path.as_bytes());
        let len = out.len() - start;
        out.resize(start + ((len + 8) & !7), 0);
    }
    out.extend([0; 20]);
    out
}

fn repository() -> Sandbox {
    let sandbox = Sandbox::empty();
    sandbox.write("f1", "text\n");
    sandbox.write("a/b", "other text\n");
    sandbox.write("a/deep/c", "more\n");
    sandbox.write("z", "last\n");
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-q", "-m", "one"]);
    sandbox
}

fn assert_same_in_all_formats(sandbox: &Sandbox) {
    for arguments in [
        &["status", "--porcelain"][..],
        &["status", "--porcelain=v2", "--branch"],
        &["status"],
        &["status", "-s", "-uno"],
        &["status", "-s", "-uall", "--ignored"],
        &["status", "--porcelain", "--no-renames", "-z"],
        &["status", "-s", "a"],
        &["status", "-s", "--", "a/*", ":!z"],
    ] {
        sandbox.assert_same_as_git(&[&["--no-optional-locks"], arguments].concat());
    }
    sandbox.assert_same_as_git_in("a", &["--no-optional-locks", "status"]);
}

/// Compares all answers without a state, with the state of a sound index, and with the state of this one.
fn assert_same_with_and_without_state(sandbox: &Sandbox, bytes: &[u8]) {
    let place = sandbox.top().join(".git/index");
    let sound = fs::read(&place).unwrap();
    let write_index = |bytes: &[u8]| {
        fs::write(&place, bytes).unwrap();
        // An index as old as its files proves nothing about them, and a state of it is not used right away.
        let then = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::new(1_700_000_000, 5);
        let file = fs::File::options().write(true).open(&place).unwrap();
        file.set_modified(then).unwrap();
    };
    let set_state_file = |is_kept: &str| sandbox.git(["config", "vigil.stateFile", is_kept]);
    write_index(bytes);
    set_state_file("false");
    assert_same_in_all_formats(sandbox);
    set_state_file("true");
    write_index(&sound);
    for _ in 0..2 {
        sandbox.status(&["status"]);
    }
    write_index(bytes);
    for _ in 0..2 {
        sandbox.assert_same_as_git(&["--no-optional-locks", "status", "--porcelain=v2"]);
        sandbox.assert_same_as_git(&["--no-optional-locks", "status", "-s", "-uall"]);
    }
    let verified = sandbox.command(VIGIL, sandbox.top(), ["state", "verify"]);
    let verified = { verified }.output().unwrap();
    assert!(verified.status.success(), "{verified:?}");
    write_index(&sound);
}

/// Directories that have no name, or that of another, cannot be entered. But files below them are looked up by the system, which
/// ignores empty names, and may follow the other ones out of the working tree.
#[test]
fn impossible_names_in_the_index() {
    let sandbox = repository();
    let id = sandbox.git(["rev-parse", "HEAD:f1"]);
    for path in [
        "a//b",
        "a//none",
        "a///b",
        "a//deep/c",
        "a/deep//c",
        "a//deep//c",
        "none//b",
        "f1//x",
        "/",
        "/a",
        "//",
        "///",
        "//a//b",
        "a/",
        "a//",
        "f1/",
        "f1//",
        "/etc/passwd",
        "//etc/passwd",
        "/no/such/file",
        "",
        "./f1",
        "../f1",
        "../work/f1",
        "a/./b",
        "a/../f1",
        "a/deep/../../f1",
        ".git/config",
        "a/.git/config",
        ".",
        "..",
        "a/..",
    ] {
        assert_same_with_and_without_state(&sandbox, &index(&id, &[(FILE, 0, path)]));
        let mut beside = [(FILE, 0, path), (FILE, 0, "a/b"), (FILE, 0, "f1")];
        beside.sort_by_key(|entry| entry.2);
        assert_same_with_and_without_state(&sandbox, &index(&id, &beside));
    }
}

#[test]
fn odd_names_in_several_paths() {
    let sandbox = repository();
    let id = sandbox.git(["rev-parse", "HEAD:f1"]);
    let paths = [
        "",
        "/",
        "//",
        "//a",
        "/a",
        "/a/b",
        "a/",
        "a/!/x",
        "a//",
        "a//a",
        "a//b",
        "a//b/c",
        "a/b",
        "a/deep//c",
        "a/deep/c",
        "f1",
        "f1/",
        "z",
    ];
    let entries = paths.map(|path| (FILE, 0, path));
    assert_same_with_and_without_state(&sandbox, &index(&id, &entries));
}

#[test]
fn odd_names_in_conflicts() {
    let sandbox = repository();
    let id = sandbox.git(["rev-parse", "HEAD:f1"]);
    for path in ["a//b", "/a", "/", "a/", "a//", "", "a/../f1"] {
        let entries = [2, 3].map(|stage| (FILE, stage, path));
        assert_same_with_and_without_state(&sandbox, &index(&id, &entries));
        let entries = [1, 2, 3].map(|stage| (FILE, stage, path));
        assert_same_with_and_without_state(&sandbox, &index(&id, &entries));
    }
}

#[test]
fn odd_names_behind_links() {
    let sandbox = repository();
    let id = sandbox.git(["rev-parse", "HEAD:f1"]);
    sandbox.write("real/x", "text\n");
    symlink("real", sandbox.top().join("link")).unwrap();
    symlink("../real", sandbox.top().join("a/link")).unwrap();
    for path in [
        "link//x",
        "a//link/x",
        "a//link//x",
        "a//link",
        "a//link/",
        "link/",
        "a/link//",
    ] {
        for mode in [FILE, LINK] {
            assert_same_with_and_without_state(&sandbox, &index(&id, &[(mode, 0, path)]));
        }
    }
}

#[test]
fn odd_names_of_submodules() {
    let sandbox = repository();
    let nested = repository();
    fs::rename(nested.top(), sandbox.top().join("a/sub")).unwrap();
    let id = sandbox.git(["rev-parse", "HEAD"]);
    for path in [
        "a//sub", "a/sub/", "a//sub/", "a/sub//", "/", "/none", "", "a//",
    ] {
        assert_same_with_and_without_state(&sandbox, &index(&id, &[(SUBMODULE, 0, path)]));
    }
}

/// Names that other systems allow, and paths that no system does.
#[test]
fn names_and_paths_that_are_too_long_for_the_system() {
    let sandbox = repository();
    let id = sandbox.git(["rev-parse", ":z"]);
    let id = id.trim();
    let long = "n".repeat(256);
    let path = "p/".repeat(2045);
    let names = [
        "n".repeat(255),
        long.clone(),
        format!("{long}/f"),
        format!("a/{long}/{long}/f"),
        format!("gone/{long}/f"),
        format!("link/{long}/f"),
        format!("link/{long}"),
        format!("link/gone/{long}"),
        format!("dangling/{long}"),
        format!("{path}fffff"),
        format!("{path}ffffff"),
        format!("{}f", "q/".repeat(3000)),
        format!("link/{}f", "q/".repeat(3000)),
        format!("link/{}f", "q/".repeat(2040)),
    ];
    symlink("a", sandbox.path("link")).unwrap();
    symlink("nowhere", sandbox.path("dangling")).unwrap();
    let add = |names: &[String], stages: &[u8]| {
        let entry = |name| {
            let of_stage = move |stage| format!("100644 {id} {stage}\t{name}\n");
            stages.iter().map(of_stage)
        };
        let entries: String = names.iter().flat_map(entry).collect();
        sandbox.git_with_input(["update-index", "--add", "--index-info"], entries);
    };
    add(&names, &[0]);
    assert_same_in_all_formats(&sandbox);
    for name in names.chunks(1) {
        for stages in [&[1, 2, 3][..], &[3], &[0]] {
            sandbox.git(["reset", "-q"]);
            add(name, stages);
            assert_same_briefly(&sandbox);
        }
        // A commit with more directories in each other is not read.
        if name.iter().all(|name| name.matches('/').count() < 2048) {
            sandbox.git(["commit", "-q", "-m", "long"]);
            assert_same_briefly(&sandbox);
            sandbox.git(["reset", "-q", "HEAD~"]);
        }
    }
}

fn assert_same_briefly(sandbox: &Sandbox) {
    sandbox.assert_same_as_git(&["--no-optional-locks", "status", "--porcelain"]);
    sandbox.assert_same_as_git(&["describe", "--always", "--dirty"]);
}

/// Each directory is put into the next one, so that no path is too long for that.
#[test]
fn a_tracked_directory_with_a_path_that_is_too_long() {
    let sandbox = repository();
    let id = sandbox.git(["rev-parse", ":z"]);
    let name = "n".repeat(100);
    let (deep, next) = (sandbox.path("deep"), sandbox.path("next"));
    fs::create_dir(&deep).unwrap();
    for level in 0..45 {
        fs::create_dir(&next).unwrap();
        fs::rename(&deep, next.join(&name)).unwrap();
        fs::write(next.join("untracked"), "").unwrap();
        if level % 2 == 0 {
            fs::write(next.join("f"), "last\n").unwrap();
        }
        fs::rename(&next, &deep).unwrap();
    }
    for levels in [30..45, 41..45, 38..40] {
        sandbox.git(["reset", "-q"]);
        let entries = levels.map(|level| {
            let above = format!("{name}/").repeat(level);
            format!("100644 {} 0\tdeep/{above}f\n", id.trim())
        });
        let entries: String = entries.collect();
        sandbox.git_with_input(["update-index", "--add", "--index-info"], entries);
        assert_same_in_all_formats(&sandbox);
    }
}

/// git opens `.gitignore` by its path, and says so when that is too long, even if there is none.
#[test]
fn ignore_files_with_paths_that_are_too_long_are_not_read() {
    for (len, has_rules) in [(4084, true), (4085, true), (4085, false), (4091, true)] {
        let sandbox = repository();
        let (deep, next) = (sandbox.path("deep"), sandbox.path("next"));
        fs::create_dir(&deep).unwrap();
        fs::write(deep.join("x.o"), "").unwrap();
        if has_rules {
            fs::write(deep.join(".gitignore"), "*.o\n").unwrap();
        }
        let mut name = "n".repeat(len - "deep/".len() - 40 * 101);
        for _ in 0..=40 {
            fs::create_dir(&next).unwrap();
            fs::rename(&deep, next.join(name)).unwrap();
            fs::rename(&next, &deep).unwrap();
            name = "n".repeat(100);
        }
        for arguments in [
            &["status", "-s", "-uall"][..],
            &["status", "-s"],
            &["status", "-s", "-uall", "--ignored"],
            &["status", "-s", "-uno"],
        ] {
            for _ in 0..2 {
                sandbox.assert_same_as_git(&[&["--no-optional-locks"], arguments].concat());
            }
        }
    }
}
