//! The log on standard error.

use std::fmt::Display;
use std::io::Write;
use vigil_model::raw_text::bytes_of;

/// How grave a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// For whoever works on the program.
    Debug,
    /// What it does.
    Info,
    /// What it could not do quite as asked.
    Warn,
    /// What failed.
    Error,
    /// What ends the process.
    Fatal,
}

impl Level {
    /// The level called `name`, as given to `-v`.
    pub fn from_name(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"DEBUG" => Self::Debug,
            b"INFO" => Self::Info,
            b"WARN" => Self::Warn,
            b"ERROR" => Self::Error,
            b"FATAL" => Self::Fatal,
            _ => return None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Self::Debug => "DEBUG",
            Self::Info => "INFO",
            Self::Warn => "WARN",
            Self::Error => "ERROR",
            Self::Fatal => "FATAL",
        }
    }
}

/// Writes messages of at least one level.
#[derive(Clone, Copy, Debug)]
pub(super) struct Log {
    pub(super) least: Level,
}

impl Log {
    pub(super) fn say(self, level: Level, message: impl Display) {
        if level >= self.least {
            // Where standard error is closed there is nobody to tell.
            let line = format!("[{}] {message}\n", level.name());
            let _ = std::io::stderr().write_all(&bytes_of(&line));
        }
    }
}
