//! Hidden changesets: those that are obsolete, archived or for Mercurial's own use, unless something visible depends
//! on them (`hg help evolution`).

use super::obsolescence::{HiddenMarks, is_marked, obsolete_nodes};
use super::{Revisions, Target};
use crate::abort::Abort;
use crate::ancestry;
use crate::checkout::{MergeState, Phase};
use crate::text_file;

impl Revisions<'_> {
    /// Finds out which changesets are hidden, unless that is known.
    ///
    /// # Errors
    /// Phases or markers are damaged or not understood.
    pub(super) fn look_for_hidden(&mut self) -> Result<(), Abort> {
        if self.may_hide()? && !self.shows_hidden && self.hidden_marks.is_none() {
            self.hidden_marks = Some(self.find_hidden()?);
        }
        Ok(())
    }

    /// Returns whether some changesets may be hidden.
    ///
    /// # Errors
    /// Phases or markers cannot be read, or are damaged.
    pub(super) fn may_hide(&self) -> Result<bool, Abort> {
        self.has_hidden.clone()
    }

    /// Returns whether a changeset is hidden.
    pub(super) fn is_hidden(&self, number: u32) -> bool {
        let hidden_marks = self.hidden_marks.as_ref().filter(|_| !self.shows_hidden);
        hidden_marks.is_some_and(|hidden_marks| is_marked(&hidden_marks.is_hidden, number))
    }

    /// Returns the changesets that are not hidden, in order.
    pub(super) fn visible(&self) -> Vec<u32> {
        let all = 0..u32::try_from(self.changelog.len()).unwrap_or(u32::MAX);
        all.filter(|number| !self.is_hidden(*number)).collect()
    }

    /// Returns the phase of each changeset.
    ///
    /// # Errors
    /// The phases are damaged or not understood.
    pub(super) fn phases(&self) -> Result<Vec<Phase>, Abort> {
        let phases = Phase::of_all(self.repository, &self.changelog);
        phases.ok_or_else(|| Abort::unsupported("a file of phases that is not understood"))
    }

    /// Refuses to find the heads of branches if hidden changesets are shown: then it is not known which changesets are
    /// obsolete.
    ///
    /// # Errors
    /// Hidden changesets are shown, and there may be some.
    pub(super) fn refuse_unknown_heads(&self) -> Result<(), Abort> {
        match self.may_hide()? && self.shows_hidden {
            true => {
                let said = "names of branches where hidden changesets are shown";
                Err(Abort::unsupported(said))
            }
            false => Ok(()),
        }
    }

    /// Returns whether a changeset is obsolete. Such a changeset is not a head of a branch.
    pub(super) fn is_obsolete(&self, number: u32) -> bool {
        let hidden_marks = self.hidden_marks.as_ref();
        hidden_marks.is_some_and(|hidden_marks| is_marked(&hidden_marks.is_obsolete, number))
    }

    fn find_hidden(&self) -> Result<HiddenMarks, Abort> {
        let phases = self.phases()?;
        let folder = self.repository.store().folder().to_path_buf();
        let markers = text_file::read(&folder.join("obsstore"));
        let markers = markers.or_else(none_if_missing)?;
        let markers = obsolete_nodes(&markers);
        let markers = markers
            .ok_or_else(|| Abort::unsupported("obsolete markers that are not understood"))?;
        let is_obsolete = |number: &u32| {
            let node = self.changelog.node(*number);
            node.is_some_and(|node| markers.contains(&node))
        };
        let numbers = (0u32..).zip(&phases);
        let is_obsolete =
            numbers.map(|(number, phase)| *phase > Phase::Public && is_obsolete(&number));
        let is_obsolete: Vec<bool> = is_obsolete.collect();
        let all = is_obsolete.iter().zip(&phases);
        let is_hidden = all.map(|(is_obsolete, phase)| *is_obsolete || *phase >= Phase::Archived);
        let mut is_hidden: Vec<bool> = is_hidden.collect();
        for target in self.pinned()? {
            if let Target::Changeset(number) = target {
                show(&mut is_hidden, number);
            }
        }
        for number in (0..u32::try_from(phases.len()).unwrap_or(u32::MAX)).rev() {
            let phase = phases.get(number as usize).copied();
            if phase > Some(Phase::Public) && !is_marked(&is_hidden, number) {
                let parents = ancestry::parents(&self.changelog, number);
                for parent in parents.into_iter().flatten() {
                    show(&mut is_hidden, parent);
                }
            }
        }
        Ok(HiddenMarks {
            is_hidden,
            is_obsolete,
        })
    }

    /// Returns what must stay visible: changesets that have a bookmark or local tag, are checked out, or are being merged.
    fn pinned(&self) -> Result<Vec<Target>, Abort> {
        let mut pinned = self.parents.to_vec();
        pinned.extend(self.bookmarked()?);
        let tagged = self.find_all(self.local_tags()?.into_iter());
        pinned.extend(tagged.into_values());
        if let Some(state) = MergeState::read(self.repository)?
            && state.is_active
            && !state.unresolved.is_empty()
        {
            for node in &state.sides {
                pinned.extend(self.find(node));
            }
        }
        Ok(pinned)
    }

    /// Returns the changesets that have bookmarks.
    ///
    /// # Errors
    /// Mercurial would complain of the bookmarks file.
    pub(super) fn bookmarked(&self) -> Result<Vec<Target>, Abort> {
        self.bookmarked_with(|_| true)
    }
}

/// Returns no bytes for a missing file. Any other error is refused, since a file that cannot be read may hide more.
fn none_if_missing(error: std::io::Error) -> Result<Vec<u8>, Abort> {
    match error.kind() {
        std::io::ErrorKind::NotFound => Ok(Vec::new()),
        _ => Err(Abort::unsupported("obsolete markers that cannot be read")),
    }
}

fn show(is_hidden: &mut [bool], number: u32) {
    if let Some(is_hidden) = is_hidden.get_mut(number as usize) {
        *is_hidden = false;
    }
}
