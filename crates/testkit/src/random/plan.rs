//! What random scenarios may consist of.

use std::collections::BTreeSet;

/// What a scenario may consist of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// How many operations.
    pub steps: usize,
    /// How many questions after each operation.
    pub questions: usize,
    /// Groups of operations and of options that do not occur: the names in [`GROUPS`](super::operations::GROUPS) and
    /// [`GROUPS`](super::questions::GROUPS), and of single operations.
    pub without: BTreeSet<String>,
    /// Whether both programs know reftable repositories.
    pub reftable: bool,
    /// Whether the gitstatusd protocol is asked, not `status`.
    pub prompts: bool,
}

impl Plan {
    /// Whether a group or operation may occur.
    pub fn has(&self, group: &str) -> bool {
        !self.without.contains(group)
    }
}
