//! `--format=json`: everything a status holds, in Vigil's own schema (docs/json-status.md).

use bstr::{BStr, BString, ByteSlice};
use serde::{Serialize, Serializer};
use vigil_engine::status::{Change, Status, SubmoduleState, TrackedChange, UnmergedSide};
use vigil_git::refs::Head;
use vigil_history::branch::{BranchStatus, Distance, Upstream};
use vigil_model::ObjectId;
use vigil_model::change::{ChangeKind, RenameSource};
use vigil_model::mode::FileMode;

use super::presentation::Presentation;
use super::sides::Sides;

/// Raised when a reader of the previous schema could misunderstand the new one.
const SCHEMA: u32 = 1;

/// Writes `status`.
pub(super) fn write(status: &Status, presentation: &Presentation) -> Vec<u8> {
    serialized(&Document::of(status), presentation.terminator())
}

/// Returns `document` as JSON on one line, which ends with `terminator`.
pub(crate) fn serialized(document: &impl Serialize, terminator: u8) -> Vec<u8> {
    // Serialization can fail only for maps whose keys are not strings, and no document has a map.
    let mut out = serde_json::to_vec(document).unwrap_or_default();
    out.push(terminator);
    out
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    branch: Option<BranchDocument<'a>>,
    stash_count: Option<usize>,
    operation: Option<Text<'a>>,
    changes: Vec<ChangeDocument<'a>>,
    untracked: Vec<Text<'a>>,
    ignored: Vec<Text<'a>>,
    warnings: Vec<Text<'a>>,
}

impl<'a> Document<'a> {
    fn of(status: &'a Status) -> Self {
        let texts = |all: &'a [BString]| all.iter().map(Text::of).collect();
        Self {
            schema: SCHEMA,
            branch: status.branch.as_ref().map(BranchDocument::of),
            stash_count: status.stash_count,
            operation: (!status.action.is_empty()).then(|| Text::of(&status.action)),
            changes: status
                .changes
                .iter()
                .map(|(path, change)| ChangeDocument::of(path, change))
                .collect(),
            untracked: texts(&status.untracked),
            ignored: texts(&status.ignored),
            warnings: texts(&status.warnings),
        }
    }
}

/// Bytes that are nearly always UTF-8: serialized as a string, or as `{"bytes": [..]}` if they are not.
pub(crate) struct Text<'a>(pub(crate) &'a BStr);

impl<'a> Text<'a> {
    /// Wraps owned bytes.
    pub(crate) fn of(text: &'a BString) -> Self {
        Self(text.as_ref())
    }
}

impl Serialize for Text<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Raw<'a> {
            bytes: &'a [u8],
        }
        match self.0.to_str() {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => Raw { bytes: self.0 }.serialize(serializer),
        }
    }
}

#[derive(Serialize)]
struct BranchDocument<'a> {
    head: HeadDocument<'a>,
    upstream: Option<UpstreamDocument<'a>>,
}

impl<'a> BranchDocument<'a> {
    fn of(branch: &'a BranchStatus) -> Self {
        Self {
            head: match &branch.head {
                head if head.is_lost() => HeadDocument {
                    reference: None,
                    commit: None,
                },
                Head::Branch { name, id } => HeadDocument {
                    reference: Some(Text::of(name)),
                    commit: id.map(|id| id.to_string()),
                },
                Head::Detached(id) => HeadDocument {
                    reference: None,
                    commit: Some(id.to_string()),
                },
            },
            upstream: branch.upstream.as_ref().map(UpstreamDocument::of),
        }
    }
}

#[derive(Serialize)]
struct HeadDocument<'a> {
    reference: Option<Text<'a>>,
    commit: Option<String>,
}

#[derive(Serialize)]
struct UpstreamDocument<'a> {
    reference: Text<'a>,
    short_name: Text<'a>,
    distance: &'static str,
    ahead: Option<usize>,
    behind: Option<usize>,
}

