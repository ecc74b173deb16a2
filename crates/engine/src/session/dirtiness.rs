//! The last answer of a submodule is given again until something that tells so may have changed: there may be hundreds of
//! submodules, and most of them rest.

use std::path::PathBuf;

use vigil_linux::stat::lstat_path;

use super::known_dirtiness::{Dirtiness, DirtinessQuestion, KnownDirtiness};
use super::watched::{self, Resting};
use super::{Session, UnchangedProof};

impl Session {
    /// Keeps the answer to `question` that was just found, if nothing that it rests on changes unheard. git must have had nothing to
    /// say meanwhile.
    pub(super) fn keep_dirtiness(&mut self, question: DirtinessQuestion, dirtiness: Dirtiness) {
        self.known_dirtiness = self
            .resting()
            .map(|(working_tree, loose_objects)| KnownDirtiness {
                question,
                working_tree,
                loose_objects,
                dirtiness,
            });
    }

    /// Returns what the last answer rests on, if all of it is known.
    fn resting(&self) -> Option<(Resting, Vec<PathBuf>)> {
        let head = self.known_head.as_ref()?;
        let tree = self.index.as_ref()?.staged.as_ref()?.compared.tree;
        let head_objects: Vec<_> = head.own.commit().into_iter().chain(tree).collect();
        if self.settings.order_file.is_some() || !self.watches_everything() {
            return None;
        }
        let loose_objects = self.objects.loose_files(&head_objects)?;
        Some((self.watched.as_ref()?.resting()?, loose_objects))
    }

    /// Returns the answer to `question` if it is the same as the last time. The repository's own folders must be `unchanged`, and
    /// the session fresh.
    pub(super) fn dirtiness_again(
        &mut self,
        question: DirtinessQuestion,
        unchanged: Option<UnchangedProof>,
    ) -> Option<Dirtiness> {
        let known = self.known_dirtiness.take()?;
        let is_same = unchanged.is_some()
            && known.question == question
            && self.holds_index(|_| true)
            && self.is_at_rest(&known.working_tree)
            && known
                .loose_objects
                .iter()
                .all(|path| lstat_path(path).is_ok());
        is_same.then(|| self.known_dirtiness.insert(known).dirtiness)
    }

    /// Whether nothing has changed in the working tree, or outside it in what tells how to look at it, since `then`.
    fn is_at_rest(&mut self, then: &Resting) -> bool {
        let rules = self.excludes.rules().digest();
        let index = self.index.as_ref().map(|index| index.serial);
        let (Some(top), Some(watched)) = (&self.repository.work_tree, &self.watched) else {
            return false;
        };
        then.key.rules == rules
            && !self.excludes.has_complaint()
            && index == Some(then.key.index)
            && watched::top_of(top).is_ok_and(|top| top == then.key.top)
            && watched.rests_since(then)
    }
}

#[cfg(test)]
mod tests;
