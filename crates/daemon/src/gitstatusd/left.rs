//! Answers that came too late for a prompt, and lie ready for its shell: in the folder of the user's daemon, one for each shell.

use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;

use bstr::ByteSlice;
use rustix::fs::{AtFlags, Dir, Mode, OFlags, openat, renameat, unlinkat};
use vigil_git::environment::Environment;
use vigil_linux::process::is_alive;

use crate::place::Place;

/// How the name of an answer begins; the number of its shell follows.
const BEGINNING: &str = "answer.";

/// Longer than any answer.
const LEN_MAX: u64 = 64 * 1024;

/// Leaves `lines` for the shell with the number `shell`, in the place of what was left for it before.
///
/// # Errors
/// The folder is not the user's alone, or cannot be written to.
pub(super) fn leave(environment: &Environment, shell: i32, lines: &[u8]) -> io::Result<()> {
    let folder = Place::of(environment).make()?;
    let folder = folder.descriptor();
    tidy_up(folder);
    let name = format!("{BEGINNING}{shell}");
    let fresh = format!("{name}.{}", std::process::id());
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(folder, fresh.as_str(), flags, Mode::from_raw_mode(0o600))?;
    let written = std::fs::File::from(file).write_all(lines);
    let named = written.and_then(|()| Ok(renameat(folder, fresh.as_str(), folder, name)?));
    if named.is_err() {
        let _ = unlinkat(folder, fresh.as_str(), AtFlags::empty());
    }
    named
}

/// What was left for the shell with the number `shell`, which is there no more then.
pub(super) fn take(environment: &Environment, shell: i32) -> Option<Vec<u8>> {
    let folder = Place::of(environment).open().ok()?;
    let folder = folder.descriptor();
    let name = format!("{BEGINNING}{shell}");
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(folder, name.as_str(), flags, Mode::empty()).ok()?;
    let mut lines = Vec::new();
    let read = std::fs::File::from(file)
        .take(LEN_MAX)
        .read_to_end(&mut lines);
    unlinkat(folder, name.as_str(), AtFlags::empty()).ok()?;
    read.ok().map(|_| lines)
}

/// Removes what was left for shells that are gone.
fn tidy_up(folder: BorrowedFd<'_>) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(listed) = openat(folder, ".", flags, Mode::empty()) else {
        return;
    };
    let Ok(entries) = Dir::read_from(listed.as_fd()) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name().to_bytes();
        let number = name.strip_prefix(BEGINNING.as_bytes());
        let number = number.and_then(|rest| rest.split(|byte| *byte == b'.').next());
        let shell = number.and_then(|digits| digits.to_str().ok()?.parse().ok());
        if shell.is_some_and(|shell| !is_alive(shell)) {
            // Another one may have been faster.
            let _ = unlinkat(folder, OsStr::from_bytes(name), AtFlags::empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_is_left_is_taken_once_and_gone_with_its_shell() {
        let run = tempfile::tempdir().unwrap();
        let private = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(run.path(), private).unwrap();
        let path = run.path().to_str().unwrap();
        let variable = ("VIGIL_RUNTIME_DIR".into(), path.into());
        let environment = Environment::new([variable], "/");
        let shell = i32::try_from(std::process::id()).unwrap();
        assert_eq!(take(&environment, shell), None);
        leave(&environment, shell, b"one\n").unwrap();
        leave(&environment, shell, b"two\n").unwrap();
        assert_eq!(take(&environment, shell), Some(b"two\n".to_vec()));
        assert_eq!(take(&environment, shell), None);
        // No process has that number.
        leave(&environment, i32::MAX, b"lost").unwrap();
        assert!(run.path().join(format!("answer.{}", i32::MAX)).exists());
        leave(&environment, shell, b"three").unwrap();
        assert!(!run.path().join(format!("answer.{}", i32::MAX)).exists());
    }
}
