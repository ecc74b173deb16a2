//! The comparison behind a status: HEAD with the index, and the index with the working tree, read in git's order.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use bstr::{BStr, BString};
use vigil_model::tracked::{ByNumber, TrackedFile};

use super::head_changes::HeadComparison;
use super::ignoring::RulesIn;
use super::object_mode::ObjectModes;
use super::path_question::PathQuestion;
use super::submodules::Submodules;
use super::*;
use vigil_git::promisor;
use vigil_git::staged::StagedDiff;
use vigil_scan::Timing;

/// What a comparison found beside the findings of the scan.
pub(super) struct Comparison {
    /// What git says about promisor remotes.
    pub(super) of_promisors: Vec<String>,
    pub(super) head: HeadByName,
    /// Whether HEAD has a commit.
    pub(super) has_commit: bool,
    /// How the index differs from HEAD.
    pub(super) staged: Arc<StagedDiff>,
    /// How long the search for untracked files took.
    pub(super) searched_in: Duration,
    /// The result of [`Session::rules_beside_sparse_directories`].
    pub(super) rules: Option<RulesIn>,
}

impl Session {
    /// Compares HEAD with the index, and the index with the working tree. Reads what git reads, in its order.
    pub(super) fn read_and_compare(
        &mut self,
        request: &StatusRequest,
        pathspec: &Pathspec,
        known_head: Option<&HeadByName>,
        warnings: &mut Vec<BString>,
    ) -> Result<(Comparison, Findings), SessionError> {
        if known_head.is_none() {
            self.refresh_index()?;
        }
        if let Some(state) = &self.index {
            let tracked = &state.tracked;
            self.question(pathspec, tracked)?.check_tracked(tracked)?;
        }
        // git looks for promisor remotes before it compares anything.
        let of_promisors = promisor::Remotes::check(&self.repository.config)?;
        let head = match known_head {
            Some(head) => head.clone(),
            None => self.head_by_name()?,
        };
        let has_commit = head.found.commit().is_some();
        if has_commit {
            self.repository.config.boolean("core.warnambiguousrefs")?;
        }
        let staged = self.staged(&head.found, None, pathspec)?;
        // git reads the exclude files both when it compares HEAD and when it looks for untracked files.
        let readings =
            usize::from(has_commit) + usize::from(request.untracked != UntrackedMode::No);
        self.excludes.check(readings, warnings)?;
        self.timing = Timing::default();
        let search_start = Instant::now();
        let findings = self.scan(request, pathspec)?;
        // git looks at tracked files separately, before, so only the rest counts.
        let share = self.timing.share_of_non_tracked();
        let comparison = Comparison {
            of_promisors,
            head,
            has_commit,
            staged,
            searched_in: search_start.elapsed().mul_f64(share),
            rules: self.rules_beside_sparse_directories(request),
        };
        Ok((comparison, findings))
    }

    pub(super) fn head_by_name(&self) -> Result<HeadByName, SessionError> {
        let (refs, objects) = (&self.refs, &self.objects);
        Ok(HeadByName::read(&self.repository, refs, objects)?)
    }

    /// Returns the rules at the top, if the search for untracked files may reach a directory that is one entry of a sparse
    /// index and ignored paths are left out.
    fn rules_beside_sparse_directories(&mut self, request: &StatusRequest) -> Option<RulesIn> {
        let written = self.index.as_ref()?.written_sparse.as_ref();
        let is_asked = request.ignored == IgnoredMode::No
            && written.is_some_and(|written| !written.expanded.is_empty());
        is_asked.then(|| {
            let base = self.excludes.rules();
            self.directory_rules().at_top(&base)
        })
    }

    pub(super) fn parse_pathspecs(&self, specs: &[BString]) -> Result<Pathspec, SessionError> {
        if specs.is_empty() {
            return Ok(Pathspec::default());
        }
        let prefix = self.repository.prefix.as_bstr();
        let top = self.repository.work_tree.as_deref();
        let settings =
            pathspec::Settings::from_variables(|name| self.repository.environment.get(name));
        match settings {
            Ok(settings) => Ok(pathspec::parse(specs, prefix, top, settings)?),
            // git checks for empty pathspecs before it looks at the settings.
            Err(_) if specs.iter().any(|spec| spec.is_empty()) => {
                Err(pathspec::Error::Empty.into())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the question which of the `tracked` and other paths `pathspec` selects.
    pub(super) fn question<'a>(
        &'a self,
        pathspec: &'a Pathspec,
        tracked: &'a Tracked,
    ) -> Result<PathQuestion<'a>, SessionError> {
        let modes = ObjectModes::new(self.top()?, &self.repository, tracked);
        Ok(PathQuestion::new(pathspec, &self.attributes, modes))
    }

    /// Whether the submodule at `path` is configured so that all its changes are ignored, which for some commands includes
    /// staged ones. The index must have been read; the submodule need not be in it.
    pub(crate) fn ignores_all_of_submodule(&self, path: &BStr) -> Result<bool, SessionError> {
        match &self.index {
            Some(state) => self.submodules().leaves_out(path, &state.tracked),
            None => Ok(false),
        }
    }

    pub(super) fn submodules(&self) -> Submodules<'_> {
        Submodules {
            repository: &self.repository,
            objects: &self.objects,
            messages: &self.messages,
            missed: &self.missed_rules,
            said_inside: &self.said_in_submodules,
            nested: self.nested.as_ref(),
            configured: self.settings.ignore_submodules,
            stderr: self.stderr,
            check: self.check_in_submodules,
        }
    }

    /// Compares HEAD with the index. With `max`, may stop after that many changes.
    pub(super) fn staged(
        &mut self,
        head: &Head,
        max: Option<usize>,
        pathspec: &Pathspec,
    ) -> Result<Arc<StagedDiff>, SessionError> {
        let comparison = HeadComparison {
            repository: &self.repository,
            settings: &self.settings,
            objects: &self.objects,
            attributes: &self.attributes,
            state: self.state.as_ref().filter(|_| !self.is_kept),
            session_started_at: self.session_started_at,
        };
        comparison.staged(self.index.as_mut(), head, max, pathspec)
    }

    /// Returns the first path in the index at which there is a submodule. The index must have been read.
    pub(crate) fn first_submodule(&self) -> Option<BString> {
        let tracked = &self.index.as_ref()?.tracked;
        let visit = |_, path: &BStr, file: &TrackedFile<'_>| match file.mode().is_gitlink() {
            true => ControlFlow::Break(path.to_owned()),
            false => ControlFlow::Continue(()),
        };
        tracked.visit(|sums| sums.gitlinks > 0, visit).break_value()
    }

    /// Whether anything that HEAD has differs before `end` in the order of paths, when what is at `end` cannot be read.
    /// Differences in submodules do not count.
    pub(crate) fn differs_before(
        &mut self,
        end: &BStr,
        request: &StatusRequest,
    ) -> Result<bool, SessionError> {
        let head = self.head_by_name()?.found;
        let everything = Pathspec::default();
        // The walk stops at the first change, and does not reach what lies behind it.
        if let Ok(diff) = self.staged(&head, Some(1), &everything) {
            return Ok(diff.changes.iter().any(|change| change.path < end));
        }
        let findings = self.scan(request, &everything)?;
        let Some(state) = &self.index else {
            return Ok(false);
        };
        let mut entries = ByNumber::new(&state.tracked);
        let mut found = findings
            .tracked
            .iter()
            .filter_map(|(number, _)| entries.get(*number));
        Ok(found.any(|entry| {
            entry.path < end && !entry.mode.is_gitlink() && !entry.flags.is_intent_to_add()
        }))
    }
}
