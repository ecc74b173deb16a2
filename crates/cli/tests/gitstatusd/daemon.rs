//! The process, its pipes, and its answers.

use std::ffi::OsStr;
use std::fmt;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use bstr::ByteSlice;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Pid;
use vigil_testkit::process::limit_descriptors;

pub(crate) const VIGIL: &str = env!("CARGO_BIN_EXE_vigil");

/// After this time the process counts as hung.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// A running process.
pub(crate) struct Gitstatusd {
    child: Child,
    requests: Option<ChildStdin>,
    responses: ChildStdout,
    messages: Option<ChildStderr>,
    /// The part of its log that was read and not yet examined.
    unread_messages: Vec<u8>,
    read: Vec<u8>,
}

/// The fields of one response.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Answer(Vec<Vec<u8>>);

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = self.0.iter().map(|field| String::from_utf8_lossy(field));
        f.write_str(&fields.collect::<Vec<_>>().join("|"))
    }
}

impl Answer {
    /// Field `number`, counted from 1 as in gitstatusd's help.
    pub(crate) fn field(&self, number: usize) -> &[u8] {
        let field = self.0.get(number - 1);
        field.unwrap_or_else(|| panic!("no field {number} in {self:?}"))
    }

    pub(crate) fn number(&self, number: usize) -> usize {
        let text = std::str::from_utf8(self.field(number)).unwrap();
        text.parse().unwrap()
    }

    /// The numbers of staged, unstaged, conflicted and untracked files.
    pub(crate) fn counts(&self) -> [usize; 4] {
        [11, 12, 13, 14].map(|number| self.number(number))
    }

    /// Returns whether it is about a repository. Asserts that it has the right number of fields.
    pub(crate) fn is_repository(&self) -> bool {
        let is_some = self.field(2) == b"1";
        assert_eq!(self.0.len(), if is_some { 29 } else { 2 }, "{self:?}");
        is_some
    }
}

impl Gitstatusd {
    /// Starts `command`, which already has its arguments and environment.
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            requests: child.stdin.take(),
            responses: child.stdout.take().unwrap(),
            messages: child.stderr.take(),
            unread_messages: Vec::new(),
            child,
            read: Vec::new(),
        }
    }

    /// Lets it have at most `count` descriptors; `None` for as many as before.
    pub(crate) fn limit_descriptors(&self, count: Option<u64>) {
        limit_descriptors(Pid::from_child(&self.child), count).unwrap();
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.requests.as_mut().unwrap().write_all(bytes).unwrap();
    }

    /// Takes the end of the pipe that requests are written to.
    pub(crate) fn take_requests(&mut self) -> ChildStdin {
        self.requests.take().unwrap()
    }

    /// Reads the next response.
    pub(crate) fn answer(&mut self) -> Answer {
        let deadline = Instant::now() + TIME_LIMIT;
        loop {
            if let Some(end) = self.read.iter().position(|byte| *byte == 0x1e) {
                let record: Vec<u8> = self.read.drain(..=end).collect();
                let fields = record[..end].split(|byte| *byte == 0x1f);
                return Answer(fields.map(<[u8]>::to_vec).collect());
            }
            wait_for(&self.responses, deadline);
            let mut buffer = [0; 4096];
            let len = self.responses.read(&mut buffer).unwrap();
            assert!(len > 0, "the process ended: {}", self.end().1);
            self.read.extend_from_slice(&buffer[..len]);
        }
    }

    /// Asks about `dir`.
    pub(crate) fn ask(&mut self, dir: impl AsRef<OsStr>) -> Answer {
        self.ask_with(dir, b"")
    }

    /// Asks about `dir`, with `more` appended to the request.
    pub(crate) fn ask_with(&mut self, dir: impl AsRef<OsStr>, more: &[u8]) -> Answer {
        let dir = dir.as_ref().as_bytes();
        self.send(&[b"id\x1f", dir, more, b"\x1e"].concat());
        let answer = self.answer();
        assert_eq!(answer.field(1), b"id");
        answer
    }

    /// Closes its input. Returns its exit status and the unexamined rest of its standard error. No output may be left unread.
    pub(crate) fn end(&mut self) -> (ExitStatus, String) {
        drop(self.requests.take());
        self.wait()
    }

    /// Waits for its end; returns the same.
    pub(crate) fn wait(&mut self) -> (ExitStatus, String) {
        let deadline = Instant::now() + TIME_LIMIT;
        let mut messages = std::mem::take(&mut self.unread_messages);
        if let Some(mut stream) = self.messages.take() {
            let mut buffer = [0; 4096];
            loop {
                wait_for(&stream, deadline);
                match stream.read(&mut buffer).unwrap() {
                    0 => break,
                    len => messages.extend_from_slice(&buffer[..len]),
                }
            }
        }
        let mut rest = std::mem::take(&mut self.read);
        self.responses.read_to_end(&mut rest).unwrap();
        assert!(rest.is_empty(), "nobody asked for {rest:?}");
        let status = self.child.wait().unwrap();
        (status, String::from_utf8_lossy(&messages).into_owned())
    }

    /// Reads its log up to and including `text`.
    pub(crate) fn wait_for_message(&mut self, text: &str) {
        let deadline = Instant::now() + TIME_LIMIT;
        let mut stream = self.messages.take().unwrap();
        let end = loop {
            if let Some(start) = self.unread_messages.find(text) {
                break start + text.len();
            }
            wait_for(&stream, deadline);
            let mut buffer = [0; 4096];
            let len = stream.read(&mut buffer).unwrap();
            assert!(len > 0, "the process ended without saying {text:?}");
            self.unread_messages.extend_from_slice(&buffer[..len]);
        };
        self.unread_messages.drain(..end);
        self.messages = Some(stream);
    }

    /// The number of its inotify instances.
    pub(crate) fn inotify_count(&self) -> usize {
        let files = std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap();
        let targets = files.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
        targets
            .filter(|target| target.as_os_str() == "anon_inode:inotify")
            .count()
    }

    /// Its resident memory, in bytes.
    pub(crate) fn resident_bytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:"));
        let kilobytes = line.unwrap().split_ascii_whitespace().nth(1).unwrap();
        kilobytes.parse::<u64>().unwrap() * 1024
    }
}

impl Drop for Gitstatusd {
    fn drop(&mut self) {
        // It is usually gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn wait_for(stream: &impl AsFd, deadline: Instant) {
    let left = deadline.saturating_duration_since(Instant::now());
    let left = Timespec::try_from(left).unwrap();
    let mut streams = [PollFd::new(stream, PollFlags::IN)];
    assert_ne!(
        poll(&mut streams, Some(&left)).unwrap(),
        0,
        "the process hangs"
    );
}

/// A request about `dir`.
pub(crate) fn request(id: &str, dir: &Path) -> Vec<u8> {
    [id.as_bytes(), b"\x1f", dir.as_os_str().as_bytes(), b"\x1e"].concat()
}
