//! Which repositories may be used, by their owners: git's `safe.directory` and `safe.bareRepository`.

use std::path::Path;
use std::sync::LazyLock;

use bstr::{BString, ByteSlice};
use rustix::process::Uid;
use vigil_linux::stat::lstat_path;
use vigil_model::raw_text::{raw, raw_path};

use super::error::Error;
use crate::config::load::RecordingReader;
use crate::config::value::environment_boolean;
use crate::environment::Environment;
use vigil_model::quote::append_shell_quoted;
use vigil_stamp::paths::{bytes_of, real_path};

/// Refuses a repository if `gitfile`, `work_tree` or `git_dir` belongs to someone else, unless the user's own
/// configuration declares it safe. `directory` is where it was found, `cwd` the caller's directory.
pub(super) fn check(
    reader: &mut RecordingReader<'_>,
    gitfile: Option<&Path>,
    work_tree: Option<&Path>,
    git_dir: &Path,
    directory: &Path,
    cwd: &Path,
) -> Result<(), Error> {
    let environment = reader.environment;
    let is_own = !environment_boolean(environment, "GIT_TEST_ASSUME_DIFFERENT_OWNER", false)?
        && [gitfile, work_tree, Some(git_dir)]
            .into_iter()
            .flatten()
            .all(|path| is_owned(environment, path));
    if is_own || is_safe(reader, work_tree.unwrap_or(git_dir), cwd)? {
        return Ok(());
    }
    let directory = bytes_of(directory);
    let remedy = format!(
        "git config --global --add safe.directory {}",
        raw(&quoted_if_needed(directory))
    );
    Err(Error::Unsafe {
        messages: reader.messages.clone(),
        text: format!(
            "detected dubious ownership in repository at '{directory}'\n\
             To add an exception for this directory, call:\n\n\
             \t{remedy}",
            directory = raw(directory)
        ),
        remedy,
    })
}

/// Whether the current user owns `path`; for root, also whether the user who called `sudo` does.
fn is_owned(environment: &Environment, path: &Path) -> bool {
    let Ok(stat) = lstat_path(path) else {
        return false;
    };
    // This process never changes its user.
    static USER: LazyLock<Uid> = LazyLock::new(rustix::process::geteuid);
    let user = *USER;
    if !user.is_root() || stat.uid == 0 {
        return stat.uid == user.as_raw();
    }
    let sudo_user = environment
        .get("SUDO_UID")
        .and_then(|text| text.to_str().ok()?.parse::<u64>().ok());
    // git keeps the low bits of a number that is too large.
    sudo_user.is_some_and(|user| user & u64::from(u32::MAX) == u64::from(stat.uid))
}

fn is_safe(reader: &mut RecordingReader<'_>, path: &Path, cwd: &Path) -> Result<bool, Error> {
    let Ok(path) = real_path(cwd, bytes_of(path)) else {
        return Ok(false);
    };
    let path = bytes_of(&path);
    let config = reader.protected()?;
    let mut is_safe = false;
    for entry in config
        .entries()
        .filter(|entry| entry.key == "safe.directory")
    {
        let value = entry.value.unwrap_or_default();
        if value.is_empty() {
            is_safe = false;
            continue;
        }
        if value == "*" {
            is_safe = true;
            continue;
        }
        let Some(allowed) = config.path_from(value)? else {
            continue;
        };
        if !allowed.is_absolute() && bytes_of(&allowed) != "." {
            reader.messages.push(format!(
                "warning: safe.directory '{}' not absolute",
                raw_path(&allowed)
            ));
            continue;
        }
        let Ok(allowed) = real_path(cwd, bytes_of(&allowed)) else {
            continue;
        };
        let allowed = bytes_of(&allowed);
        is_safe |= match allowed.strip_suffix(b"*") {
            Some(folder) if folder.ends_with(b"/") => path.starts_with(folder),
            _ => path == allowed,
        };
    }
    Ok(is_safe)
}

/// Refuses a bare repository that was found by searching, if the user's configuration requires that they are named.
pub(super) fn check_bare(reader: &mut RecordingReader<'_>, directory: &Path) -> Result<(), Error> {
    let config = reader.protected()?;
    let mut is_allowed = true;
    for entry in config
        .entries()
        .filter(|entry| entry.key == "safe.barerepository")
    {
        is_allowed = match entry.value {
            Some(value) if value == "all" => true,
            Some(value) if value == "explicit" => false,
            _ => return Err(Error::Refused(entry.refusal())),
        };
    }
    if is_allowed || is_part_of_other(directory) {
        return Ok(());
    }
    Err(Error::Refused(format!(
        "cannot use bare repository '{}' (safe.bareRepository is 'explicit')",
        raw_path(directory)
    )))
}

/// Whether the directory belongs to a repository with a working tree: it is its `.git`, or that of a linked working
/// tree or a submodule below it.
fn is_part_of_other(directory: &Path) -> bool {
    let path = bytes_of(directory);
    directory.file_name().is_some_and(|name| name == ".git")
        || path.contains_str("/.git/worktrees/")
        || path.contains_str("/.git/modules/")
}

fn quoted_if_needed(text: &[u8]) -> BString {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"+,-./:=@_^".contains(byte);
    if !text.is_empty() && text.iter().all(is_plain) {
        return text.into();
    }
    let mut quoted = BString::default();
    append_shell_quoted(text, &mut quoted);
    quoted
}
