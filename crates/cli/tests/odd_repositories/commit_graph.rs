//! Damaged commit-graphs: git complains of them when it reads the first commit, and does without.

use std::path::PathBuf;

use vigil_testkit::sandbox::{git_is_at_least, skip_test};

use super::sandbox::{QUESTIONS, STATUS_COMMANDS, Sandbox};

/// Where a commit-graph in a single file is, inside `.git`.
const SINGLE: &str = "objects/info/commit-graph";
/// Where the list of a commit-graph in several files is.
const CHAIN: &str = "objects/info/commit-graphs/commit-graph-chain";

/// Whether git's complaints are those of the newest one.
fn complains_as_the_newest(test: &str) -> bool {
    let is_new = git_is_at_least("git", 55);
    if !is_new {
        skip_test(test, "git is older than 2.55");
    }
    is_new
}

fn path(sandbox: &Sandbox, name: &str) -> PathBuf {
    sandbox.git_dir().join(name)
}

/// Replaces a file that git made read-only.
fn replace(sandbox: &Sandbox, name: &str, bytes: &[u8]) {
    let path = path(sandbox, name);
    let _ = std::fs::remove_file(&path);
    std::fs::write(path, bytes).unwrap();
}

/// A repository with a commit-graph that has everything.
fn with_graph(options: &[&str]) -> Sandbox {
    let sandbox = Sandbox::new();
    let write = ["commit-graph", "write", "--reachable"];
    sandbox.git([&write[..], options].concat());
    sandbox
}

#[test]
fn a_damaged_file_is_complained_of_with_the_first_commit() {
    if !complains_as_the_newest("a_damaged_file_is_complained_of_with_the_first_commit") {
        return;
    }
    let sandbox = with_graph(&["--changed-paths"]);
    let whole = std::fs::read(path(&sandbox, SINGLE)).unwrap();
    for len in [0, whole.len() / 2] {
        replace(&sandbox, SINGLE, &whole[..len]);
        for arguments in QUESTIONS {
            sandbox.assert_same(arguments, "");
        }
        sandbox.assert_same_name(":/b");
        let names = "HEAD^{tree}\nHEAD~1\nHEAD\nHEAD~1^{tree}\n";
        sandbox.assert_same(&["cat-file", "--batch-check"], names);
        sandbox.assert_same(&["-c", "core.commitGraph=false", "status"], "");
    }
}

#[test]
fn each_damage_has_its_complaint() {
    if !complains_as_the_newest("each_damage_has_its_complaint") {
        return;
    }
    let sandbox = with_graph(&["--changed-paths"]);
    let whole = std::fs::read(path(&sandbox, SINGLE)).unwrap();
    let count = usize::from(whole[6]);
    let same = || {
        sandbox.assert_same(&["status", "-s"], "");
        sandbox.assert_same(&["-c", "commitGraph.generationVersion=1", "describe"], "");
        let settings = ["-c", "commitGraph.readChangedPaths=false"];
        sandbox.assert_same(&[&settings[..], &["describe"]].concat(), "");
    };
    let damaged = |damages: &[(usize, u8)]| {
        let mut bytes = whole.clone();
        for (at, byte) in damages {
            bytes[*at] = *byte;
        }
        replace(&sandbox, SINGLE, &bytes);
        same();
    };
    for (at, byte) in [(0, 0), (4, 9), (5, 9), (6, 0), (6, 1), (6, 200), (7, 3)] {
        damaged(&[(at, byte)]);
    }
    for chunk in 0..=count {
        let at = 8 + 12 * chunk;
        damaged(&[(at, b'X')]);
        damaged(&[(at, 0), (at + 1, 0), (at + 2, 0), (at + 3, 0)]);
        damaged(&[(at + 4, 0x7f)]);
        damaged(&[(at + 11, whole[at + 11] ^ 4)]);
        damaged(&[(at + 10, whole[at + 10] ^ 1)]);
    }
    // The same chunk twice; a fanout table that counts downwards.
    let ids: Vec<(usize, u8)> = (0..4).map(|byte| (20 + byte, whole[8 + byte])).collect();
    damaged(&ids);
    damaged(&[(8 + 12 * (count + 1), 0xff)]);
    for len in [1, 7, 8, 40, 1000, 1100, 1200, whole.len() - 1] {
        replace(&sandbox, SINGLE, &whole[..len]);
        same();
    }
}

