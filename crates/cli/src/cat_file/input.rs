//! What is asked, line by line, as it comes.

use std::time::{Duration, Instant};

use bstr::{BStr, ByteSlice};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use vigil_linux::process::allowed_cores;

/// How much is read at a time, in bytes.
const READ_LEN: usize = 64 << 10;

/// How long the next line is looked out for without sleeping: about what it costs to be woken up.
const AWAKE_MAX: Duration = Duration::from_micros(50);
/// How often that may be in vain in a row before whoever asks counts as slow.
const VAIN_MAX: u32 = 4;
/// Each so many lines, it is found out whether a slow one is quicker now.
const SLOW_STEP: u32 = 64;

/// The lines of standard input.
pub(super) struct Input {
    delimiter: u8,
    buf: Vec<u8>,
    /// Where the next line begins.
    start: usize,
    /// Up to where no delimiter was found.
    searched: usize,
    is_at_end: bool,
    is_blank: bool,
    lookout: Option<Lookout>,
}

impl Input {
    /// Lines that end in `delimiter`. `is_conversation` says that somebody waits for each answer before the next question.
    pub(super) fn new(delimiter: u8, is_conversation: bool) -> Self {
        Self {
            delimiter,
            buf: Vec::new(),
            start: 0,
            searched: 0,
            is_at_end: false,
            is_blank: false,
            // With one core, who is to ask next would have to wait until nobody looks out for it.
            lookout: (is_conversation && allowed_cores() > 1).then(Lookout::default),
        }
    }

    /// Whether a whole line is here already, so that [`Self::next`] does not wait.
    pub(super) fn has_line(&mut self) -> bool {
        self.line_end().is_some() || self.is_at_end
    }

    /// Whether there is time for something else before the next line, since whoever asks does not need this core.
    pub(super) fn has_time(&self) -> bool {
        self.lookout.is_some()
    }

    /// The next line without its end; `None` after the last. git treats it as a string of C, so it ends at the first NUL.
    ///
    /// # Errors
    /// Standard input cannot be read.
    pub(super) fn next(&mut self) -> Result<Option<&BStr>, Errno> {
        let end = loop {
            match self.line_end() {
                Some(end) => break end,
                None if self.is_at_end && self.start == self.buf.len() => return Ok(None),
                None if self.is_at_end => break self.buf.len(),
                None => self.read()?,
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
        Ok(Some(line.get(..len).unwrap_or_default().as_bstr()))
    }

    /// Whether git finds nothing at all in the last line: no NUL, not even as its end.
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

    fn read(&mut self) -> Result<(), Errno> {
        self.buf.drain(..self.start);
        self.searched = self.searched.saturating_sub(self.start);
        self.start = 0;
        self.buf.reserve(READ_LEN);
        if let Some(lookout) = &mut self.lookout {
            lookout.wait();
        }
        let stdin = rustix::stdio::stdin();
        let read = loop {
            match rustix::io::read(stdin, rustix::buffer::spare_capacity(&mut self.buf)) {
                Err(Errno::INTR) => {}
                read => break read?,
            }
        };
        self.is_at_end = read == 0;
        Ok(())
    }
}

/// Stays awake for a while for whoever asks one question after the other: to sleep and be woken up takes longer than an
/// answer does.
#[derive(Default)]
struct Lookout {
    /// How often nothing came in a row.
    vain: u32,
}

impl Lookout {
    /// Waits for input, but not for long.
    fn wait(&mut self) {
        if self.vain > VAIN_MAX && !self.vain.is_multiple_of(SLOW_STEP) {
            self.vain = self.vain.wrapping_add(1);
            return;
        }
        let start = Instant::now();
        let stdin = rustix::stdio::stdin();
        let mut watched = [PollFd::new(&stdin, PollFlags::IN)];
        while poll(&mut watched, Some(&Timespec::default())) == Ok(0) {
            if start.elapsed() >= AWAKE_MAX {
                self.vain = self.vain.wrapping_add(1);
                return;
            }
        }
        self.vain = 0;
    }
}
