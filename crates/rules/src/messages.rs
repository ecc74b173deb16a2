//! The messages that git would write to its standard error.

use bstr::BString;
use parking_lot::Mutex;

/// git cuts warnings and errors to this many bytes, prefix and line feed included.
const LENGTH_MAX: usize = 4096;

/// Concatenates anything that is bytes: paths in messages need not be UTF-8.
#[macro_export]
macro_rules! bytes {
    ($($part:expr),+ $(,)?) => {
        [$(AsRef::<[u8]>::as_ref(&$part)),+].concat()
    };
}
pub use crate::bytes;

/// Lines for the standard error, collected from many threads in the order in which they arise.
///
/// Each line is as git writes it, with "warning: ", "error: " or "hint: " where git puts one. It has no line
/// feed at its end, but may contain some.
#[derive(Debug, Default)]
pub struct Messages(Mutex<Vec<BString>>);

impl Messages {
    /// Adds a warning.
    pub fn warning(&self, text: impl AsRef<[u8]>) {
        self.push(prefixed("warning: ", text));
    }

    /// Adds an error that is not fatal.
    pub fn error(&self, text: impl AsRef<[u8]>) {
        self.push(prefixed("error: ", text));
    }

    /// Adds a hint, each line of `text` as one.
    pub fn hint(&self, text: impl AsRef<[u8]>) {
        let text = text.as_ref();
        let lines = text.strip_suffix(b"\n").unwrap_or(text);
        let lines = lines.split(|byte| *byte == b'\n').map(|line| match line {
            [] => "hint:".into(),
            line => bytes!("hint: ", line).into(),
        });
        self.0.lock().extend(lines);
    }

    /// Adds `line`, which has its prefix already, unless the same line is there.
    pub fn once(&self, line: BString) {
        self.all_once(vec![line]);
    }

    /// Adds `lines`, which have their prefixes already, unless the first of them is there.
    pub fn all_once(&self, new: Vec<BString>) {
        let mut lines = self.0.lock();
        if new.first().is_some_and(|first| !lines.contains(first)) {
            lines.extend(new);
        }
    }

    /// The number of lines.
    pub fn len(&self) -> usize {
        self.0.lock().len()
    }

    /// Whether there is no line.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes all lines.
    pub fn take(&self) -> Vec<BString> {
        std::mem::take(&mut self.0.lock())
    }

    /// Adds lines that were collected separately.
    pub fn extend(&self, lines: &[BString]) {
        if !lines.is_empty() {
            self.0.lock().extend_from_slice(lines);
        }
    }

    fn push(&self, line: BString) {
        self.0.lock().push(line);
    }
}

/// The messages about one file. They are kept with it, because each request that uses the file repeats them.
#[derive(Debug, Default)]
pub(super) struct FileMessages(Vec<BString>);

impl FileMessages {
    pub(super) fn warning(&mut self, text: impl AsRef<[u8]>) {
        self.0.push(prefixed("warning: ", text));
    }

    pub(super) fn line(&mut self, text: impl Into<BString>) {
        self.0.push(text.into());
    }

    pub(super) fn into_lines(self) -> Vec<BString> {
        self.0
    }
}

/// Makes the line of a warning or error, with control characters replaced and the length limited as git does it.
pub fn prefixed(prefix: &str, text: impl AsRef<[u8]>) -> BString {
    let mut line = bytes!(prefix, text.as_ref());
    line.truncate(LENGTH_MAX - 1);
    for byte in &mut line {
        if byte.is_ascii_control() && !matches!(byte, b'\t' | b'\n') {
            *byte = b'?';
        }
    }
    line.into()
}
