//! A small writer of index files, for tests only.

use gix_hash::{Kind, ObjectId};

use crate::facts::RecordedStat;

/// An entry to write.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) path: Vec<u8>,
    pub(crate) stat: RecordedStat,
    pub(crate) mode: u32,
    pub(crate) id: ObjectId,
    /// As in memory: the stage and the marks. The extended mark decides whether the upper half is written.
    pub(crate) flags: u32,
}

/// The bytes of an index of `version` with the `drafts` in the given order and the `extensions`.
pub(crate) fn write(
    version: u32,
    hash: Kind,
    drafts: &[Draft],
    extensions: &[(&[u8; 4], Vec<u8>)],
) -> Vec<u8> {
    let mut out = b"DIRC".to_vec();
    out.extend(version.to_be_bytes());
    out.extend((drafts.len() as u32).to_be_bytes());
    let mut previous: &[u8] = b"";
    for draft in drafts {
        let start = out.len();
        let s = &draft.stat;
        let words = [
            s.ctime_s, s.ctime_ns, s.mtime_s, s.mtime_ns, s.dev, s.ino, draft.mode, s.uid, s.gid,
            s.size,
        ];
        out.extend(words.iter().flat_map(|word| word.to_be_bytes()));
        out.extend(draft.id.as_slice());
        let low = draft.flags as u16 & 0xf000 | draft.path.len().min(0xfff) as u16;
        out.extend(low.to_be_bytes());
        if low & 0x4000 != 0 {
            out.extend(((draft.flags >> 16) as u16).to_be_bytes());
        }
        if version == 4 {
            let shared = previous
                .iter()
                .zip(&draft.path)
                .take_while(|(a, b)| a == b)
                .count();
            out.extend(varint(previous.len() - shared));
            out.extend(&draft.path[shared..]);
            out.push(0);
            previous = &draft.path;
        } else {
            out.extend(&draft.path);
            let len = out.len() - start;
            out.resize(start + ((len + 8) & !7), 0);
        }
    }
    for (name, data) in extensions {
        out.extend(*name);
        out.extend((data.len() as u32).to_be_bytes());
        out.extend(data);
    }
    out.extend(vec![0; hash.len_in_bytes()]);
    out
}

fn varint(mut value: usize) -> Vec<u8> {
    let mut bytes = vec![(value & 127) as u8];
    while value > 127 {
        value = (value >> 7) - 1;
        bytes.insert(0, 128 | (value & 127) as u8);
    }
    bytes
}

/// The contents of a `link` extension, with each bitmap in the simplest form: one run word, then literal
/// words.
pub(super) fn link(shared_id: ObjectId, deleted: &[usize], replaced: &[usize]) -> Vec<u8> {
    let mut out = shared_id.as_slice().to_vec();
    for positions in [deleted, replaced] {
        let len = positions.iter().max().map_or(0, |max| max / 64 + 1);
        let mut words = vec![0u64; len];
        for at in positions {
            words[at / 64] |= 1 << (at % 64);
        }
        words.insert(0, (len as u64) << 33);
        out.extend((len as u32 * 64).to_be_bytes());
        out.extend((words.len() as u32).to_be_bytes());
        out.extend(words.iter().flat_map(|word| word.to_be_bytes()));
        out.extend(0u32.to_be_bytes());
    }
    out
}
