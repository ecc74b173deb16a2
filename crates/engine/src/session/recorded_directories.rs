//! Reports on the directories of a state on disk.

use std::path::Path;
use std::sync::Arc;

use bstr::{BStr, BString};
use vigil_model::seen::{ComparedRecord, SeenBlock};
use vigil_model::tracked::{DirNumber, ROOT, Tracked};

use super::ignoring::{DirectoryRules, RulesIn};
use crate::state::recorded_listing::ListingCheck;
use crate::state::{DirectoryReport, ListingReport, Recorded, State};
use vigil_rules::ignore::IgnoreRules;
use vigil_scan::question;
use vigil_stamp::Stamp;

/// The directories of a state, and the ignore rules in force in them.
pub(super) struct RecordedDirectories<'s> {
    pub(super) state: &'s State,
    pub(super) rules: DirectoryRules<'s>,
}

impl RecordedDirectories<'_> {
    /// Reports what is `recorded` about each directory, parents first; `base` are the ignore rules that apply to all.
    pub(super) fn report(
        &self,
        recorded: Recorded,
        base: &Arc<IgnoreRules>,
    ) -> Vec<DirectoryReport> {
        let tracked = recorded.tracked;
        let mut reports = Vec::new();
        let mut pending = vec![(ROOT, BString::default(), self.rules.at_top(base))];
        let budget = tracked.budget();
        while let Some((number, path, rules)) = pending.pop() {
            for subdir in tracked
                .visit_within(number, path.len(), &budget)
                .subdirs()
                .rev()
            {
                let path = vigil_model::path::join(path.as_ref(), subdir.name());
                let rules = self.rules.inside(&rules, path.as_ref());
                pending.push((subdir.number, path, rules));
            }
            reports.push(self.directory_report(&tracked, number, path, &rules));
        }
        reports
    }

    fn directory_report(
        &self,
        tracked: &Tracked,
        number: DirNumber,
        path: BString,
        rules: &RulesIn,
    ) -> DirectoryReport {
        let seen = self.state.seen(number);
        let compared = seen.as_ref().map(SeenBlock::compared).unwrap_or_default();
        let is_unchanged =
            |one: &&ComparedRecord| one.flags.get() & ComparedRecord::IS_UNCHANGED != 0;
        let check = listing_check(self.state, self.rules.top, path.as_ref(), rules);
        let listings = seen.iter().flat_map(SeenBlock::listings);
        let listings = listings.zip(std::iter::repeat(&check));
        DirectoryReport {
            files: tracked.directory(number).files_len(),
            compared: compared.len(),
            compared_unchanged: compared.iter().filter(is_unchanged).count(),
            listings: listings
                .filter_map(|(listing, check)| {
                    Some(ListingReport {
                        question: question::of_number(listing.record.question.get()),
                        written_at: Stamp::from_bytes(&listing.record.stamp).mtime(),
                        untracked: listing.untracked().count(),
                        ignored: listing.ignored().count(),
                        witnesses: listing.witnesses().count(),
                        validity: check.as_ref()?.validity(&listing),
                    })
                })
                .collect(),
            path,
        }
    }
}

/// Returns what listings in `state` of the directory `dir`, which has these rules, must agree with.
pub(super) fn listing_check<'a>(
    state: &State,
    top: Option<&'a Path>,
    dir: &'a BStr,
    rules: &RulesIn,
) -> Option<ListingCheck<'a>> {
    let (is_trusted, untrusted_since) = state.trust_in_stamps();
    Some(ListingCheck {
        top: top?,
        dir,
        rules_above: rules.above,
        is_excluded: rules.excluded.is_some(),
        is_trusted,
        untrusted_since,
    })
}
