//! Objects whose ids share a prefix.

use bstr::BStr;
use gix_hash::ObjectId;

use super::{Error, Objects};

impl Objects {
    /// Returns the objects whose ids start with the hexadecimal `digits` (four or more), in order. If none is
    /// found, looks once more, since some may have been added.
    ///
    /// # Errors
    /// The objects cannot be listed.
    pub fn starting_with(&self, digits: &BStr) -> Result<Vec<ObjectId>, Error> {
        let mut is_again = false;
        let found = self.readers.with_store(|store, messages| {
            let mut found = store.with_prefix(digits, messages)?;
            if found.is_empty() {
                store.list(messages)?;
                is_again = true;
                found = store.with_prefix(digits, messages)?;
            }
            Ok((!found.is_empty()).then_some(found))
        });
        if is_again {
            // git looks for the alternates once more.
            self.readers
                .add_messages(self.readers.messages_about_alternates());
        }
        Ok(found?.unwrap_or_default())
    }

    /// As [`Self::starting_with`], but without looking again for new objects.
    pub(crate) fn all_starting_with(&self, digits: &BStr) -> Result<Vec<ObjectId>, Error> {
        let found = self
            .readers
            .with_store(|store, messages| store.with_prefix(digits, messages).map(Some));
        Ok(found?.unwrap_or_default())
    }
}
