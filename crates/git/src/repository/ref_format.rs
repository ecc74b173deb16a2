//! The ways to store references.

/// How a repository stores its references (`extensions.refStorage`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefFormat {
    /// Loose files and `packed-refs`.
    Files,
    /// reftable.
    Reftable,
}
