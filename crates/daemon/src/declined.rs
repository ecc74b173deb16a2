//! Why a question is left to whoever asks.

use bstr::BString;

/// Why a question has no answer here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Declined {
    /// It is of a kind that only whoever asks can answer. Nothing was looked at for it.
    Question(BString),
    /// The answer would be one that only he can give, and so would be the next one.
    Answer(BString),
}

impl Declined {
    /// The reason.
    pub fn reason(&self) -> &BString {
        match self {
            Self::Question(reason) | Self::Answer(reason) => reason,
        }
    }
}
