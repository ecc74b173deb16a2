//! A candidate that is git itself, with a file system monitor. git without a monitor is the oracle.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bstr::{BString, ByteSlice};

use crate::git_without_monitor::{self, UntrackedSource};
use crate::invocation::Invocation;
use crate::sandbox::{Sandbox, SandboxError, while_doing};

/// How git asks the monitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Through a hook.
    Hook,
    /// At the socket of its builtin monitor.
    Socket,
}

/// The monitor.
#[derive(Clone, Debug)]
pub struct Monitor {
    /// The program whose daemon answers.
    pub program: PathBuf,
    /// How git asks.
    pub transport: Transport,
}

/// The repository whose changes are monitored, and its socket.
const REPOSITORY: &str = "work/.git";
const SOCKET: &str = "work/.git/fsmonitor--daemon.ipc";
/// The path of the hook that git runs.
const HOOK: &str = "home/vigil-fsmonitor-hook";

impl Monitor {
    /// Sets the variables by which all programs in `sandbox` find the daemon in `runtime_folder`.
    ///
    /// # Errors
    /// The hook cannot be created.
    pub(crate) fn set_up(
        &self,
        sandbox: &mut Sandbox,
        runtime_folder: &Path,
    ) -> Result<(), SandboxError> {
        let folder = runtime_folder.as_os_str().as_bytes();
        sandbox.set_variable("VIGIL_NO_DAEMON", b"0");
        sandbox.set_variable("VIGIL_RUNTIME_DIR", folder);
        // Wait for the daemon even on a busy machine, since the answer must come from it.
        sandbox.set_variable("VIGIL_DAEMON_PATIENCE_MS", b"60000");
        sandbox.set_variable("VIGIL_DAEMON_REST_S", b"0");
        std::os::unix::fs::symlink(&self.program, sandbox.path_from_root(HOOK))
            .map_err(while_doing("making the hook"))
    }

    /// Makes git ask the monitor in the repository of `sandbox`, if it exists yet. `is_cached` says whether git also uses an
    /// untracked cache.
    pub(crate) fn configure_git(&self, sandbox: &Sandbox, git: &Path, is_cached: bool) {
        let config = sandbox.path_from_root(REPOSITORY).join("config");
        let Ok(text) = std::fs::read(&config) else {
            return;
        };
        if self.transport == Transport::Socket
            && sandbox.path_from_root(SOCKET).symlink_metadata().is_err()
        {
            // If the socket is not served, git is not told to ask: it would start its own monitor.
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
        let hook = sandbox.path_from_root(HOOK);
        let value = match self.transport {
            Transport::Hook => hook.as_os_str(),
            Transport::Socket => "true".as_ref(),
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

    /// Changes `invocation` so that it is answered without a monitor.
    pub(crate) fn switch_off(invocation: &mut Invocation, untracked: UntrackedSource) {
        let off = ["-c", "core.fsmonitor=false"];
        invocation.globals.insert(0, off.map(Into::into).to_vec());
        Self::make_comparable(invocation);
        if untracked == UntrackedSource::Scanned {
            let name = "GIT_DISABLE_UNTRACKED_CACHE".into();
            invocation.variables.push((name, "1".into()));
        }
    }

    /// Whether a git that writes its index and one that does not give the same answer to `invocation`. In the repository's own
    /// folder they do not, because the written files show there.
    pub(crate) fn is_comparable(invocation: &Invocation) -> bool {
        let folders = [&invocation.directory]
            .into_iter()
            .chain(invocation.globals.iter().flatten());
        !folders.into_iter().any(|folder| folder.ends_with(b".git"))
    }

    /// Removes from `invocation` everything that makes git report its cache of untracked files, or write another kind of index.
    pub(crate) fn make_comparable(invocation: &mut Invocation) {
        let tells = |name: &BString| name == "GIT_TEST_UF_DELAY_WARNING";
        invocation.variables.retain(|(name, _)| !tells(name));
        let splits = |word: &BString| word.to_ascii_lowercase().starts_with(b"core.splitindex");
        invocation.globals.retain(|words| !words.iter().any(splits));
    }

    /// `output` without the line about the sparse checkout: git prints it once it has expanded its index, which it does to apply
    /// what a monitor reports.
    pub(crate) fn without_sparse_message(output: &[u8]) -> Vec<u8> {
        let lines = output.lines_with_terminator();
        let tells = |line: &&[u8]| line.starts_with(b"You are in a sparse checkout");
        lines
            .filter(|line| !tells(line))
            .flatten()
            .copied()
            .collect()
    }

    /// Lets `command`, a git in `sandbox` with a monitor, write what it found out, and a trace.
    pub(crate) fn allow_writing(sandbox: &Sandbox, command: &mut Command) {
        command.env_remove("GIT_OPTIONAL_LOCKS");
        command.env("GIT_TRACE2_EVENT", git_without_monitor::trace_file(sandbox));
    }
}

fn succeeds(command: &mut Command) -> bool {
    let command = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
