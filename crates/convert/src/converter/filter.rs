//! Starts and stops the programs of filters.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus, Stdio};
use std::thread::Builder;
use std::time::Duration;

use bstr::{BStr, BString, ByteSlice, ByteVec};
use rustix::process::{Pid, Signal, kill_process};
use vigil_git::child::{ChildEnvironment, not_started};
use vigil_linux::process_handle::ProcessHandle;
use vigil_rules::messages::{Messages, bytes};

/// How long a program may take to end by itself, and then again after a SIGTERM.
const GRACE: Duration = Duration::from_secs(2);

/// Starts `command` with a pipe for its output. If it cannot be started, `messages` says so.
pub(crate) fn start(
    child_environment: &ChildEnvironment,
    command: &BStr,
    arguments: &[&BStr],
    stdin: fn() -> Stdio,
    messages: &Messages,
) -> Option<Child> {
    match child_environment.spawn(command, arguments, stdin) {
        Ok(child) => Some(child),
        Err(error) => {
            messages.extend(&[not_started(command, &error)]);
            None
        }
    }
}

/// The input of a filter.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Input<'a> {
    Bytes(&'a [u8]),
    /// All of a file, from its start.
    File(&'a File),
}

impl Input<'_> {
    /// Passes the input to `to` in pieces.
    pub(super) fn feed(self, mut to: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        match self {
            Input::Bytes(bytes) => to(bytes),
            Input::File(file) => {
                let mut reader = super::read::FileBytes::new(file, u64::MAX);
                let mut buffer = vec![0; 1 << 16];
                loop {
                    match reader.read(&mut buffer)? {
                        0 => return Ok(()),
                        count => to(buffer.get(..count).unwrap_or_default())?,
                    }
                }
            }
        }
    }
}

/// Runs the command `template` (`%f` is the path) as a filter. `None` if it fails; `messages` then says why.
pub(super) fn run_filter(
    child_environment: &ChildEnvironment,
    template: &BStr,
    path: &BStr,
    input: Input<'_>,
    messages: &Messages,
) -> Option<Vec<u8>> {
    let command = expand(template, path);
    let failed = || messages.error(bytes!("external filter '", template, "' failed"));
    let Some(mut child) = start(
        child_environment,
        command.as_ref(),
        &[],
        Stdio::piped,
        messages,
    ) else {
        messages.error(bytes!(
            "cannot fork to run external filter '",
            template,
            "'"
        ));
        failed();
        return None;
    };
    let (written, output) = exchange(&mut child, input);
    let mut good = true;
    if let Err(error) = written
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        messages.error(bytes!(
            "cannot feed the input to external filter '",
            template,
            "'"
        ));
        good = false;
    }
    if output.is_err() {
        messages.error(bytes!("read from external filter '", template, "' failed"));
        good = false;
    }
    let code = child.wait().map_or(-1, |status| {
        report_signal(status, command.as_ref(), messages);
        exit_code(status)
    });
    if code != 0 {
        let end = format!("' failed {code}");
        messages.error(bytes!("external filter '", template, end));
        good = false;
    }
    if !good {
        failed();
        return None;
    }
    output.ok()
}

/// Writes `input` to `child` and reads its output, as far as it has pipes for them. Both happen at once, because it
/// may write before it has read everything.
pub(super) fn exchange(
    child: &mut Child,
    input: Input<'_>,
) -> (io::Result<()>, io::Result<Vec<u8>>) {
    let stdin = child.stdin.take();
    let stdout = child.stdout.take();
    std::thread::scope(|scope| {
        let feed = move || match stdin {
            Some(mut stdin) => input.feed(|bytes| stdin.write_all(bytes)),
            None => Ok(()),
        };
        let writer = match Builder::new().spawn_scoped(scope, feed) {
            Ok(writer) => writer,
            // Without the thread the program gets no input, and nobody reads its output.
            Err(error) => return (Err(error), Ok(Vec::new())),
        };
        let mut output = Vec::new();
        let read = stdout.map_or(Ok(0), |mut stdout| stdout.read_to_end(&mut output));
        let written = writer.join().unwrap_or(Ok(()));
        (written, read.map(|_| output))
    })
}

/// Replaces `%f` in `template` by the quoted path, and `%%` by `%`.
fn expand(template: &BStr, path: &BStr) -> BString {
    let mut command = BString::default();
    let mut rest = template.as_bytes();
    while let Some((before, after)) = rest.split_once_str(b"%") {
        command.push_str(before);
        rest = match after.split_first() {
            Some((b'f', after)) => {
                push_quoted(&mut command, path);
                after
            }
            Some((b'%', after)) => {
                command.push_byte(b'%');
                after
            }
            _ => {
                command.push_byte(b'%');
                after
            }
        };
    }
    command.push_str(rest);
    command
}

/// Appends `text` in single quotes; characters that cannot be inside quotes are escaped outside of them.
fn push_quoted(command: &mut BString, text: &BStr) {
    command.push_byte(b'\'');
    for &byte in text.as_bytes() {
        if matches!(byte, b'\'' | b'!') {
            command.push_str(b"'\\");
            command.push_byte(byte);
            command.push_byte(b'\'');
        } else {
            command.push_byte(byte);
        }
    }
    command.push_byte(b'\'');
}

/// Returns the exit status as a shell gives it: 128 plus the signal for a signal.
fn exit_code(status: ExitStatus) -> i32 {
    status
        .code()
        .or_else(|| status.signal().map(|signal| signal.saturating_add(128)))
        .unwrap_or(-1)
}

/// Reports to `messages` that a signal ended `command`, if git would.
pub(crate) fn report_signal(status: ExitStatus, command: &BStr, messages: &Messages) {
    // git does not report signals that a user sends from a terminal, or closed pipes.
    const EXPECTED: [Signal; 3] = [Signal::INT, Signal::QUIT, Signal::PIPE];
    if let Some(signal) = status.signal()
        && !EXPECTED.iter().any(|expected| expected.as_raw() == signal)
    {
        messages.error(bytes!(command, format!(" died of signal {signal}")));
    }
}

/// Waits for `child`, whose pipes are closed, and forces it to end if it does not do so by itself.
pub(super) fn stop(child: &mut Child) {
    // Once it has ended, its id may belong to another process.
    if !matches!(child.try_wait(), Ok(None)) {
        return;
    }
    if let Some(pid) = pid_of(child)
        && let Ok(process) = ProcessHandle::open(pid.as_raw_pid())
    {
        for signal in [Signal::TERM, Signal::KILL] {
            if process.wait(Some(GRACE)) {
                break;
            }
            let _ = process.signal(signal);
        }
    }
    let _ = child.wait();
}

/// Asks `child` to end now.
pub(super) fn terminate(child: &mut Child) {
    if matches!(child.try_wait(), Ok(None))
        && let Some(pid) = pid_of(child)
    {
        let _ = kill_process(pid, Signal::TERM);
    }
}

fn pid_of(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_quoted() {
        assert_eq!(
            expand("a %f %% %x %".into(), "it's !".into()),
            "a 'it'\\''s '\\!'' % %x %"
        );
    }
}
