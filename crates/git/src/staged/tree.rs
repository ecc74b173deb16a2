//! Reads tree objects, entry by entry.

use std::cmp::Ordering;

use bstr::{BStr, ByteSlice};
use gix_hash::{Kind, ObjectId};
use vigil_model::mode::FileMode;

/// One entry of a tree object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TreeEntry<'a> {
    pub(crate) key: Key<'a>,
    pub(crate) mode: FileMode,
    pub(crate) id: ObjectId,
    /// Its length in the tree object, in bytes.
    pub(crate) len: usize,
}

/// The order of entries in one directory, in trees as well as in the index: by the bytes of their names, with a `/` at
/// the end of a directory's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) is_dir: bool,
}

impl Ord for Key<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let common = self.name.len().min(other.name.len());
        let (a, a_rest) = self.name.split_at(common);
        let (b, b_rest) = other.name.split_at(common);
        let next = |rest: &[u8], is_dir: bool| rest.first().copied().or(is_dir.then_some(b'/'));
        a.cmp(b)
            .then_with(|| next(a_rest, self.is_dir).cmp(&next(b_rest, other.is_dir)))
            .then_with(|| self.name.len().cmp(&other.name.len()))
    }
}

impl PartialOrd for Key<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<'a> TreeEntry<'a> {
    /// Reads `mode SP name NUL id` at the start of `data`, the rest of a tree object; `None` at its end. The error is
    /// git's text.
    pub(crate) fn first(data: &'a [u8], hash: Kind) -> Result<Option<Self>, &'static str> {
        if data.is_empty() {
            return Ok(None);
        }
        let id_len = hash.len_in_bytes();
        let last_name_end = data.len().checked_sub(id_len.saturating_add(1));
        if data.len() < id_len.saturating_add(3)
            || last_name_end.and_then(|at| data.get(at)) != Some(&0)
        {
            return Err("too-short tree object");
        }
        let malformed = "malformed mode in tree entry";
        let space = data.find_byte(b' ').ok_or(malformed)?;
        let (digits, rest) = data.split_at_checked(space).ok_or(malformed)?;
        let mode = parse_mode(digits).ok_or(malformed)?;
        let rest = rest.get(1..).unwrap_or_default();
        let nul = rest.find_byte(0).ok_or("too-short tree object")?;
        let (name, rest) = rest.split_at_checked(nul).unwrap_or_default();
        if name.is_empty() {
            return Err("empty filename in tree entry");
        }
        let (id, rest) = rest
            .get(1..)
            .and_then(|rest| rest.split_at_checked(id_len))
            .ok_or("too-short tree file")?;
        Ok(Some(Self {
            key: Key {
                name,
                is_dir: mode.is_tree(),
            },
            mode,
            id: ObjectId::try_from(id).map_err(|_| "too-short tree file")?,
            len: data.len().saturating_sub(rest.len()),
        }))
    }
}

/// Parses an octal mode of up to 16 bits, and normalizes it to one that git writes.
fn parse_mode(digits: &[u8]) -> Option<FileMode> {
    if digits.is_empty() {
        return None;
    }
    let mode = digits.iter().try_fold(0u32, |mode, digit| {
        let digit = digit.checked_sub(b'0').filter(|digit| *digit < 8)?;
        Some(((mode << 3) | u32::from(digit)) & 0xffff)
    })?;
    Some(FileMode(mode).canonical_in_tree())
}

/// An entry of a tree object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed<'a> {
    /// Its name.
    pub name: &'a BStr,
    /// Its mode, as git writes it.
    pub mode: FileMode,
    /// The object's id.
    pub id: ObjectId,
}

/// Returns the entries of the tree object `contents`, with ids of the kind `hash`, in their order. Ends with the first
/// error, whose text is git's.
pub fn tree_entries(
    contents: &[u8],
    hash: Kind,
) -> impl Iterator<Item = Result<Listed<'_>, &'static str>> {
    let mut rest = contents;
    std::iter::from_fn(move || match TreeEntry::first(rest, hash) {
        Ok(None) => None,
        Ok(Some(entry)) => {
            rest = rest.get(entry.len..).unwrap_or_default();
            Some(Ok(Listed {
                name: entry.key.name.into(),
                mode: entry.mode,
                id: entry.id,
            }))
        }
        Err(words) => {
            rest = b"";
            Some(Err(words))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(mut data: &[u8]) -> Vec<Result<(String, u32), &'static str>> {
        let mut found = Vec::new();
        loop {
            match TreeEntry::first(data, Kind::Sha1) {
                Ok(None) => return found,
                Ok(Some(entry)) => {
                    let name = String::from_utf8_lossy(entry.key.name).into();
                    found.push(Ok((name, entry.mode.0)));
                    data = &data[entry.len..];
                }
                Err(words) => {
                    found.push(Err(words));
                    return found;
                }
            }
        }
    }

    fn entry(head: &str) -> Vec<u8> {
        let mut bytes = head.as_bytes().to_vec();
        bytes.push(0);
        bytes.extend([7; 20]);
        bytes
    }

    #[test]
    fn modes_are_brought_to_those_that_git_writes() {
        let modes = [
            ("100664", 0o100_644),
            ("100711", 0o100_755),
            ("40000", 0o040_000),
            ("040000", 0o040_000),
            ("120777", 0o120_000),
            ("160000", 0o160_000),
            ("0", 0o160_000),
        ];
        for (digits, mode) in modes {
            let found = read(&entry(&format!("{digits} a")));
            assert_eq!(found, [Ok(("a".into(), mode))], "{digits}");
        }
    }

    #[test]
    fn malformed_entries_end_with_gits_words() {
        let good = entry("100644 a");
        let followed_by = |bytes: &[u8]| read(&[&good, bytes].concat());
        let first = Ok(("a".into(), 0o100_644));
        let too_short = [Err("too-short tree object")];
        assert_eq!(followed_by(b"1"), too_short);
        assert_eq!(read(&good[..20]), too_short);
        let cases = [
            ("x00644 a", "malformed mode in tree entry"),
            (" a", "malformed mode in tree entry"),
            ("100644a", "malformed mode in tree entry"),
            ("100644 ", "empty filename in tree entry"),
        ];
        for (head, words) in cases {
            assert_eq!(
                followed_by(&entry(head)),
                [first.clone(), Err(words)],
                "{head}"
            );
        }
    }

    #[test]
    fn a_directory_sorts_as_if_its_name_ended_in_a_slash() {
        let key = |name: &'static str| match name.strip_suffix('/') {
            Some(name) => Key {
                name: name.as_bytes(),
                is_dir: true,
            },
            None => Key {
                name: name.as_bytes(),
                is_dir: false,
            },
        };
        let order = ["a", "a-b", "a-b/", "a.b", "a/", "a0", "ab", "b/"].map(key);
        for (i, a) in order.iter().enumerate() {
            for (j, b) in order.iter().enumerate() {
                assert_eq!(a.cmp(b), i.cmp(&j), "{a:?} {b:?}");
            }
        }
    }
}
