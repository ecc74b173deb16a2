//! Standard input, read line by line as it arrives.

use bstr::{BStr, ByteSlice};
use rustix::event::PollFlags;
use vigil_linux::blocking::until_ready;

/// How much is read at a time, in bytes.
const READ_LEN: usize = 64 << 10;

/// The lines of standard input.
pub(super) struct Input {
    delimiter: u8,
    buf: Vec<u8>,
    /// Where the next line begins.
    start: usize,
    /// Up to here, the buffer holds no delimiter.
    searched: usize,
    is_at_end: bool,
    is_blank: bool,
}

impl Input {
    /// Lines that end in `delimiter`.
    pub(super) fn new(delimiter: u8) -> Self {
        Self {
            delimiter,
            buf: Vec::new(),
            start: 0,
            searched: 0,
            is_at_end: false,
            is_blank: false,
        }
    }

    /// Returns whether a whole line is buffered, so that [`Self::next`] does not wait.
    pub(super) fn has_line(&mut self) -> bool {
        self.line_end().is_some() || self.is_at_end
    }

    /// Waits until there is a whole line, or no more input. Returns whether there is a line.
    pub(super) fn wait(&mut self) -> bool {
        while !self.has_line() {
            self.read();
        }
        self.start < self.buf.len()
    }

    /// Reads the next line without its terminator; `None` after the last. To git it is a C string and ends at the first NUL.
    pub(super) fn next(&mut self) -> Option<&BStr> {
        let end = loop {
            match self.line_end() {
                Some(end) => break end,
                None if self.is_at_end && self.start == self.buf.len() => return None,
                None if self.is_at_end => break self.buf.len(),
                None => self.read(),
            }
        };
        let line = self.buf.get(self.start..end).unwrap_or_default();
        let is_ended = end < self.buf.len();
        self.start = end.saturating_add(1).min(self.buf.len());
        self.searched = self.start;
        let line = match self.delimiter {
            b'\n' if is_ended => line.strip_suffix(b"\r").unwrap_or(line),
            _ => line,
        };
        self.is_blank = line.is_empty() && self.delimiter == b'\n';
        let len = line.find_byte(0).unwrap_or(line.len());
        Some(line.get(..len).unwrap_or_default().as_bstr())
    }

    /// Returns whether the last line is completely empty to git: it holds no NUL, not even as its terminator.
    pub(super) fn is_blank(&self) -> bool {
        self.is_blank
    }

    fn line_end(&mut self) -> Option<usize> {
        let rest = self.buf.get(self.searched..).unwrap_or_default();
        let found = rest.find_byte(self.delimiter);
        let end = found.map(|at| self.searched.saturating_add(at));
        self.searched = end.unwrap_or(self.buf.len());
        end
    }

    /// Reads more. To git, what cannot be read has ended.
    fn read(&mut self) {
        self.buf.drain(..self.start);
        self.searched = self.searched.saturating_sub(self.start);
        self.start = 0;
        self.buf.reserve(READ_LEN);
        let stdin = rustix::stdio::stdin();
        let read = until_ready(stdin, PollFlags::IN, || {
            rustix::io::read(stdin, rustix::buffer::spare_capacity(&mut self.buf))
        });
        self.is_at_end = read.unwrap_or(0) == 0;
    }
}
