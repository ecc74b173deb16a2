//! The protocol of `filter.<name>.process` (gitattributes(5), "Long Running Filter Process"; gitprotocol-common(5)
//! for the packets).

use std::io::{self, Read, Write};

use bstr::{BStr, BString, ByteSlice};
use gix_hash::oid;
use vigil_linux::errno;
use vigil_model::raw_text::{raw, text_bytes};

use super::error::Error;
use super::filter::Input;
use super::settings::Direction;
use vigil_rules::messages::Messages;

/// The most bytes one packet carries.
const PACKET_DATA_MAX: usize = 65516;

/// A conversation with one filter process.
#[derive(Debug)]
pub(crate) struct Conversation<W, R> {
    stdin: W,
    stdout: R,
    cleans: bool,
    smudges: bool,
    aborted: bool,
}

/// What the filter is asked to do.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Task<'a> {
    /// To convert a file to what is recorded.
    Clean,
    /// To convert what is recorded to a file.
    Smudge {
        /// The id of the recorded blob.
        blob: &'a oid,
    },
}

impl Task<'_> {
    pub(super) fn direction(self) -> Direction {
        match self {
            Self::Clean => Direction::Clean,
            Self::Smudge { .. } => Direction::Smudge,
        }
    }
}

/// What the filter did with one file.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// The converted contents.
    Converted(Vec<u8>),
    /// The filter does not convert this file.
    Declined,
    /// The filter violates the protocol, and cannot be used any more.
    Broken,
}

/// Why a conversation failed.
pub(crate) enum Fault {
    /// The process closed its end of a pipe.
    Ended,
    /// The errors that git reports.
    Errors(Vec<String>),
    /// git exits with this error.
    Fatal(Error),
}

impl Fault {
    fn error(text: impl Into<String>) -> Self {
        Self::Errors(vec![text.into()])
    }

    /// Adds what the failed step was meant to do.
    fn with_context(self, text: &str) -> Self {
        match self {
            Self::Errors(mut texts) => {
                texts.push(text.to_owned());
                Self::Errors(texts)
            }
            other => other,
        }
    }

    /// Sends the errors to `messages`.
    pub(super) fn report(self, messages: &Messages) {
        if let Self::Errors(texts) = self {
            texts
                .iter()
                .for_each(|text| messages.error(text_bytes(text)));
        }
    }
}

impl From<io::Error> for Fault {
    fn from(_: io::Error) -> Self {
        Self::Ended
    }
}

impl<W: Write, R: Read> Conversation<W, R> {
    /// Creates a conversation over the filter's standard input and output; nothing has been sent yet.
    pub(crate) fn new(stdin: W, stdout: R) -> Self {
        Self {
            stdin,
            stdout,
            cleans: false,
            smudges: false,
            aborted: false,
        }
    }

    /// Greets the filter, started by `command`, and negotiates its capabilities.
    pub(crate) fn shake_hands(&mut self, command: &BStr) -> Result<(), Fault> {
        let unread = |what: &str| {
            format!(
                "could not read {what} from subprocess '{command}'",
                command = raw(command)
            )
        };
        self.write_line("git-filter-client")
            .map_err(|fault| fault.with_context("Could not write client identification"))?;
        self.write_line("version=2")
            .map_err(|fault| fault.with_context("Could not write requested version"))?;
        self.write_flush()
            .map_err(|fault| fault.with_context("Could not write flush packet"))?;

        let line = self.greeting_line(|| unread("greeting"))?;
        if line.as_ref().is_none_or(|line| line != "git-filter-server") {
            return Err(Fault::error(format!(
                "Unexpected line '{}', expected git-filter-server",
                raw(or_flush(line.as_ref()))
            )));
        }
        let line = self.greeting_line(|| unread("version"))?;
        let version = line
            .as_deref()
            .and_then(|line| line.strip_prefix(b"version="))
            .and_then(|version| version.to_str().ok()?.trim_start().parse::<i32>().ok());
        let Some(version) = version else {
            return Err(Fault::error(format!(
                "Unexpected line '{}', expected version",
                raw(or_flush(line.as_ref()))
            )));
        };
        if let Some(line) = self.greeting_line(|| unread("version flush"))? {
            return Err(Fault::error(format!(
                "Unexpected line '{line}', expected flush",
                line = raw(&line)
            )));
        }
        if version != 2 {
            return Err(Fault::error(format!("Version {version} not supported")));
        }

        for capability in ["clean", "smudge", "delay"] {
            self.write_line(&format!("capability={capability}"))
                .map_err(|fault| fault.with_context("Could not write requested capability"))?;
        }
        self.write_flush()
            .map_err(|fault| fault.with_context("Could not write flush packet"))?;
        while let Some(line) = self.greeting_line(|| unread("capabilities"))? {
            match line.strip_prefix(b"capability=") {
                Some(b"clean") => self.cleans = true,
                Some(b"smudge") => self.smudges = true,
                None | Some(b"delay") => {}
                Some(other) => {
                    return Err(Fault::Fatal(Error::Protocol(format!(
                        "subprocess '{command}' requested unsupported capability '{}'",
                        raw(other),
                        command = raw(command)
                    ))));
                }
            }
        }
        Ok(())
    }

    /// Reads one line of the greeting, `None` for a flush.
    fn greeting_line(&mut self, unread: impl FnOnce() -> String) -> Result<Option<BString>, Fault> {
        self.read_line().map_err(|fault| match fault {
            Fault::Ended => Fault::error(unread()),
            other => other,
        })
    }

    /// Calls [`Conversation::convert`] to clean a file.
    #[cfg(feature = "fuzzing")]
    pub(crate) fn clean(
        &mut self,
        path: &BStr,
        input: Input<'_>,
        messages: &Messages,
    ) -> Result<Outcome, Error> {
        self.convert(Task::Clean, path, input, messages)
    }

