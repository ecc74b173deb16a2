//! Subrepositories (`hg help subrepos`): `.hgsub` says where they are, and `.hgsubstate` which changeset of each is committed.

use std::collections::BTreeMap;

use bstr::{BStr, BString, ByteSlice};

use crate::abort::Abort;
use crate::bytes::{bytes, is_space, lines_with_ends, trim, trim_end};
use crate::node::Node;

/// The subrepositories by path, each with its committed changeset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subrepositories(BTreeMap<BString, Subrepository>);

/// A subrepository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subrepository {
    /// A Mercurial repository, with its committed changeset; `None` if the subrepository is new.
    Mercurial(Option<Node>),
    /// A repository of another system.
    Other {
        /// The name of the system.
        system: BString,
        /// The committed revision, in its words; empty if the subrepository is new.
        revision: BString,
    },
}

impl Subrepositories {
    /// Parses the texts of `.hgsub` and `.hgsubstate`; messages call the latter `name`.
    ///
    /// # Errors
    /// A line of either file is not understood.
    pub fn parse(hgsub: &[u8], hgsubstate: &[u8], name: &BStr) -> Result<Self, Abort> {
        // Mercurial reads one file after the other, and complains of the first error that it finds.
        let hgsub = parse_hgsub(hgsub)?;
        let nodes = parse_hgsubstate(hgsubstate, name)?;
        let mut all = BTreeMap::new();
        for HgsubLine { line, path, source } in hgsub {
            let system = match source.strip_prefix(b"[") {
                None => b"hg",
                Some(rest) => {
                    let parts = rest.split_once_str("]");
                    let message = "missing ] in subrepository source";
                    parts.ok_or_else(|| Abort::plain(message))?.0
                }
            };
            let subrepository = match nodes.get(path) {
                revision if system != b"hg" => Subrepository::Other {
                    system: system.into(),
                    revision: revision.copied().unwrap_or_default().into(),
                },
                None => Subrepository::Mercurial(None),
                Some(node) => {
                    let node = Node::from_hex(node).ok_or_else(|| refused(line))?;
                    Subrepository::Mercurial(Some(node))
                }
            };
            all.insert(path.into(), subrepository);
        }
        Ok(Self(all))
    }

    /// Returns whether there are no subrepositories.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the paths, in order.
    pub fn paths(&self) -> impl Iterator<Item = &BStr> {
        self.0.keys().map(|path| path.as_bstr())
    }

    /// Returns whether there is a subrepository at `path`.
    pub fn has(&self, path: &BStr) -> bool {
        self.0.contains_key(path.as_bytes().as_bstr())
    }

    /// Returns the subrepository at `path`.
    pub fn get(&self, path: &BStr) -> Option<&Subrepository> {
        self.0.get(path.as_bytes().as_bstr())
    }

    /// Returns whether `path` is inside a subrepository.
    pub fn contains(&self, path: &BStr) -> bool {
        let ends = path.find_iter("/");
        let mut above = ends.filter_map(|end| path.get(..end));
        above.any(|above| self.has(above.as_bstr()))
    }
}

/// A line of `.hgsub` that places a subrepository.
struct HgsubLine<'t> {
    line: &'t [u8],
    path: &'t [u8],
    source: &'t [u8],
}

fn refused(line: &[u8]) -> Abort {
    Abort::unsupported(bytes!("the line '", line, "' of .hgsub"))
}

/// Reads the lines of `.hgsub` before the first section.
fn parse_hgsub(text: &[u8]) -> Result<Vec<HgsubLine<'_>>, Abort> {
    let mut all = Vec::new();
    let mut is_at_top = true;
    for line in lines_with_ends(text) {
        let line = trim_end(line);
        match line.first() {
            None | Some(b'#' | b';') => continue,
            Some(b'[') if line.ends_with(b"]") => {
                is_at_top = false;
                continue;
            }
            Some(first) if *first == b'%' || is_space(*first) => return Err(refused(line)),
            _ => {}
        }
        let (path, source) = line.split_once_str("=").ok_or_else(|| refused(line))?;
        let (path, source) = (trim(path), trim(source));
        if !is_at_top {
            continue;
        }
        if path.is_empty() || source.is_empty() {
            return Err(refused(line));
        }
        all.push(HgsubLine { line, path, source });
    }
    Ok(all)
}

/// Reads the nodes of `.hgsubstate` by path; messages call the file `name`.
fn parse_hgsubstate<'t>(
    text: &'t [u8],
    name: &BStr,
) -> Result<BTreeMap<&'t [u8], &'t [u8]>, Abort> {
    let mut nodes = BTreeMap::new();
    for (at, line) in lines_with_ends(text).enumerate() {
        let line = line.trim_end_with(|letter| matches!(letter, '\n' | '\r'));
        let line = line.trim_start_with(|letter| u8::try_from(letter).is_ok_and(is_space));
        if line.is_empty() {
            continue;
        }
        let number = at.saturating_add(1).to_string();
        let (node, path) = line.split_once_str(" ").ok_or_else(|| {
            let message = "invalid subrepository revision specifier in '";
            Abort::plain(bytes!(message, name, "' line ", number))
        })?;
        nodes.insert(path, node);
    }
    Ok(nodes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(hgsub: &[u8], hgsubstate: &[u8]) -> Result<Subrepositories, Abort> {
        Subrepositories::parse(hgsub, hgsubstate, ".hgsubstate".into())
    }

    #[test]
    fn places_and_nodes_are_read() {
        let message = |hgsub, hgsubstate| parse(hgsub, hgsubstate).unwrap_err().to_string();
        // The first error is the one that is reported.
        assert!(message(b"nonsense", b"nonsense").contains("of .hgsub"));
        assert!(message(b"a = [git]b", b"nonsense").contains("specifier in '.hgsubstate' line 1"));
        assert!(message(b"a = [git b", b"").contains("missing ] in"));
        let node = Node([0xab; Node::LEN]);
        let hgsubstate = format!("{node} d/sub\n\n  {node} other\n");
        let hgsub = b"# a comment\nd/sub = ../there\n new = [hg]x\n";
        assert!(parse(hgsub, hgsubstate.as_bytes()).is_err());
        let hgsub = b"# a comment\nd/sub = ../there\r\nnew=[hg]x\n[subpaths]\na = b\n";
        let read = parse(hgsub, hgsubstate.as_bytes()).unwrap();
        assert_eq!(read.paths().collect::<Vec<_>>(), ["d/sub", "new"]);
        let one = |path: &str| read.get(path.into()).cloned();
        assert_eq!(one("d/sub"), Some(Subrepository::Mercurial(Some(node))));
        assert_eq!(one("new"), Some(Subrepository::Mercurial(None)));
        assert_eq!(one("d"), None);
        // The committed revision of another system's subrepository may be any text.
        let read = parse(b"a = [git]x\n", b"12 a\n").unwrap();
        assert_eq!(
            read.get("a".into()),
            Some(&Subrepository::Other {
                system: "git".into(),
                revision: "12".into()
            })
        );
        assert!(read.contains("a/b/c".into()) && !read.contains("a".into()));
    }

    #[test]
    fn what_is_not_understood_is_told() {
        for (hgsub, hgsubstate) in [
            (&b"%include x\n"[..], &b""[..]),
            (b"a\n", b""),
            (b"a =\n", b""),
            (b"a = b\n", b"nonsense\n"),
            (b"a = b\n", b"123 a\n"),
        ] {
            assert!(parse(hgsub, hgsubstate).is_err());
        }
    }
}
