//! What a name may mean.

/// A changeset, or the working copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// The null revision, before the first changeset.
    Null,
    /// The changeset with this number.
    Changeset(u32),
    /// The working copy.
    WorkingCopy,
}

/// What a name means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    Nothing,
    One(Target),
    /// Several nodes begin with these digits.
    Ambiguous,
}
