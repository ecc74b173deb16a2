//! Changesets by what they are called or marked with: tags, bookmarks, branches, phases.

use std::collections::HashSet;

use bstr::{BString, ByteSlice};
use regex::bytes::Regex;

use super::{Evaluation, Set, sorted, targets, without_null};
use crate::abort::{Abort, Kind};
use crate::checkout::Phase;
use crate::revision::Target;
use crate::revision::expression::Expression;
use crate::revision::functions::Sought;
use crate::stored::Store;

impl Evaluation<'_, '_> {
    /// Returns the changesets in this phase.
    pub(super) fn of_phase(&self, phase: Phase) -> Result<Set, Abort> {
        let phases = self.revisions.phases()?;
        let mut all = self.revisions.visible();
        all.retain(|number| phases.get(*number as usize) == Some(&phase));
        Ok(targets(all))
    }

    /// Returns what is sought by a word that is a regular expression; `None` if it is none.
    fn regular(&self, of: &Expression) -> Result<Option<Regex>, Abort> {
        let Some(word) = of.word().filter(|word| word.starts_with(b"re:")) else {
            return Ok(None);
        };
        match Sought::read(word.as_bstr(), false) {
            Some(Sought::Regular(regex)) if word.is_ascii() => Ok(Some(regex)),
            _ => Err(self.refused()),
        }
    }

    /// Returns a word that is meant literally, not as a pattern.
    fn literal(&self, of: &Expression) -> Result<BString, Abort> {
        let word = of.word().ok_or_else(|| self.refused())?;
        match word.strip_prefix(b"literal:") {
            Some(word) => Ok(word.into()),
            None if word.starts_with(b"re:") => Err(self.refused()),
            None => Ok(word),
        }
    }

    /// Returns the tagged changesets, or those with the tags that `of` names.
    pub(super) fn tags(&mut self, of: Option<&Expression>) -> Result<Set, Abort> {
        let Some(of) = of else {
            let found = self.revisions.tagged_with(|_| true)?;
            return self.sorted_if_visible(found);
        };
        if let Some(sought) = self.regular(of)? {
            let mut found = self.revisions.tagged_with(|name| sought.is_match(name))?;
            if sought.is_match(b"tip") {
                found.push(self.revisions.tip());
            }
            return self.sorted_if_visible(without_null(found));
        }
        let name = self.literal(of)?;
        if name == "tip" {
            return Ok(vec![self.revisions.tip()]);
        }
        let node = self.revisions.tag(name.as_bstr())?;
        let target = node.and_then(|node| self.revisions.find(&node));
        match target {
            Some(target) => self.sorted_if_visible(vec![target]),
            None => {
                let message = [b"tag '".as_slice(), &name, b"' does not exist"].concat();
                Err(Abort::of(Kind::Input, message))
            }
        }
    }

    /// Returns the changesets with bookmarks, or with those that `of` names.
    pub(super) fn bookmarks(&mut self, of: Option<&Expression>) -> Result<Set, Abort> {
        let Some(of) = of else {
            let found = self.revisions.bookmarked()?;
            return self.sorted_if_visible(found);
        };
        if let Some(sought) = self.regular(of)? {
            let found = self
                .revisions
                .bookmarked_with(|name| sought.is_match(name))?;
            return self.sorted_if_visible(without_null(found));
        }
        let name = self.literal(of)?;
        // This is the active bookmark.
        if name == "." {
            return Err(self.refused());
        }
        match self.revisions.bookmark(name.as_bstr())? {
            Some(target) => self.sorted_if_visible(vec![target]),
            None => {
                let message = [b"bookmark '".as_slice(), &name, b"' does not exist"].concat();
                Err(Abort::of(Kind::Input, message))
            }
        }
    }

    /// Sorts a set; refuses if any of it is hidden.
    fn sorted_if_visible(&self, found: Set) -> Result<Set, Abort> {
        let numbers = self.numbers(&found)?;
        match numbers
            .iter()
            .any(|number| self.revisions.is_hidden(*number))
        {
            true => Err(self.refused()),
            false => Ok(sorted(found)),
        }
    }

    /// Returns the changesets of a branch, or of the branches of a set.
    pub(super) fn of_branch(&mut self, of: &Expression) -> Result<Set, Abort> {
        self.revisions.refuse_unknown_heads()?;
        if !self.revisions.topics()?.is_empty() {
            // Whether a branch includes its topics depends on the release of the extension.
            return Err(self.refused());
        }
        let regular = self.regular(of)?;
        let all = self.revisions.visible();
        let mut branches = Vec::with_capacity(all.len());
        for number in &all {
            branches.push(Store::changeset(&mut self.revisions.changelog, *number)?.branch);
        }
        if let Some(sought) = regular {
            let found = all.iter().zip(&branches);
            let found = found.filter(|(_, branch)| sought.is_match(branch));
            return Ok(targets(found.map(|(number, _)| *number)));
        }
        let mut within = all.iter().zip(&branches);
        let mut is_branch = |name: &BString| {
            within.any(|(number, branch)| branch == name && !self.revisions.is_obsolete(*number))
        };
        let wanted: HashSet<BString> = match of.word() {
            Some(_) if is_branch(&self.literal(of)?) => [self.literal(of)?].into(),
            Some(word) if word.starts_with(b"literal:") => {
                let name = self.literal(of)?;
                let message = [b"branch '".as_slice(), &name, b"' does not exist"].concat();
                return Err(Abort::of(Kind::Input, message));
            }
            _ => {
                let wanted = self.set(of)?;
                let null = wanted.contains(&Target::Null).then(|| "default".into());
                let wanted: HashSet<u32> = self.changesets_or_null(&wanted)?.into_iter().collect();
                let within = all.iter().zip(&branches);
                let within = within.filter(|(number, _)| wanted.contains(number));
                let within = within.map(|(_, branch)| branch.clone());
                within.chain(null).collect()
            }
        };
        let found = all.iter().zip(&branches);
        let found = found.filter(|(_, branch)| wanted.contains(*branch));
        Ok(targets(found.map(|(number, _)| *number)))
    }
}
