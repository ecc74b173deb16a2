//! Real git in a repository of its own, to compare with, and reproducible chance: for unit tests, which panic where it fails.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    reason = "only tests call this, and a test that fails may panic"
)]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// A repository in a temporary directory, out of reach of the user's own configuration.
#[derive(Debug)]
pub struct Oracle {
    directory: TempDir,
}

#[allow(clippy::new_without_default, reason = "it makes folders")]
impl Oracle {
    /// An empty repository.
    pub fn new() -> Self {
        let oracle = Self {
            directory: TempDir::new().unwrap(),
        };
        fs::create_dir(oracle.directory.path().join("work")).unwrap();
        oracle.git(&["init", "-q"]);
        oracle
    }

    /// The top of its working tree.
    pub fn top(&self) -> std::path::PathBuf {
        self.directory.path().join("work")
    }

    /// Writes a file in the working tree, and the directories it is in.
    pub fn write(&self, path: impl AsRef<Path>, contents: impl AsRef<[u8]>) {
        let path = self.top().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, contents).unwrap();
    }

    /// What git prints, called in the directory `subdirectory` of the working tree with `input` to read.
    pub fn output(&self, subdirectory: &str, arguments: &[&str], input: &[u8]) -> Output {
        let mut child = Command::new("git")
            .args(arguments)
            .current_dir(self.top().join(subdirectory))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("HOME", self.directory.path())
            .env("LC_ALL", "C")
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("GIT_CONFIG_GLOBAL")
            .env_remove("GIT_DIR")
            .env_remove("GIT_WORK_TREE")
            .env("GIT_AUTHOR_NAME", "A")
            .env("GIT_AUTHOR_EMAIL", "a@example.com")
            .env("GIT_COMMITTER_NAME", "A")
            .env("GIT_COMMITTER_EMAIL", "a@example.com")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        std::thread::scope(|scope| {
            // git may end before it has read all.
            scope.spawn(move || stdin.write_all(input).is_ok());
            child.wait_with_output().unwrap()
        })
    }

    /// What git prints at the top of the working tree; it must succeed.
    pub fn git(&self, arguments: &[&str]) -> Vec<u8> {
        let output = self.output("", arguments, b"");
        assert!(
            output.status.success(),
            "git {arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        output.stdout
    }
}

/// Chance that a seed fixes (xorshift).
#[derive(Debug)]
pub struct Chance(u64);

impl Chance {
    /// The chance of this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit
    }

    /// One of `choices`.
    pub fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}
