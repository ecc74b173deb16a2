//! Damaged repositories: always an answer, in bounded time, and never a word of a panic.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode};

use super::sandbox::Sandbox;

/// A repository with loose and packed objects, packed references, a stash, a merge and an untracked file.
fn repository() -> Sandbox {
    let sandbox = Sandbox::with_repository();
    for n in 0..40 {
        sandbox.write(format!("dir/{n}"), format!("{n}\n").repeat(30));
    }
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "second"]);
    sandbox.git(&["tag", "-a", "-m", "tag", "v1"]);
    sandbox.write("file", "stashed\n");
    sandbox.git(&["stash", "-q"]);
    sandbox.git(&["gc", "-q"]);
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "third"]);
    sandbox.git(&["tag", "v2"]);
    sandbox.write(".git/MERGE_HEAD", sandbox.git(&["rev-parse", "HEAD"]));
    sandbox.write("untracked", "");
    sandbox.write("dir/1", "changed\n");
    sandbox
}

/// The files in which damage may be met.
fn files(git_dir: &Path) -> Vec<std::path::PathBuf> {
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
    let mut daemon = sandbox.daemon(&["-s-1", "-u-1", "-c-1", "-d-1", "-t3"]);
    let whole = daemon.ask(sandbox.work());
    assert_eq!(whole.counts(), [0, 1, 0, 1]);
    for path in files(&sandbox.work().join(".git")) {
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
            daemon.ask(sandbox.work()).is_some();
            // As a new process sees it.
            sandbox.daemon(&["-vFATAL"]).ask(sandbox.work()).is_some();
        }
        fs::remove_file(&path).unwrap();
        daemon.ask(sandbox.work()).is_some();
        fs::create_dir(&path).unwrap();
        daemon.ask(sandbox.work()).is_some();
        fs::remove_dir(&path).unwrap();
        for target in [&path, Path::new("nowhere"), Path::new("/dev/null")] {
            symlink(target, &path).unwrap();
            daemon.ask(sandbox.work()).is_some();
            fs::remove_file(&path).unwrap();
        }
        rustix::fs::mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        daemon.ask(sandbox.work()).is_some();
        fs::remove_file(&path).unwrap();
        fs::write(&path, &contents).unwrap();
        assert_eq!(daemon.ask(sandbox.work()), whole, "{}", path.display());
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
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "dir"]);
    let fifo = |name: &str| {
        let path = sandbox.work().join(name);
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
    fs::remove_file(sandbox.work().join("dir/file")).unwrap();
    fifo("dir/file");
    let mut daemon = sandbox.unlimited();
    for _ in 0..2 {
        let answer = daemon.ask(sandbox.work());
        assert_eq!(answer.counts()[..2], [0, 1]);
    }
}
