//! Sessions that answer `status` again and again, for callers in different directories.

use std::sync::Arc;

use bstr::BString;
use gix_hash::ObjectId;
use vigil_convert::attribute_files::SourceTree;
use vigil_git::refs::Head;
use vigil_history::revision::head::HeadByName;

use super::nested_sessions::NestedSessions;
use super::{IndexState, Session, SessionError, UnchangedProof, WatchPositions};
use crate::status::{Status, StatusRequest};

impl Session {
    /// Like [`Self::status`], for a caller whose current directory is `prefix` in the working tree: with a trailing `/`, or empty
    /// at the top. Anything may have changed since the last question.
    ///
    /// # Errors
    /// As for [`Self::status`].
    pub fn status_again(
        &mut self,
        prefix: BString,
        request: &StatusRequest,
    ) -> Result<Status, SessionError> {
        if self.repository.prefix != prefix {
            Arc::make_mut(&mut self.repository).prefix = prefix;
        }
        self.refresh_history()?;
        let status = self.status(request);
        self.free_rereadable();
        status
    }

    /// Like [`Self::status_again`], for the repository around this one, and at the top. What lies in the repository's own folders is
    /// not looked at if it is `unchanged`.
    pub(super) fn status_in_submodule(
        &mut self,
        request: &StatusRequest,
        unchanged: Option<UnchangedProof>,
    ) -> Result<Status, SessionError> {
        let mut head = self.known_head.take();
        if unchanged.is_none() || !self.holds_index(|_| true) {
            head = None;
            self.refresh_history()?;
        }
        let unread_before = self.refs.unread_count();
        let status = self.status_with(request, head.as_ref());
        if let Ok(status) = &status {
            head = head.or_else(|| self.head_by_name().ok());
            // What git says of references is not looked for again.
            let is_silent = status.warnings.is_empty();
            let has_read_all = self.refs.unread_count() == unread_before;
            self.keep_head(head.filter(|_| is_silent && has_read_all));
        }
        self.free_rereadable();
        status
    }

    /// Keeps `head` until a change is heard in the repository's own folders, if these tell all of it and of the index.
    fn keep_head(&mut self, head: Option<HeadByName>) {
        let is_by_folders = |index: &IndexState| {
            index.written_sparse.is_none() && SourceTree::of(&self.repository).is_none()
        };
        let is_by_folders = self.index.as_ref().is_some_and(is_by_folders);
        let head = head.filter(|head| is_by_folders && head.messages.is_empty());
        let references = match head.as_ref().map(|head| &head.own) {
            Some(Head::Branch { name, .. }) => vec![name.clone()],
            _ => Vec::new(),
        };
        let watch = self.repository_watch.as_mut();
        let holds = watch.is_some_and(|watch| watch.answered(head.is_some(), references));
        self.known_head = head.filter(|_| holds);
    }

    /// HEAD's commit as it was for the last status, if it is `unchanged` and known.
    pub(super) fn known_commit(
        &self,
        unchanged: Option<UnchangedProof>,
    ) -> Option<Option<ObjectId>> {
        unchanged?;
        self.known_head.as_ref().map(|head| head.own.commit())
    }

    /// Has everything looked at again if a file was written in a submodule that has links which were not known: any file may be the
    /// same by another link. Returns whether that is so.
    pub(super) fn doubt_after_links_in_submodules(&mut self) -> bool {
        let met = self
            .nested
            .as_mut()
            .is_some_and(NestedSessions::take_met_links);
        if met {
            self.has_met_links = true;
            self.doubt();
        }
        met
    }

    /// The number of tracked files, if the index was read.
    pub fn tracked_files(&self) -> usize {
        self.own_files() as usize
    }

    /// Returns the positions up to which the last answer covers changes.
    pub fn watch_positions(&self) -> WatchPositions {
        let repository = self.repository_watch.iter();
        let trees = repository
            .flat_map(|watch| watch.known_until())
            .chain(
                self.watched
                    .iter()
                    .flat_map(|watched| watched.known_until()),
            )
            .map(|(tree, position)| (tree.clone(), position));
        let nested = self.nested.iter();
        let nested = nested.flat_map(|nested| nested.watched_positions());
        let mut lock = self.repository.index_path.clone().into_os_string();
        lock.push(".lock");
        WatchPositions {
            trees: trees.chain(nested).collect(),
            lock: Some(lock.into()),
        }
    }
}
