//! Asks remotes about their objects without fetching them (`remote-object-info` in git-cat-file(1), from git 2.56 on). The
//! installed git does the asking, as it does for objects that a partial clone left out.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use bstr::ByteSlice;
use rustix::fs::{Access, access};

use crate::child::{ChildEnvironment, FilterStderr, input_of};
use crate::repository::Repository;

/// Set for the git that is run: if that is Vigil under another name, it must not run git again.
const RECURSION_GUARD: &str = "VIGIL_IS_ASKED_FOR_GIT";

/// The command, as lines of `git cat-file --batch-command` begin with it.
pub const COMMAND: &str = "remote-object-info";

/// The installed git, if it knows [`COMMAND`].
#[derive(Debug)]
pub struct RemoteObjects {
    child_environment: ChildEnvironment,
    program: PathBuf,
}

/// git's answer.
#[derive(Debug)]
pub struct Answer {
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// The exit code; `None` if a signal ended it. git's messages are then on standard error.
    pub code: Option<i32>,
}

impl RemoteObjects {
    /// Finds the git that answers for `repository`. `None` if there is none that knows the command.
    pub fn of(repository: &Repository) -> Option<Self> {
        if repository.environment.get(RECURSION_GUARD).is_some() {
            return None;
        }
        let mut remote = Self {
            child_environment: ChildEnvironment::of(repository, FilterStderr::Inherit),
            program: "git".into(),
        };
        if let Some(program) = remote.in_exec_path() {
            remote.program = program;
        }
        remote.supports_command().then_some(remote)
    }

    /// Returns the git in the directory of git's own commands: the one on the `PATH` may be a script that starts Vigil again.
    fn in_exec_path(&self) -> Option<PathBuf> {
        let output = self.command().arg("--exec-path").output().ok()?;
        let folder = Path::new(OsStr::from_bytes(
            output.stdout.trim_end_with(|c| c == '\n'),
        ));
        let program = folder.join("git");
        let is_there = folder.is_absolute() && access(&program, Access::EXEC_OK).is_ok();
        is_there.then_some(program)
    }

    fn supports_command(&self) -> bool {
        let mut command = self.command();
        command.env("LC_ALL", "C").stderr(Stdio::piped());
        // Without arguments the command fails, with another message than an unknown one.
        let output = run(
            &mut command,
            &["--batch-command".as_ref()],
            format!("{COMMAND}\n").as_bytes(),
        );
        output.is_ok_and(|output| output.stderr.contains_str("requires arguments"))
    }

    /// Asks git for the answer to `line`, which begins with [`COMMAND`] and ends with its line feed; `options` are those
    /// of `git cat-file`.
    ///
    /// # Errors
    /// git cannot be run.
    pub fn ask(&self, options: &[&OsStr], line: &[u8]) -> io::Result<Answer> {
        let output = run(self.command().stderr(Stdio::inherit()), options, line)?;
        Ok(Answer {
            stdout: output.stdout,
            code: output.status.code(),
        })
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        self.child_environment
            .apply_to(&mut command)
            .env(RECURSION_GUARD, "1");
        command
    }
}

/// Runs `command` as `cat-file` with `options`, and gives it `line` to read.
fn run(command: &mut Command, options: &[&OsStr], line: &[u8]) -> io::Result<Output> {
    command.arg("cat-file").args(options);
    command
        .stdin(input_of(line)?)
        .stdout(Stdio::piped())
        .output()
}
