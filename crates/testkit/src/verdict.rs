//! The result of comparing two answers.

/// One difference between two answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What differs: an output, or a field.
    pub what: String,
    /// The candidate's output or field.
    pub candidate: Vec<u8>,
    /// The oracle's output or field.
    pub oracle: Vec<u8>,
}

/// The result of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The answers are the same.
    Same,
    /// The oracle disagrees, but another version of git agrees, or the oracle without its untracked cache.
    SameAsOther,
    /// git with a monitor disagrees with a git that looks at everything, but agrees with git alone and its
    /// caches.
    SameWithoutMonitor,
    /// git itself crashed in every version that was asked, and the candidate did not; or git has no answer to a
    /// prompt. So the right answer is unknown.
    Unjudged,
    /// The answers differ.
    Different(Vec<Difference>),
}
