//! How the patches that git's `status` shows differ from those of its `diff`.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::Metadata;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bstr::{BStr, BString, ByteSlice};
use vigil_model::mode::FileMode;
use vigil_model::tracked::{ByNumber, Tracked, TrackedFile};

use super::collapsed::Collapsed;
use super::submodules::{SubmoduleRules, Submodules};
use super::{SessionError, head_changes};
use crate::status::{Change, PatchRules, StatusRequest};
use vigil_git::objects::TREE_DEPTH_MAX;
use vigil_git::staged::StagedDiff;
use vigil_model::request::IgnoreSubmodules;
use vigil_scan::Observed;

/// How often git may compare an entry of the index with a path: it goes through all paths for each entry.
const MATCHES_MAX: u64 = 20_000_000;

/// A submodule in the index.
struct Gitlink {
    path: BString,
    /// Whether something else is there than the recorded commit.
    is_other: bool,
    /// What was found, if the question was about it.
    found: Option<GitlinkState>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum GitlinkState {
    Unchanged,
    Changed,
}

/// An answer for which patches are wanted, to find how they differ from those of git's `diff`.
pub(super) struct PatchQuestion<'s> {
    pub(super) submodules: Submodules<'s>,
    pub(super) request: &'s StatusRequest,
    pub(super) tracked: &'s Tracked,
    /// The changes in the answer.
    pub(super) changes: &'s [(BString, Change)],
    /// The entries that differ from the working tree, or are in conflict, by number: [`vigil_scan::Findings::tracked`].
    pub(super) differing: &'s [(u32, Observed)],
    /// The sparse index that git works with to the end, if any.
    pub(super) sparse: Option<&'s Collapsed<'s>>,
}

