//! The versions of git that a user may run.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bstr::ByteSlice;
use vigil_git::environment::Environment;
use vigil_git::installed;

use super::install::Mechanism;

/// The first version that passes tokens to a hook, and the first with a builtin monitor on Linux.
const HOOK_SINCE: (u32, u32) = (2, 26);
const SOCKET_SINCE: (u32, u32) = (2, 55);

/// An installed git.
pub(super) struct Git {
    pub(super) path: PathBuf,
    /// The first two numbers of its version.
    pub(super) version: (u32, u32),
    /// It was built with its own monitor.
    has_monitor: bool,
}

impl Git {
    /// Returns whether it asks by `mechanism`, with a token.
    pub(super) fn can_ask(&self, mechanism: Mechanism) -> bool {
        match mechanism {
            Mechanism::Hook => self.version >= HOOK_SINCE,
            Mechanism::Socket => self.version >= SOCKET_SINCE && self.has_monitor,
        }
    }
}

/// Finds all gits in `PATH`, in its order.
pub(super) fn all(environment: &Environment) -> Vec<Git> {
    let folders = environment.get("PATH").unwrap_or_default();
    let mut seen: Vec<PathBuf> = Vec::new();
    let mut gits = Vec::new();
    for (path, real) in installed::programs(folders, "git") {
        if seen.contains(&real) {
            continue;
        }
        seen.push(real);
        gits.extend(look_at(&path));
    }
    gits
}

fn look_at(path: &Path) -> Option<Git> {
    let mut command = Command::new(path);
    command.args(["version", "--build-options"]);
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output();
    let said = output.ok()?.stdout;
    Some(Git {
        path: path.to_owned(),
        version: installed::git_version(&said)?,
        has_monitor: said
            .lines()
            .any(|line| line == b"feature: fsmonitor--daemon"),
    })
}
