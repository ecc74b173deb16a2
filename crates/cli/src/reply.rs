//! A command's output and exit code, before they are written.

use std::fmt::Display;

use bstr::ByteSlice as _;
use vigil_model::escape::append_escaped;
use vigil_model::raw_text::{message_bytes, text_bytes};
pub(crate) use vigil_rules::messages::bytes;

/// The bytes for both output streams, and the exit code, of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reply {
    /// For standard output.
    pub stdout: Vec<u8>,
    /// For standard error.
    pub stderr: Vec<u8>,
    /// The exit code.
    pub code: u8,
}

impl Reply {
    /// git's exit code for a fatal error.
    pub(crate) const FATAL: u8 = 128;
    /// git's exit code for a command line that it does not understand.
    pub(crate) const USAGE: u8 = 129;

    /// Makes a reply that prints `stdout` and exits with `code`.
    pub(crate) fn printed(stdout: impl Into<Vec<u8>>, code: u8) -> Self {
        Self {
            stdout: stdout.into(),
            stderr: Vec::new(),
            code,
        }
    }

    /// Makes a reply that prints `stderr` and exits with `code`.
    pub(crate) fn complained(stderr: impl Into<Vec<u8>>, code: u8) -> Self {
        Self {
            stdout: Vec::new(),
            stderr: stderr.into(),
            code,
        }
    }

    /// Makes `error: <text>`, code 1, in which nothing controls a terminal. Some bytes of the text may be [shown by
    /// characters](vigil_model::raw_text).
    pub(crate) fn error(text: &str) -> Self {
        Self::complained(escaped_line(&text_bytes(&format!("error: {text}"))), 1)
    }

    /// Makes `fatal: <text>`, code 128.
    pub(crate) fn fatal(text: impl AsRef<[u8]>) -> Self {
        Self::complained(labelled("fatal: ", text.as_ref()), Self::FATAL)
    }

    /// Makes the lines `messages`, followed by [`Reply::fatal`] with the text of `error`.
    pub(crate) fn fatal_after(messages: &[String], error: &dyn std::error::Error) -> Self {
        Self::gave_up(messages, "fatal: ", error)
    }

    /// Makes the lines `messages`, followed by `label` and the text of `error`, code 128.
    pub(crate) fn gave_up(
        messages: &[String],
        label: &str,
        error: &(impl Display + ?Sized),
    ) -> Self {
        Self::complained(labelled(label, &message_bytes(error)), Self::FATAL).after(messages)
    }

    /// Puts the lines `messages` on standard error before everything else.
    pub(crate) fn after(mut self, messages: &[String]) -> Self {
        let messages = messages
            .iter()
            .flat_map(|line| labelled("", &text_bytes(line)))
            .collect::<Vec<u8>>();
        self.stderr.splice(..0, messages);
        self
    }

    /// Makes `error: <text>`, code 129, for a wrong command line.
    pub(crate) fn usage_error(text: impl AsRef<[u8]>) -> Self {
        Self::complained(labelled("error: ", text.as_ref()), Self::USAGE)
    }
}

/// Returns `label` and `text` as a line in git's form: question marks replace what would control a terminal.
pub(crate) fn labelled(label: &str, text: &[u8]) -> Vec<u8> {
    let mut line = [label.as_bytes(), text].concat();
    if REPORTS.iter().any(|report| line.starts_with(report)) {
        // To git this is a C string.
        let end = line.iter().position(|byte| *byte == 0);
        line.truncate(end.unwrap_or(REPORT_LENGTH_MAX).min(REPORT_LENGTH_MAX));
        for byte in &mut line {
            if byte.is_ascii_control() && !matches!(byte, b'\t' | b'\n') {
                *byte = b'?';
            }
        }
    }
    line.push(b'\n');
    line
}

/// Returns `text` as a line for people, in which nothing controls their terminal.
pub(crate) fn escaped_line(text: &[u8]) -> Vec<u8> {
    let mut line = Vec::new();
    append_escaped(&mut line, text);
    line.push(b'\n');
    line
}

/// Returns the lines of `text` as [`escaped_line`] does.
pub(crate) fn escaped_lines(text: &[u8]) -> Vec<u8> {
    text.lines().flat_map(escaped_line).collect()
}

/// The labels of lines in which git shows control characters as question marks.
const REPORTS: [&[u8]; 4] = [b"fatal: ", b"error: ", b"warning: ", b"usage: "];

/// The number of bytes that git prints of such a line.
const REPORT_LENGTH_MAX: usize = 4095;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_cut_and_cleaned_as_by_git_and_other_lines_are_not() {
        assert_eq!(
            labelled("fatal: ", b"a\x01\xff\tb\x7f"),
            b"fatal: a?\xff\tb?\n"
        );
        assert_eq!(labelled("", b"error: a\rb\nc"), b"error: a?b\nc\n");
        assert_eq!(labelled("", b"a\x01b"), b"a\x01b\n");
        assert_eq!(labelled("error: ", b"a\0b"), b"error: a\n");
        let long = [b'x'; 5000];
        assert_eq!(labelled("warning: ", &long).len(), 4096);
        assert_eq!(labelled("", &long).len(), 5001);
    }
}
