//! Values of git's configuration, read and written by git itself.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Output, Stdio};

use bstr::{BStr, BString, ByteSlice};
use vigil_linux::errno;

/// Whose configuration is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// One repository's.
    Local,
    /// The user's.
    Global,
}

impl Scope {
    fn option(self) -> &'static str {
        match self {
            Self::Local => "--local",
            Self::Global => "--global",
        }
    }
}

/// Reads the values of `key`.
///
/// # Errors
/// git's message, or why it cannot be run.
pub(super) fn values(scope: Scope, key: &str) -> Result<Vec<BString>, BString> {
    let output = git_config(&[scope.option(), "--null", "--get-all", key], None)?;
    match output.status.code() {
        Some(0) => {
            let values = output.stdout.strip_suffix(b"\0").unwrap_or(&output.stdout);
            Ok(values.split_str("\0").map(BString::from).collect())
        }
        // The key has no value.
        Some(1) => Ok(Vec::new()),
        _ => Err(output.stderr.trim_end().into()),
    }
}

/// Replaces the values of `key` by `values`.
///
/// # Errors
/// As for [`values`].
pub(super) fn set(scope: Scope, key: &str, values: &[BString]) -> Result<(), BString> {
    if !self::values(scope, key)?.is_empty() {
        run(&[scope.option(), "--unset-all", key], None)?;
    }
    for value in values {
        run(&[scope.option(), "--add", key], Some(value.as_bstr()))?;
    }
    Ok(())
}

fn run(arguments: &[&str], value: Option<&BStr>) -> Result<(), BString> {
    let output = git_config(arguments, value)?;
    match output.status.success() {
        true => Ok(()),
        false => Err(output.stderr.trim_end().into()),
    }
}

/// Runs `git config`, and says why if it cannot be run.
fn git_config(arguments: &[&str], value: Option<&BStr>) -> Result<Output, BString> {
    let mut command = Command::new("git");
    command.arg("config").args(arguments).stdin(Stdio::null());
    command.args(value.map(|value| OsStr::from_bytes(value)));
    command
        .output()
        .map_err(|error| format!("cannot run git: {}", errno::text_of(&error)).into())
}
