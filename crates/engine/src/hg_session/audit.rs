//! Checks the kept findings against a scan that trusts no earlier scan and no event.

use std::borrow::Cow;
use std::sync::Arc;

use vigil_hg::abort::Abort;
use vigil_hg::patterns::Ignore;
use vigil_hg::repository::Repository;
use vigil_model::request::IgnoredMode;
use vigil_model::tracked::Tracked;
use vigil_scan::{Findings, Focus};

use super::HgSession;
use crate::hg_status::{HgQuestion, HgRequest, RecordedFiles, ScanInputs, status_of};
use crate::session::audit::{Audit, Difference, Disagreement, Extent, Sample};

impl HgSession {
    /// Compares the kept findings with the working copy. If there are differences, the caller must drop the session.
    ///
    /// # Errors
    /// The working copy or the dirstate cannot be read.
    pub fn audit(&mut self, extent: Extent) -> Result<Audit, Abort> {
        let mut audit = Audit::default();
        let Some((repository, ignore)) = self.last.clone() else {
            return Ok(audit);
        };
        let questions = self.watched.as_ref().map(|watched| watched.questions());
        for number in questions.unwrap_or_default() {
            let Some((_, ignored)) = vigil_scan::question::of_number(number) else {
                continue;
            };
            audit.compare(|audit| self.compare(&repository, &ignore, ignored, extent, audit))?;
        }
        Ok(audit)
    }

    /// Returns where the findings kept for the question differ from the working copy; `None` if something changed meanwhile.
    fn compare(
        &mut self,
        repository: &Repository,
        ignore: &Arc<Ignore>,
        ignored: IgnoredMode,
        extent: Extent,
        audit: &mut Audit,
    ) -> Result<Option<Vec<Difference>>, Abort> {
        self.dirstate(repository)?;
        // Pending events are followed up first, as for any question.
        let request = HgRequest {
            repository,
            ignore: ignore.clone(),
            matcher: Arc::default(),
            clean: false,
            unknown: true,
            ignored: ignored != IgnoredMode::No,
        };
        self.status(&request)?.compared()?;
        let lacks_parent = self.lacks_parent(repository);
        let (Some(recorded), Some(watched)) = (&self.recorded, &self.watched) else {
            return Ok(Some(Vec::new()));
        };
        let tracked = &recorded.tracked;
        let focus = focus(extent, tracked, audit);
        let question = HgQuestion {
            request: &request,
            dirstate: &recorded.dirstate,
            // A session that is kept converts nothing.
            line_endings: None,
            lacks_parent,
            walks: true,
        };
        let files = RecordedFiles {
            tracked,
            special: &recorded.special,
            is_remembered: false,
            ignored_directories: None,
        };
        let mut found = Findings::default();
        status_of(&question, &files, |_, look| {
            found = look(ScanInputs {
                focus: focus.as_ref(),
                ..ScanInputs::default()
            })?;
            Ok(Cow::Owned(found.clone()))
        })?
        .compared()?;
        // The dirstate may stay young for seconds: Mercurial sets its mtime ahead if two writes would otherwise share one.
        if !recorded.file.own.is_same() {
            return Ok(None);
        }
        let untracked = vigil_model::request::UntrackedMode::All;
        let number = vigil_scan::question::number(untracked, ignored);
        let compared = watched.compare(number, tracked, focus.as_ref(), &found);
        let difference = |(disagreement, heard, heard_of_path)| Difference {
            disagreement,
            untracked,
            ignored,
            heard,
            heard_of_path,
        };
        Ok(compared.map(|differences| {
            // If a new second began meanwhile, the stat data of young files may prove more now.
            let is_settled =
                |(one, ..): &(Disagreement, _, _)| !self.look_again.contains(&one.path);
            let differences = differences.into_iter().filter(is_settled);
            differences.map(difference).collect()
        }))
    }
}

/// Returns the part of the files that is looked at; `None` for all. Notes how many those are, and where the next sample begins.
fn focus(extent: Extent, tracked: &Tracked, audit: &mut Audit) -> Option<Focus> {
    let sample = match extent {
        Extent::All => None,
        Extent::From(first) => Some(Sample::new(tracked, first)),
    };
    audit.files = match &sample {
        None => tracked.sums().entries,
        Some(sample) => u32::try_from(sample.files.len()).unwrap_or(u32::MAX),
    };
    audit.next = sample.as_ref().map_or(0, |sample| sample.next);
    sample.map(|sample| Focus::new(tracked, &sample.files, &sample.directories))
}
