//! Names of branches: each means the newest open head of the branch.

use bstr::{BStr, ByteSlice};

use super::Revisions;
use crate::abort::Abort;
use crate::ancestry;
use crate::node::Node;
use crate::stored::Store;
use crate::text_file;

/// Mercurial's branch caches, one per view of the repository. They are used only where nothing may be hidden.
const CACHES: [&str; 4] = [
    "branch2-visible",
    "branch2-served",
    "branch2",
    "branch2-base",
];

impl Revisions<'_> {
    /// Returns the changeset that a branch name means, if there is such a branch.
    pub(super) fn branch(&mut self, name: &BStr) -> Result<Option<u32>, Abort> {
        if self.may_hide()? {
            self.refuse_unknown_heads()?;
            self.look_for_hidden()?;
            return self.find_in_changelog(name);
        }
        if !self.topics()?.is_empty() {
            // The caches have the branches without their topics.
            return self.find_in_changelog(name);
        }
        for cache in CACHES {
            let path = self.repository.shared.join("cache").join(cache);
            let text = text_file::read(&path).unwrap_or_default();
            if let Some(found) = self.find_in_cache(&text, name) {
                return Ok(found);
            }
        }
        self.find_in_changelog(name)
    }

    /// Looks up a branch in a cache; returns `None` if the cache is not of this history.
    pub(super) fn find_in_cache(&self, text: &[u8], name: &BStr) -> Option<Option<u32>> {
        let mut lines = text.split(|byte| *byte == b'\n');
        let (node, number) = lines.next()?.split_once_str(" ")?;
        let last = u32::try_from(self.changelog.len().checked_sub(1)?).ok()?;
        let is_of_this = number.to_str().ok()?.parse() == Ok(last)
            && Node::from_hex(node)? == self.changelog.revision(last)?.node;
        if !is_of_this {
            return None;
        }
        let mut heads: Vec<(bool, Node)> = Vec::new();
        for line in lines.filter(|line| !line.is_empty()) {
            let (node, rest) = line.split_once_str(" ")?;
            let (state, branch) = rest.split_once_str(" ")?;
            if branch == name.as_bytes() {
                heads.push((state == b"o", Node::from_hex(node)?));
            }
        }
        let known = self
            .changelog
            .find_all(heads.iter().map(|(_, node)| *node).collect());
        let mut best: Option<(bool, u32)> = None;
        for (is_open, node) in heads {
            best = best.max(Some((is_open, *known.get(&node)?)));
        }
        Some(best.map(|(_, number)| number))
    }

    fn find_in_changelog(&mut self, name: &BStr) -> Result<Option<u32>, Abort> {
        let topics = self.topics()?.clone();
        let len = u32::try_from(self.changelog.len()).unwrap_or(u32::MAX);
        // Marks the ancestors of the branch's changesets, which are no heads of it.
        let mut is_below = vec![false; len as usize];
        let mut closed = None;
        for number in (0..len).rev() {
            if self.is_hidden(number) {
                continue;
            }
            let covered = is_below.get(number as usize).copied().unwrap_or_default();
            let changeset = Store::changeset(&mut self.changelog, number)?;
            let is_of_branch = changeset.branch == name.as_bytes()
                && !topics.contains_key(&number)
                && !self.is_obsolete(number);
            if is_of_branch && !covered {
                if !changeset.is_closing {
                    return Ok(Some(number));
                }
                closed = closed.or(Some(number));
            }
            if is_of_branch || covered {
                for parent in ancestry::parents(&self.changelog, number)
                    .into_iter()
                    .flatten()
                {
                    if let Some(is_below) = is_below.get_mut(parent as usize) {
                        *is_below = true;
                    }
                }
            }
        }
        Ok(closed)
    }
}
