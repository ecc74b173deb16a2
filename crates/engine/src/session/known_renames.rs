//! The renames that were last found among staged changes. Objects do not change, so the same search finds the same again, and
//! comparing hundreds of files takes longer than everything else.

use std::collections::BTreeMap;

use bstr::{BStr, BString};
use parking_lot::Mutex;
use vigil_git::staged::{StagedChange, UnmergedPath};
use vigil_model::request::RenameRule;

/// The paths whose attributes a search looked up. For those whose contents were compared, also whether an attribute makes them
/// binary.
pub(super) type Asked = BTreeMap<BString, Option<Option<bool>>>;

/// The last search that read contents, and what it found.
#[derive(Default)]
pub(super) struct KnownRenames(Mutex<Option<Found>>);

/// A search, and what it found.
pub(super) struct Found {
    pub(super) changes: Vec<StagedChange>,
    pub(super) unmerged: Vec<UnmergedPath>,
    pub(super) rule: RenameRule,
    pub(super) asked: Asked,
    /// The changes with renames.
    pub(super) renamed: Vec<StagedChange>,
}

impl KnownRenames {
    /// Returns what the last search found, if this is the same. `is_as_then` asks for the attributes of each path again, and tells
    /// whether they are the same still.
    pub(super) fn of(
        &self,
        changes: &[StagedChange],
        unmerged: &[UnmergedPath],
        rule: &RenameRule,
        mut is_as_then: impl FnMut(&BStr, Option<Option<bool>>) -> bool,
    ) -> Option<Vec<StagedChange>> {
        let found = self.0.lock();
        let found = found.as_ref()?;
        let is_same = found.rule == *rule && found.changes == changes && found.unmerged == unmerged;
        let mut asked = found.asked.iter();
        (is_same && asked.all(|(path, binary)| is_as_then(path.as_ref(), *binary)))
            .then(|| found.renamed.clone())
    }

    /// Keeps what a search found, in place of the one before.
    pub(super) fn keep(&self, found: Found) {
        *self.0.lock() = Some(found);
    }
}

#[cfg(test)]
mod tests;
