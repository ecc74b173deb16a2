//! Tree manifests: a line with the flag `t` is a directory, not a file. The directory's files are in a manifest of its own, with
//! paths relative to the directory.

use std::collections::BTreeMap;

use bstr::{BStr, BString, ByteSlice};
use vigil_model::path::PATH_LEN_MAX;

use super::manifest::HEX_LEN;
use super::{Store, no_manifest};
use crate::abort::{Abort, Kind};
use crate::bytes::bytes;
use crate::node::Node;

/// The flag of a directory's line.
const DIRECTORY: &[u8] = b"t";
/// The maximum length in bytes of the lines of all directories.
const LEN_MAX: usize = 1 << 31;

/// The maximum number of directories. Links in the store can give one manifest many paths, so that a few manifests stand for
/// exponentially many directories.
const DIRECTORIES_MAX: usize = 1 << 20;

/// One line. The name ends with a slash if it is a directory.
struct Line {
    name: BString,
    /// The node in hexadecimal digits, and the flag.
    rest: BString,
}

impl Line {
    fn is_directory(&self) -> bool {
        self.name.ends_with(b"/")
    }
}

impl Store {
    /// Expands the text of the top's manifest, whose node is `node`, into that of all files; also returns the nodes of all
    /// manifests.
    pub(super) fn with_directories(
        &self,
        text: Vec<u8>,
        node: Node,
    ) -> Result<(Vec<u8>, BTreeMap<BString, Node>), Abort> {
        self.with_at_most(DIRECTORIES_MAX, text, node)
    }

    fn with_at_most(
        &self,
        directories_max: usize,
        text: Vec<u8>,
        node: Node,
    ) -> Result<(Vec<u8>, BTreeMap<BString, Node>), Abort> {
        let mut nodes = BTreeMap::from([(BString::default(), node)]);
        // A manifest from before directories had their own has no such line, and is used as it is.
        let ends_as_directory = |line: &[u8]| {
            let rest = line
                .find_byte(0)
                .and_then(|end| line.get(end.checked_add(1)?..));
            rest.and_then(|rest| rest.get(HEX_LEN..)) == Some(DIRECTORY)
        };
        if !text.split(|byte| *byte == b'\n').any(ends_as_directory) {
            return Ok((text, nodes));
        }
        let mut all = Vec::new();
        let top = lines(&text, "".into())?.into_iter();
        let mut open = vec![(BString::default(), top)];
        while let Some((directory, lines_left)) = open.last_mut() {
            let Some(line) = lines_left.next() else {
                open.pop();
                continue;
            };
            let path = bytes!(directory, line.name);
            if !line.is_directory() {
                all.extend_from_slice(&bytes!(path, [0], line.rest, "\n"));
                if all.len() > LEN_MAX {
                    return Err(damaged(path.as_bstr(), "there are too many files"));
                }
                continue;
            }
            if path.len() > PATH_LEN_MAX {
                return Err(damaged(path.as_bstr(), "the path is too long"));
            }
            if nodes.len() > directories_max {
                return Err(damaged(path.as_bstr(), "there are too many directories"));
            }
            let node = line.rest.get(..HEX_LEN).and_then(Node::from_hex);
            let node = node.ok_or_else(|| damaged(path.as_bstr(), "its node is none"))?;
            let text = self.text_of_directory(path.as_bstr(), &node)?;
            let below = lines(&text, path.as_bstr())?.into_iter();
            nodes.insert(path.clone(), node);
            open.push((path, below));
        }
        Ok((all, nodes))
    }

    fn text_of_directory(&self, path: &BStr, node: &Node) -> Result<Vec<u8>, Abort> {
        if node.is_null() {
            return Ok(Vec::new());
        }
        let mut manifests = self.manifests_of(path)?;
        match manifests.find(node) {
            Some(number) => manifests.text(number),
            // Nobody may have sent it, since the clone does not have that directory.
            None if self.features.ellipses => Err(Abort::unsupported(bytes!(
                "the directory '",
                path.strip_suffix(b"/").unwrap_or(path),
                "', whose manifest a narrow clone lacks"
            ))),
            None => {
                let name = bytes!("meta/", path, "00manifest");
                Err(no_manifest(name.as_bstr(), node))
            }
        }
    }
}

