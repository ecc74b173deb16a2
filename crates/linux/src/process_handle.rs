//! Another process, and not the next one that is given its pid.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open, openat};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal, test_kill_process,
};

use crate::limits::PROC;

/// How long to wait between looks at a process for which the kernel cannot wake this one.
const PAUSE: Duration = Duration::from_millis(20);

/// A process of the same user. It may have ended, but is never mistaken for a later one with the same pid.
#[derive(Debug)]
pub struct ProcessHandle {
    pid: Pid,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// A descriptor of the process (pidfd_open(2)).
    Descriptor(OwnedFd),
    /// Its folder in /proc, before Linux 5.3 and where a sandbox forbids the above. Reading in it fails once the process is gone.
    Folder(OwnedFd),
}

impl ProcessHandle {
    /// Opens the process `pid`.
    ///
    /// # Errors
    /// `SRCH`: there is no such process. Other errors are those of pidfd_open(2) and of opening `/proc/PID`.
    pub fn open(pid: i32) -> Result<Self, Errno> {
        let pid = (pid > 0).then(|| Pid::from_raw(pid)).flatten();
        let pid = pid.ok_or(Errno::SRCH)?;
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(fd) => Ok(Self {
                pid,
                kind: Kind::Descriptor(fd),
            }),
            // Old sandboxes refuse what they do not know with `PERM`.
            Err(unsupported @ (Errno::NOSYS | Errno::PERM)) => Self::in_proc(pid, unsupported),
            Err(error) => Err(error),
        }
    }

    /// Opens the process by its folder in /proc, or returns `unsupported` if there is no /proc.
    fn in_proc(pid: Pid, unsupported: Errno) -> Result<Self, Errno> {
        let path = format!("{PROC}/{pid}");
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match open(path, flags, Mode::empty()) {
            Ok(fd) => Ok(Self {
                pid,
                kind: Kind::Folder(fd),
            }),
            Err(Errno::NOENT) if test_kill_process(pid) == Err(Errno::SRCH) => Err(Errno::SRCH),
            Err(Errno::NOENT) => Err(unsupported),
            Err(error) => Err(error),
        }
    }

    /// Sends `signal` to the process.
    ///
    /// # Errors
    /// `SRCH`: it has ended. `PERM`: it belongs to another user.
    pub fn signal(&self, signal: Signal) -> Result<(), Errno> {
        match &self.kind {
            Kind::Descriptor(fd) => pidfd_send_signal(fd, signal),
            Kind::Folder(folder) if has_ended(folder) => Err(Errno::SRCH),
            // Its pid is its own unless it ended just now, and pids are not given again that soon.
            Kind::Folder(_) => kill_process(self.pid, signal),
        }
    }

    /// Waits until the process has ended, but no longer than `timeout`. Returns whether it has.
    pub fn wait(&self, timeout: Option<Duration>) -> bool {
        let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if self.ends_within(left) {
                return true;
            }
            if left.is_some_and(|left| left.is_zero()) {
                return false;
            }
        }
    }

    /// Waits for some time, at most `timeout`. Returns whether the process is known to have ended.
    fn ends_within(&self, timeout: Option<Duration>) -> bool {
        let pause = timeout.map_or(PAUSE, |timeout| timeout.min(PAUSE));
        match &self.kind {
            Kind::Descriptor(fd) => {
                let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
                match poll(&mut [PollFd::new(fd, PollFlags::IN)], timeout.as_ref()) {
                    Ok(ended) => return ended > 0,
                    Err(Errno::INTR) => {}
                    // Too little memory, say.
                    Err(_) => std::thread::sleep(pause),
                }
            }
            Kind::Folder(folder) if has_ended(folder) => return true,
            Kind::Folder(_) => std::thread::sleep(pause),
        }
        false
    }
}

/// Whether the process with this folder in /proc has ended, although its parent may not know yet.
fn has_ended(folder: &OwnedFd) -> bool {
    match stat(folder) {
        // The state follows the name in parentheses, which may contain some (proc_pid_stat(5)).
        Ok(stat) => {
            let state = stat.rsplit(|byte| *byte == b')').next();
            matches!(state, Some([b' ', b'Z' | b'X', ..]))
        }
        Err(error) => matches!(error, Errno::SRCH | Errno::NOENT),
    }
}

/// Reads the file `stat` in the folder of a process.
fn stat(folder: &OwnedFd) -> Result<Vec<u8>, Errno> {
    let file = openat(
        folder,
        "stat",
        OFlags::RDONLY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    let mut bytes = Vec::new();
    match File::from(file).read_to_end(&mut bytes) {
        Ok(_) => Ok(bytes),
        Err(error) => Err(Errno::from_io_error(&error).unwrap_or(Errno::IO)),
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};

    use super::*;

    fn sleeper() -> Child {
        Command::new("cat").stdin(Stdio::piped()).spawn().unwrap()
    }

    fn pid_of(child: &Child) -> Pid {
        Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap()
    }

    /// Opens the process in both ways.
    fn handles(child: &Child) -> [ProcessHandle; 2] {
        let by_descriptor = ProcessHandle::open(pid_of(child).as_raw_pid()).unwrap();
        assert!(matches!(by_descriptor.kind, Kind::Descriptor(_)));
        let in_proc = ProcessHandle::in_proc(pid_of(child), Errno::NOSYS).unwrap();
        [by_descriptor, in_proc]
    }

    #[test]
    fn a_process_is_told_from_one_that_has_ended() {
        let mut child = sleeper();
        let handles = handles(&child);
        for handle in &handles {
            assert!(!handle.wait(Some(Duration::ZERO)));
            assert!(!handle.wait(Some(Duration::from_millis(1))));
        }
        drop(child.stdin.take());
        // It stays until its parent has waited for it.
        for handle in &handles {
            assert!(handle.wait(None));
        }
        child.wait().unwrap();
        for handle in &handles {
            assert!(handle.wait(Some(Duration::ZERO)) && handle.wait(None));
            assert_eq!(handle.signal(Signal::TERM), Err(Errno::SRCH));
        }
        let pid = pid_of(&child);
        let gone = ProcessHandle::open(pid.as_raw_pid());
        assert_eq!(gone.err(), Some(Errno::SRCH));
        let gone = ProcessHandle::in_proc(pid, Errno::NOSYS);
        assert_eq!(gone.err(), Some(Errno::SRCH));
    }

    #[test]
    fn a_signal_reaches_the_process() {
        use std::os::unix::process::ExitStatusExt;

        for by in 0..2 {
            let mut child = sleeper();
            let handles = handles(&child);
            handles[by].signal(Signal::TERM).unwrap();
            assert!(handles[by].wait(None));
            assert_eq!(child.wait().unwrap().signal(), Some(Signal::TERM.as_raw()));
        }
    }

    #[test]
    fn a_pid_that_no_process_can_have_names_none() {
        for pid in [0, -1, i32::MAX] {
            assert_eq!(ProcessHandle::open(pid).err(), Some(Errno::SRCH), "{pid}");
        }
    }
}
