//! What is kept of scans against what another one finds.

use std::collections::BTreeMap;

use bstr::{BStr, BString};
use vigil_model::tracked::Tracked;

use super::findings::{Findings, Observed};
use super::focus::Focus;
use super::known::Known;

/// What is said of one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Saw {
    /// Nothing: it is as recorded, or there is nothing beside the tracked files.
    Nothing,
    /// A tracked file is not as recorded.
    Tracked(Observed),
    /// It is untracked.
    Untracked,
    /// It is ignored.
    Ignored,
}

/// A path of which two scans say different things.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disagreement {
    /// The path, from the top; a directory ends in `/`.
    pub path: BString,
    /// What is kept.
    pub known: Saw,
    /// What was found.
    pub found: Saw,
}

impl Known {
    /// Where what is kept differs from what a scan of the same question `found`, which looked at `focus` or at everything. In the order
    /// of the paths.
    pub fn differences(
        &self,
        tracked: &Tracked,
        focus: Option<&Focus>,
        found: &Findings,
    ) -> Vec<Disagreement> {
        let mut all: BTreeMap<(BString, Option<u32>), [Saw; 2]> = BTreeMap::new();
        for (side, findings) in [self.findings(), found].into_iter().enumerate() {
            let mut note = |key: (BString, Option<u32>), saw: Saw| {
                let places = all.entry(key).or_insert([Saw::Nothing; 2]);
                if let Some(place) = places.get_mut(side) {
                    *place = saw;
                }
            };
            for (number, observed) in &findings.tracked {
                let Some(entry) = tracked.entry(*number) else {
                    continue;
                };
                // A folder that is gone says so of all below it, looked at or not.
                if focus.is_none_or(|focus| focus.has_entry(tracked, entry.path.as_ref())) {
                    note((entry.path, Some(*number)), Saw::Tracked(*observed));
                }
            }
            let has = |path: &BStr| focus.is_none_or(|focus| focus.has_others_of(tracked, path));
            let others = findings.untracked.iter().map(|path| (path, Saw::Untracked));
            let others = others.chain(findings.ignored.iter().map(|path| (path, Saw::Ignored)));
            for (path, saw) in others.filter(|(path, _)| has(path.as_ref())) {
                note((path.clone(), None), saw);
            }
        }
        let differing = all.into_iter().filter(|(_, [known, found])| known != found);
        differing
            .map(|((path, _), [known, found])| Disagreement { path, known, found })
            .collect()
    }
}