/// The lines of the manifest of `directory`, sorted by the paths that they lead to.
fn lines(text: &[u8], directory: &BStr) -> Result<Vec<Line>, Abort> {
    let mut all = Vec::new();
    for line in text.lines_with_terminator() {
        let line = line.strip_suffix(b"\n");
        let parts = line.and_then(|line| line.split_once_str(b"\0"));
        let (name, rest) = parts.ok_or_else(|| damaged(directory, "a line is none"))?;
        let is_directory = rest.get(HEX_LEN..) == Some(DIRECTORY);
        if is_directory && (matches!(name, b"" | b"." | b"..") || name.contains(&b'/')) {
            return Err(damaged(directory, "the name of a directory is none"));
        }
        all.push(Line {
            name: bytes!(name, if is_directory { "/" } else { "" }),
            rest: rest.into(),
        });
    }
    all.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(all)
}

fn damaged(path: &BStr, what: &str) -> Abort {
    let path = path.strip_suffix(b"/").unwrap_or(path);
    let message = bytes!("the manifest of '", path, "' is damaged: ", what);
    Abort::of(Kind::Storage, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stored::{Names, StoreFeatures};

    fn line(name: &str, flag: &str) -> String {
        format!("{name}\0{}{flag}\n", Node([7; 20]))
    }

    #[test]
    fn lines_are_in_the_order_of_the_paths_below() {
        let text = [
            line("a", "t"),
            line("a-b", ""),
            line("a.b", "x"),
            line("a0", ""),
        ]
        .concat();
        let lines = lines(text.as_bytes(), "d/".into()).unwrap();
        let names: Vec<_> = lines.iter().map(|line| line.name.as_bstr()).collect();
        assert_eq!(names, ["a-b", "a.b", "a/", "a0"]);
    }

    #[test]
    fn what_is_no_directory_is_refused() {
        for name in ["", ".", "..", "a/b", "../a", "/"] {
            assert!(
                lines(line(name, "t").as_bytes(), "".into()).is_err(),
                "{name}"
            );
        }
        for text in ["a", "a\n", "a\0", "\0\n\n"] {
            assert!(lines(text.as_bytes(), "".into()).is_err(), "{text:?}");
        }
        let folder = tempfile::tempdir().unwrap();
        let features = StoreFeatures {
            trees: true,
            ..StoreFeatures::default()
        };
        let store = Store::new(folder.path().into(), Names::Plain, features);
        let message = |text: String| {
            let read = store.with_directories(text.into_bytes(), Node::NULL);
            read.unwrap_err().to_string()
        };
        let missing = message(line("a", "t"));
        assert_eq!(
            missing,
            format!("meta/a/00manifest@{}: no node", Node([7; 20]))
        );
        let narrow = Store {
            features: StoreFeatures {
                ellipses: true,
                ..features
            },
            ..store.clone()
        };
        let refused = narrow
            .with_directories(line("a", "t").into_bytes(), Node::NULL)
            .unwrap_err();
        assert_eq!(refused.kind, Kind::Unsupported);
        let long = message(line(&"a".repeat(5000), "t"));
        assert!(long.ends_with("the path is too long"), "{long}");
        let digits = message(line("a", "t").replace('7', "z"));
        assert!(digits.ends_with("its node is none"), "{digits}");
        // A null node is an empty manifest, and a text without directories stays as it is.
        let nothing = line("a", "t").replace('7', "0");
        let (text, nodes) = store
            .with_directories(nothing.into_bytes(), Node([1; 20]))
            .unwrap();
        assert_eq!((text, nodes.len()), (Vec::new(), 2));
        let flat = line("a/b", "").into_bytes();
        let (text, nodes) = store.with_directories(flat.clone(), Node([1; 20])).unwrap();
        assert_eq!((text, nodes.len()), (flat, 1));
    }

    #[test]
    fn the_number_of_directories_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path().into(), Names::Plain, StoreFeatures::default());
        let text = ["a", "b", "c"].map(|name| line(name, "t").replace('7', "0"));
        let read = |directories_max| {
            let text = text.concat().into_bytes();
            store.with_at_most(directories_max, text, Node([1; 20]))
        };
        assert_eq!(read(3).unwrap().1.len(), 4);
        let message = read(2).unwrap_err().to_string();
        assert!(
            message.ends_with("there are too many directories"),
            "{message}"
        );
    }
}
