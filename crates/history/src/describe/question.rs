//! What is asked of a description.

use bstr::BString;

use super::table::Rank;

/// The most candidates that are considered.
pub const CANDIDATES_MAX: usize = 28;

/// How many candidates are considered if nothing else is asked.
pub const CANDIDATES_DEFAULT: usize = 10;

/// What is asked, as the options of `git describe` have it.
#[derive(Clone, Debug)]
pub struct Question {
    /// `--all`: any reference counts.
    pub all: bool,
    /// `--tags`: lightweight tags count, too.
    pub tags: bool,
    /// `--long`: distance and id also where a tag is at the very commit.
    pub long: bool,
    /// `--first-parent`.
    pub first_parent: bool,
    /// `--always`: where no name is found, the abbreviated id.
    pub always: bool,
    /// `--debug`: say how the search goes.
    pub is_debugged: bool,
    /// `--abbrev`: how many digits an id has at least, 0 for no id; `None` leaves it to the configuration.
    pub abbreviation: Option<usize>,
    /// `--candidates`: how many names are considered, [`CANDIDATES_MAX`] at most; with 0 only one at the very commit.
    pub candidates: usize,
    /// `--match`.
    pub patterns: Vec<BString>,
    /// `--exclude`.
    pub excluded: Vec<BString>,
}

impl Default for Question {
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

impl Question {
    /// Whether lightweight tags are names.
    pub(super) fn counts_lightweight(&self) -> bool {
        self.all || self.tags
    }

    /// Whether a name of this rank is one.
    pub(super) fn counts(&self, rank: Rank) -> bool {
        self.counts_lightweight() || rank == Rank::Annotated
    }
}

/// How the names of references begin that `question` asks for.
pub(super) fn prefix_of(question: &Question) -> &'static str {
    if question.all { "refs/" } else { "refs/tags/" }
}

/// How names of tags begin where they are shown among other references.
pub(super) const TAGS: &[u8] = b"tags/";
