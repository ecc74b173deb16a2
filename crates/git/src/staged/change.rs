//! The differences between HEAD and the index.

use bstr::BString;
use gix_hash::{Kind, ObjectId};
use vigil_model::change::{ChangeKind, RenameSource};
use vigil_model::mode::FileMode;

/// A path that differs between HEAD and the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StagedChange {
    /// The path; for a rename or copy, the new one.
    pub path: BString,
    /// The kind of difference. Never renamed or copied without rename detection.
    pub kind: ChangeKind,
    /// Mode in HEAD (of the source, if renamed or copied); `NONE` if not in HEAD.
    pub head_mode: FileMode,
    /// Object in HEAD (of the source, if renamed or copied), null if not in HEAD.
    pub head_id: ObjectId,
    /// Mode in the index; `NONE` if not in the index.
    pub index_mode: FileMode,
    /// Object in the index, null if not in the index.
    pub index_id: ObjectId,
    /// The source of a rename or copy.
    pub source: Option<RenameSource>,
}

/// A path with conflicts, and its version in HEAD. It takes the place of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnmergedPath {
    /// The path.
    pub path: BString,
    /// Mode in HEAD; `NONE` if not in HEAD.
    pub head_mode: FileMode,
    /// Object in HEAD, null if not in HEAD.
    pub head_id: ObjectId,
}

/// The differences between HEAD and the index, each list in byte order of paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StagedDiff {
    /// Merged paths.
    pub changes: Vec<StagedChange>,
    /// Paths with conflicts.
    pub unmerged: Vec<UnmergedPath>,
}

/// One side of a comparison: what a tree or the index has at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileState {
    pub(super) mode: FileMode,
    pub(super) id: ObjectId,
}

impl StagedChange {
    /// Returns the change from `head` to `index`, if they differ.
    pub(super) fn between(
        path: &[u8],
        head: Option<FileState>,
        index: Option<FileState>,
        hash: Kind,
    ) -> Option<Self> {
        let kind = match (head, index) {
            (None, None) => return None,
            (None, Some(_)) => ChangeKind::Added,
            (Some(_), None) => ChangeKind::Deleted,
            (Some(head), Some(index)) if head == index => return None,
            (Some(head), Some(index)) if !head.mode.same_type(index.mode) => {
                ChangeKind::TypeChanged
            }
            (Some(_), Some(_)) => ChangeKind::Modified,
        };
        let absent = FileState {
            mode: FileMode::NONE,
            id: hash.null(),
        };
        let (head, index) = (head.unwrap_or(absent), index.unwrap_or(absent));
        Some(Self {
            path: path.into(),
            kind,
            head_mode: head.mode,
            head_id: head.id,
            index_mode: index.mode,
            index_id: index.id,
            source: None,
        })
    }
}
