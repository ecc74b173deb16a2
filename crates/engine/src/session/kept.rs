//! What a process does with a session that answers `status` again and again, for callers who stand in different places.

use bstr::BString;

use super::{Session, SessionError};
use crate::status::{Status, StatusRequest};

impl Session {
    /// As [`Self::status`], for a caller who stands in `prefix` of the working tree: with a `/` at its end, or empty at the
    /// top. Since the last question anything may have changed.
    ///
    /// # Errors
    /// As for that.
    pub fn status_again(
        &mut self,
        prefix: BString,
        request: &StatusRequest,
    ) -> Result<Status, SessionError> {
        self.repository.prefix = prefix;
        self.refresh_history()?;
        let status = self.status(request);
        if let Some(state) = &mut self.index {
            state.let_go();
        }
        self.objects.rest();
        status
    }

    /// How many files are tracked, as far as the index was read.
    pub fn tracked_files(&self) -> usize {
        let state = self.index.as_ref();
        state.map_or(0, |state| state.tracked.sums().entries as usize)
    }
}
