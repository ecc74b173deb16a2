//! The contents of random scenarios.

use std::collections::BTreeSet;

/// The operations and questions that a scenario may contain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioPlan {
    /// The number of operations.
    pub steps: usize,
    /// The number of questions after each operation.
    pub questions: usize,
    /// Groups of operations and options to leave out: the names in [`GROUPS`](super::operations::GROUPS) and
    /// [`GROUPS`](super::questions::GROUPS), and of single operations.
    pub without: BTreeSet<String>,
    /// Whether both programs support reftable.
    pub reftable: bool,
    /// Whether the questions use the gitstatusd protocol instead of `status`.
    pub prompts: bool,
}

impl ScenarioPlan {
    /// Whether a group or operation may occur.
    pub fn has(&self, group: &str) -> bool {
        !self.without.contains(group)
    }
}
