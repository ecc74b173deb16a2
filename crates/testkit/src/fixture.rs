//! A repository for unit tests, made and asked by real git, which sees none of the user's configuration.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    reason = "only tests call this, and a test that fails may panic"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A repository in a temporary directory.
#[derive(Debug)]
pub struct Fixture {
    top: tempfile::TempDir,
}

fn git(top: &Path) -> Command {
    let mut command = Command::new("git");
    command
        .current_dir(top)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", top.join("home"))
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_ATTR_NOSYSTEM", "1");
    command
}

#[allow(clippy::new_without_default, reason = "it makes folders")]
impl Fixture {
    /// An empty repository.
    pub fn new() -> Self {
        let fixture = Self {
            top: tempfile::tempdir().unwrap(),
        };
        fixture.run(["init", "-q"]);
        fixture
    }

    /// Where `path` is, from the top of the working tree.
    pub fn path(&self, path: &str) -> PathBuf {
        if path.is_empty() {
            return self.top.path().into();
        }
        self.top.path().join(path)
    }

    /// Writes a file, and the directories it lies in.
    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// git with these arguments, not yet run.
    pub fn git<const N: usize>(&self, arguments: [&str; N]) -> Command {
        let mut command = git(self.top.path());
        command.args(arguments);
        command
    }

    /// Runs git, which must succeed.
    pub fn run<const N: usize>(&self, arguments: [&str; N]) -> Output {
        let output = self.git(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        output
    }
}

/// A small reproducible generator (xorshift).
#[derive(Debug)]
pub struct Random(pub u64);

impl Random {
    /// A number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    /// One of `from`.
    pub fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }

    /// One to `length_max` of `parts` after one another.
    pub fn text(&mut self, parts: &[&str], length_max: usize) -> String {
        (0..=self.below(length_max))
            .map(|_| self.pick(parts))
            .collect()
    }
}
