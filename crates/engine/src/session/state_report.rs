//! What there is to tell of a session's state on disk.

use bstr::BString;
use vigil_model::seen::{ComparedRecord, SeenBlock};
use vigil_model::tracked::{DirNumber, ROOT, Tracked};

use super::ignoring::RulesIn;
use super::{Session, SessionError};
use crate::state::recorded_listing::Ground;
use crate::state::{DirectoryReport, ListingReport, StateReport};
use vigil_git::state_place::{Unkept, kept_places};
use vigil_scan::question;
use vigil_stamp::Stamp;

impl Session {
    /// What there is to tell of the state on disk.
    ///
    /// # Errors
    /// Why there may be none.
    pub fn state_report(&self) -> Result<StateReport, Unkept> {
        kept_places(&self.repository)?;
        let state = self.state.as_ref().ok_or(Unkept::Unknown)?;
        Ok(state.report(self.repository.hash, &self.repository.index_path))
    }

    /// What is recorded of each directory of the state on disk, the directory above first.
    ///
    /// # Errors
    /// The index, which has ignore files that are not checked out, cannot be read.
    pub fn state_directories(&mut self) -> Result<Vec<DirectoryReport>, SessionError> {
        self.refresh_index()?;
        let recorded = self
            .state
            .as_ref()
            .and_then(|state| state.recorded(self.repository.hash));
        let Some(recorded) = recorded else {
            return Ok(Vec::new());
        };
        let tracked = recorded.tracked;
        let mut reports = Vec::new();
        let mut pending = vec![(ROOT, BString::default(), self.rules_at_top())];
        let budget = tracked.budget();
        while let Some((number, path, rules)) = pending.pop() {
            for subdir in tracked.met(number, path.len(), &budget).subdirs().rev() {
                let path = vigil_model::path::join(path.as_ref(), subdir.name());
                let rules = self.rules_in(&rules, path.as_ref());
                pending.push((subdir.number, path, rules));
            }
            reports.push(self.directory_report(&tracked, number, path, &rules));
        }
        Ok(reports)
    }

    fn directory_report(
        &self,
        tracked: &Tracked,
        number: DirNumber,
        path: BString,
        rules: &RulesIn,
    ) -> DirectoryReport {
        let seen = self.state.as_ref().and_then(|state| state.seen(number));
        let compared = seen.as_ref().map(SeenBlock::compared).unwrap_or_default();
        let is_unchanged =
            |one: &&ComparedRecord| one.flags.get() & ComparedRecord::IS_UNCHANGED != 0;
        let ground = self.ground(path.as_ref(), rules);
        let listings = seen.iter().flat_map(SeenBlock::listings);
        let listings = listings.zip(std::iter::repeat(&ground));
        DirectoryReport {
            files: tracked.directory(number).files_len(),
            compared: compared.len(),
            compared_unchanged: compared.iter().filter(is_unchanged).count(),
            listings: listings
                .filter_map(|(listing, ground)| {
                    Some(ListingReport {
                        question: question::of_number(listing.record.question.get()),
                        written_at: Stamp::from_bytes(&listing.record.stamp).mtime(),
                        untracked: listing.untracked().count(),
                        ignored: listing.ignored().count(),
                        witnesses: listing.witnesses().count(),
                        standing: ground.as_ref()?.standing(&listing),
                    })
                })
                .collect(),
            path,
        }
    }

    /// What listings of the directory `dir`, which has these rules, must agree with.
    pub(super) fn ground<'a>(&'a self, dir: &'a bstr::BStr, rules: &RulesIn) -> Option<Ground<'a>> {
        let (is_trusted, distrusted_from) = self.state.as_ref()?.trust_in_stamps();
        Some(Ground {
            top: self.top().ok()?,
            dir,
            rules_above: rules.above,
            is_excluded: rules.excluded.is_some(),
            is_trusted,
            distrusted_from,
        })
    }
}
