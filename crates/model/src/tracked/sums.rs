//! Counts of tracked files.

/// What is counted for each directory, up to the top.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Index entries, all stages.
    pub entries: u32,
    /// Entries that are not expected in the working tree.
    pub skip_worktree: u32,
    /// Entries that the user promised not to change.
    pub assume_unchanged: u32,
    /// Paths in conflict.
    pub conflicted: u32,
    /// Submodules, all stages.
    pub gitlinks: u32,
    /// Directories that are a single entry (sparse index).
    pub sparse_directories: u32,
}

impl Sums {
    /// Adds the counts of `other`.
    pub fn add(&mut self, other: &Self) {
        let pairs = [
            (&mut self.entries, other.entries),
            (&mut self.skip_worktree, other.skip_worktree),
            (&mut self.assume_unchanged, other.assume_unchanged),
            (&mut self.conflicted, other.conflicted),
            (&mut self.gitlinks, other.gitlinks),
            (&mut self.sparse_directories, other.sparse_directories),
        ];
        for (sum, more) in pairs {
            *sum = sum.saturating_add(more);
        }
    }
}
