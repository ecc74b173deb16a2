//! Why there is no usable repository.

use crate::config;

/// Why there is no usable repository. The text is git's own, without "fatal: ".
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no repository here or in any parent directory: the gitstatusd door answers "none".
    #[error("{0}")]
    NotFound(String),
    /// A repository that git refuses to use, for example because of a broken `.git` file.
    #[error("{0}")]
    Refused(String),
    /// A repository whose format git does not know (gitrepository-layout(5)).
    #[error("{0}")]
    Format(String),
    /// A repository that belongs to another user (`safe.directory`).
    #[error("{text}")]
    Unsafe {
        /// Whole lines for stderr, with their "error: " or "warning: ".
        messages: Vec<String>,
        /// The final message, without "fatal: ".
        text: String,
        /// The command in the message by which the user permits the use.
        remedy: String,
    },
    /// A submodule behind a symbolic link, for which git only writes an "error: ".
    #[error("{0}")]
    LinkedSubmodule(String),
    /// A repository that git refuses to use, where it writes more lines before it gives up.
    #[error("{text}")]
    Explained {
        /// Whole lines for stderr, with their "error: " or "warning: ".
        messages: Vec<String>,
        /// The final message, without "fatal: ".
        text: String,
    },
    /// Its configuration cannot be read.
    #[error(transparent)]
    Config(#[from] config::Error),
}

impl Error {
    /// The lines that git writes to stderr before the one that begins with "fatal: ".
    pub fn messages(&self) -> &[String] {
        match self {
            Self::NotFound(_) | Self::Refused(_) | Self::Format(_) | Self::LinkedSubmodule(_) => {
                &[]
            }
            Self::Unsafe { messages, .. } | Self::Explained { messages, .. } => messages,
            Self::Config(error) => error.messages(),
        }
    }

    /// Whether git goes on without a repository if it does not need one.
    pub fn is_of_no_repository(&self) -> bool {
        matches!(
            self,
            Self::NotFound(_) | Self::Format(_) | Self::Unsafe { .. }
        )
    }
}
