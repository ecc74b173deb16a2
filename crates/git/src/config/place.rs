//! The pattern of `includeIf "gitdir:"` and `"worktree:"`, with which names of a directory are compared.

use bstr::{BStr, BString};
use vigil_model::wildmatch::{Flags, wildmatch};

/// A pattern that is complete: `~`, `./` and a trailing slash are replaced.
#[derive(Clone, Debug)]
pub(super) struct PlacePattern {
    pub(super) pattern: BString,
    /// The length of the prefix that is compared literally, even if it holds wildcards.
    pub(super) literal: usize,
    pub(super) flags: Flags,
}

impl PlacePattern {
    pub(super) fn matches(&self, text: &BStr) -> bool {
        let split = self.pattern.split_at_checked(self.literal);
        let (prefix, rest) = split.unwrap_or_default();
        text.split_at_checked(self.literal)
            .is_some_and(|(start, end)| {
                let is_prefix = if self.flags.fold_case {
                    start.eq_ignore_ascii_case(prefix)
                } else {
                    start == prefix
                };
                is_prefix && wildmatch(rest, end, self.flags)
            })
    }
}