impl<'a> UpstreamDocument<'a> {
    fn of(upstream: &'a Upstream) -> Self {
        let (distance, ahead, behind) = match upstream.distance {
            Distance::Gone => ("gone", None, None),
            Distance::Equal => ("equal", Some(0), Some(0)),
            Distance::Different => ("different", None, None),
            Distance::Counted { ahead, behind } => ("counted", Some(ahead), Some(behind)),
        };
        Self {
            reference: Text::of(&upstream.reference),
            short_name: Text::of(&upstream.short_name),
            distance,
            ahead,
            behind,
        }
    }
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum ChangeDocument<'a> {
    Tracked {
        path: Text<'a>,
        staged: Option<&'static str>,
        unstaged: Option<&'static str>,
        head: Option<SideDocument>,
        index: Option<SideDocument>,
        worktree_mode: Option<String>,
        staged_source: Option<SourceDocument<'a>>,
        unstaged_source: Option<SourceDocument<'a>>,
        submodule: Option<SubmoduleDocument>,
    },
    Unmerged {
        path: Text<'a>,
        base: Option<SideDocument>,
        ours: Option<SideDocument>,
        theirs: Option<SideDocument>,
        worktree_mode: Option<String>,
        submodule: Option<SubmoduleDocument>,
    },
}

impl<'a> ChangeDocument<'a> {
    /// Describes the change of one path.
    pub(crate) fn of(path: &'a BString, change: &'a Change) -> Self {
        let path = Text::of(path);
        match change {
            Change::Tracked(change) => Self::of_tracked(path, change),
            Change::Unmerged(change) => {
                let [base, ours, theirs] = change.stages;
                let side = |side: Option<UnmergedSide>| {
                    side.and_then(|side| SideDocument::of(side.mode, side.id))
                };
                Self::Unmerged {
                    path,
                    base: side(base),
                    ours: side(ours),
                    theirs: side(theirs),
                    worktree_mode: mode(change.worktree_mode),
                    submodule: change.submodule.map(SubmoduleDocument::of),
                }
            }
        }
    }

    fn of_tracked(path: Text<'a>, change: &'a TrackedChange) -> Self {
        let sides = Sides::of(change);
        let side = |(mode, id)| SideDocument::of(mode, id);
        Self::Tracked {
            path,
            staged: change.staged.map(kind_name),
            unstaged: change.unstaged.map(kind_name),
            head: side(sides.head),
            index: side(sides.index),
            worktree_mode: mode(sides.worktree_mode),
            staged_source: change.staged_source.as_ref().map(SourceDocument::of),
            unstaged_source: change.unstaged_source.as_ref().map(SourceDocument::of),
            submodule: change.submodule.map(SubmoduleDocument::of),
        }
    }
}

/// The name of a kind of change.
pub(crate) fn kind_name(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Added => "added",
        ChangeKind::Modified => "modified",
        ChangeKind::Deleted => "deleted",
        ChangeKind::TypeChanged => "type_changed",
        ChangeKind::Renamed => "renamed",
        ChangeKind::Copied => "copied",
        ChangeKind::Unmerged => "unmerged",
    }
}

/// The mode in six octal digits, or nothing if there is no file.
fn mode(mode: FileMode) -> Option<String> {
    (mode != FileMode::NONE).then(|| mode.to_string())
}

#[derive(Serialize)]
pub(crate) struct SideDocument {
    mode: String,
    id: String,
}

impl SideDocument {
    fn of(side: FileMode, id: ObjectId) -> Option<Self> {
        mode(side).map(|mode| Self {
            mode,
            id: id.to_string(),
        })
    }
}

#[derive(Serialize)]
pub(crate) struct SourceDocument<'a> {
    path: Text<'a>,
    score_percent: u8,
}

impl<'a> SourceDocument<'a> {
    fn of(source: &'a RenameSource) -> Self {
        Self {
            path: Text::of(&source.path),
            score_percent: source.score_percent,
        }
    }
}

