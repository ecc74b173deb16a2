//! Damaged repositories: there is always an answer, in bounded time, and never a panic message.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode};

use super::sandbox::Sandbox;

/// A repository with loose and packed objects, packed references, a stash, a merge and an untracked file.
fn repository() -> Sandbox {
    let sandbox = Sandbox::with_repository();
    for n in 0..40 {
        sandbox.write(format!("dir/{n}"), format!("{n}\n").repeat(30));
    }
    sandbox.git(["add", "-A"]);
    sandbox.git(["commit", "-q", "-m", "second"]);
    sandbox.git(["tag", "-a", "-m", "tag", "v1"]);
    sandbox.write("file", "stashed\n");
    sandbox.git(["stash", "-q"]);
    sandbox.git(["gc", "-q"]);
    sandbox.git(["commit", "-q", "--allow-empty", "-m", "third"]);
    sandbox.git(["tag", "v2"]);
    sandbox.write(".git/MERGE_HEAD", sandbox.git(["rev-parse", "HEAD"]));
    sandbox.write("untracked", "");
    sandbox.write("dir/1", "changed\n");
    sandbox
}

/// The files that may be damaged.
fn damageable_files(git_dir: &Path) -> Vec<std::path::PathBuf> {
    let mut files: Vec<_> = [
        "HEAD",
        "config",
        "index",
        "packed-refs",
        "info/exclude",
        "MERGE_HEAD",
    ]
    .iter()
    .map(|name| git_dir.join(name))
    .collect();
    files.extend(["refs/heads/main", "refs/tags/v2", "logs/refs/stash"].map(|n| git_dir.join(n)));
    for pack in fs::read_dir(git_dir.join("objects/pack")).unwrap() {
        files.push(pack.unwrap().path());
    }
    for folder in fs::read_dir(git_dir.join("objects")).unwrap() {
        let folder = folder.unwrap().path();
        if folder.file_name().unwrap().len() == 2 {
            files.extend(
                fs::read_dir(folder)
                    .unwrap()
                    .map(|file| file.unwrap().path()),
            );
        }
    }
    files.sort();
    files
}

#[test]
fn each_damage_is_answered_and_repair_is_seen() {
    let sandbox = repository();
    let mut daemon = sandbox.gitstatusd(&["-s-1", "-u-1", "-c-1", "-d-1", "-t3"]);
    let whole = daemon.ask(sandbox.top());
    assert_eq!(whole.counts(), [0, 1, 0, 1]);
    for path in damageable_files(&sandbox.top().join(".git")) {
        let contents = fs::read(&path).unwrap();
        let cut = |len: usize| contents[..len].to_vec();
        let flip = |at: usize| {
            let mut bytes = contents.clone();
            bytes[at] ^= 0x55;
            bytes
        };
        let last = contents.len() - 1;
        for damaged in [
            cut(0),
            cut(last / 2),
            cut(last),
            flip(0),
            flip(last / 3),
            flip(last / 2),
            flip(last),
            b"nonsense\n".to_vec(),
            vec![0xff; 5000],
        ] {
            // Objects are read-only.
            fs::remove_file(&path).unwrap();
            fs::write(&path, damaged).unwrap();
            daemon.ask(sandbox.top()).is_repository();
            // As a new process sees it.
            sandbox
                .gitstatusd(&["-vFATAL"])
                .ask(sandbox.top())
                .is_repository();
        }
        fs::remove_file(&path).unwrap();
        daemon.ask(sandbox.top()).is_repository();
        fs::create_dir(&path).unwrap();
        daemon.ask(sandbox.top()).is_repository();
        fs::remove_dir(&path).unwrap();
        for target in [&path, Path::new("nowhere"), Path::new("/dev/null")] {
            symlink(target, &path).unwrap();
            daemon.ask(sandbox.top()).is_repository();
            fs::remove_file(&path).unwrap();
        }
        rustix::fs::mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        daemon.ask(sandbox.top()).is_repository();
        fs::remove_file(&path).unwrap();
        fs::write(&path, &contents).unwrap();
        assert_eq!(daemon.ask(sandbox.top()), whole, "{}", path.display());
    }
    let (status, messages) = daemon.end();
    assert!(status.success());
    assert!(!messages.contains("panicked"), "{messages}");
    assert!(!messages.contains("defect"), "{messages}");
}

