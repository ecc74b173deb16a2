//! Why a question is left to the client.

use bstr::BString;

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
