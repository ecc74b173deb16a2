//! Answers that came too late for a prompt, and lie ready for its shell: in the folder of the user's daemon, one for each question.

use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::thread::Builder;
use std::time::Duration;

use bstr::{BStr, ByteSlice};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{AtFlags, Dir, Mode, OFlags, openat, renameat, statat, unlinkat};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use vigil_git::environment::Environment;
use vigil_linux::process::is_alive;

use super::options::Recipient;
use super::parent::Parent;
use crate::place::{Folder, Place};
use crate::stream::timespec;

/// How the names of files begin; the number of the shell and that of the question follow, as in `answer.1234.5`.
const ANSWER: &str = "answer";
/// There is no signal for that question.
const HELD: &str = "held";
/// Who finds out the answer: his number is in there.
const ASKER: &str = "asker";

/// After these the shell is sent another signal, if it has not taken the answer: one that comes while it is busy may go unheard.
const PAUSES: [Duration; 3] = [
    Duration::from_millis(100),
    Duration::from_millis(400),
    Duration::from_millis(1600),
];

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
    /// From now on this process ends when the shell does.
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
        Ok(Self {
            recipient,
            shell: Parent::new(recipient.shell),
            process,
            folder: Place::of(environment).make()?,
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
        let folder = self.folder.descriptor();
        leave(folder, self.recipient, lines)?;
        let asker = name_of(ASKER, self.recipient);
        let _ = unlinkat(folder, asker.as_str(), AtFlags::empty());
        let is_there = |beginning: &str| {
            let name = name_of(beginning, self.recipient);
            statat(folder, name.as_str(), AtFlags::SYMLINK_NOFOLLOW).is_ok()
        };
        for pause in PAUSES {
            // Who holds the signal back looks for the answer after he has let it go.
            if is_there(HELD) || !is_there(ANSWER) {
                break;
            }
            pidfd_send_signal(&self.process, Signal::URG)?;
            let mut ends = [PollFd::new(&self.process, PollFlags::IN)];
            let _ = poll(&mut ends, Some(&timespec(pause)));
        }
        Ok(())
    }
}

/// Has `start` start a process that finds out for `recipient`, and returns its number. Who finds out for an older question of the
/// shell ends, and what was left for one goes.
///
/// # Errors
/// It cannot be started, or nothing can be left.
pub(super) fn ask_for(
    environment: &Environment,
    recipient: Recipient,
    start: impl FnOnce() -> io::Result<u32>,
) -> io::Result<u32> {
    let folder = Place::of(environment).make()?;
    let folder = folder.descriptor();
    tidy_up(folder, recipient.shell);
    let pid = start()?;
    write_new(
        folder,
        &name_of(ASKER, recipient),
        pid.to_string().as_bytes(),
    )?;
    Ok(pid)
}

/// Sees to it that there is no signal for `recipient` until it is asked what was left.
///
/// # Errors
/// The folder is not the user's alone, or cannot be written to.
pub(super) fn hold(environment: &Environment, recipient: Recipient) -> io::Result<()> {
    let folder = Place::of(environment).make()?;
    match write_new(folder.descriptor(), &name_of(HELD, recipient), b"") {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        written => written,
    }
}

fn name_of(beginning: &str, recipient: Recipient) -> String {
    let Recipient { shell, question } = recipient;
    format!("{beginning}.{shell}.{question}")
}

fn write_new(folder: BorrowedFd<'_>, name: &str, contents: &[u8]) -> io::Result<()> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(folder, name, flags, Mode::from_raw_mode(0o600))?;
    std::fs::File::from(file).write_all(contents)
}

fn read(folder: BorrowedFd<'_>, name: &OsStr) -> io::Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(folder, name, flags, Mode::empty())?;
    let mut contents = Vec::new();
    std::fs::File::from(file)
        .take(LEN_MAX)
        .read_to_end(&mut contents)?;
    Ok(contents)
}

fn leave(folder: BorrowedFd<'_>, recipient: Recipient, lines: &[u8]) -> io::Result<()> {
    let name = name_of(ANSWER, recipient);
    let fresh = format!("{name}.{}", std::process::id());
    let written = write_new(folder, &fresh, lines);
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
    let _ = unlinkat(folder, name_of(HELD, recipient), AtFlags::empty());
    let name = name_of(ANSWER, recipient);
    let lines = read(folder, OsStr::new(&name));
    unlinkat(folder, name.as_str(), AtFlags::empty()).ok()?;
    lines.ok()
}

/// Removes what was left for shells that are gone, and for older questions of `shell`; who finds out for one ends.
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
        let Some((beginning, of)) = shell_of(name.as_bstr()) else {
            continue;
        };
        if of != shell && is_alive(of) {
            continue;
        }
        let name = OsStr::from_bytes(name);
        if beginning == ASKER
            && let Ok(pid) = read(folder, name)
        {
            end_asker(&pid, of);
        }
        // Another one may have been faster.
        let _ = unlinkat(folder, name, AtFlags::empty());
    }
}

/// Of what kind the file `name` is, and which shell it is about; `None` for any other file.
fn shell_of(name: &BStr) -> Option<(&'static str, i32)> {
    let (beginning, numbers) = name.split_once_str(".")?;
    let known = [ANSWER, HELD, ASKER];
    let beginning = known.into_iter().find(|one| one.as_bytes() == beginning)?;
    let (shell, _) = numbers.split_once_str(".")?;
    Some((beginning, shell.to_str().ok()?.parse().ok()?))
}

/// Ends the process with the number `pid`, if it finds out for a question of `shell`.
fn end_asker(pid: &[u8], shell: i32) -> Option<()> {
    let pid: i32 = pid.to_str().ok()?.parse().ok()?;
    let process = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
    let words = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let mut words = words.split(|byte| *byte == 0);
    let option = format!("--leave-for={shell}.");
    if words.any(|word| word.starts_with(option.as_bytes())) {
        pidfd_send_signal(process, Signal::KILL).ok()?;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

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
        hold(&environment, gone).unwrap();
        std::fs::write(run.path().join("other"), "").unwrap();
        tidy_up(folder, 1);
        assert_eq!(take(&environment, second), Some(b"three\n".to_vec()));
        let names = || {
            let entries = std::fs::read_dir(run.path()).unwrap();
            let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            names.collect::<Vec<String>>()
        };
        assert_eq!(names(), ["other"]);
        // It is held until somebody looks.
        for _ in 0..2 {
            hold(&environment, second).unwrap();
        }
        assert_eq!(names().len(), 2);
        assert_eq!(take(&environment, second), None);
        assert_eq!(names(), ["other"]);
        leave(folder, second, b"four\n").unwrap();
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let started = ask_for(&environment, first, || Ok(child.id())).unwrap();
        assert_eq!(started, child.id());
        assert_eq!(take(&environment, second), None);
        // It asks for nobody, and so it lives on.
        ask_for(&environment, second, || Ok(0)).unwrap();
        assert_eq!(child.try_wait().unwrap(), None);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
