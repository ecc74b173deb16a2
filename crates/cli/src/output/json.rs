//! `--format=json`: everything a status holds, in Vigil's own schema (docs/json-status.md).

use bstr::{BStr, BString, ByteSlice};
use serde::{Serialize, Serializer};
use vigil_engine::status::{
    BranchStatus, Change, ChangeKind, Distance, Head, RenameSource, Status, SubmoduleState,
    TrackedChange, UnmergedSide, Upstream,
};
use vigil_model::ObjectId;
use vigil_model::mode::FileMode;

use super::Presentation;

/// Raised when a reader of the former schema could misunderstand the new one.
const SCHEMA: u32 = 1;

/// The bytes of `status`.
pub(super) fn write(status: &Status, presentation: &Presentation) -> Vec<u8> {
    // Serialization fails only on maps whose keys are no strings; there is no map here.
    let mut out = serde_json::to_vec(&Document::of(status)).unwrap_or_default();
    out.push(presentation.terminator());
    out
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    branch: Option<BranchDocument<'a>>,
    stash_count: Option<usize>,
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

/// Bytes that are nearly always UTF-8: a string, or `{"bytes": [..]}` where they are not.
struct Text<'a>(&'a BStr);

impl<'a> Text<'a> {
    fn of(text: &'a BString) -> Self {
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
enum ChangeDocument<'a> {
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
    fn of(path: &'a BString, change: &'a Change) -> Self {
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
        Self::Tracked {
            path,
            staged: change.staged.map(kind_name),
            unstaged: change.unstaged.map(kind_name),
            head: SideDocument::of(change.head_mode, change.head_id),
            index: SideDocument::of(change.index_mode, change.index_id),
            worktree_mode: mode(change.worktree_mode),
            staged_source: change.staged_source.as_ref().map(SourceDocument::of),
            unstaged_source: change.unstaged_source.as_ref().map(SourceDocument::of),
            submodule: change.submodule.map(SubmoduleDocument::of),
        }
    }
}

fn kind_name(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Added => "added",
        ChangeKind::Modified => "modified",
        ChangeKind::Deleted => "deleted",
        ChangeKind::TypeChanged => "type_changed",
        ChangeKind::Renamed => "renamed",
        ChangeKind::Copied => "copied",
    }
}

/// Six octal digits, or nothing where there is no file.
fn mode(mode: FileMode) -> Option<String> {
    (mode != FileMode::NONE).then(|| mode.to_string())
}

#[derive(Serialize)]
struct SideDocument {
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
struct SourceDocument<'a> {
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
#[allow(
    clippy::struct_excessive_bools,
    reason = "three facts, as in git's own field"
)]
struct SubmoduleDocument {
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
