//! Why Mercurial would not answer.

use std::io;
use std::path::Path;

use bstr::BString;
use vigil_linux::errno;
use vigil_model::raw_text::raw;

use crate::bytes::{bytes, of_path};

/// What kind of error it is: `ui.detailed-exit-code` tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Of no kind in particular.
    Plain,
    /// What was asked for is wrong.
    Input,
    /// What was asked for is not of the language it is to be in.
    Parse,
    /// The state of the repository does not allow it.
    State,
    /// The configuration is wrong.
    Config,
    /// What is stored is damaged.
    Storage,
    /// The working copy shares the store of a repository whose requirements are kept in another way.
    Share,
    /// Not Mercurial's: it would answer, but this program does not.
    Unsupported,
}

/// Mercurial's `abort: ...`, which ends the command.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", raw(message))]
pub struct Abort {
    /// What kind of error it is.
    pub kind: Kind,
    /// What is said, without `abort: ` and without a line feed.
    pub message: BString,
    /// What may help, without parentheses.
    pub hint: Option<BString>,
}

impl Abort {
    /// An error of no kind in particular.
    pub fn plain(message: impl Into<BString>) -> Self {
        Self::of(Kind::Plain, message)
    }

    /// An error of a kind.
    pub fn of(kind: Kind, message: impl Into<BString>) -> Self {
        Self {
            kind,
            message: message.into(),
            hint: None,
        }
    }

    /// What Mercurial could answer, and this program does not.
    pub fn unsupported(what: impl AsRef<[u8]>) -> Self {
        let message = bytes!("vigil does not answer this: ", what);
        Self::of(Kind::Unsupported, message)
    }

    /// Something in the repository is damaged.
    pub fn damaged(path: &Path, what: &str) -> Self {
        let message = bytes!("damaged file '", of_path(path), "': ", what);
        Self::of(Kind::Storage, message)
    }

    /// A file could not be read.
    pub fn io(path: &Path, error: &io::Error) -> Self {
        let reason = errno::text_of(error);
        Self::plain(bytes!(reason, ": '", of_path(path), "'"))
    }

    /// The same with a hint.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<BString>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The exit code of the command; `detailed` is `ui.detailed-exit-code`.
    pub fn exit_code(&self, detailed: bool) -> u8 {
        match self.kind {
            Kind::Input | Kind::Parse if detailed => 10,
            Kind::State if detailed => 20,
            Kind::Config if detailed => 30,
            Kind::Storage if detailed => 50,
            _ => 255,
        }
    }
}
