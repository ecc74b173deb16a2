//! Repositories for tests, made and asked by real git.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use bstr::BStr;

use super::{Blobs, IndexBlobs};

/// A repository in a temporary directory.
pub(in crate::git) struct Fixture {
    top: tempfile::TempDir,
}

/// Reads the index through git.
struct GitIndex(PathBuf);

impl IndexBlobs for GitIndex {
    fn blob(&self, path: &BStr) -> Option<Vec<u8>> {
        let object = OsString::from_iter([OsStr::new(":0:"), OsStr::from_bytes(path)]);
        let output = git(&self.0)
            .args(["cat-file", "blob"])
            .arg(object)
            .output()
            .unwrap();
        output.status.success().then_some(output.stdout)
    }
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

impl Fixture {
    pub(in crate::git) fn new() -> Self {
        let fixture = Self {
            top: tempfile::tempdir().unwrap(),
        };
        fixture.run(["init", "-q"]);
        fixture
    }

    pub(in crate::git) fn path(&self, path: &str) -> PathBuf {
        if path.is_empty() {
            return self.top.path().into();
        }
        self.top.path().join(path)
    }

    /// Writes a file, and the directories it lies in.
    pub(in crate::git) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// git with these arguments, not yet run.
    pub(in crate::git) fn git<const N: usize>(&self, arguments: [&str; N]) -> Command {
        let mut command = git(self.top.path());
        command.args(arguments);
        command
    }

    /// Runs git, which must succeed.
    pub(in crate::git) fn run<const N: usize>(&self, arguments: [&str; N]) -> Output {
        let output = self.git(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        output
    }

    pub(in crate::git) fn blobs(&self) -> Blobs {
        Blobs {
            index: Arc::new(GitIndex(self.top.path().into())),
            tree: None,
        }
    }
}

/// A small reproducible generator (xorshift).
pub(in crate::git) struct Random(pub(in crate::git) u64);

impl Random {
    pub(in crate::git) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    pub(in crate::git) fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }

    pub(in crate::git) fn text(&mut self, parts: &[&str], length_max: usize) -> String {
        (0..=self.below(length_max))
            .map(|_| self.pick(parts))
            .collect()
    }
}
