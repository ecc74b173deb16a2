//! A home and repositories in it, out of reach of the user's own configuration.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use super::daemon::{Daemon, VIGIL};

pub(crate) struct Sandbox {
    folder: TempDir,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        Self {
            // In memory where that is possible: no disk is waited for.
            folder: tempfile::tempdir_in("/dev/shm")
                .or_else(|_| tempfile::tempdir())
                .unwrap(),
        }
    }

    /// With a repository `work` that has one commit of one file, `file`.
    pub(crate) fn with_repository() -> Self {
        let sandbox = Self::new();
        sandbox.repository("work");
        sandbox
    }

    pub(crate) fn repository(&self, name: &str) -> PathBuf {
        let top = self.path(name);
        fs::create_dir_all(&top).unwrap();
        self.git_in(&top, &["init", "-q"]);
        fs::write(top.join("file"), "recorded\n").unwrap();
        self.git_in(&top, &["add", "file"]);
        self.git_in(&top, &["commit", "-q", "-m", "first"]);
        top
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.root().join(name)
    }

    /// The repository that [`Self::with_repository`] makes.
    pub(crate) fn work(&self) -> PathBuf {
        self.path("work")
    }

    pub(crate) fn write(&self, name: impl AsRef<Path>, contents: impl AsRef<[u8]>) {
        let path = self.work().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, contents).unwrap();
    }

    /// Runs git at the top of `work`; it must succeed.
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        self.git_in(&self.work(), arguments)
    }

    pub(crate) fn git_in(&self, dir: &Path, arguments: &[&str]) -> String {
        let output = self.try_git_in(dir, arguments);
        assert!(output.status.success(), "git {arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    pub(crate) fn try_git_in(&self, dir: &Path, arguments: &[&str]) -> Output {
        let mut command = self.clean(Command::new("git"));
        command
            .args([
                "-c",
                "init.defaultBranch=main",
                "-c",
                "protocol.file.allow=always",
            ])
            .args(arguments)
            .current_dir(dir);
        command.output().unwrap()
    }

    /// `command` with an environment that is the same everywhere.
    pub(crate) fn clean(&self, mut command: Command) -> Command {
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("GIT_") {
                command.env_remove(name);
            }
        }
        command
            .env("HOME", self.root())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_NAME", "A")
            .env("GIT_AUTHOR_EMAIL", "a@example.com")
            .env("GIT_AUTHOR_DATE", "1700000000 +0000")
            .env("GIT_COMMITTER_NAME", "A")
            .env("GIT_COMMITTER_EMAIL", "a@example.com")
            .env("GIT_COMMITTER_DATE", "1700000000 +0000")
            .env_remove("XDG_CONFIG_HOME")
            .env("LC_ALL", "C");
        command
    }

    /// The program with `arguments`, not started yet.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.clean(Command::new(VIGIL));
        command.arg("gitstatusd").args(arguments).current_dir("/");
        command
    }

    /// The program with `arguments`, running.
    pub(crate) fn daemon(&self, arguments: &[&str]) -> Daemon {
        Daemon::start(self.command(arguments))
    }

    /// The program without limits, running.
    pub(crate) fn unlimited(&self) -> Daemon {
        self.daemon(&["-s", "-1", "-u", "-1", "-c", "-1", "-d", "-1"])
    }
}
