//! Reads tree objects, entry by entry. Each entry is `<mode> SP <name> NUL <id>`; an error's text is git's.

use std::cmp::Ordering;

use bstr::ByteSlice;
use gix_hash::{Kind, ObjectId};
use vigil_model::mode::FileMode;

/// One entry of a tree object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeEntry<'a> {
    /// Its name, and whether it is a directory.
    pub key: Key<'a>,
    /// Its mode, as git writes it.
    pub mode: FileMode,
    /// The object's id.
    pub id: ObjectId,
    /// Its length in the tree object, in bytes.
    pub len: usize,
}

/// The order of entries in one directory, in trees as well as in the index: by the bytes of their names, with a `/` at
/// the end of a directory's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key<'a> {
    /// The name.
    pub name: &'a [u8],
    /// Whether the entry is a directory.
    pub is_dir: bool,
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
    /// Reads the entry at the start of `data`, the rest of a tree object with ids of the kind `hash`; `None` at its end.
    ///
    /// # Errors
    /// The entry is malformed.
    pub fn first(data: &'a [u8], hash: Kind) -> Result<Option<Self>, &'static str> {
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

/// Returns the entries of the tree object `contents`, with ids of the kind `hash`, in their order. Ends with the first
/// error.
pub fn entries(
    contents: &[u8],
    hash: Kind,
) -> impl Iterator<Item = Result<TreeEntry<'_>, &'static str>> {
    let mut rest = contents;
    std::iter::from_fn(move || match TreeEntry::first(rest, hash) {
        Ok(None) => None,
        Ok(Some(entry)) => {
            rest = rest.get(entry.len..).unwrap_or_default();
            Some(Ok(entry))
        }
        Err(words) => {
            rest = b"";
            Some(Err(words))
        }
    })
}

/// Does the same as git goes through a tree: an entry comes only if the next one is well-formed, too.
pub fn walked_entries(
    contents: &[u8],
    hash: Kind,
) -> impl Iterator<Item = Result<TreeEntry<'_>, &'static str>> {
    let mut entries = entries(contents, hash).peekable();
    std::iter::from_fn(move || {
        let entry = entries.next()?;
        match entries.peek() {
            Some(&Err(words)) => Some(Err(words)),
            _ => Some(entry),
        }
    })
}

/// Where a path leads in one tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'p> {
    /// To nothing.
    Missing,
    /// To an object: its id and mode.
    Found(ObjectId, FileMode),
    /// Into another tree: its id, and the rest of the path.
    Below(ObjectId, &'p [u8]),
}

/// Looks up `path` in the tree object `contents`, with ids of the kind `hash`. A path with a slash at its end is a
/// directory. As in git, the search ends with the first name that sorts after the path.
///
/// # Errors
/// An entry on the way is malformed.
pub fn look_up<'p>(contents: &[u8], path: &'p [u8], hash: Kind) -> Result<Step<'p>, &'static str> {
    for entry in walked_entries(contents, hash) {
        let entry = entry?;
        let name = entry.key.name;
        let Some((head, rest)) = path.split_at_checked(name.len()) else {
            continue;
        };
        match (head.cmp(name), rest) {
            (Ordering::Less, _) => break,
            (Ordering::Equal, [b'/', ..]) if !entry.key.is_dir => break,
            (Ordering::Equal, [] | [b'/']) => return Ok(Step::Found(entry.id, entry.mode)),
            (Ordering::Equal, [b'/', below @ ..]) => return Ok(Step::Below(entry.id, below)),
            (Ordering::Equal | Ordering::Greater, _) => {}
        }
    }
    Ok(Step::Missing)
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
    fn paths_are_looked_up_as_git_does() {
        let file = (ObjectId::from([7; 20]), FileMode(0o100_644));
        let dir = ObjectId::from([7; 20]);
        let found = Ok(Step::Found(file.0, file.1));
        let tree = ["100644 a", "40000 d", "100644 f"].map(entry).concat();
        let look = |tree: &[u8], path: &'static str| look_up(tree, path.as_bytes(), Kind::Sha1);
        assert_eq!(look(&tree, "a"), found);
        assert_eq!(look(&tree, "f"), found);
        assert_eq!(look(&tree, "d/"), Ok(Step::Found(dir, FileMode(0o040_000))));
        assert_eq!(look(&tree, "d/x/y"), Ok(Step::Below(dir, b"x/y")));
        for path in ["", "a/", "a/b", "b", "dd", "g"] {
            assert_eq!(look(&tree, path), Ok(Step::Missing), "{path}");
        }
        assert_eq!(look(b"", "a"), Ok(Step::Missing));
        // Out of order, a name is not found.
        let tree = ["100644 f", "100644 a"].map(entry).concat();
        assert_eq!(look(&tree, "a"), Ok(Step::Missing));
        // An entry counts only if the next one is well-formed.
        let tree = ["100644 a", "100644 b", "x c", "100644 d"]
            .map(entry)
            .concat();
        assert_eq!(look(&tree, "a"), found);
        for path in ["b", "c", "d"] {
            assert_eq!(look(&tree, path), Err("malformed mode in tree entry"));
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
