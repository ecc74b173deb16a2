//! What a changeset did to files, according to its sidedata (`hg help internals.revlogs`, "Copy tracing sidedata").
//!
//! The number of files in four bytes; for each the action in one byte, the end of its path in four, and the number of the file
//! that it was copied from in four; then the paths. Files that are only copy sources are listed, too.

use bstr::BString;

use crate::fields::u32_at;

/// The key of this sidedata.
pub(super) const SIDEDATA_KEY: u16 = 12;
/// A changeset's flag: something in it matters to copies.
pub(super) const TOUCHES_COPIES: u16 = 1 << 12;
const COUNT_LEN: usize = 4;
const FILE_LEN: usize = 9;
/// The maximum length in bytes of all copy sources together: each may name the same long path.
const SOURCES_LEN_MAX: usize = 1 << 28;

/// What was done to a file, as far as it matters to copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Versions of both parents were merged.
    Merged,
    /// It was removed.
    Removed,
    /// It was kept, though a merge might have removed it.
    Salvaged,
    /// Any other action, or none.
    Other,
}

/// The source of a copy: a path among the files of one parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopySource {
    /// A path of the first parent.
    FromFirstParent(BString),
    /// A path of the second parent.
    FromSecondParent(BString),
}

/// One file of a changeset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFile {
    /// The path.
    pub path: BString,
    /// What was done to it.
    pub action: Action,
    /// What it was copied from.
    pub source: Option<CopySource>,
}

/// Parses the list of files; `None` if it is malformed. Empty bytes are an empty list.
pub(super) fn parse(bytes: &[u8]) -> Option<Vec<ChangedFile>> {
    if bytes.is_empty() {
        return Some(Vec::new());
    }
    let count = u32_at(bytes, 0)? as usize;
    let paths_at = COUNT_LEN.checked_add(count.checked_mul(FILE_LEN)?)?;
    let paths = bytes.get(paths_at..)?;
    let record = |number: usize| {
        let at = COUNT_LEN.checked_add(number.checked_mul(FILE_LEN)?)?;
        let what = *bytes.get(at)?;
        let end = u32_at(bytes, at.checked_add(1)?)? as usize;
        let source = u32_at(bytes, at.checked_add(5)?)? as usize;
        Some((what, end, source))
    };
    let path = |number: usize| {
        let start = match number.checked_sub(1) {
            Some(before) => record(before)?.1,
            None => 0,
        };
        paths.get(start..record(number)?.1)
    };
    let mut room = SOURCES_LEN_MAX;
    let mut source_path = |number: usize| {
        let found = path((number < count).then_some(number)?)?;
        room = room.checked_sub(found.len())?;
        Some(BString::from(found))
    };
    let file = |number: usize| {
        let (what, _, source) = record(number)?;
        let action = match what >> 2 & 0b111 {
            0b010 => Action::Merged,
            0b011 => Action::Removed,
            0b100 => Action::Salvaged,
            _ => Action::Other,
        };
        let source = match what & 0b11 {
            0b10 => Some(CopySource::FromFirstParent(source_path(source)?)),
            0b11 => Some(CopySource::FromSecondParent(source_path(source)?)),
            _ => None,
        };
        Some(ChangedFile {
            path: path(number)?.into(),
            action,
            source,
        })
    };
    (0..count).map(file).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sidedata(files: &[(u8, &str, u32)]) -> Vec<u8> {
        let mut bytes = u32::try_from(files.len()).unwrap().to_be_bytes().to_vec();
        let mut end = 0;
        for (what, path, source) in files {
            end += u32::try_from(path.len()).unwrap();
            bytes.push(*what);
            bytes.extend(end.to_be_bytes());
            bytes.extend(source.to_be_bytes());
        }
        bytes.extend(files.iter().flat_map(|(_, path, _)| path.bytes()));
        bytes
    }

    #[test]
    fn files_are_read() {
        let bytes = sidedata(&[
            (0b00110, "added", 3),
            (0b01011, "merged", 4),
            (0b01100, "removed", 0),
            (0, "source", 0),
            (0b10000, "z", 0),
        ]);
        let file = |path: &str, action, source| ChangedFile {
            path: path.into(),
            action,
            source,
        };
        let expected = [
            file(
                "added",
                Action::Other,
                Some(CopySource::FromFirstParent("source".into())),
            ),
            file(
                "merged",
                Action::Merged,
                Some(CopySource::FromSecondParent("z".into())),
            ),
            file("removed", Action::Removed, None),
            file("source", Action::Other, None),
            file("z", Action::Salvaged, None),
        ];
        assert_eq!(parse(&bytes).unwrap(), expected);
        assert_eq!(parse(b""), Some(Vec::new()));
        for len in 1..bytes.len() {
            assert_eq!(parse(&bytes[..len]), None, "{len}");
        }
    }

    #[test]
    fn what_leads_elsewhere_is_refused() {
        assert_eq!(parse(&sidedata(&[(0b110, "a", 1)])), None);
        assert_eq!(parse(&sidedata(&[(0b110, "a", u32::MAX)])), None);
        assert_eq!(parse(&[0xff; 40]), None);
        // Many copies of one long path would exceed the limit.
        let long = "p".repeat(1 << 20);
        let mut files = vec![(0, long.as_str(), 0)];
        files.extend(std::iter::repeat_n((0b110, "", 0), 300));
        assert_eq!(parse(&sidedata(&files)), None);
        let mut backwards = sidedata(&[(0, "aa", 0), (0, "b", 0)]);
        backwards[4 + 9 + 4] = 1;
        assert_eq!(parse(&backwards), None);
    }
}
