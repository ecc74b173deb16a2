//! `vigil status` and `vigil describe --dirty` compared with git's if HEAD's commit or one of its trees is damaged: the same
//! answer, messages and exit code.

#![allow(clippy::unwrap_used, reason = "all of this file is tests")]

use std::path::{Path, PathBuf};

use vigil_testkit::sandbox::{TextOutput, run_with_input};

const VIGIL: &str = env!("CARGO_BIN_EXE_vigil");

const STATUS_COMMANDS: &[&[&str]] = &[
    &["status"],
    &["status", "-sb"],
    &["status", "--porcelain=v2", "--branch"],
    &["status", "--porcelain=v2", "-uno"],
];

type Damage = fn(&[u8]) -> Vec<u8>;

const DAMAGES: [(&str, Damage); 7] = [
    ("is empty", |_| Vec::new()),
    ("is something else", |_| b"garbage\n".to_vec()),
    ("ends early", |bytes| {
        bytes.iter().take(20).copied().collect()
    }),
    ("is cut", |bytes| {
        bytes.iter().take(bytes.len() - 10).copied().collect()
    }),
    ("has a changed byte", |bytes| {
        let mut bytes = bytes.to_vec();
        let middle = bytes.len() / 2;
        bytes
            .iter_mut()
            .skip(middle)
            .take(1)
            .for_each(|byte| *byte ^= 0xff);
        bytes
    }),
    ("has a changed end", |bytes| {
        let mut bytes = bytes.to_vec();
        bytes
            .iter_mut()
            .rev()
            .skip(4)
            .take(1)
            .for_each(|byte| *byte ^= 1);
        bytes
    }),
    ("goes on", |bytes| bytes.repeat(2)),
];

/// A repository with two commits, the second with a file in a directory; another file there is staged, and one is untracked.
struct Sandbox(vigil_testkit::sandbox::Sandbox);

vigil_testkit::wraps_a_sandbox!(Sandbox);

impl Sandbox {
    fn new() -> Self {
        let sandbox = Self(vigil_testkit::sandbox::Sandbox::initialised(&[]));
        sandbox.commit("a", "first");
        sandbox.commit("dir/b", "second");
        sandbox.write("dir/c", "staged");
        sandbox.git(["add", "dir/c"]);
        sandbox.write("new", "");
        sandbox
    }

    fn commit(&self, path: &str, contents: &str) {
        self.write(path, contents);
        self.git(["add", path]);
        self.git(["commit", "-q", "-m", path]);
        self.git(["tag", "-a", "-m", "x", contents]);
    }

    fn object_file(&self, name: &str) -> PathBuf {
        self.loose_object(self.git(["rev-parse", name]).trim())
    }

    #[track_caller]
    fn assert_same(&self, arguments: &[&str], what: &str) {
        let [ours, theirs] = [VIGIL, "git"].map(|program| {
            TextOutput::from(run_with_input(self.command(program, "", arguments), b""))
        });
        assert_eq!(ours, theirs, "{arguments:?} {what}");
    }

    #[track_caller]
    fn assert_same_statuses(&self, what: &str) {
        for arguments in STATUS_COMMANDS {
            self.assert_same(arguments, what);
        }
    }
}

fn damage_file(path: &Path, damage: Damage) {
    let bytes = damage(&std::fs::read(path).unwrap());
    std::fs::remove_file(path).unwrap();
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn a_damaged_file_of_head_is_named() {
    for name in ["HEAD", "HEAD^{tree}", "HEAD:dir"] {
        for (what, damage) in DAMAGES {
            let sandbox = Sandbox::new();
            damage_file(&sandbox.object_file(name), damage);
            sandbox.assert_same_statuses(&format!("{name} {what}"));
        }
        let sandbox = Sandbox::new();
        std::fs::remove_file(sandbox.object_file(name)).unwrap();
        sandbox.assert_same_statuses(&format!("{name} is gone"));
    }
}

#[test]
fn a_missing_folder_of_objects_is_reported_once() {
    let sandbox = Sandbox::new();
    sandbox.write(".git/objects/info/alternates", "/no/such/folder\n");
    std::fs::remove_file(sandbox.object_file("HEAD")).unwrap();
    for arguments in STATUS_COMMANDS {
        let [ours, theirs] = [VIGIL, "git"].map(|program| {
            let output = run_with_input(sandbox.command(program, "", *arguments), b"");
            let printed = String::from_utf8(output.stderr).unwrap();
            printed.lines().map(str::to_owned).collect::<Vec<_>>()
        });
        // Some versions repeat themselves.
        let mut once = theirs;
        once.dedup();
        assert_eq!(once.len(), 2);
        assert_eq!(ours, once, "{arguments:?}");
    }
}

#[test]
fn another_tree_in_the_place_of_heads_is_not_used() {
    let sandbox = Sandbox::new();
    let tree = sandbox.object_file("HEAD^{tree}");
    std::fs::remove_file(&tree).unwrap();
    std::fs::copy(sandbox.object_file("HEAD~1^{tree}"), &tree).unwrap();
    sandbox.assert_same_statuses("");
}

#[test]
fn a_damaged_pack_of_head_is_named() {
    for extension in ["pack", "idx"] {
        for (what, damage) in DAMAGES {
            let sandbox = Sandbox::new();
            sandbox.git(["repack", "-q", "-a", "-d"]);
            damage_file(&sandbox.pack_file(extension), damage);
            sandbox.assert_same_statuses(&format!("{extension} {what}"));
        }
        let sandbox = Sandbox::new();
        sandbox.git(["repack", "-q", "-a", "-d"]);
        std::fs::remove_file(sandbox.pack_file(extension)).unwrap();
        sandbox.assert_same_statuses(&format!("{extension} is gone"));
    }
}

/// git does not read a commit that is in the commit-graph.
#[test]
fn a_damaged_commit_that_is_in_the_graph_has_a_status() {
    for (name, is_answered) in [("HEAD", true), ("HEAD^{tree}", false)] {
        for (what, damage) in DAMAGES {
            let sandbox = Sandbox::new();
            sandbox.git(["commit-graph", "write", "--reachable"]);
            damage_file(&sandbox.object_file(name), damage);
            sandbox.assert_same_statuses(&format!("{name} {what}"));
            let output = run_with_input(sandbox.command(VIGIL, "", ["status"]), b"");
            assert_eq!(output.status.success(), is_answered, "{name} {what}");
        }
        let sandbox = Sandbox::new();
        sandbox.git(["commit-graph", "write", "--reachable"]);
        std::fs::remove_file(sandbox.object_file(name)).unwrap();
        sandbox.assert_same_statuses(&format!("{name} is gone"));
    }
}
