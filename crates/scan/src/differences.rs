//! Compares what is kept of earlier scans with what another scan finds.

use std::collections::BTreeMap;

use bstr::{BStr, BString};
use vigil_model::tracked::{ByNumber, Tracked};

use super::findings::{Findings, Observed};
use super::focus::Focus;
use super::kept_findings::KeptFindings;

/// What a scan says about one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathFinding {
    /// Nothing: a tracked file is as recorded, or nothing else is there.
    Nothing,
    /// A tracked file is not as recorded.
    Tracked(Observed),
    /// The path is untracked.
    Untracked,
    /// The path is ignored.
    Ignored,
}

/// A path on which two scans disagree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disagreement {
    /// The path, from the top; a directory ends in `/`.
    pub path: BString,
    /// What is kept of earlier scans.
    pub known: PathFinding,
    /// What the later scan found.
    pub found: PathFinding,
}

impl KeptFindings {
    /// Returns where the kept findings differ from those that a scan of the same question `found`, in the order of paths. That
    /// scan looked at `focus`, or at everything.
    pub fn differences(
        &self,
        tracked: &Tracked,
        focus: Option<&Focus>,
        found: &Findings,
    ) -> Vec<Disagreement> {
        let mut all: BTreeMap<(BString, Option<u32>), [PathFinding; 2]> = BTreeMap::new();
        for (side, findings) in [self.findings(), found].into_iter().enumerate() {
            let mut note = |key: (BString, Option<u32>), finding: PathFinding| {
                let places = all.entry(key).or_insert([PathFinding::Nothing; 2]);
                if let Some(place) = places.get_mut(side) {
                    *place = finding;
                }
            };
            let mut entries = ByNumber::new(tracked);
            let mut has_entry = focus.map(|focus| focus.has_entries_of(tracked));
            for (number, observed) in &findings.tracked {
                let Some(entry) = entries.get(*number) else {
                    continue;
                };
                // If a folder is gone, all files below it are reported missing, even those outside the focus.
                if has_entry
                    .as_mut()
                    .is_none_or(|has| has(entry.path.as_ref()))
                {
                    note((entry.path, Some(*number)), PathFinding::Tracked(*observed));
                }
            }
            let mut wants = focus.map(|focus| focus.wants_non_tracked_of(tracked));
            let mut has = |path: &BStr| wants.as_mut().is_none_or(|wants| wants(path));
            let others = findings
                .untracked
                .iter()
                .map(|path| (path, PathFinding::Untracked));
            let others = others.chain(
                findings
                    .ignored
                    .iter()
                    .map(|path| (path, PathFinding::Ignored)),
            );
            for (path, finding) in others.filter(|(path, _)| has(path.as_ref())) {
                note((path.clone(), None), finding);
            }
        }
        let differing = all.into_iter().filter(|(_, [known, found])| known != found);
        differing
            .map(|((path, _), [known, found])| Disagreement { path, known, found })
            .collect()
    }
}