#[test]
fn pipes_and_devices_in_the_working_tree_do_not_stop_it() {
    let sandbox = Sandbox::with_repository();
    sandbox.write("dir/file", "recorded\n");
    sandbox.git(["add", "-A"]);
    sandbox.git(["commit", "-q", "-m", "dir"]);
    let fifo = |name: &str| {
        let path = sandbox.top().join(name);
        rustix::fs::mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    };
    for name in [
        ".gitignore",
        ".gitattributes",
        "dir/.gitignore",
        "pipe",
        "dir/pipe",
    ] {
        fifo(name);
    }
    fs::remove_file(sandbox.top().join("dir/file")).unwrap();
    fifo("dir/file");
    let mut daemon = sandbox.without_limits();
    for _ in 0..2 {
        let answer = daemon.ask(sandbox.top());
        assert_eq!(answer.counts()[..2], [0, 1]);
    }
}

/// Truncates the file `path` in place and returns its former contents.
fn cut_in_place(path: &Path, len: u64) -> Vec<u8> {
    let contents = fs::read(path).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    let file = fs::File::options().write(true).open(path).unwrap();
    file.set_len(len).unwrap();
    contents
}

/// The lengths to which the file `path` is cut.
fn lengths_to_cut_to(path: &Path) -> [u64; 4] {
    let len = fs::metadata(path).unwrap().len();
    [0, len / 2, len - 1, len.saturating_sub(4096)]
}

/// The files that are mapped: packs and what belongs to them, packed references, and the state's data file.
#[test]
fn files_that_are_cut_while_they_are_in_use_are_closed() {
    let sandbox = repository();
    let git_dir = sandbox.top().join(".git");
    // Enough for the file to be mapped.
    let head = sandbox.git(["rev-parse", "HEAD"]);
    let more: String = (0..2000)
        .map(|n| format!("create refs/remotes/origin/{n:04} {head}\n"))
        .collect();
    sandbox.git_with_input(["update-ref", "--stdin"], more);
    sandbox.git(["pack-refs", "--all"]);
    sandbox.git(["repack", "-q", "-a", "-d"]);
    sandbox.git(["branch", "-q", "other", "HEAD~1"]);
    sandbox.git(["branch", "-q", "--set-upstream-to=other"]);
    sandbox.git(["config", "gc.auto", "0"]);
    // Both layouts: a pack by itself, and a pack in a multi-pack-index, with a commit-graph.
    for with_midx in [false, true] {
        if with_midx {
            sandbox.git(["commit-graph", "write", "--reachable"]);
            sandbox.git(["multi-pack-index", "write"]);
        }
        let mut first = sandbox.without_limits();
        let whole = first.ask(sandbox.top());
        assert!(whole.is_repository());
        // The state is saved before the next question is read.
        assert_eq!(first.ask(sandbox.top()), whole);
        let mut daemon = sandbox.without_limits();
        let mut paths = damageable_files(&git_dir);
        paths.extend([git_dir.join("objects/info/commit-graph")]);
        let is_mapped = |path: &&std::path::PathBuf| {
            let name = path.file_name().unwrap().to_str().unwrap();
            let starts = ["pack-", "multi-", "packed-", "commit-"];
            path.exists() && starts.iter().any(|start| name.starts_with(start))
        };
        let mut cuts = 0;
        for path in paths.iter().filter(is_mapped) {
            for left in lengths_to_cut_to(path) {
                assert_eq!(daemon.ask(sandbox.top()), whole);
                let contents = cut_in_place(path, left);
                let told = daemon.ask(sandbox.top());
                // A new process sees only what is left.
                let expected = sandbox.without_limits().ask(sandbox.top());
                assert_eq!(told, expected, "{} {left}", path.display());
                fs::write(path, contents).unwrap();
                cuts += 1;
            }
        }
        assert!(cuts >= if with_midx { 20 } else { 12 }, "{cuts}");
        // The last byte of a state may be a zero without meaning.
        for at in [0, 1, 3] {
            assert_eq!(daemon.ask(sandbox.top()), whole);
            let state = sandbox.state_data();
            cut_in_place(&state, lengths_to_cut_to(&state)[at]);
            assert_eq!(daemon.ask(sandbox.top()), whole, "{at}");
            // After one more answer, a whole state has taken its place.
            assert_eq!(daemon.ask(sandbox.top()), whole, "{at}");
            let verified = sandbox.vigil(["state", "verify"]).output().unwrap();
            assert!(verified.status.success(), "{at}: {verified:?}");
        }
        assert_eq!(daemon.ask(sandbox.top()), whole);
        let (status, messages) = daemon.end();
        assert!(status.success(), "{messages}");
        assert!(!messages.contains("panicked"), "{messages}");
    }
}
