//! The options of a description.

use bstr::BString;

use super::table::Rank;

/// The most candidates that are considered.
pub const CANDIDATES_MAX: usize = 28;

/// How many candidates are considered by default.
pub(crate) const CANDIDATES_DEFAULT: usize = 10;

/// The options of `git describe`.
#[derive(Clone, Debug)]
pub struct DescribeOptions {
    /// `--all`: any reference counts.
    pub all: bool,
    /// `--tags`: lightweight tags count, too.
    pub tags: bool,
    /// `--long`: distance and id are shown even if a tag is at the very commit.
    pub long: bool,
    /// `--first-parent`.
    pub first_parent: bool,
    /// `--always`: the abbreviated id is shown if no name is found.
    pub always: bool,
    /// `--debug`: messages about the search.
    pub is_debugged: bool,
    /// `--abbrev`: the least number of digits of ids, 0 for no id; `None` for the configured number.
    pub abbreviation: Option<usize>,
    /// `--candidates`: how many names are considered, at most [`CANDIDATES_MAX`]; 0 for a name at the very commit
    /// only.
    pub candidates: usize,
    /// `--match`.
    pub patterns: Vec<BString>,
    /// `--exclude`.
    pub excluded: Vec<BString>,
}

impl Default for DescribeOptions {
    fn default() -> Self {
        Self {
            all: false,
            tags: false,
            long: false,
            first_parent: false,
            always: false,
            is_debugged: false,
            abbreviation: None,
            candidates: CANDIDATES_DEFAULT,
            patterns: Vec::new(),
            excluded: Vec::new(),
        }
    }
}

impl DescribeOptions {
    /// Whether lightweight tags count as names.
    pub(super) fn counts_lightweight(&self) -> bool {
        self.all || self.tags
    }

    /// Whether a name of this rank counts.
    pub(super) fn counts(&self, rank: Rank) -> bool {
        self.counts_lightweight() || rank == Rank::Annotated
    }
}

/// Returns the common prefix of the references that `options` ask for.
pub(super) fn prefix_of(options: &DescribeOptions) -> &'static str {
    if options.all { "refs/" } else { "refs/tags/" }
}

/// The prefix of tags where they are shown among other references.
pub(super) const TAGS: &[u8] = b"tags/";
