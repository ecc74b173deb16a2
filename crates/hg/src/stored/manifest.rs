//! Manifests: the files of a changeset, one line each, in the order of their paths.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use bstr::{BStr, BString, ByteSlice};

use crate::node::Node;

/// The kind of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flag {
    /// A file.
    #[default]
    Plain,
    /// A file that may be executed.
    Executable,
    /// A symbolic link.
    Link,
}

impl Flag {
    /// Returns the flag with which a file of this mode would be committed.
    pub fn of_mode(mode: u32) -> Self {
        const TYPE: u32 = 0o170_000;
        const LINK: u32 = 0o120_000;
        match (mode & TYPE == LINK, mode & 0o100 != 0) {
            (true, _) => Self::Link,
            (false, true) => Self::Executable,
            (false, false) => Self::Plain,
        }
    }
}

/// One file of a changeset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ManifestEntry {
    /// The node of its contents.
    pub node: Node,
    /// The kind of the file.
    pub flag: Flag,
}

/// The files of a changeset.
#[derive(Clone, Debug, Default)]
pub struct Manifest {
    text: Vec<u8>,
    /// The nodes of the manifests of directories that have their own, by path with a slash at the end. If there are any, the top
    /// is among them, as the empty path.
    directories: BTreeMap<BString, Node>,
}

/// The number of hexadecimal digits of a node.
pub(super) const HEX_LEN: usize = 2 * Node::LEN;

impl Manifest {
    /// Parses the text of a manifest; `None` if it is malformed.
    pub fn parse(text: Vec<u8>) -> Option<Self> {
        let manifest = Self {
            text,
            directories: BTreeMap::new(),
        };
        let mut previous: Option<&BStr> = None;
        let mut rest = manifest.text.as_slice();
        while !rest.is_empty() {
            let len = rest.find_byte(b'\n')?;
            let (path, _) = line(rest.get(..len)?)?;
            if previous.is_some_and(|previous| previous >= path) {
                return None;
            }
            previous = Some(path);
            rest = rest.get(len.checked_add(1)?..)?;
        }
        Some(manifest)
    }

    /// Sets the nodes of the manifests of directories.
    #[must_use]
    pub(super) fn of_directories(self, directories: BTreeMap<BString, Node>) -> Self {
        Self {
            directories,
            ..self
        }
    }

    /// The node of the manifest of a directory, if it has its own. The path ends with a slash, unless it is the top.
    pub fn directory(&self, path: &BStr) -> Option<Node> {
        self.directories.get(path).copied()
    }

    /// Returns whether directories have manifests of their own.
    pub fn has_directories(&self) -> bool {
        !self.directories.is_empty()
    }

    /// The files in the order of their paths' bytes.
    pub fn iter(&self) -> impl Iterator<Item = (&BStr, ManifestEntry)> {
        self.text.split(|byte| *byte == b'\n').filter_map(line)
    }

    /// Returns the file at `path`.
    pub fn get(&self, path: &BStr) -> Option<ManifestEntry> {
        let (found, entry) = self.first_from(path)?;
        (found == path).then_some(entry)
    }

    /// Returns whether there are files below `path`.
    pub fn has_directory(&self, path: &BStr) -> bool {
        if path.is_empty() {
            return !self.text.is_empty();
        }
        let start = [path.as_bytes(), b"/"].concat();
        let first = self.first_from(start.as_bstr());
        first.is_some_and(|(found, _)| found.starts_with(&start))
    }

    /// Returns the first file whose path does not sort before `path`.
    fn first_from(&self, path: &BStr) -> Option<(&BStr, ManifestEntry)> {
        let (mut low, mut high) = (0, self.text.len());
        while low < high {
            let middle = low.midpoint(high);
            let before = self.text.get(low..middle)?;
            let start = match before.rfind_byte(b'\n') {
                Some(end) => low.saturating_add(end).saturating_add(1),
                None => low,
            };
            let rest = self.text.get(start..)?;
            let len = rest.find_byte(b'\n')?;
            let (found, entry) = line(rest.get(..len)?)?;
            match found.cmp(path) {
                Ordering::Equal => return Some((found, entry)),
                Ordering::Less => low = start.saturating_add(len).saturating_add(1),
                Ordering::Greater => high = start,
            }
        }
        let rest = self.text.get(low..)?;
        line(rest.get(..rest.find_byte(b'\n')?)?)
    }
}

/// Parses a line: the path, a NUL, the node in hexadecimal digits, and the flag.
fn line(line: &[u8]) -> Option<(&BStr, ManifestEntry)> {
    let end = line.find_byte(0)?;
    let (path, rest) = line.split_at_checked(end)?;
    let (digits, flag) = rest.get(1..)?.split_at_checked(HEX_LEN)?;
    let entry = ManifestEntry {
        node: Node::from_hex(digits)?,
        flag: match flag {
            b"" => Flag::Plain,
            b"x" => Flag::Executable,
            b"l" => Flag::Link,
            _ => return None,
        },
    };
    (!path.is_empty()).then_some((path.as_bstr(), entry))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(files: &[(&str, u8, &str)]) -> Vec<u8> {
        let line = |(path, byte, flag): &(&str, u8, &str)| {
            format!("{path}\0{}{flag}\n", Node([*byte; 20]))
        };
        files.iter().map(line).collect::<String>().into_bytes()
    }

    #[test]
    fn each_file_is_found() {
        let files: Vec<(String, u8)> = (0..200u8)
            .map(|n| (format!("d{:03}/f", u32::from(n) * 2), n))
            .collect();
        let lines: Vec<_> = files
            .iter()
            .map(|(path, n)| (path.as_str(), *n, "x"))
            .collect();
        let manifest = Manifest::parse(text(&lines)).unwrap();
        for (path, n) in &files {
            let entry = manifest.get(path.as_str().into()).unwrap();
            assert_eq!((entry.node, entry.flag), (Node([*n; 20]), Flag::Executable));
        }
        for n in 0..=200 {
            assert_eq!(
                manifest.get(format!("d{:03}/f", n * 2 + 1).as_str().into()),
                None
            );
        }
        assert_eq!(manifest.iter().count(), 200);
        assert_eq!(Manifest::default().get("a".into()), None);
    }

    #[test]
    fn what_is_no_manifest_is_refused() {
        assert!(Manifest::parse(text(&[("a", 1, ""), ("b", 1, "l")])).is_some());
        for wrong in [
            text(&[("b", 1, ""), ("a", 1, "")]),
            text(&[("a", 1, ""), ("a", 1, "")]),
            text(&[("a", 1, "t")]),
            text(&[("", 1, "")]),
            b"a\n".to_vec(),
            text(&[("a", 1, "")])[..30].to_vec(),
        ] {
            assert!(Manifest::parse(wrong).is_none());
        }
    }
}
