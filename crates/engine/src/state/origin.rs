//! The block that records which index the tracked files came from.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bstr::BString;
use vigil_model::timestamp::Timestamp;

use vigil_git::index_file::{IndexFile, SeenFile};
use vigil_model::bytes::{ByteReader, ByteWriter};
use vigil_stamp::Stamp;

/// Writes the block.
pub(super) fn write(file: &IndexFile) -> Vec<u8> {
    let mut out = ByteWriter::default();
    write_seen(&file.own, &mut out);
    out.optional(file.shared.as_ref(), |out, shared| write_seen(shared, out));
    out.u32(u32::from(file.is_sparse));
    out.u32(u32::try_from(file.notices.len()).unwrap_or(u32::MAX));
    for notice in &file.notices {
        out.bytes(notice.as_bytes());
    }
    out.optional(file.untracked_cache_origin.as_ref(), |out, origin| {
        out.bytes(origin)
    });
    out.i64(file.read_at.s);
    out.u32(file.read_at.ns);
    out.0
}

pub(super) fn write_seen(file: &SeenFile, out: &mut ByteWriter) {
    out.bytes(file.path.as_os_str().as_bytes());
    out.optional(file.stamp, |out, stamp| out.array(&stamp.to_bytes()));
}

/// Reads the block.
pub(super) fn read(block: &[u8]) -> Option<IndexFile> {
    let mut bytes = ByteReader(block);
    let own = read_seen(&mut bytes)?;
    let shared = bytes.optional(read_seen)?;
    let is_sparse = bytes.u32()? != 0;
    let count = bytes.u32()?;
    let notices = (0..count)
        .map(|_| String::from_utf8(bytes.bytes()?.into()).ok())
        .collect::<Option<Vec<_>>>()?;
    Some(IndexFile {
        own,
        shared,
        is_sparse,
        notices,
        untracked_cache_origin: bytes.optional(ByteReader::bytes)?,
        read_at: Timestamp {
            s: bytes.i64()?,
            ns: bytes.u32()?,
        },
    })
}

pub(super) fn read_seen(bytes: &mut ByteReader<'_>) -> Option<SeenFile> {
    let path: BString = bytes.bytes()?;
    Some(SeenFile {
        path: Path::new(OsStr::from_bytes(&path)).to_owned(),
        stamp: bytes.optional(|bytes| Some(Stamp::from_bytes(&bytes.array()?)))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let seen = |path: &str, byte| SeenFile {
            path: path.into(),
            stamp: Some(Stamp::from_bytes(&[byte; Stamp::LEN])),
        };
        let file = IndexFile {
            own: seen("/a/.git/index", 3),
            shared: Some(seen("/a/.git/sharedindex.1", 4)),
            is_sparse: true,
            notices: vec!["ignoring XYZW extension".to_owned()],
            untracked_cache_origin: Some("here".into()),
            read_at: Timestamp { s: -5, ns: 7 },
        };
        let block = write(&file);
        assert_eq!(read(&block).as_ref(), Some(&file));
        for len in 0..block.len() {
            assert_eq!(read(&block[..len]), None);
        }
    }
}
