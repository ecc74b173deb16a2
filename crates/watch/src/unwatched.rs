//! Why a folder is not watched.

use vigil_linux::Errno;

/// Why a folder is not watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unwatched {
    /// Another machine can write there, and no event reports it.
    #[error("its file system tells of no changes by others")]
    Unreported,
    /// The user has as many watches as the kernel allows (`max_user_watches`).
    #[error("the user has no inotify watch left")]
    RanOut,
    /// The kernel refuses for another reason.
    #[error("it cannot be watched: {}", vigil_linux::errno::text(*.0))]
    Refused(Errno),
}

impl From<Errno> for Unwatched {
    fn from(error: Errno) -> Self {
        match error {
            Errno::NOSPC => Self::RanOut,
            _ => Self::Refused(error),
        }
    }
}
