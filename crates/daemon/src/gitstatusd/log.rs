//! The log on standard error.

use std::fmt::Display;
use std::io::Write;
use vigil_model::raw_text::text_bytes;

/// The severity of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Details for developers of the program.
    Debug,
    /// What the program does.
    Info,
    /// A request that could not be fulfilled completely.
    Warn,
    /// A failure.
    Error,
    /// A failure that ends the process.
    Fatal,
}

impl Level {
    /// Returns the level called `name`, as given to `-v`.
    pub(crate) fn from_name(name: &[u8]) -> Option<Self> {
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

/// Writes messages of at least the level `least`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Log {
    pub(super) least: Level,
}

impl Log {
    pub(super) fn say(self, level: Level, message: impl Display) {
        if level >= self.least {
            // If standard error is closed, there is nobody to tell.
            let line = format!("[{}] {message}\n", level.name());
            let _ = std::io::stderr().write_all(&text_bytes(&line));
        }
    }
}
