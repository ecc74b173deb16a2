//! Real repositories for unit tests of references, objects and history.

#![allow(
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    clippy::new_without_default,
    reason = "only tests call this, and a test that fails may panic"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use gix_hash::{Kind, ObjectId};

/// How a repository keeps its references (`--ref-format` of git-init(1)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefFormat {
    /// Files and `packed-refs`.
    Files,
    /// Reftables.
    Reftable,
}

/// A repository in a temporary directory, and git to change it.
#[derive(Debug)]
pub struct Sandbox {
    dir: tempfile::TempDir,
    /// How it keeps its references.
    pub format: RefFormat,
    /// The kind of its ids.
    pub hash: Kind,
}

impl Sandbox {
    /// A repository with files for references and SHA-1.
    pub fn new() -> Self {
        Self::with(RefFormat::Files, Kind::Sha1)
    }

    /// A repository of the given formats, in the folder `main`.
    pub fn with(format: RefFormat, hash: Kind) -> Self {
        let sandbox = Self {
            dir: tempfile::tempdir().unwrap(),
            format,
            hash,
        };
        let format = match format {
            RefFormat::Files => "--ref-format=files",
            RefFormat::Reftable => "--ref-format=reftable",
        };
        let hash = match hash {
            Kind::Sha256 => "--object-format=sha256",
            _ => "--object-format=sha1",
        };
        sandbox.git_in(
            sandbox.dir.path(),
            &["init", "-q", "-b", "main", format, hash, "main"],
        );
        sandbox
    }

    /// A repository with a history of `count` commits in one pack, with merges, and clocks that differ.
    pub fn with_history(count: usize) -> Self {
        let sandbox = Self::new();
        let mut input = String::new();
        for at in 0..count {
            let time_s = 1_600_000_000 + at * 60 - at * 7919 % 1000;
            let start = format!("commit refs/heads/main\nmark :{}\n", at + 1);
            let who = format!("committer C <c> {time_s} +0000\ndata 8\n{at:08}\n");
            input.push_str(&(start + &who));
            for (word, back) in [("from", 1), ("merge", 2 + at % 5), ("merge", 9 + at % 3)] {
                if at >= back && (back == 1 || at % 4 == 0) {
                    input.push_str(&format!("{word} :{}\n", at - back + 1));
                }
            }
            input.push('\n');
        }
        sandbox.git_with_input(&["fast-import", "--quiet"], input.as_bytes());
        sandbox
    }

    /// The same, with five commits in a row of a file each; nothing is tagged.
    pub fn with_five_commits(self) -> Self {
        for number in 1..=5 {
            let name = format!("file{number}");
            std::fs::write(self.work_tree().join(&name), &name).unwrap();
            self.git(&["add", &name]);
            self.commit_at(&name, 1_700_000_000 + number * 60);
        }
        self
    }

    /// The folder that it is in.
    pub fn root(&self) -> &Path {
        self.dir.path()
    }

    /// Its main worktree.
    pub fn work_tree(&self) -> PathBuf {
        self.dir.path().join("main")
    }

    /// The git directory of that.
    pub fn git_dir(&self) -> PathBuf {
        self.work_tree().join(".git")
    }

    fn command(&self, folder: &Path, args: &[&str]) -> Command {
        let mut command = Command::new("git");
        command.args(args).current_dir(folder).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.dir.path());
        for (name, value) in [
            ("GIT_CONFIG_NOSYSTEM", "1"),
            // Upkeep in the background would replace packs while a test reads them.
            ("GIT_CONFIG_COUNT", "1"),
            ("GIT_CONFIG_KEY_0", "maintenance.auto"),
            ("GIT_CONFIG_VALUE_0", "false"),
            ("GIT_AUTHOR_NAME", "A"),
            ("GIT_AUTHOR_EMAIL", "a@example.com"),
            ("GIT_AUTHOR_DATE", "1700000000 +0000"),
            ("GIT_COMMITTER_NAME", "C"),
            ("GIT_COMMITTER_EMAIL", "c@example.com"),
            ("GIT_COMMITTER_DATE", "1700000000 +0000"),
        ] {
            command.env(name, value);
        }
        command
    }

    /// Runs git in `folder`; it must succeed. Its output, without the last newline.
    pub fn git_in(&self, folder: &Path, args: &[&str]) -> String {
        let output = self.command(folder, args).output().unwrap();
        assert!(
            output.status.success(),
            "git {args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout)
            .trim_end_matches('\n')
            .to_owned()
    }

    /// Runs git in the main worktree; it must succeed.
    pub fn git(&self, args: &[&str]) -> String {
        self.git_in(&self.work_tree(), args)
    }

    /// Runs git in the main worktree, whatever comes of it: its output and its errors.
    pub fn try_git(&self, args: &[&str]) -> (String, String) {
        let output = self.command(&self.work_tree(), args).output().unwrap();
        (
            String::from_utf8_lossy(&output.stdout).into(),
            String::from_utf8_lossy(&output.stderr).into(),
        )
    }

    /// Runs git with `input`; it must succeed.
    pub fn git_with_input(&self, args: &[&str], input: &[u8]) -> String {
        use std::io::Write;
        let mut command = self.command(&self.work_tree(), args);
        command
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input).unwrap();
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "git {args:?}");
        String::from_utf8_lossy(&output.stdout)
            .trim_end_matches('\n')
            .to_owned()
    }

    /// Commits nothing new with the given message and committer time.
    pub fn commit_at(&self, message: &str, time_s: i64) -> ObjectId {
        let date = format!("@{time_s} +0000");
        let args = ["commit", "-q", "--allow-empty", "-m", message];
        let mut command = self.command(&self.work_tree(), &args);
        assert!(
            command
                .env("GIT_COMMITTER_DATE", date)
                .status()
                .unwrap()
                .success()
        );
        self.id("HEAD")
    }

    /// Commits nothing new.
    pub fn commit(&self, message: &str) -> ObjectId {
        self.commit_at(message, 1_700_000_000)
    }

    /// What git makes of a revision.
    pub fn id(&self, revision: &str) -> ObjectId {
        ObjectId::from_hex(self.git(&["rev-parse", "--verify", revision]).as_bytes()).unwrap()
    }
}

/// Every pair of formats that git can make.
pub const FORMATS: [(RefFormat, Kind); 4] = [
    (RefFormat::Files, Kind::Sha1),
    (RefFormat::Files, Kind::Sha256),
    (RefFormat::Reftable, Kind::Sha1),
    (RefFormat::Reftable, Kind::Sha256),
];
