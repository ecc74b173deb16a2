//! The entry point of the fuzzer.

use bstr::{BStr, ByteSlice};

use super::{Revisions, Target, names, tags};

impl Revisions<'_> {
    /// Parses `text` as each kind of file that names changesets, looking for `name`.
    pub fn fuzz(&self, name: &BStr, text: &[u8]) {
        let bookmarks = self.bookmarks_in(text, |known| known == name.as_bytes());
        let bookmark = bookmarks.into_values().next();
        let branch = self.find_in_cache(text, name).flatten();
        for target in [bookmark, branch.map(Target::Changeset)] {
            if let Some(Target::Changeset(number)) = target {
                assert!((number as usize) < self.changelog.len());
            }
        }
        tags::fuzz(text, name);
        names::fuzz(text);
    }
}
