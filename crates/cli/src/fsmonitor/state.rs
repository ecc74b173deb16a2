//! The former configuration, kept in a file in Vigil's own folder so that exactly this can be restored.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use bstr::{BString, ByteSlice};

/// The name of the file.
const FILE: &str = "fsmonitor";

/// One key: its new value and its former values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Changed {
    pub(super) key: BString,
    pub(super) now: BString,
    pub(super) before: Vec<BString>,
}

/// Serializes one record per key. A NUL ends each part, and another one the record.
fn to_bytes(changed: &[Changed]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for one in changed {
        for part in [&one.key, &one.now].into_iter().chain(&one.before) {
            // Prefix each part, so that no part is empty even if a value is.
            bytes.push(b'=');
            bytes.extend_from_slice(part);
            bytes.push(0);
        }
        bytes.push(0);
    }
    bytes
}

fn from_bytes(bytes: &[u8]) -> Option<Vec<Changed>> {
    let mut changed = Vec::new();
    let mut parts = Vec::new();
    for part in bytes.strip_suffix(b"\0")?.split_str("\0") {
        if part.is_empty() {
            let mut record = std::mem::take(&mut parts).into_iter();
            changed.push(Changed {
                key: record.next()?,
                now: record.next()?,
                before: record.collect(),
            });
        } else {
            parts.push(BString::from(part.strip_prefix(b"=")?));
        }
    }
    parts.is_empty().then_some(changed)
}

/// The most bytes read of the file: far more than the values of a few keys.
const FILE_LEN_MAX: u64 = 1 << 20;

/// Reads what is kept in `folder`, if anything.
///
/// # Errors
/// The file cannot be read, or it is damaged.
pub(super) fn read(folder: &Path) -> io::Result<Option<Vec<Changed>>> {
    match vigil_stamp::file::read_up_to(&folder.join(FILE), FILE_LEN_MAX) {
        Ok(bytes) => match from_bytes(&bytes) {
            Some(changed) => Ok(Some(changed)),
            None => Err(io::Error::new(io::ErrorKind::InvalidData, "damaged")),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes `changed` to `folder`. No link that is there is followed: it may have come with the repository.
///
/// # Errors
/// The file cannot be written.
pub(super) fn write(folder: &Path, changed: &[Changed]) -> io::Result<()> {
    let new = folder.join(format!("{FILE}.new"));
    remove_if_there(&new)?;
    let mut file = File::create_new(&new)?;
    let written = file.write_all(&to_bytes(changed));
    let published = written.and_then(|()| fs::rename(&new, folder.join(FILE)));
    if published.is_err() {
        let _ = fs::remove_file(&new);
    }
    published
}

/// Removes what is kept in `folder`.
///
/// # Errors
/// The file cannot be removed.
pub(super) fn remove(folder: &Path) -> io::Result<()> {
    remove_if_there(&folder.join(FILE))
}

/// Removes the file `path`, which may be absent.
pub(super) fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_read_and_damage_is_noticed() {
        let changed = vec![
            Changed {
                key: "core.fsmonitor".into(),
                now: "true".into(),
                before: vec!["".into(), "a\nb".into()],
            },
            Changed {
                key: "core.untrackedcache".into(),
                now: "true".into(),
                before: Vec::new(),
            },
        ];
        let bytes = to_bytes(&changed);
        assert_eq!(from_bytes(&bytes), Some(changed));
        for damaged in [&b"x"[..], b"=a\0\0", &bytes[..bytes.len() - 2], b"a\0b\0\0"] {
            assert_eq!(from_bytes(damaged), None);
        }
    }
}
