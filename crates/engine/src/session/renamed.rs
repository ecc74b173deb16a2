//! Renames and copies: between HEAD and the index, and in the working tree if the index does not know of them.

use vigil_linux::process::cores;
use vigil_model::mode::FileMode;
use vigil_model::tracked::Tracked;

use super::changes::{Origin, Unstaged};
use super::conflicts::Conflict;
use super::known_renames::{Found, KnownRenames};
use super::rename_blobs::{LaterSide, Read, RenameBlobs, contents_on_disk, explained};
use super::*;
use vigil_git::staged::{StagedChange, StagedDiff, UnmergedPath};
use vigil_model::change::ChangeKind;
use vigil_model::request::IgnoreSubmodules;

/// The parts of a session that rename detection needs.
pub(super) struct RenameSearch<'s> {
    pub(super) repository: &'s Repository,
    pub(super) objects: &'s Objects,
    pub(super) attributes: &'s Attributes,
    pub(super) missed: &'s MissedRules,
    pub(super) converter: &'s Converter,
    /// The staged renames that are known, in a session that is kept.
    pub(super) known: Option<&'s KnownRenames>,
}

impl RenameSearch<'_> {
    /// Returns the staged changes that are asked for, with renames. `asks` is called for each path whose attributes git
    /// looks up.
    pub(super) fn staged(
        &self,
        request: &StatusRequest,
        diff: &StagedDiff,
        has_head: bool,
        is_asked_for: impl Fn(&BStr, FileMode) -> bool,
        asks: impl Fn(&BStr) + Sync,
    ) -> Result<Vec<StagedChange>, SessionError> {
        // On an unborn branch, everything in the index is listed.
        let hides_submodules = has_head && request.ignore_submodules == Some(IgnoreSubmodules::All);
        let mut changes: Vec<StagedChange> = diff
            .changes
            .iter()
            .filter(|change| {
                let mode = if change.index_mode == FileMode::NONE {
                    change.head_mode
                } else {
                    change.index_mode
                };
                let is_hidden = hides_submodules
                    && [change.head_mode, change.index_mode]
                        .iter()
                        .all(|mode| mode.is_gitlink() || *mode == FileMode::NONE);
                !is_hidden && is_asked_for(change.path.as_bstr(), mode)
            })
            .cloned()
            .collect();
        if let Some(rule) = request.renames.filter(|_| !changes.is_empty()) {
            let blobs = RenameBlobs {
                repository: self.repository,
                objects: self.objects,
                attributes: self.attributes,
                asks: &|path| {
                    self.missed.ask();
                    asks(path);
                },
                converter: self.converter,
                later: LaterSide::Index,
                read: self.known.map(|_| Read::default()),
            };
            let unmerged = diff.unmerged.iter();
            let unmerged: Vec<UnmergedPath> = unmerged
                .filter(|unmerged| is_asked_for(unmerged.path.as_bstr(), unmerged.head_mode))
                .cloned()
                .collect();
            let is_as_then = |path: &BStr, binary| blobs.has_attributes_as_then(path, binary);
            let known = self.known;
            if let Some(renamed) =
                known.and_then(|known| known.of(&changes, &unmerged, &rule, is_as_then))
            {
                return Ok(renamed);
            }
            let searched = known.map(|known| (known, changes.clone()));
            let found = renames::detect(changes, &unmerged, &rule, &blobs, cores());
            changes = found.map_err(|error| explained(self.repository, error))?;
            if let (Some((known, searched)), Some(asked)) = (searched, blobs.into_asked()) {
                known.keep(Found {
                    changes: searched,
                    unmerged,
                    rule,
                    asked,
                    renamed: changes.clone(),
                });
            }
        }
        Ok(changes)
    }

    /// Finds renames and copies in the working tree: an entry that only records the intent to add may have come from a
    /// file that is gone. To git, so may a file in conflict; it is still shown as one, but with its source, if any, in
    /// place of what the index has. Also returns whether there was anything to search.
    pub(super) fn unstaged(
        &self,
        request: &StatusRequest,
        tracked: &Tracked,
        conflicts: &mut [Conflict],
        unstaged: Vec<Unstaged>,
    ) -> Result<(Vec<Unstaged>, bool), SessionError> {
        let Some(rule) = request.renames else {
            return Ok((unstaged, false));
        };
        let null = ObjectId::null(tracked.hash_kind());
        let in_conflict = as_compared(conflicts, null);
        let has = |kind: ChangeKind| {
            unstaged.iter().any(|change| change.kind == kind)
                || in_conflict.iter().any(|change| change.kind == kind)
        };
        let has_source = has(ChangeKind::Deleted)
            || rule.copies && (has(ChangeKind::Modified) || has(ChangeKind::TypeChanged));
        if !has(ChangeKind::Added) || !has_source {
            return Ok((unstaged, false));
        }
        let top = self.repository.require_work_tree()?;
        let changes = unstaged.iter().map(|change| as_staged(change, null));
        let mut changes: Vec<StagedChange> = changes.collect();
        let conflicting_paths: Vec<BString> = in_conflict
            .iter()
            .map(|change| change.path.clone())
            .collect();
        changes.extend(in_conflict);
        changes.sort_by(|left, right| left.path.cmp(&right.path));
        for change in &mut changes {
            if change.kind == ChangeKind::Added {
                change.index_id = self.id_on_disk(top, change.path.as_bstr())?;
            }
        }
        let blobs = RenameBlobs {
            repository: self.repository,
            objects: self.objects,
            attributes: self.attributes,
            asks: &|_| self.missed.ask(),
            converter: self.converter,
            later: LaterSide::WorkTree,
            read: None,
        };
        let pairs = renames::detect(changes, &[], &rule, &blobs, cores());
        let pairs = pairs.map_err(|error| explained(self.repository, error))?;
        let (in_conflict, pairs): (Vec<StagedChange>, Vec<StagedChange>) = pairs
            .into_iter()
            .partition(|pair| conflicting_paths.binary_search(&pair.path).is_ok());
        for pair in in_conflict.iter().filter(|pair| pair.source.is_some()) {
            let at = conflicts.binary_search_by(|conflict| conflict.path.cmp(&pair.path));
            if let Some(conflict) = at.ok().and_then(|at| conflicts.get_mut(at)) {
                conflict.origin = Some((pair.head_mode, pair.head_id));
            }
        }
        let kept = with_sources(unstaged, pairs, &in_conflict, &conflicting_paths);
        Ok((kept, true))
    }

    /// The ID that the file at `path` would get; null if it cannot be read.
    fn id_on_disk(&self, top: &Path, path: &BStr) -> Result<ObjectId, SessionError> {
        let hash = self.repository.hash;
        let contents = match path.to_path() {
            Ok(on_disk) => contents_on_disk(&top.join(on_disk), path, self.converter)?,
            Err(_) => None,
        };
        Ok(match contents {
            Some(contents) => vigil_objects::hash::hash_blob(hash, &contents),
            None => ObjectId::null(hash),
        })
    }
}