    /// Has the filter convert the contents of the file `path`.
    pub(super) fn convert(
        &mut self,
        task: Task<'_>,
        path: &BStr,
        input: Input<'_>,
        messages: &Messages,
    ) -> Result<Outcome, Error> {
        if !*self.is_able(task) {
            return Ok(Outcome::Declined);
        }
        let mut status = BString::default();
        match self.converse(task, path, input, &mut status) {
            Ok(Some(contents)) => return Ok(Outcome::Converted(contents)),
            Ok(None) => {}
            Err(Fault::Fatal(error)) => return Err(error),
            Err(fault) => fault.report(messages),
        }
        match status.as_slice() {
            b"error" => Ok(Outcome::Declined),
            b"abort" => {
                *self.is_able(task) = false;
                self.aborted = true;
                Ok(Outcome::Declined)
            }
            _ => Ok(Outcome::Broken),
        }
    }

    /// The flag for whether the filter can do `task`.
    fn is_able(&mut self, task: Task<'_>) -> &mut bool {
        match task.direction() {
            Direction::Clean => &mut self.cleans,
            Direction::Smudge => &mut self.smudges,
        }
    }

    /// Sends one file and reads the result; `None` if `status` says that there is none.
    fn converse(
        &mut self,
        task: Task<'_>,
        path: &BStr,
        input: Input<'_>,
        status: &mut BString,
    ) -> Result<Option<Vec<u8>>, Fault> {
        self.write_line(&format!("command={}", task.direction().word()))?;
        if path.len() > PACKET_DATA_MAX - "pathname=\n".len() {
            return Err(Fault::error("path name too long for external filter"));
        }
        self.write_packet(&[b"pathname=", path.as_bytes(), b"\n"])
            .map_err(formatted)?;
        if let Task::Smudge { blob } = task
            && !blob.is_null()
        {
            self.write_line(&format!("blob={blob}"))?;
        }
        self.write_flush()?;
        input
            .feed(|bytes| {
                bytes
                    .chunks(PACKET_DATA_MAX)
                    .try_for_each(|packet| self.write_packet(&[packet]))
            })
            .map_err(|error| {
                Fault::error(format!("packet write failed: {}", errno::text_of(&error)))
            })?;
        self.write_flush()?;

        self.read_status(status)?;
        if status != "success" {
            return Ok(None);
        }
        let mut contents = Vec::new();
        loop {
            let packet = self.read_packet()?;
            if packet.is_empty() {
                break;
            }
            contents.extend_from_slice(&packet);
        }
        self.read_status(status)?;
        Ok((status == "success").then_some(contents))
    }

    /// Reads a list of lines. The last `status=` counts; without one the status stays as it was.
    fn read_status(&mut self, status: &mut BString) -> Result<(), Fault> {
        while let Some(line) = self.read_line()? {
            if let Some(value) = line.strip_prefix(b"status=") {
                *status = value.into();
            }
        }
        Ok(())
    }

    /// Reads a line without its line feed; an empty one counts as a flush, as in git.
    fn read_line(&mut self) -> Result<Option<BString>, Fault> {
        let mut packet = self.read_packet()?;
        if packet.last() == Some(&b'\n') {
            packet.pop();
        }
        Ok((!packet.is_empty()).then(|| packet.into()))
    }

    /// Reads the bytes of one packet, none for a flush.
    fn read_packet(&mut self) -> Result<Vec<u8>, Fault> {
        let mut header = [0; 4];
        self.stdout_exact(&mut header)?;
        let fatal = |text| Fault::Fatal(Error::Protocol(text));
        let mut length = 0;
        for digit in header {
            let Some(value) = char::from(digit).to_digit(16) else {
                return Err(fatal(format!(
                    "protocol error: bad line length character: {}",
                    raw(&header)
                )));
            };
            length = length * 16 + value as usize;
        }
        let size = match length {
            0..=2 => return Ok(Vec::new()),
            3 => None,
            _ => (length - 4 <= PACKET_DATA_MAX).then_some(length - 4),
        };
        let Some(size) = size else {
            let shown = if length == 3 { 3 } else { length - 4 };
            return Err(fatal(format!("protocol error: bad line length {shown}")));
        };
        let mut packet = vec![0; size];
        self.stdout_exact(&mut packet)?;
        Ok(packet)
    }

    fn stdout_exact(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        self.stdout.read_exact(buffer)
    }

    fn write_line(&mut self, line: &str) -> Result<(), Fault> {
        self.write_packet(&[line.as_bytes(), b"\n"])
            .map_err(formatted)
    }

    fn write_packet(&mut self, parts: &[&[u8]]) -> io::Result<()> {
        let size = parts.iter().map(|part| part.len()).sum::<usize>() + 4;
        let mut packet = format!("{size:04x}").into_bytes();
        parts.iter().for_each(|part| packet.extend_from_slice(part));
        self.write(&packet)
    }

    fn write_flush(&mut self) -> Result<(), Fault> {
        self.write(b"0000")
            .map_err(|_| Fault::error("flush packet write failed"))
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stdin.write_all(bytes)
    }

    /// Whether the filter has said that it will not clean, or not smudge, any more files.
    pub(super) fn has_aborted(&self) -> bool {
        self.aborted
    }
}

/// git's error for a line that could not be sent.
fn formatted(_: io::Error) -> Fault {
    Fault::error("packet write with format failed")
}

fn or_flush(line: Option<&BString>) -> &BStr {
    line.map_or(BStr::new("<flush packet>"), AsRef::as_ref)
}
