//! A home directory with repositories, and processes that are asked about them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::daemon::Gitstatusd;

pub(crate) struct Sandbox(vigil_testkit::sandbox::Sandbox);

vigil_testkit::wraps_a_sandbox!(Sandbox);

impl Sandbox {
    pub(crate) fn new() -> Self {
        Self(vigil_testkit::sandbox::Sandbox::empty())
    }

    /// Makes one with a repository `work` that has one commit of one file, `file`.
    pub(crate) fn with_repository() -> Self {
        let sandbox = Self::new();
        sandbox.repository("work");
        sandbox
    }

    pub(crate) fn repository(&self, name: &str) -> PathBuf {
        let top = self.path(name);
        fs::create_dir_all(&top).unwrap();
        self.git_in(&top, ["init", "-q"]);
        fs::write(top.join("file"), "recorded\n").unwrap();
        self.git_in(&top, ["add", "file"]);
        self.git_in(&top, ["commit", "-q", "-m", "first"]);
        top
    }

    /// The path of `name` relative to the root, since there are several repositories.
    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.root().join(name)
    }

    /// The user's configuration.
    pub(crate) fn user_config(&self) -> PathBuf {
        self.home().join(".gitconfig")
    }

    /// The command for the program with `arguments`.
    pub(crate) fn gitstatusd_command(&self, arguments: &[&str]) -> Command {
        let mut command = self.vigil([&["gitstatusd"], arguments].concat());
        command.current_dir("/");
        command
    }

    /// Starts the program with `arguments`.
    pub(crate) fn gitstatusd(&self, arguments: &[&str]) -> Gitstatusd {
        Gitstatusd::start(self.gitstatusd_command(arguments))
    }

    /// Starts the program without limits.
    pub(crate) fn without_limits(&self) -> Gitstatusd {
        self.gitstatusd(&["-s", "-1", "-u", "-1", "-c", "-1", "-d", "-1"])
    }
}
