//! The names of files in a store, which must work on file systems without case, long names or unusual characters
//! (`hg help internals.requirements`: store, fncache, dotencode). Only stores meant for servers leave them
//! unencoded.

use bstr::{BString, ByteSlice};
use sha1::{Digest, Sha1};

use crate::bytes::join;

/// The rules by which files are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// Without a store: unencoded, except directories that look like revlogs.
    Plain,
    /// Unencoded, with an underscore after the name of each directory.
    Underscored,
    /// With characters escaped.
    Encoded,
    /// With reserved names escaped as well, and long paths shortened.
    Hybrid {
        /// Whether a leading dot or space of a name is escaped.
        dots: bool,
    },
}

/// The maximum length of a path in bytes; longer ones are shortened.
const PATH_LEN_MAX: usize = 120;
/// The length in bytes to which each directory's name is cut in a shortened path.
const DIRECTORY_LEN: usize = 8;
/// The maximum length in bytes of all directories' names together in a shortened path.
const DIRECTORIES_LEN_MAX: usize = 8 * (DIRECTORY_LEN + 1) - 4;

impl Names {
    /// Returns the name in the store of `path`, which begins with `data/` or the like.
    pub fn encoded(self, path: &[u8]) -> BString {
        if self == Self::Underscored {
            return underscored(path);
        }
        let path = directories_encoded(path);
        match self {
            Self::Plain | Self::Underscored => path,
            Self::Encoded => letters_encoded(&path),
            Self::Hybrid { dots } => {
                let parts = letters_encoded(&path);
                let parts: Vec<BString> = parts
                    .split(|byte| *byte == b'/')
                    .map(|part| reserved_encoded(part, dots))
                    .collect();
                let encoded = join(parts.iter().map(|part| part.as_slice()), b"/");
                match encoded.len() > PATH_LEN_MAX {
                    true => shortened(&path, dots),
                    false => encoded,
                }
            }
        }
    }
}

/// Only the directories of file revlogs, below `data/`, get an underscore.
fn underscored(path: &[u8]) -> BString {
    match path.strip_prefix(b"data/") {
        Some(file) => [b"data/".as_slice(), &file.replace("/", "_/")]
            .concat()
            .into(),
        None => path.into(),
    }
}

/// Appends `.hg` to directories whose names end like files of the store.
fn directories_encoded(path: &[u8]) -> BString {
    let mut encoded = path.to_vec();
    for end in [&b".hg/"[..], b".i/", b".d/"] {
        let name = end.strip_suffix(b"/").unwrap_or(end);
        encoded = encoded.replace(end, [name, b".hg/"].concat());
    }
    encoded.into()
}

fn push_hex(encoded: &mut BString, byte: u8) {
    encoded.extend_from_slice(format!("~{byte:02x}").as_bytes());
}

fn is_odd(byte: u8) -> bool {
    !(32..126).contains(&byte) || b"\\:*?\"<>|".contains(&byte)
}

fn letters_encoded(path: &[u8]) -> BString {
    let mut encoded = BString::default();
    for byte in path {
        match byte {
            b'A'..=b'Z' => encoded.extend([b'_', byte.to_ascii_lowercase()]),
            b'_' => encoded.extend(*b"__"),
            odd if is_odd(*odd) => push_hex(&mut encoded, *odd),
            other => encoded.push(*other),
        }
    }
    encoded
}

fn letters_lowered(path: &[u8]) -> BString {
    let mut encoded = BString::default();
    for byte in path {
        match byte {
            odd if is_odd(*odd) => push_hex(&mut encoded, *odd),
            other => encoded.push(other.to_ascii_lowercase()),
        }
    }
    encoded
}

/// Escapes a component that some systems take for a device, or do not allow.
fn reserved_encoded(part: &[u8], dots: bool) -> BString {
    let mut encoded = BString::default();
    match part {
        [first @ (b'.' | b' '), rest @ ..] if dots => {
            push_hex(&mut encoded, *first);
            encoded.extend_from_slice(rest);
        }
        _ => {
            let stem = part.find_byte(b'.').unwrap_or(part.len());
            let (stem, _) = part.split_at(stem);
            let is_reserved = matches!(
                stem,
                b"con"
                    | b"prn"
                    | b"aux"
                    | b"nul"
                    | [b'c', b'o', b'm', b'1'..=b'9']
                    | [b'l', b'p', b't', b'1'..=b'9']
            );
            match (is_reserved, part.split_at_checked(2), part.get(2)) {
                (true, Some((start, _)), Some(third)) => {
                    encoded.extend_from_slice(start);
                    push_hex(&mut encoded, *third);
                    encoded.extend_from_slice(part.get(3..).unwrap_or_default());
                }
                _ => encoded.extend_from_slice(part),
            }
        }
    }
    if let Some(last @ (b'.' | b' ')) = encoded.last().copied() {
        encoded.pop();
        push_hex(&mut encoded, last);
    }
    encoded
}

/// Shortens a path to the beginnings of its directories and of its name, and a hash.
fn shortened(path: &[u8], dots: bool) -> BString {
    let digest: [u8; 20] = Sha1::digest(path).into();
    let hash: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    // The first component is not part of the shortened path.
    let below = path.split_once_str("/").map_or(path, |(_, below)| below);
    let lowered = letters_lowered(below);
    let parts: Vec<BString> = lowered
        .split(|byte| *byte == b'/')
        .map(|part| reserved_encoded(part, dots))
        .collect();
    let Some((name, directories)) = parts.split_last() else {
        return path.into();
    };
    let extension = match name.rfind_byte(b'.') {
        Some(at) if name.iter().take(at).any(|byte| *byte != b'.') => {
            name.get(at..).unwrap_or_default()
        }
        _ => b"",
    };
    let mut start = BString::default();
    let mut kept = 0usize;
    for directory in directories {
        let mut part = BString::from(directory.get(..DIRECTORY_LEN).unwrap_or(directory));
        if let Some(last @ (b'.' | b' ')) = part.last_mut() {
            *last = b'_';
        }
        let len = match kept {
            0 => part.len(),
            _ => kept.saturating_add(1).saturating_add(part.len()),
        };
        if kept > 0 && len > DIRECTORIES_LEN_MAX {
            break;
        }
        kept = len;
        start.extend_from_slice(&part);
        start.push(b'/');
    }
    let fixed = [b"dh/".as_slice(), &start, hash.as_bytes(), extension].concat();
    let room = PATH_LEN_MAX.saturating_sub(fixed.len());
    let filler = name.get(..room.min(name.len())).unwrap_or_default();
    [
        b"dh/".as_slice(),
        &start,
        filler,
        hash.as_bytes(),
        extension,
    ]
    .concat()
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_directories_of_files_are_underscored() {
        for (path, name) in [
            ("data/a.i", "data/a.i"),
            ("data/A b/c_/d.i/e.d", "data/A b_/c__/d.i_/e.d"),
            ("meta/a/00manifest.i", "meta/a/00manifest.i"),
            ("00changelog-0123abcd.idx", "00changelog-0123abcd.idx"),
        ] {
            assert_eq!(Names::Underscored.encoded(path.as_bytes()), name);
        }
    }
}
