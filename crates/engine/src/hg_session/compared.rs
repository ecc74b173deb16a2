//! Which stored versions files were compared with, and whether those are still what the store has.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Bound::{Excluded, Unbounded};
use std::path::Path;

use bstr::{BStr, BString, ByteSlice};
use vigil_hg::patterns::leads_out_of_reach;

use crate::hg_system::StoreSeen;

/// How many files are looked up for one question if the store looks untouched.
const LOOKED_UP_MAX: usize = 64;

/// The files that were compared. Changes in the store are not learned from events, unlike those in the working copy.
#[derive(Debug, Default)]
pub(super) struct ComparedFiles {
    /// Each file, with the identity of what it was compared with.
    all: BTreeMap<BString, u64>,
    /// The store, as of the last question.
    store: Option<StoreSeen>,
    /// The last file that was looked up.
    last: BString,
}

impl ComparedFiles {
    /// Adds files that were just compared.
    pub(super) fn add(&mut self, mut compared: BTreeMap<BString, u64>) {
        self.all.append(&mut compared);
    }

    /// Removes and returns the files for which the store, by `with`, now has something other than what they were compared with.
    ///
    /// Mercurial locks the store before it writes there, which shows in `store`. If the store looks untouched, only a few files
    /// are looked up each time, so that changes by other programs are found, too, after some questions.
    pub(super) fn take_outdated(
        &mut self,
        store: Option<StoreSeen>,
        with: impl Fn(&BStr) -> Option<u64>,
    ) -> BTreeSet<BString> {
        let is_left_alone = store.is_some() && store == self.store;
        self.store = store;
        let most = match is_left_alone {
            true => LOOKED_UP_MAX.min(self.all.len()),
            false => self.all.len(),
        };
        let after = self
            .all
            .range::<BString, _>((Excluded(&self.last), Unbounded));
        let looked_up: Vec<_> = after.chain(&self.all).take(most).collect();
        let is_outdated = |(path, known): &&(&BString, &u64)| with(path.as_bstr()) != Some(**known);
        let outdated = looked_up.iter().filter(is_outdated);
        let outdated: BTreeSet<BString> = outdated.map(|(path, _)| (*path).clone()).collect();
        let last = looked_up.last().map(|(path, _)| (*path).clone());
        self.last = last.unwrap_or_default();
        if !outdated.is_empty() {
            self.all.retain(|path, _| !outdated.contains(path));
        }
        outdated
    }

    /// Whether one of the files lies behind a link or in another repository, below `root`. A walk gets there through an ignored
    /// directory, and Mercurial reads such files only on a walk.
    pub(super) fn any_is_out_of_reach(&self, root: &Path) -> bool {
        let mut seen: HashSet<&BStr> = HashSet::new();
        let directories = self.all.keys().flat_map(|path| {
            let ends = path.rfind_iter(b"/");
            ends.filter_map(|end| path.get(..end).map(BStr::new))
        });
        directories
            .filter(|directory| seen.insert(directory))
            .any(|directory| leads_out_of_reach(root, directory))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    const FILES: usize = 600;

    fn files() -> ComparedFiles {
        let mut files = ComparedFiles::default();
        files.add((0..FILES).map(|n| (format!("{n:03}").into(), 1)).collect());
        files
    }

    #[test]
    fn a_store_that_is_left_alone_is_looked_up_bit_by_bit() {
        let mut files = files();
        let looked_up = Cell::new(0);
        let same = |_: &BStr| {
            looked_up.set(looked_up.get() + 1);
            Some(1)
        };
        let store = |number| Some(StoreSeen::for_tests(number));
        for (number, expected) in [
            (1, FILES),
            (1, LOOKED_UP_MAX),
            (2, FILES),
            (2, LOOKED_UP_MAX),
        ] {
            looked_up.set(0);
            assert!(files.take_outdated(store(number), same).is_empty());
            assert_eq!(looked_up.get(), expected);
        }
        // An unknown store proves nothing.
        for _ in 0..2 {
            looked_up.set(0);
            files.take_outdated(None, same);
            assert_eq!(looked_up.get(), FILES);
        }
    }

    #[test]
    fn each_file_has_its_turn() {
        for other in ["000", "300", "599"] {
            let mut files = files();
            let store = Some(StoreSeen::for_tests(1));
            files.take_outdated(store, |_| Some(1));
            let with = |path: &BStr| Some(if path == other { 2 } else { 1 });
            let found =
                (0..FILES.div_ceil(LOOKED_UP_MAX)).flat_map(|_| files.take_outdated(store, with));
            assert_eq!(found.collect::<Vec<_>>(), [other]);
        }
    }
}
