//! The block that records HEAD's tree.

use gix_hash::ObjectId;

use super::origin::{read_seen, write_seen};
use vigil_git::index_file::SeenFile;
use vigil_model::bytes::{ByteReader, ByteWriter};

/// A commit, its tree, and the files that prove that both exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HeadTree {
    pub(crate) commit: ObjectId,
    pub(crate) tree: ObjectId,
    pub(crate) files: Vec<SeenFile>,
}

/// Writes the block; `None` if there are more files than it can hold.
pub(super) fn write(head: &HeadTree) -> Option<Vec<u8>> {
    let mut out = ByteWriter::default();
    out.bytes(head.commit.as_bytes());
    out.bytes(head.tree.as_bytes());
    out.u32(u32::try_from(head.files.len()).ok()?);
    for file in &head.files {
        write_seen(file, &mut out);
    }
    Some(out.0)
}

/// Reads the block.
pub(super) fn read(block: &[u8]) -> Option<HeadTree> {
    let mut bytes = ByteReader(block);
    let commit = bytes.id()?;
    let tree = bytes.id()?;
    let count = bytes.u32()?;
    let files = (0..count)
        .map(|_| read_seen(&mut bytes))
        .collect::<Option<Vec<_>>>()?;
    Some(HeadTree {
        commit,
        tree,
        files,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use vigil_stamp::Stamp;

    #[test]
    fn what_is_written_is_read() {
        let stamps = [None, Some(Stamp::from_bytes(&[7; Stamp::LEN]))];
        let head = HeadTree {
            commit: ObjectId::Sha1([1; 20]),
            tree: ObjectId::Sha256([2; 32]),
            files: stamps
                .map(|stamp| SeenFile {
                    path: "/a".into(),
                    stamp,
                })
                .to_vec(),
        };
        let block = write(&head).unwrap();
        assert_eq!(read(&block), Some(head));
        for len in 0..block.len() {
            assert_eq!(read(&block[..len]), None);
        }
    }
}
