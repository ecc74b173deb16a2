//! How two answers compare.

/// One way in which two answers differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What differs: an output, or a field.
    pub what: String,
    /// The candidate's.
    pub candidate: Vec<u8>,
    /// The oracle's.
    pub oracle: Vec<u8>,
}

/// What comparing two answers gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// They are the same.
    Same,
    /// The oracle disagrees; another version of git agrees, or the oracle without its untracked cache.
    SameAsOther,
    /// git with a monitor says what git alone says with what it kept, and one that looks at everything does not.
    SameAsAlone,
    /// git itself crashed, in every version that was asked, and the candidate did not; or git has no answer to a
    /// prompt. Nothing says what is right.
    Unjudged,
    /// They differ.
    Different(Vec<Difference>),
}
