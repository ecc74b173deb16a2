//! The versions of git that a user may run.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bstr::ByteSlice;
use rustix::fs::{Access, access};
use vigil_git::environment::Environment;

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
    /// Returns whether it passes tokens to a hook.
    pub(super) fn can_ask_hook(&self) -> bool {
        self.version >= HOOK_SINCE
    }

    /// Returns whether it asks at a socket.
    pub(super) fn can_ask_socket(&self) -> bool {
        self.version >= SOCKET_SINCE && self.has_monitor
    }
}

/// Finds all gits in `PATH`, in its order.
pub(super) fn all(environment: &Environment) -> Vec<Git> {
    let path = environment.get("PATH").unwrap_or_default();
    let mut seen: Vec<PathBuf> = Vec::new();
    let mut gits = Vec::new();
    for folder in path.split_str(":").filter(|folder| !folder.is_empty()) {
        let path = Path::new(OsStr::from_bytes(folder)).join("git");
        let Ok(real) = path.canonicalize() else {
            continue;
        };
        if access(&real, Access::EXEC_OK).is_err() || seen.contains(&real) {
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
        version: version(&said)?,
        has_monitor: said
            .lines()
            .any(|line| line == b"feature: fsmonitor--daemon"),
    })
}

/// Parses the version from the output of `git version`.
fn version(said: &[u8]) -> Option<(u32, u32)> {
    let rest = said.strip_prefix(b"git version ")?.to_str().ok();
    // Anything may follow the two numbers.
    let mut numbers = rest?.split('.');
    let mut number = || numbers.next()?.parse().ok();
    Some((number()?, number()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_whatever_follows() {
        for said in [
            "git version 2.55.0\n",
            "git version 2.55.0.618.g1a3e64c6c4\nsize_t: 8\n",
        ] {
            assert_eq!(version(said.as_bytes()), Some((2, 55)));
        }
        for said in ["", "git version", "git version x.y", "2.55.0"] {
            assert_eq!(version(said.as_bytes()), None);
        }
    }
}