/// Returns a change in the working tree as one between HEAD and the index, which is what renames are found in.
fn as_staged(change: &Unstaged, null: ObjectId) -> StagedChange {
    let entry = &change.entry;
    let (head_mode, head_id) = match change.kind == ChangeKind::Added {
        true => (FileMode::NONE, null),
        false => (entry.mode, entry.id),
    };
    StagedChange {
        path: entry.path.clone(),
        kind: change.kind,
        head_mode,
        head_id,
        index_mode: change.mode,
        index_id: null,
        source: None,
    }
}

/// Returns the changes that remain, each with the source that it was paired with. `pairs` are those of paths that are not in
/// conflict, `in_conflict` the others; all are in byte order.
fn with_sources(
    unstaged: Vec<Unstaged>,
    pairs: Vec<StagedChange>,
    in_conflict: &[StagedChange],
    conflicting_paths: &[BString],
) -> Vec<Unstaged> {
    let mut pairs = pairs.into_iter().peekable();
    let mut kept = Vec::with_capacity(unstaged.len());
    for mut change in unstaged {
        let entry = &change.entry;
        let path = entry.path.as_bstr();
        if conflicting_paths.binary_search(&entry.path).is_ok() {
            // The merged entry of a path that is also in conflict.
            let is_itself = |pair: &StagedChange| {
                pair.path == path && (pair.head_mode, pair.head_id) == (entry.mode, entry.id)
            };
            if change.kind != ChangeKind::Deleted || in_conflict.iter().any(is_itself) {
                kept.push(change);
            }
            continue;
        }
        // A change without a pair of its own became the source of another one.
        let Some(pair) = pairs.next_if(|pair| path == pair.path) else {
            continue;
        };
        if let Some(source) = pair.source {
            change.origin = Some(Origin {
                mode: pair.head_mode,
                id: pair.head_id,
                source,
            });
            change.kind = pair.kind;
        } else if change.kind == ChangeKind::Added
            && let Some(submodule) = &mut change.submodule
        {
            // To git, the search gives it an ID.
            submodule.new_commits = change.mode.is_gitlink();
        }
        kept.push(change);
    }
    kept
}

/// Returns the paths in conflict as the comparison of index and working tree has them, in byte order: each as a new
/// file, if there is one, and against its stage 2, if it has one.
fn as_compared(conflicts: &[Conflict], null: ObjectId) -> Vec<StagedChange> {
    let mut all = Vec::new();
    for conflict in conflicts {
        let change = |kind, (head_mode, head_id), index_mode| StagedChange {
            path: conflict.path.clone(),
            kind,
            head_mode,
            head_id,
            index_mode,
            index_id: null,
            source: None,
        };
        if conflict.mode != FileMode::NONE {
            let nothing = (FileMode::NONE, null);
            all.push(change(ChangeKind::Added, nothing, conflict.mode));
        }
        if let Some(against) = &conflict.against_ours {
            all.push(change(against.kind, against.ours, conflict.mode));
        }
    }
    all
}
