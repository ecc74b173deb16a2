//! Errors: why Mercurial would not answer.

use std::io;
use std::path::Path;

use bstr::{BStr, BString};
use vigil_linux::errno;
use vigil_model::raw_text::raw;

use crate::bytes::bytes;
use vigil_stamp::paths::bytes_of;

/// The kind of an error: with `ui.detailed-exit-code`, each has its own exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// No particular kind.
    Plain,
    /// The request is wrong.
    Input,
    /// The request does not parse.
    Parse,
    /// There is no such command.
    Command,
    /// The state of the repository does not allow the request.
    State,
    /// The configuration is wrong.
    Config,
    /// Stored data are damaged.
    Storage,
    /// The system does not let a file be read.
    System,
    /// The working copy shares the store of a repository whose requirements are kept in another way.
    Share,
    /// Not an error of Mercurial's: it would answer, but this program does not.
    Unsupported,
}

/// Mercurial's `abort: ...`, which ends the command.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", raw(message))]
pub struct Abort {
    /// The kind of the error.
    pub kind: Kind,
    /// The message, without `abort: ` and without a line feed.
    pub message: BString,
    /// Advice on what may help, without parentheses.
    pub hint: Option<BString>,
}

impl Abort {
    /// Creates an error of no particular kind.
    pub fn plain(message: impl Into<BString>) -> Self {
        Self::of(Kind::Plain, message)
    }

    /// Creates an error of the given kind.
    pub fn of(kind: Kind, message: impl Into<BString>) -> Self {
        Self {
            kind,
            message: message.into(),
            hint: None,
        }
    }

    /// Creates the error for what Mercurial could answer, but this program does not.
    pub fn unsupported(what: impl AsRef<[u8]>) -> Self {
        let message = bytes!("vigil does not answer this: ", what);
        Self::of(Kind::Unsupported, message)
    }

    /// Returns the error with the path of the subrepository in which it happened, as seen from the outermost repository.
    pub fn in_subrepository(self, outer_path: &BStr) -> Self {
        let message = bytes!(self.message, " (in subrepository \"", outer_path, "\")");
        Self { message, ..self }
    }

    /// Creates the error for a damaged file in the repository.
    pub fn damaged(path: &Path, what: &str) -> Self {
        let message = bytes!("damaged file '", bytes_of(path), "': ", what);
        Self::of(Kind::Storage, message)
    }

    /// Creates the error for a file that could not be read.
    pub fn io(path: &Path, error: &io::Error) -> Self {
        let reason = errno::text_of(error);
        Self::of(Kind::System, bytes!(reason, ": '", bytes_of(path), "'"))
    }

    /// Adds a hint.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<BString>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Returns the exit code of the command; `detailed` is `ui.detailed-exit-code`.
    pub fn exit_code(&self, detailed: bool) -> u8 {
        match self.kind {
            Kind::Input | Kind::Parse | Kind::Command if detailed => 10,
            Kind::State if detailed => 20,
            Kind::Config if detailed => 30,
            Kind::Storage if detailed => 50,
            _ => 255,
        }
    }
}
