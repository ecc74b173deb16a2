//! What a git process that connected to a socket asks about: it does not say so itself, but the kernel tells about the process.

use std::fs;
use std::os::fd::AsFd;
use std::path::Path;

use bstr::{BString, ByteSlice};
use vigil_engine::session::judging::affects_judging;
use vigil_git::environment::Environment;
use vigil_linux::socket::peer;
use vigil_linux::stat::{mount_id, stat_path};

use crate::protocol::MonitorQuestion;
use crate::{variables, view};

/// The longest command line and environment that are read. A truncated one would prove nothing.
const LEN_MAX: usize = 1 << 20;

/// git's global options whose value is the next argument.
const WITH_VALUE: [&[u8]; 3] = [b"-C", b"--git-dir", b"--namespace"];

/// Completes `question` with the variables of the git at the other end of `socket`, if that git works in the same working tree
/// and sees files by the same `view` as this process. `None` if that is not certain.
pub(crate) fn question(
    socket: impl AsFd,
    question: MonitorQuestion,
    view: Option<&BString>,
) -> Option<MonitorQuestion> {
    let pid = peer(socket).ok()?.pid?;
    if view::of_other_process(pid).as_ref() != Some(view?) {
        return None;
    }
    let read = |name: &str| {
        let bytes = fs::read(format!("/proc/{pid}/{name}")).ok()?;
        (bytes.len() < LEN_MAX).then_some(bytes)
    };
    // git's working directory is the top of its working tree. By another mount of it, other file systems may lie below.
    let id = |path: &Path| {
        let stat = stat_path(path).ok()?;
        Some((stat.dev, stat.ino, mount_id(path).ok()?))
    };
    let standing = id(format!("/proc/{pid}/cwd").as_ref())?;
    if id(&question.directory) != Some(standing) || !is_plain(&read("cmdline")?) {
        return None;
    }
    let environ = read("environ")?;
    let pairs = environ
        .split_str("\0")
        .filter_map(|pair| pair.split_once_str("="));
    let pairs = pairs.map(|(name, value)| (name.into(), value.into()));
    let environment = Environment::new(pairs, &question.directory);
    // Paths in these may be relative to the directory in which git was started.
    if environment.get("GIT_WORK_TREE").is_some() {
        return None;
    }
    let index = environment.get("GIT_INDEX_FILE").map(BString::from);
    let mut variables = variables::to_monitor(&environment);
    variables.retain(|(name, _)| name != "GIT_DIR");
    Some(MonitorQuestion {
        variables,
        index,
        ..question
    })
}

/// Whether no option on the command line makes git look at another working tree, or judge files by other rules.
pub(crate) fn is_plain(cmdline: &[u8]) -> bool {
    let mut words = cmdline
        .strip_suffix(b"\0")
        .unwrap_or(cmdline)
        .split_str("\0")
        .skip(1);
    while let Some(word) = words.next() {
        if WITH_VALUE.contains(&word) {
            words.next();
        } else if word == b"-c" {
            let setting = words.next().unwrap_or_default().to_ascii_lowercase();
            let key = setting.split_str("=").next().unwrap_or_default();
            if key.starts_with(b"include") || affects_judging(key) {
                return false;
            }
        } else if [
            &b"--work-tree"[..],
            b"--config-env",
            b"--attr-source",
            b"--bare",
        ]
        .iter()
        .any(|option| word.starts_with(option))
        {
            return false;
        } else if !word.starts_with(b"-") {
            return true;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_that_changes_what_is_looked_at_is_known() {
        for plain in [
            "git\0status\0",
            "git\0-C\0--work-tree\0-c\0user.name=x\0status\0--work-tree\0",
            "git\0--git-dir\0-c\0add\0core.x\0",
            "git\0-c\0core.quotePath=false\0-c\0core.fsmonitor\0status\0",
            "",
        ] {
            assert!(is_plain(plain.as_bytes()), "{plain:?}");
        }
        for other in [
            "git\0--work-tree=a\0status\0",
            "git\0-p\0--work-tree\0a\0status\0",
            "git\0-c\0Core.ExcludesFile=a\0status\0",
            "git\0-c\0core.quotepath=false\0-c\0core.fileMode\0status\0",
            "git\0-c\0includeIf.gitdir:/a.path=b\0status\0",
            "git\0--config-env=core.excludesfile=A\0status\0",
        ] {
            assert!(!is_plain(other.as_bytes()), "{other:?}");
        }
    }
}