#[derive(Serialize)]
pub(crate) struct SubmoduleDocument {
    new_commits: bool,
    modified: bool,
    untracked: bool,
}

impl SubmoduleDocument {
    fn of(state: SubmoduleState) -> Self {
        Self {
            new_commits: state.new_commits,
            modified: state.modified,
            untracked: state.untracked,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use vigil_engine::status::UnmergedChange;

    use super::*;

    const SPECIFICATION: &str = include_str!("../../../../docs/json-status.md");

    fn document(status: &Status) -> Value {
        let bytes = write(status, &Presentation::default());
        assert_eq!(bytes.last(), Some(&b'\n'));
        serde_json::from_slice(&bytes).unwrap()
    }

    fn id(hex: &str) -> ObjectId {
        ObjectId::from_hex(hex.as_bytes()).unwrap()
    }

    #[test]
    fn the_example_in_the_specification_is_what_is_written() {
        let blob = id("0719398930cc6e2c5b1d54eb1ba20a3ba3a4ac1c");
        let renamed = TrackedChange {
            staged: Some(ChangeKind::Renamed),
            unstaged: None,
            head_mode: FileMode::FILE,
            index_mode: FileMode::FILE,
            worktree_mode: FileMode::NONE,
            head_id: blob,
            index_id: blob,
            staged_source: Some(RenameSource {
                path: "old name".into(),
                score_percent: 100,
            }),
            unstaged_source: None,
            submodule: None,
        };
        let status = Status {
            changes: vec![("new name".into(), Change::Tracked(renamed))],
            untracked: vec!["notes/".into()],
            branch: Some(BranchStatus {
                head: Head::Branch {
                    name: "refs/heads/main".into(),
                    id: Some(id("d0231b9a2008ef4cfbdc1dcb4b34379288a8adda")),
                },
                upstream: Some(Upstream {
                    reference: "refs/remotes/origin/main".into(),
                    short_name: "origin/main".into(),
                    distance: Distance::Counted {
                        ahead: 1,
                        behind: 0,
                    },
                }),
            }),
            stash_count: Some(0),
            ..Status::default()
        };
        let (_, example) = SPECIFICATION.rsplit_once("```json\n").unwrap();
        let (example, _) = example.split_once("```").unwrap();
        let example: Value = serde_json::from_str(example).unwrap();
        assert_eq!(document(&status), example);
    }

    #[test]
    fn bytes_that_are_not_utf_8_and_sides_that_are_missing_are_told() {
        let commit = id("d0231b9a2008ef4cfbdc1dcb4b34379288a8adda");
        let conflict = UnmergedChange {
            merged: None,
            stages: [
                None,
                Some(UnmergedSide {
                    mode: FileMode::GITLINK,
                    id: commit,
                }),
                None,
            ],
            worktree_mode: FileMode::NONE,
            submodule: Some(SubmoduleState {
                new_commits: true,
                ..SubmoduleState::default()
            }),
            is_observed: true,
        };
        let status = Status {
            changes: vec![("a".into(), Change::Unmerged(conflict))],
            ignored: vec![BString::from(&b"x\xff"[..])],
            action: "rebase-i 2/5".into(),
            branch: Some(BranchStatus {
                head: Head::Detached(commit),
                upstream: None,
            }),
            ..Status::default()
        };
        let expected = json!({
            "schema": 1,
            "branch": {
                "head": {"reference": null, "commit": commit.to_string()},
                "upstream": null,
            },
            "stash_count": null,
            "operation": "rebase-i 2/5",
            "changes": [{
                "kind": "unmerged",
                "path": "a",
                "base": null,
                "ours": {"mode": "160000", "id": commit.to_string()},
                "theirs": null,
                "worktree_mode": null,
                "submodule": {"new_commits": true, "modified": false, "untracked": false},
            }],
            "untracked": [],
            "ignored": [{"bytes": [120, 255]}],
            "warnings": [],
        });
        assert_eq!(document(&status), expected);
    }
}
