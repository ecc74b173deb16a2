//! Why the configuration could not be used.

/// Why the configuration could not be used. The text is git's own, without "fatal: ".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A file that cannot be read or parsed, or a value of the wrong kind.
    #[error("{0}")]
    Bad(String),
    /// The same, where git writes more lines before it gives up.
    #[error("{text}")]
    Explained {
        /// Whole lines for stderr, with their "error: " or "warning: ".
        messages: Vec<String>,
        /// The final message, without "fatal: ".
        text: String,
    },
}

impl Error {
    /// The lines that git writes to stderr before the one that begins with "fatal: ".
    pub fn messages(&self) -> &[String] {
        match self {
            Self::Bad(_) => &[],
            Self::Explained { messages, .. } => messages,
        }
    }

    /// Returns the same error, with the lines that git wrote `earlier` put before its own.
    pub(crate) fn after(self, mut earlier: Vec<String>) -> Self {
        earlier.extend_from_slice(self.messages());
        match self {
            Self::Bad(text) if earlier.is_empty() => Self::Bad(text),
            Self::Bad(text) | Self::Explained { text, .. } => Self::Explained {
                messages: earlier,
                text,
            },
        }
    }
}