impl PatchQuestion<'_> {
    /// Returns how the patches differ from those of git's `diff`. `is_asked_for` selects the paths that the question is
    /// about.
    pub(super) fn rules(
        &self,
        all_staged: &StagedDiff,
        is_asked_for: impl Fn(&BStr, FileMode) -> bool,
    ) -> Result<PatchRules, SessionError> {
        let objects = self.submodules.objects;
        let mut rules = PatchRules {
            has_bad_history: objects.history().check().is_err(),
            ..PatchRules::default()
        };
        if let Some(sparse) = self.sparse {
            rules.staged_without = staged_without_patches(sparse, all_staged);
            if head_changes::has_deeper_than(all_staged, objects.tree_depth_max()) {
                let depth_max = TREE_DEPTH_MAX.to_string().into();
                rules.staged_configuration = vec![("core.maxTreeDepth".into(), depth_max)];
            }
        }
        if !self.request.unstaged_patches {
            return Ok(rules);
        }
        if self.tracked.sums().gitlinks == 0 {
            rules.unstaged_only = self.unstaged_only(&rules.unstaged_without);
            return Ok(rules);
        }
        let gitlinks = self.gitlinks(is_asked_for)?;
        // git does not look again at what it has found unchanged.
        let unchanged = gitlinks
            .iter()
            .filter(|gitlink| gitlink.found == Some(GitlinkState::Unchanged));
        rules.unstaged_without = unchanged.map(|gitlink| gitlink.path.clone()).collect();
        rules.unstaged_only = self.unstaged_only(&rules.unstaged_without);
        if gitlinks.iter().any(|gitlink| gitlink.is_other) {
            rules.configuration = self.configuration_skipping_moved_submodules(&gitlinks)?;
        }
        if let Some(ignored) = self.request.ignore_submodules {
            let configuration = self.ignoring_sides(&gitlinks, ignored)?;
            rules.configuration.extend(configuration);
        }
        Ok(rules)
    }

    fn top(&self) -> Result<&Path, SessionError> {
        Ok(self.submodules.repository.require_work_tree()?)
    }

    /// Returns the only paths with patches of the working tree. git's `status` has looked at the files of its question before, and
    /// passes over those that were only touched: their diff drivers, and warnings about their line endings, are not wanted.
    fn unstaged_only(&self, without: &[BString]) -> Option<Vec<BString>> {
        // git looks again at what the question was not about.
        if !self.request.pathspecs.is_empty() {
            return None;
        }
        let mut only = Vec::new();
        let mut entries = ByNumber::new(self.tracked);
        let differing = self.differing.iter();
        let differing = differing.filter_map(|(number, _)| entries.get(*number));
        let differing = differing.filter(|entry| !entry.mode.is_gitlink());
        only.extend(differing.map(|entry| entry.path));
        // Patches and answers follow different rules about submodules.
        let without: HashSet<&BStr> = without.iter().map(|path| path.as_bstr()).collect();
        let visit = |_, path: &BStr, file: &TrackedFile<'_>| {
            if file.mode().is_gitlink() && !without.contains(path) {
                only.push(path.to_owned());
            }
            ControlFlow::<()>::Continue(())
        };
        let _ = self.tracked.visit(|sums| sums.gitlinks > 0, visit);
        let entries = u64::from(self.tracked.sums().entries);
        let matches = entries.saturating_mul(only.len().try_into().unwrap_or(u64::MAX));
        (matches <= MATCHES_MAX).then_some(only)
    }

    fn gitlinks(
        &self,
        is_asked_for: impl Fn(&BStr, FileMode) -> bool,
    ) -> Result<Vec<Gitlink>, SessionError> {
        let top = self.top()?;
        let is_changed = |path: &BStr| {
            self.changes.iter().any(|(changed, change)| {
                matches!(change, Change::Tracked(change) if change.unstaged.is_some()
                    && (changed == path || change.unstaged_source.as_ref().is_some_and(|source| source.path == path)))
            })
        };
        let mut all = Vec::new();
        let visit = |_, path: &BStr, file: &TrackedFile<'_>| {
            let flags = file.flags();
            if file.mode().is_gitlink() && flags.stage() == 0 && !flags.is_intent_to_add() {
                let without_looking = IgnoreSubmodules::Dirty.into();
                let on_disk = lstat_beside_links(top, path);
                let is_gone = on_disk.is_none();
                let is_other_type = on_disk.is_some_and(|metadata| !metadata.is_dir());
                // If it cannot be asked, git's `diff` decides.
                let seen =
                    self.submodules
                        .state(path, &file.id(), without_looking, self.request, 0);
                // git has found a missing submodule missing even if the question ignores submodules.
                let found =
                    is_asked_for(path, file.mode()).then(|| match is_gone || is_changed(path) {
                        true => GitlinkState::Changed,
                        false => GitlinkState::Unchanged,
                    });
                all.push(Gitlink {
                    path: path.to_owned(),
                    is_other: is_other_type || matches!(seen, Ok(Some(seen)) if seen.new_commits),
                    found,
                });
            }
            ControlFlow::<()>::Continue(())
        };
        let _ = self.tracked.visit(|sums| sums.gitlinks > 0, visit);
        Ok(all)
    }

    /// Returns the rules for patches, which the question's option does not affect.
    fn configured_rules(&self) -> Result<SubmoduleRules, SessionError> {
        let configured = StatusRequest {
            ignore_submodules: None,
            threads_max: self.request.threads_max,
            ..StatusRequest::default()
        };
        self.submodules.rules(&configured, self.tracked)
    }

    /// Returns the configuration by which a submodule that is our side of a conflict counts as unchanged in the patch,
    /// as in git's `status`, if the question ignores its changes.
    fn ignoring_sides(
        &self,
        gitlinks: &[Gitlink],
        ignored: IgnoreSubmodules,
    ) -> Result<Vec<(BString, BString)>, SessionError> {
        let top = self.top()?;
        let mut sides = Vec::new();
        let visit = |_, path: &BStr, file: &TrackedFile<'_>| {
            let is_ours = file.mode().is_gitlink() && file.flags().stage() == 2;
            if is_ours && lstat_beside_links(top, path).is_some() {
                sides.push(path.to_owned());
            }
            ControlFlow::<()>::Continue(())
        };
        let _ = self.tracked.visit(|sums| sums.gitlinks > 0, visit);
        if sides.is_empty() {
            return Ok(Vec::new());
        }
        let rules = self.configured_rules()?;
        let is_nameless = |path: &BString| rules.name(path.as_bstr()).is_none();
        let mut configuration = Vec::new();
        for side in &sides {
            match rules.name(side.as_bstr()) {
                Some((name, _)) => configuration.push((ignore_key(name), ignored.name().into())),
                // Submodules without a name share one value.
                None if !gitlinks.iter().any(|gitlink| is_nameless(&gitlink.path)) => {
                    configuration.push(("diff.ignoreSubmodules".into(), ignored.name().into()));
                }
                None => {}
            }
        }
        Ok(configuration)
    }

    /// Returns the configuration for not looking into submodules whose commit changed: git's `status` does not.
    fn configuration_skipping_moved_submodules(
        &self,
        gitlinks: &[Gitlink],
    ) -> Result<Vec<(BString, BString)>, SessionError> {
        let rules = self.configured_rules()?;
        let mut configuration = Vec::new();
        let dirty = BString::from("dirty");
        let mut is_nameless_other = false;
        for gitlink in gitlinks.iter().filter(|gitlink| gitlink.is_other) {
            let path = gitlink.path.as_bstr();
            let ignored = rules.ignored(path)?;
            if ignored.all || ignored.dirty {
                continue;
            }
            match rules.name(path) {
                Some((name, _)) => configuration.push((ignore_key(name), dirty.clone())),
                None => is_nameless_other = true,
            }
        }
        // Submodules without a name share one value.
        let is_nameless_dirty = gitlinks.iter().any(|gitlink| {
            !gitlink.is_other
                && gitlink.found != Some(GitlinkState::Unchanged)
                && rules.name(gitlink.path.as_bstr()).is_none()
        });
        if is_nameless_other && !is_nameless_dirty {
            configuration.push(("diff.ignoreSubmodules".into(), dirty));
            let value = self.submodules.configured;
            let value = value.unwrap_or(IgnoreSubmodules::Untracked).name();
            for gitlink in gitlinks.iter().filter(|gitlink| !gitlink.is_other) {
                if let Some((name, false)) = rules.name(gitlink.path.as_bstr()) {
                    configuration.push((ignore_key(name), value.into()));
                }
            }
        }
        Ok(configuration)
    }
}

