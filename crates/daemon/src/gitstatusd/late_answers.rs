//! Answers that were too late for a prompt, and wait for its shell: one file per question, in the folder of the user's daemon.

use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::time::Duration;

use bstr::{BStr, ByteSlice};
use rustix::fs::{AtFlags, Dir, Mode, OFlags, openat, renameat, statat, unlinkat};
use rustix::process::Signal;
use vigil_git::environment::Environment;
use vigil_linux::process::is_alive;
use vigil_linux::process_handle::ProcessHandle;

use super::options::Recipient;
use super::parent::{self, Parent};
use crate::runtime_folder::{Folder, RuntimePath};

/// The beginning of file names. The shell's pid and the question's number follow, as in `answer.1234.5`.
const ANSWER: &str = "answer";
/// No signal may be sent for the question.
const HELD: &str = "held";
/// Holds the pid of the process that works on the answer.
const ASKER: &str = "asker";

/// If the shell has not taken the answer after these pauses, it is sent another signal: one sent at a busy time may be lost.
const PAUSES: [Duration; 4] = [
    Duration::from_millis(100),
    Duration::from_millis(400),
    Duration::from_millis(1600),
    Duration::from_millis(6400),
];

/// The most bytes that are read: more than any answer has, even with the longest names of tags and branches.
const LEN_MAX: u64 = 64 * 1024 * 1024;

/// A shell that waits for an answer.
pub(super) struct WaitingShell {
    recipient: Recipient,
    shell: Parent,
    process: Arc<ProcessHandle>,
    folder: Folder,
}

impl WaitingShell {
    /// Prepares to leave an answer for `recipient`. From now on, this process ends when the shell does.
    ///
    /// # Errors
    /// There is no such shell, or other users have access to the folder.
    pub(super) fn new(environment: &Environment, recipient: Recipient) -> io::Result<Self> {
        let process = Arc::new(ProcessHandle::open(recipient.shell)?);
        parent::end_with(process.clone())?;
        Ok(Self {
            recipient,
            shell: Parent::new(recipient.shell),
            process,
            folder: RuntimePath::of(environment).make()?,
        })
    }

    /// Leaves `lines` for the shell, and notifies it by a signal that is ignored by default.
    ///
    /// # Errors
    /// The lines cannot be written.
    pub(super) fn leave(&self, lines: &[u8]) -> io::Result<()> {
        // If the shell has executed another program, that one's questions are its own.
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
            // A shell that holds the signal back looks for the answer once it allows signals again.
            if is_there(HELD) || !is_there(ANSWER) {
                break;
            }
            self.process.signal(Signal::URG)?;
            self.process.wait(Some(pause));
        }
        Ok(())
    }
}

/// Calls `start` for a process that works on the answer for `recipient`, and returns its pid. Ends processes that work on older
/// questions of the shell, and removes answers left for those.
///
/// # Errors
/// The process cannot be started, or the folder cannot be used.
pub(super) fn start_for(
    environment: &Environment,
    recipient: Recipient,
    start: impl FnOnce() -> io::Result<u32>,
) -> io::Result<u32> {
    let folder = RuntimePath::of(environment).make()?;
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

/// Prevents signals for `recipient` until it takes what was left.
///
/// # Errors
/// The folder cannot be written to, or other users have access to it.
pub(super) fn hold_signals(environment: &Environment, recipient: Recipient) -> io::Result<()> {
    let folder = RuntimePath::of(environment).make()?;
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

/// Takes what was left for `recipient`, and removes it.
pub(super) fn take(environment: &Environment, recipient: Recipient) -> Option<Vec<u8>> {
    let folder = RuntimePath::of(environment).open().ok()?;
    let folder = folder.descriptor();
    let _ = unlinkat(folder, name_of(HELD, recipient), AtFlags::empty());
    let name = name_of(ANSWER, recipient);
    // One that was not there yet may be by now, and must stay for the signal that announces it.
    let lines = read(folder, OsStr::new(&name)).ok()?;
    unlinkat(folder, name.as_str(), AtFlags::empty()).ok()?;
    Some(lines)
}

/// Removes what was left for dead shells and for older questions of `shell`, and ends processes that work on those.
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
        // Another process may have removed it first.
        let _ = unlinkat(folder, name, AtFlags::empty());
    }
}

/// The kind of the file `name` and the pid of its shell. `None` for other files.
fn shell_of(name: &BStr) -> Option<(&'static str, i32)> {
    let (beginning, numbers) = name.split_once_str(".")?;
    let known = [ANSWER, HELD, ASKER];
    let beginning = known.into_iter().find(|one| one.as_bytes() == beginning)?;
    let (shell, _) = numbers.split_once_str(".")?;
    Some((beginning, shell.to_str().ok()?.parse().ok()?))
}

