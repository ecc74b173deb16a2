//! Why a question is left to the client.

use bstr::BString;
use vigil_engine::session::SessionError;
use vigil_model::raw_text::message_bytes;

/// Why a question has no answer from the daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Declined {
    /// This question is left to the client. The next one may be answered at once.
    ThisTime(BString),
    /// Only the client can give the answer, and that would be so for the next question, too.
    ForNow(BString),
}

impl Declined {
    /// The reason.
    pub fn reason(&self) -> &BString {
        match self {
            Self::ThisTime(reason) | Self::ForNow(reason) => reason,
        }
    }
}

/// Leaves this question to the client, for `reason`.
pub(crate) fn declined(reason: &str) -> Declined {
    Declined::ThisTime(reason.into())
}

/// Leaves the question to the client, which tells the user of `error`.
pub(crate) fn declined_by(error: SessionError) -> Declined {
    Declined::ForNow(message_bytes(&error))
}
