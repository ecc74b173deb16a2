//! A separate working copy, and programs that are isolated from the user's environment.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::prepared;
use crate::process;

/// A folder with a home and a working copy.
#[derive(Debug)]
pub struct HgSandbox {
    folder: tempfile::TempDir,
    hg: PathBuf,
    variables: Vec<(String, String)>,
}

/// Returns whether `hg` is a program that runs.
pub fn is_installed(hg: impl AsRef<OsStr>) -> bool {
    Command::new(hg)
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success())
}

impl HgSandbox {
    /// Makes an empty folder, in which `hg` is Mercurial's program.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn new(parent: &Path, hg: &Path) -> io::Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("vigil-hg-")
            .tempdir_in(parent)?;
        let sandbox = Self {
            folder,
            hg: hg.into(),
            variables: Vec::new(),
        };
        std::fs::create_dir(sandbox.home())?;
        std::fs::create_dir(sandbox.top())?;
        Ok(sandbox)
    }

    /// The user's home folder.
    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// The top of the working copy.
    pub fn top(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// The folder that has everything.
    pub fn root(&self) -> &Path {
        self.folder.path()
    }

    /// Mercurial's program.
    pub fn hg_program(&self) -> &Path {
        &self.hg
    }

    /// Sets an environment variable for all programs.
    pub fn set_variable(&mut self, name: &str, value: &str) {
        self.variables.push((name.into(), value.into()));
    }

    /// Prepares to run `program` in `folder`, with an isolated environment.
    pub fn command(&self, program: impl AsRef<OsStr>, folder: &Path) -> Command {
        let mut command = process::command(program);
        command
            .current_dir(folder)
            .env_clear()
            .env("HOME", self.home())
            .env("HGRCPATH", self.home().join("hgrc"))
            .env("HGUSER", "tester")
            .env("HGMERGE", ":merge3")
            // No daemon answers there, unless one is started.
            .env("VIGIL_RUNTIME_DIR", self.folder.path().join("run"))
            .env("HGEDITOR", "true")
            .env("LC_ALL", "C.UTF-8")
            .env("TZ", "UTC")
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Prepares to run the shell command `text` in `folder`, on a terminal of its own.
    pub fn on_a_terminal(&self, folder: &Path, text: &str) -> Command {
        let mut command = self.command("script", folder);
        process::on_a_terminal(&mut command, text);
        command
    }

    /// Runs `hg` in the working copy.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn hg<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
    ) -> io::Result<Output> {
        self.hg_in(&self.top(), arguments)
    }

    /// Runs `hg` in `folder`.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn hg_in<A: AsRef<OsStr>>(
        &self,
        folder: &Path,
        arguments: impl IntoIterator<Item = A>,
    ) -> io::Result<Output> {
        self.hg_begun_with(&[], folder, arguments)
    }

    /// Runs `hg` in `folder`, with `beginning` before it on the command line.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn hg_begun_with<A: AsRef<OsStr>>(
        &self,
        beginning: &[&str],
        folder: &Path,
        arguments: impl IntoIterator<Item = A>,
    ) -> io::Result<Output> {
        prepared::output_of(beginning, self.command(&self.hg, folder).args(arguments))
    }

    /// Keeps the folder instead of deleting it.
    pub fn keep(self) -> PathBuf {
        self.folder.keep()
    }
}
