//! The block that says how HEAD's tree differs from the index.

use gix_hash::ObjectId;
use vigil_model::mode::FileMode;

use super::bytes::{Reader, Writer};
use crate::git::staged::{StagedChange, StagedDiff, UnmergedPath};
use crate::status::ChangeKind;

const KINDS: [ChangeKind; 4] = [
    ChangeKind::Added,
    ChangeKind::Deleted,
    ChangeKind::Modified,
    ChangeKind::TypeChanged,
];

/// Writes the block: the differences between `tree` (none on an unborn branch) and the index; `None` where it holds
/// what is not of a plain difference.
pub(super) fn write(tree: Option<&ObjectId>, diff: &StagedDiff) -> Option<Vec<u8>> {
    let mut out = Writer::default();
    out.optional(tree, |out, id| out.bytes(id.as_bytes()));
    out.u32(u32::try_from(diff.changes.len()).ok()?);
    for change in &diff.changes {
        let kind = KINDS.iter().position(|kind| *kind == change.kind)?;
        if change.source.is_some() {
            return None;
        }
        out.bytes(&change.path);
        out.u32(u32::try_from(kind).ok()?);
        for (mode, id) in [
            (change.head_mode, change.head_id),
            (change.index_mode, change.index_id),
        ] {
            out.u32(mode.0);
            out.bytes(id.as_bytes());
        }
    }
    out.u32(u32::try_from(diff.unmerged.len()).ok()?);
    for unmerged in &diff.unmerged {
        out.bytes(&unmerged.path);
        out.u32(unmerged.head_mode.0);
        out.bytes(unmerged.head_id.as_bytes());
    }
    Some(out.0)
}

/// Reads the block: the tree, and the differences.
pub(super) fn read(block: &[u8]) -> Option<(Option<ObjectId>, StagedDiff)> {
    let mut bytes = Reader(block);
    let tree = bytes.optional(id)?;
    let count = bytes.u32()?;
    let changes = (0..count)
        .map(|_| change(&mut bytes))
        .collect::<Option<Vec<_>>>()?;
    let count = bytes.u32()?;
    let unmerged = (0..count)
        .map(|_| unmerged(&mut bytes))
        .collect::<Option<Vec<_>>>()?;
    Some((tree, StagedDiff { changes, unmerged }))
}

fn id(bytes: &mut Reader<'_>) -> Option<ObjectId> {
    ObjectId::try_from(bytes.bytes()?.as_slice()).ok()
}

fn change(bytes: &mut Reader<'_>) -> Option<StagedChange> {
    Some(StagedChange {
        path: bytes.bytes()?,
        kind: *KINDS.get(bytes.u32()? as usize)?,
        head_mode: FileMode(bytes.u32()?),
        head_id: id(bytes)?,
        index_mode: FileMode(bytes.u32()?),
        index_id: id(bytes)?,
        source: None,
    })
}

fn unmerged(bytes: &mut Reader<'_>) -> Option<UnmergedPath> {
    Some(UnmergedPath {
        path: bytes.bytes()?,
        head_mode: FileMode(bytes.u32()?),
        head_id: id(bytes)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let id = ObjectId::Sha1([7; 20]);
        let changes = KINDS.map(|kind| StagedChange {
            path: "a\nb".into(),
            kind,
            head_mode: FileMode::FILE,
            head_id: id,
            index_mode: FileMode::NONE,
            index_id: ObjectId::Sha1([0; 20]),
            source: None,
        });
        let diff = StagedDiff {
            changes: changes.to_vec(),
            unmerged: vec![UnmergedPath {
                path: "c".into(),
                head_mode: FileMode::EXECUTABLE,
                head_id: id,
            }],
        };
        for tree in [None, Some(id)] {
            let block = write(tree.as_ref(), &diff).unwrap();
            assert_eq!(read(&block), Some((tree, diff.clone())));
            for len in 0..block.len() {
                assert_eq!(read(&block[..len]), None);
            }
        }
    }
}
