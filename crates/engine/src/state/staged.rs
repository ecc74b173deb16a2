//! The block that records how HEAD's tree differs from the index.

use gix_hash::ObjectId;
use vigil_model::mode::FileMode;

use vigil_git::staged::{StagedChange, StagedDiff, UnmergedPath};
use vigil_model::bytes::{ByteReader, ByteWriter};
use vigil_model::change::ChangeKind;

const KINDS: [ChangeKind; 4] = [
    ChangeKind::Added,
    ChangeKind::Deleted,
    ChangeKind::Modified,
    ChangeKind::TypeChanged,
];

/// What a difference depends on, besides the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StagedBase {
    /// HEAD's tree; `None` on an unborn branch.
    pub(crate) tree: Option<ObjectId>,
    /// How deeply directories may be nested (`core.maxTreeDepth`): deeper ones are an error.
    pub(crate) depth_max: i64,
}

/// Writes the block: the differences between what was `compared` and the index of the block `origin`. `None` if the
/// difference has anything besides plain changes, such as renames.
pub(super) fn write(compared: &StagedBase, origin: &[u8], diff: &StagedDiff) -> Option<Vec<u8>> {
    let mut out = ByteWriter::default();
    out.bytes(origin);
    out.i64(compared.depth_max);
    out.optional(compared.tree, |out, id| out.bytes(id.as_bytes()));
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

/// Reads the block: what was compared, and the differences; `None` if they are not those of the index of the block
/// `origin`.
pub(super) fn read(block: &[u8], origin: &[u8]) -> Option<(StagedBase, StagedDiff)> {
    let mut bytes = ByteReader(block);
    if bytes.bytes()? != origin {
        return None;
    }
    let compared = StagedBase {
        depth_max: bytes.i64()?,
        tree: bytes.optional(ByteReader::id)?,
    };
    let count = bytes.u32()?;
    let changes = (0..count)
        .map(|_| change(&mut bytes))
        .collect::<Option<Vec<_>>>()?;
    let count = bytes.u32()?;
    let unmerged = (0..count)
        .map(|_| unmerged(&mut bytes))
        .collect::<Option<Vec<_>>>()?;
    Some((compared, StagedDiff { changes, unmerged }))
}

fn change(bytes: &mut ByteReader<'_>) -> Option<StagedChange> {
    Some(StagedChange {
        path: bytes.bytes()?,
        kind: *KINDS.get(bytes.u32()? as usize)?,
        head_mode: FileMode(bytes.u32()?),
        head_id: bytes.id()?,
        index_mode: FileMode(bytes.u32()?),
        index_id: bytes.id()?,
        source: None,
    })
}

fn unmerged(bytes: &mut ByteReader<'_>) -> Option<UnmergedPath> {
    Some(UnmergedPath {
        path: bytes.bytes()?,
        head_mode: FileMode(bytes.u32()?),
        head_id: bytes.id()?,
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
            let compared = StagedBase { tree, depth_max: 9 };
            let block = write(&compared, b"origin", &diff).unwrap();
            assert_eq!(read(&block, b"origin"), Some((compared, diff.clone())));
            assert_eq!(read(&block, b"other"), None);
            for len in 0..block.len() {
                assert_eq!(read(&block[..len], b"origin"), None);
            }
        }
    }
}
