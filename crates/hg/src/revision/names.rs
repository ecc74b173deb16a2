//! Resolves names of changesets, in the order in which Mercurial tries their kinds.

use std::collections::BTreeMap;

use bstr::{BStr, ByteSlice};

use super::target::Meaning;
use super::{Revisions, Target};
use crate::abort::Abort;
use crate::bookmarks;
use crate::bytes::bytes;
use crate::node::Node;

/// The number of the working copy.
const WORKING_COPY: &[u8] = b"2147483647";

impl Revisions<'_> {
    /// Returns what a name means, if anything.
    pub(super) fn resolve(&mut self, name: &BStr) -> Result<Meaning, Abort> {
        match name.as_bytes() {
            b"." => return Ok(Meaning::One(self.parent())),
            b"null" => return Ok(Meaning::One(Target::Null)),
            _ => {}
        }
        self.look_for_hidden()?;
        let meaning = match self.meanings.get(name.as_bytes().as_bstr()) {
            Some(meaning) => *meaning,
            None => {
                let meaning = self.resolve_even_hidden(name)?;
                self.meanings.insert(name.to_owned(), meaning);
                meaning
            }
        };
        match meaning {
            Meaning::One(Target::Changeset(number)) if self.is_hidden(number) => {
                let message = bytes!("the hidden changeset '", name, "'");
                Err(Abort::unsupported(message))
            }
            seen => Ok(seen),
        }
    }

    fn resolve_even_hidden(&mut self, name: &BStr) -> Result<Meaning, Abort> {
        match name.as_bytes() {
            b"tip" => return Ok(Meaning::One(self.tip())),
            WORKING_COPY => return Ok(Meaning::One(Target::WorkingCopy)),
            _ => {}
        }
        if let Some(number) = number(name, self.changelog.len()) {
            return Ok(Meaning::One(Target::Changeset(number)));
        }
        if let Some(target) = Node::from_hex(name).and_then(|node| self.find(&node)) {
            return Ok(Meaning::One(target));
        }
        if let Some(target) = self.bookmark(name)? {
            return Ok(Meaning::One(target));
        }
        if let Some(node) = self.tag(name)? {
            // If the tag's changeset is not in this repository, Mercurial goes on with prefixes of nodes, and skips branches.
            return match self.find(&node) {
                Some(target) => Ok(Meaning::One(target)),
                None => Ok(self.by_node_prefix(name)),
            };
        }
        if let Some(number) = self.branch(name)? {
            return Ok(Meaning::One(Target::Changeset(number)));
        }
        if let Some(target) = self.topic(name)? {
            return Ok(Meaning::One(target));
        }
        Ok(self.by_node_prefix(name))
    }

    /// Returns the changeset of a bookmark.
    ///
    /// # Errors
    /// Mercurial would complain of the bookmarks file.
    pub(super) fn bookmark(&self, name: &BStr) -> Result<Option<Target>, Abort> {
        let text = bookmarks::read(self.repository, self.sharing)?;
        let found = self.bookmarks_in(&text, |known| known == name.as_bytes());
        Ok(found.into_values().next())
    }

    /// Returns the changesets of the bookmarks whose name is sought.
    ///
    /// # Errors
    /// As for [`Self::bookmark`].
    pub(super) fn bookmarked_with(
        &self,
        is_sought: impl Fn(&[u8]) -> bool,
    ) -> Result<Vec<Target>, Abort> {
        let text = bookmarks::read(self.repository, self.sharing)?;
        let found = self.bookmarks_in(&text, is_sought);
        Ok(found.into_values().collect())
    }

    /// Returns the bookmarks in the text of a bookmarks file whose name is sought, each with its changeset.
    pub(super) fn bookmarks_in<'t>(
        &self,
        text: &'t [u8],
        is_sought: impl Fn(&[u8]) -> bool,
    ) -> BTreeMap<&'t BStr, Target> {
        let lines = text.split(|byte| *byte == b'\n');
        let lines = lines.filter_map(bookmarks::line);
        let lines: Vec<(Node, &BStr)> = lines.filter(|(_, name)| is_sought(name)).collect();
        let known = self.find_all(lines.iter().map(|(node, _)| *node));
        // Of lines with the same name, the last one with a changeset that is there counts.
        let targets = lines.iter().filter_map(|(node, name)| {
            let target = known.get(node);
            target.map(|target| (*name, *target))
        });
        targets.collect()
    }

    /// Returns the changeset whose node begins with these digits.
    pub(super) fn by_node_prefix(&self, name: &BStr) -> Meaning {
        let digits = name.strip_prefix(b"x").unwrap_or(name);
        if digits.is_empty() {
            return Meaning::Ambiguous;
        }
        let is_prefix = digits.len() <= 2 * Node::LEN && digits.iter().all(u8::is_ascii_hexdigit);
        if !is_prefix {
            return Meaning::Nothing;
        }
        let digits = digits.to_ascii_lowercase();
        let found = self.changelog.find_prefix(&digits, 2);
        let is_all = |digit: u8| digits.iter().all(|other| *other == digit);
        let (null, working) = (is_all(b'0'), is_all(b'f'));
        match (found.as_slice(), null, working) {
            ([only], false, false) => Meaning::One(Target::Changeset(*only)),
            ([], true, _) => Meaning::One(Target::Null),
            ([], _, true) => Meaning::One(Target::WorkingCopy),
            ([], false, false) => Meaning::Nothing,
            _ => Meaning::Ambiguous,
        }
    }
}

/// Parses a number, which counts from the end if it is negative.
fn number(name: &BStr, len: usize) -> Option<u32> {
    let text = name.to_str().ok()?;
    let number: i64 = text.parse().ok()?;
    if number.to_string() != text {
        return None;
    }
    let len = i64::try_from(len).ok()?;
    let number = if number < 0 {
        number.checked_add(len)?
    } else {
        number
    };
    (0..len)
        .contains(&number)
        .then(|| u32::try_from(number).ok())?
}

/// The entry point of the fuzzer.
#[cfg(feature = "fuzzing")]
pub(super) fn fuzz(text: &[u8]) {
    super::obsolescence::fuzz(text);
}