#[test]
fn a_chain_is_used_up_to_what_is_wrong() {
    if !complains_as_the_newest("a_chain_is_used_up_to_what_is_wrong") {
        return;
    }
    let sandbox = with_graph(&["--split=no-merge"]);
    for name in ["x", "y"] {
        sandbox.git(["commit", "-q", "--allow-empty", "-m", name]);
        sandbox.git(["commit-graph", "write", "--reachable", "--split=no-merge"]);
    }
    let list = std::fs::read_to_string(path(&sandbox, CHAIN)).unwrap();
    let ids: Vec<&str> = list.lines().collect();
    let [first, second, third] = ids[..] else {
        panic!("{list}");
    };
    let same = || {
        for arguments in STATUS_COMMANDS {
            sandbox.assert_same(arguments, "");
        }
        sandbox.assert_same(&["describe"], "");
        sandbox.assert_same(&["cat-file", "-t", "HEAD~2"], "");
    };
    let other = "1".repeat(40);
    for text in [
        String::new(),
        "short\n".to_owned(),
        format!("{first}\n{second}\n"),
        format!("{first}\n{third}\n"),
        format!("{first}\n{first}\n"),
        format!("{first}\n{other}\n{third}\n"),
        format!("{first}\n{}\n", "z".repeat(40)),
        format!("{first}x\n"),
        format!("{first}\n\n{second}\n"),
        list.trim_end().to_owned(),
    ] {
        replace(&sandbox, CHAIN, text.as_bytes());
        same();
    }
    replace(&sandbox, CHAIN, list.as_bytes());
    let file = format!("objects/info/commit-graphs/graph-{second}.graph");
    let whole = std::fs::read(path(&sandbox, &file)).unwrap();
    for bytes in [&b""[..], &whole[..whole.len() / 2]] {
        replace(&sandbox, &file, bytes);
        same();
    }
    // Without its list of files before it, and with another list.
    let mut bytes = whole.clone();
    let at = whole.windows(4).position(|name| name == b"BASE").unwrap();
    bytes[at] = b'X';
    replace(&sandbox, &file, &bytes);
    same();
    bytes[at] = b'B';
    let end = bytes.len() - 1;
    bytes[end] ^= 1;
    replace(&sandbox, &file, &bytes);
    same();
}

/// The files of a chain may be those of alternates.
#[test]
fn a_chain_is_based_on_that_of_an_alternate() {
    if !complains_as_the_newest("a_chain_is_based_on_that_of_an_alternate") {
        return;
    }
    let sandbox = with_graph(&["--split=no-merge"]);
    let list = std::fs::read_to_string(path(&sandbox, CHAIN)).unwrap();
    sandbox.git(["clone", "-q", "--shared", ".", "shared"]);
    let inside = |arguments: &[&str]| sandbox.git([&["-C", "shared"][..], arguments].concat());
    inside(&["commit", "-q", "--allow-empty", "-m", "x"]);
    inside(&["commit-graph", "write", "--reachable", "--split=no-merge"]);
    let same = || {
        sandbox.assert_same(&["-C", "shared", "status"], "");
        sandbox.assert_same(&["-C", "shared", "describe"], "");
    };
    same();
    let base = format!("objects/info/commit-graphs/graph-{}.graph", list.trim());
    std::fs::remove_file(path(&sandbox, &base)).unwrap();
    same();
    replace(&sandbox, &format!("../shared/.git/{CHAIN}"), b"");
    same();
}