/// Returns the staged paths without a patch: in a directory that is one entry, git's `status` compares the files, but
/// not the directories. It shows patches of all that is staged, whatever paths it is asked about.
fn staged_without_patches(sparse: &Collapsed<'_>, all_staged: &StagedDiff) -> Vec<BString> {
    let is_further_down = |path: &BStr| {
        let directory = sparse.directory_above(path);
        let rest = directory.and_then(|directory| path.get(directory.len()..));
        rest.is_some_and(|rest| rest.contains(&b'/'))
    };
    let paths = all_staged.changes.iter().map(|change| &change.path);
    let without = paths.filter(|path| is_further_down(path.as_bstr()));
    without.cloned().collect()
}

/// Returns the metadata of `path`, unless it cannot be read or lies behind a symbolic link.
fn lstat_beside_links(top: &Path, path: &BStr) -> Option<Metadata> {
    let mut at = top.to_owned();
    let mut metadata = None;
    for name in path.split_str("/") {
        if metadata.is_some_and(|above: Metadata| !above.is_dir()) {
            return None;
        }
        at.push(OsStr::from_bytes(name));
        metadata = Some(std::fs::symlink_metadata(&at).ok()?);
    }
    metadata
}

fn ignore_key(name: &BStr) -> BString {
    [b"submodule.", name.as_bytes(), b".ignore"].concat().into()
}
