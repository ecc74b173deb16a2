//! A candidate that is git itself, which asks a file system monitor what changed; git without one is right.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bstr::{BString, ByteSlice};

use crate::alone::{self, Untracked};
use crate::invocation::Invocation;
use crate::sandbox::{Sandbox, SandboxError};

/// How git asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// It runs a hook.
    Hook,
    /// It asks at the socket of its builtin monitor.
    Socket,
}

/// The monitor.
#[derive(Clone, Debug)]
pub struct Monitor {
    /// The program, whose daemon answers.
    pub program: PathBuf,
    /// How git asks.
    pub way: Way,
}

/// The repository whose changes are monitored, and its socket.
const REPOSITORY: &str = "work/.git";
const SOCKET: &str = "work/.git/fsmonitor--daemon.ipc";
/// What git runs as a hook.
const HOOK: &str = "home/vigil-fsmonitor-hook";

impl Monitor {
    /// Has all that runs in `sandbox` find the daemon in `runtime_folder`.
    ///
    /// # Errors
    /// The hook cannot be made.
    pub(crate) fn begin(
        &self,
        sandbox: &mut Sandbox,
        runtime_folder: &Path,
    ) -> Result<(), SandboxError> {
        let folder = runtime_folder.as_os_str().as_bytes();
        sandbox.set_variable("VIGIL_NO_DAEMON", b"0");
        sandbox.set_variable("VIGIL_RUNTIME_DIR", folder);
        // A busy machine is slow, and that is no reason to do without an answer here.
        sandbox.set_variable("VIGIL_DAEMON_PATIENCE_MS", b"60000");
        sandbox.set_variable("VIGIL_DAEMON_REST_S", b"0");
        std::os::unix::fs::symlink(&self.program, sandbox.place(HOOK)).map_err(|source| {
            SandboxError::Io {
                deed: "making the hook".to_owned(),
                source,
            }
        })
    }

    /// Has git in the repository of `sandbox`, if there is one by now, ask the monitor. `is_cached` if it is to have an untracked
    /// cache, too.
    pub(crate) fn ensure(&self, sandbox: &Sandbox, git: &Path, is_cached: bool) {
        let config = sandbox.place(REPOSITORY).join("config");
        let Ok(text) = std::fs::read(&config) else {
            return;
        };
        if self.way == Way::Socket && sandbox.place(SOCKET).symlink_metadata().is_err() {
            // Where it is not served, git is not told to ask: it would start its own.
            let mut command = sandbox.isolated(&self.program, b"work");
            if !succeeds(command.args(["fsmonitor", "start"])) {
                let mut command = sandbox.isolated(git, b"work");
                succeeds(command.args(["config", "core.fsmonitor", "false"]));
                return;
            }
        }
        let set = |key: &str, value: &std::ffi::OsStr| {
            let mut command = sandbox.isolated(git, b"work");
            succeeds(command.args(["config", key]).arg(value));
        };
        let hook = sandbox.place(HOOK);
        let value = match self.way {
            Way::Hook => hook.as_os_str(),
            Way::Socket => "true".as_ref(),
        };
        let line = [&b"fsmonitor = "[..], value.as_bytes(), b"\n"].concat();
        if !text.windows(line.len()).any(|part| part == line) {
            set("core.fsmonitor", value);
            set(
                "core.untrackedCache",
                if is_cached { "true" } else { "false" }.as_ref(),
            );
        }
    }

    /// Has `invocation` be answered as if there were no monitor.
    pub(crate) fn leave_out(invocation: &mut Invocation, untracked: Untracked) {
        let off = ["-c", "core.fsmonitor=false"];
        invocation.globals.insert(0, off.map(Into::into).to_vec());
        Self::adapt(invocation);
        if untracked == Untracked::Looked {
            let name = "GIT_DISABLE_UNTRACKED_CACHE".into();
            invocation.variables.push((name, "1".into()));
        }
    }

    /// Whether `invocation` has the same answer from a git that writes its index and from one that does not: in the repository's
    /// own folder, what is written shows.
    pub(crate) fn suits(invocation: &Invocation) -> bool {
        let folders = [&invocation.directory]
            .into_iter()
            .chain(invocation.globals.iter().flatten());
        !folders.into_iter().any(|folder| folder.ends_with(b".git"))
    }

    /// Leaves out of `invocation` by what git tells that it keeps its untracked files, and what has it write an index of another
    /// kind.
    pub(crate) fn adapt(invocation: &mut Invocation) {
        let tells = |name: &BString| name == "GIT_TEST_UF_DELAY_WARNING";
        invocation.variables.retain(|(name, _)| !tells(name));
        let splits = |word: &BString| word.to_ascii_lowercase().starts_with(b"core.splitindex");
        invocation.globals.retain(|words| !words.iter().any(splits));
    }

    /// `said` without how much of a sparse checkout is there: git tells it once it has expanded its index, which it does for what
    /// a monitor tells it.
    pub(crate) fn comparable(said: &[u8]) -> Vec<u8> {
        let lines = said.lines_with_terminator();
        let tells = |line: &&[u8]| line.starts_with(b"You are in a sparse checkout");
        lines
            .filter(|line| !tells(line))
            .flatten()
            .copied()
            .collect()
    }

    /// Has `command`, a git in `sandbox` that asks, write down what it found out, and how it came to that.
    pub(crate) fn let_write(sandbox: &Sandbox, command: &mut Command) {
        command.env_remove("GIT_OPTIONAL_LOCKS");
        command.env("GIT_TRACE2_EVENT", alone::trace(sandbox));
    }
}

fn succeeds(command: &mut Command) -> bool {
    let command = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
