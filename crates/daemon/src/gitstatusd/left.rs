//! Answers that came too late for a prompt, and lie ready for its shell: in the folder of the user's daemon, one for each question.

use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::thread::Builder;

use bstr::{BStr, ByteSlice};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{AtFlags, Dir, Mode, OFlags, openat, renameat, unlinkat};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use vigil_git::environment::Environment;
use vigil_linux::process::is_alive;

use super::options::Recipient;
use super::parent::Parent;
use crate::place::{Folder, Place};

/// How the name of an answer begins; the number of its shell and that of the question follow, as `answer.1234.5`.
const BEGINNING: &str = "answer.";

/// Longer than any answer.
const LEN_MAX: u64 = 64 * 1024;

/// A shell that waits for an answer.
pub(super) struct Waiting {
    recipient: Recipient,
    shell: Parent,
    /// The shell's process, whoever has its number by now.
    process: OwnedFd,
    folder: Folder,
}

impl Waiting {
    /// From now on this process ends when the shell does. What was left for its older questions goes.
    ///
    /// # Errors
    /// There is no such shell, or the folder is not the user's alone.
    pub(super) fn new(environment: &Environment, recipient: Recipient) -> io::Result<Self> {
        let pid = Pid::from_raw(recipient.shell).ok_or(Errno::SRCH)?;
        let process = pidfd_open(pid, PidfdFlags::empty())?;
        let lives = process.try_clone()?;
        Builder::new().spawn(move || {
            let mut ends = [PollFd::new(&lives, PollFlags::IN)];
            while poll(&mut ends, None) == Err(Errno::INTR) {}
            std::process::exit(0);
        })?;
        let folder = Place::of(environment).make()?;
        tidy_up(folder.descriptor(), recipient.shell);
        Ok(Self {
            recipient,
            shell: Parent::new(recipient.shell),
            process,
            folder,
        })
    }

    /// Leaves `lines` for the shell, and lets it know by a signal that is ignored wherever nobody listens.
    ///
    /// # Errors
    /// They cannot be written.
    pub(super) fn leave(&self, lines: &[u8]) -> io::Result<()> {
        // Another program in its place would have questions of its own.
        if !self.shell.is_there(true) {
            return Ok(());
        }
        leave(self.folder.descriptor(), self.recipient, lines)?;
        Ok(pidfd_send_signal(&self.process, Signal::URG)?)
    }
}

fn name_of(recipient: Recipient) -> String {
    let Recipient { shell, question } = recipient;
    format!("{BEGINNING}{shell}.{question}")
}

fn leave(folder: BorrowedFd<'_>, recipient: Recipient, lines: &[u8]) -> io::Result<()> {
    let name = name_of(recipient);
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

/// What was left for `recipient`, which is there no more then.
pub(super) fn take(environment: &Environment, recipient: Recipient) -> Option<Vec<u8>> {
    let folder = Place::of(environment).open().ok()?;
    let folder = folder.descriptor();
    let name = name_of(recipient);
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(folder, name.as_str(), flags, Mode::empty()).ok()?;
    let mut lines = Vec::new();
    let read = std::fs::File::from(file)
        .take(LEN_MAX)
        .read_to_end(&mut lines);
    unlinkat(folder, name.as_str(), AtFlags::empty()).ok()?;
    read.ok().map(|_| lines)
}

/// Removes what was left for shells that are gone, and for older questions of `shell`.
fn tidy_up(folder: BorrowedFd<'_>, shell: i32) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(listed) = openat(folder, ".", flags, Mode::empty()) else {
        return;
    };
    let Ok(entries) = Dir::read_from(listed.as_fd()) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name().to_bytes();
        if shell_of(name.as_bstr()).is_some_and(|one| one == shell || !is_alive(one)) {
            // Another one may have been faster.
            let _ = unlinkat(folder, OsStr::from_bytes(name), AtFlags::empty());
        }
    }
}

/// For which shell the file `name` was left; `None` for any other file.
fn shell_of(name: &BStr) -> Option<i32> {
    let numbers = name.strip_prefix(BEGINNING.as_bytes())?;
    let (shell, _) = numbers.split_once_str(".").unwrap_or((numbers, b""));
    shell.to_str().ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_is_left_is_taken_once_and_gone_with_its_shell_and_for_later_questions() {
        let run = tempfile::tempdir().unwrap();
        let private = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(run.path(), private).unwrap();
        let path = run.path().to_str().unwrap();
        let variable = ("VIGIL_RUNTIME_DIR".into(), path.into());
        let environment = Environment::new([variable], "/");
        let folder = Place::of(&environment).make().unwrap();
        let folder = folder.descriptor();
        let shell = i32::try_from(std::process::id()).unwrap();
        let [first, second] = [1, 2].map(|question| Recipient { shell, question });
        assert_eq!(take(&environment, first), None);
        leave(folder, first, b"one\n").unwrap();
        leave(folder, first, b"two\n").unwrap();
        leave(folder, second, b"three\n").unwrap();
        assert_eq!(take(&environment, first), Some(b"two\n".to_vec()));
        assert_eq!(take(&environment, first), None);
        // No process has that number.
        let gone = Recipient {
            shell: i32::MAX,
            question: 1,
        };
        leave(folder, gone, b"lost").unwrap();
        std::fs::write(run.path().join("other"), "").unwrap();
        tidy_up(folder, 1);
        assert_eq!(take(&environment, gone), None);
        assert_eq!(take(&environment, second), Some(b"three\n".to_vec()));
        leave(folder, second, b"four\n").unwrap();
        tidy_up(folder, shell);
        assert_eq!(take(&environment, second), None);
        assert!(run.path().join("other").exists());
    }
}