/// Kills the process `pid`, if it works on a question of `shell`.
fn end_asker(pid: &[u8], shell: i32) -> Option<()> {
    let pid: i32 = pid.to_str().ok()?.parse().ok()?;
    let process = ProcessHandle::open(pid).ok()?;
    let words = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let mut words = words.split(|byte| *byte == 0);
    let option = format!("--leave-for={shell}.");
    if words.any(|word| word.starts_with(option.as_bytes())) {
        process.signal(Signal::KILL).ok()?;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Stdio};

    use super::*;

    fn private_folder() -> (tempfile::TempDir, Environment) {
        let run = tempfile::tempdir().unwrap();
        let private = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(run.path(), private).unwrap();
        let path = run.path().to_str().unwrap();
        let variable = ("VIGIL_RUNTIME_DIR".into(), path.into());
        let environment = Environment::new([variable], "/");
        (run, environment)
    }

    #[test]
    fn no_answer_is_lost_that_is_left_while_the_shell_looks_for_it() {
        let (_run, environment) = private_folder();
        let folder = RuntimePath::of(&environment).make().unwrap();
        let shell = i32::try_from(std::process::id()).unwrap();
        for question in 0..200 {
            let recipient = Recipient { shell, question };
            std::thread::scope(|scope| {
                let leaving = scope.spawn(|| leave(folder.descriptor(), recipient, b"one\n"));
                let mut taken = None;
                while taken.is_none() && !leaving.is_finished() {
                    taken = take(&environment, recipient);
                }
                leaving.join().unwrap().unwrap();
                let taken = taken.or_else(|| take(&environment, recipient));
                assert_eq!(taken, Some(b"one\n".to_vec()), "question {question}");
            });
        }
    }

    #[test]
    fn what_is_left_is_taken_once_and_gone_with_its_shell_and_for_later_questions() {
        let (run, environment) = private_folder();
        let folder = RuntimePath::of(&environment).make().unwrap();
        let folder = folder.descriptor();
        let shell = i32::try_from(std::process::id()).unwrap();
        let [first, second] = [1, 2].map(|question| Recipient { shell, question });
        assert_eq!(take(&environment, first), None);
        leave(folder, first, b"one\n").unwrap();
        leave(folder, first, b"two\n").unwrap();
        leave(folder, second, b"three\n").unwrap();
        assert_eq!(take(&environment, first), Some(b"two\n".to_vec()));
        assert_eq!(take(&environment, first), None);
        // A server may have a tag with a name of any length.
        let long = vec![b't'; 500_000];
        leave(folder, first, &long).unwrap();
        assert!(take(&environment, first) == Some(long));
        // No process has this pid.
        let gone = Recipient {
            shell: i32::MAX,
            question: 1,
        };
        leave(folder, gone, b"lost").unwrap();
        hold_signals(&environment, gone).unwrap();
        std::fs::write(run.path().join("other"), "").unwrap();
        tidy_up(folder, 1);
        assert_eq!(take(&environment, second), Some(b"three\n".to_vec()));
        let names = || {
            let entries = std::fs::read_dir(run.path()).unwrap();
            let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            names.collect::<Vec<String>>()
        };
        assert_eq!(names(), ["other"]);
        // It stays held until it is taken.
        for _ in 0..2 {
            hold_signals(&environment, second).unwrap();
        }
        assert_eq!(names().len(), 2);
        assert_eq!(take(&environment, second), None);
        assert_eq!(names(), ["other"]);
        leave(folder, second, b"four\n").unwrap();
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let started = start_for(&environment, first, || Ok(child.id())).unwrap();
        assert_eq!(started, child.id());
        assert_eq!(take(&environment, second), None);
        // The child does not work on a question, so it is left alive.
        start_for(&environment, second, || Ok(0)).unwrap();
        assert_eq!(child.try_wait().unwrap(), None);
        child.kill().unwrap();
        child.wait().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "echo; read line", &format!("--leave-for={shell}.3")]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut asker = command.spawn().unwrap();
        // A process that has not begun shows no command line yet.
        asker.stdout.take().unwrap().read_exact(&mut [0]).unwrap();
        start_for(&environment, first, || Ok(asker.id())).unwrap();
        // A later question of this shell ends the process that works on an older one.
        start_for(&environment, second, || Ok(0)).unwrap();
        assert_eq!(asker.wait().unwrap().signal(), Some(Signal::KILL.as_raw()));
    }
}
