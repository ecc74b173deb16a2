//! Contents of files that are kept elsewhere (`hg help -e lfs`): a pointer in the format of Git LFS stands for them in
//! the revlog. It also has the metadata that otherwise comes before the contents.

use std::path::Path;

use bstr::{BStr, BString, ByteSlice};

use super::METADATA_MARK;
use crate::abort::{Abort, Kind};
use crate::bytes::{bytes, lines_with_ends};
use crate::node::Node;
use crate::revlog::Revlog;
use crate::text_file;
use vigil_stamp::paths::path_of;

/// What the value of `version` is.
const VERSION: &[u8] = b"https://git-lfs.github.com/spec/v1";
/// What comes before the name of metadata in a pointer.
const METADATA_PREFIX: &[u8] = b"x-hg-";

/// What stands for the contents of one version of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pointer {
    /// The SHA-256 of the contents, in hexadecimal digits.
    hash: BString,
    /// The length of the contents in bytes.
    pub(super) len: u64,
    /// The metadata, in order of the names.
    metadata: Vec<(BString, BString)>,
}

/// Returns the pointer that stands for the contents of the version `number`; `None` if it has them itself.
///
/// # Errors
/// The version is damaged, or its pointer.
pub(super) fn pointer(versions: &mut Revlog, number: u32) -> Result<Option<Pointer>, Abort> {
    let Some(text) = versions.pointer(number)? else {
        return Ok(None);
    };
    let pointer = Pointer::parse(&text);
    pointer.map(Some).ok_or_else(|| {
        let message = "a pointer to contents that are kept elsewhere is none (lfs)";
        Abort::of(Kind::Storage, message)
    })
}

/// The error for contents that are not those that the file had.
pub(super) fn damaged(path: &BStr) -> Abort {
    let message = bytes!(
        "integrity check failed on the contents of '",
        path,
        "' (lfs)"
    );
    Abort::of(Kind::Storage, message)
}

impl Pointer {
    /// Parses a pointer. `None` if it lacks something, or has what a pointer cannot have.
    fn parse(text: &[u8]) -> Option<Self> {
        let (mut version, mut hash, mut len) = (None, None, None);
        let mut metadata = Vec::new();
        for line in lines_with_ends(text) {
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            let (name, value) = line.split_once_str(" ")?;
            match name {
                b"version" => version = Some(value),
                b"oid" => hash = Some(value.strip_prefix(b"sha256:")?),
                b"size" => len = Some(value),
                _ => {
                    let is_name =
                        |byte: &u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'-');
                    if name.is_empty() || !name.iter().all(is_name) {
                        return None;
                    }
                    if let Some(name) = name.strip_prefix(METADATA_PREFIX) {
                        metadata.push((BString::from(name), BString::from(value)));
                    }
                }
            }
        }
        let is_hash = |hash: &&[u8]| {
            let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
            hash.len() == 64 && hash.iter().all(is_digit)
        };
        let is_number = |len: &&[u8]| !len.is_empty() && len.iter().all(u8::is_ascii_digit);
        version.filter(|version| *version == VERSION)?;
        metadata.sort();
        Some(Self {
            hash: hash.filter(is_hash)?.into(),
            len: len.filter(is_number)?.to_str().ok()?.parse().ok()?,
            metadata,
        })
    }

    /// Returns the text of which the version has the hash, if it has these `contents`.
    pub(super) fn text(&self, contents: &[u8]) -> Vec<u8> {
        let mut text = Vec::new();
        if !self.metadata.is_empty() || contents.starts_with(METADATA_MARK) {
            text.extend_from_slice(METADATA_MARK);
            for (name, value) in &self.metadata {
                text.extend_from_slice(&bytes!(name, ": ", value, "\n"));
            }
            text.extend_from_slice(METADATA_MARK);
        }
        text.extend_from_slice(contents);
        text
    }

    /// Returns the version of another file that this one is a copy of.
    pub(super) fn copy_source(&self) -> Option<(BString, Node)> {
        let value = |wanted: &str| {
            let mut all = self.metadata.iter();
            all.find_map(|(name, value)| (name == wanted).then_some(value))
        };
        let node = value("copyrev").and_then(|hex| Node::from_hex(hex))?;
        Some((value("copy")?.clone(), node))
    }

    /// Reads the contents of a short file from the files below the `store`, where they need not be. The caller checks them.
    ///
    /// # Errors
    /// They are not there, or longer than any file that is read from the store.
    pub(super) fn contents(&self, store: &Path) -> Result<Vec<u8>, Abort> {
        let (folder, name) = self.hash.split_at_checked(2).unwrap_or_default();
        let path = store.join("lfs/objects").join(path_of(folder));
        let path = path.join(path_of(name));
        let elsewhere = || Abort::unsupported("contents that are kept elsewhere (lfs)");
        let len = vigil_linux::stat::stat_path(&path)
            .map_err(|_| elsewhere())?
            .size;
        if len != self.len || len > text_file::LEN_MAX {
            return Err(elsewhere());
        }
        let contents = text_file::read(&path);
        contents.map_err(|error| Abort::io(&path, &error))
    }
}

/// Checks, for a fuzzer's bytes, that a pointer's text ends with the contents.
#[cfg(feature = "fuzzing")]
pub(super) fn fuzz(text: &[u8]) {
    if let Some(pointer) = Pointer::parse(text) {
        assert!(pointer.text(b"contents").ends_with(b"contents"));
        assert!(pointer.hash.len() == 64 && pointer.metadata.len() < text.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(more: &str) -> Vec<u8> {
        let hash = "0123456789abcdef".repeat(4);
        let version = "https://git-lfs.github.com/spec/v1";
        format!("version {version}\noid sha256:{hash}\nsize 12\n{more}").into_bytes()
    }

    #[test]
    fn pointers_are_read() {
        let read = Pointer::parse(&text("x-is-binary 0\n")).unwrap();
        assert_eq!((read.len, read.copy_source()), (12, None));
        assert_eq!(read.text(b"hello"), b"hello");
        assert_eq!(read.text(b"\x01\nhello"), b"\x01\n\x01\n\x01\nhello");
        let node = Node([0xab; Node::LEN]);
        let copy = text(&format!("x-hg-copyrev {node}\nx-hg-copy a b\n"));
        let read = Pointer::parse(&copy).unwrap();
        assert_eq!(read.copy_source(), Some(("a b".into(), node)));
        let expected = format!("\x01\ncopy: a b\ncopyrev: {node}\n\x01\nhello");
        assert_eq!(read.text(b"hello"), expected.as_bytes());
    }

    #[test]
    fn what_is_no_pointer_is_refused() {
        let good = text("");
        assert!(Pointer::parse(&good).is_some());
        for (from, to) in [
            ("spec/v1", "spec/v2"),
            ("sha256:0", "sha256:g"),
            ("sha256:0", "sha256:"),
            ("sha256:", "sha1:"),
            ("size 12", "size -1"),
            ("size 12", "size"),
            ("size 12", "size 99999999999999999999999"),
            ("size 12\n", ""),
            ("size 12\n", "size 12\nX 1\n"),
            ("size 12\n", "size 12\n\n"),
        ] {
            let changed = good.replace(from, to);
            assert_eq!(Pointer::parse(&changed), None, "{from} {to}");
        }
        for len in 0..good.len() - 1 {
            let _ = Pointer::parse(good.get(..len).unwrap());
        }
    }
}
