//! Sessions that answer `status` again and again, for callers in different directories.

use std::sync::Arc;

use bstr::{BStr, BString};
use gix_hash::ObjectId;
use vigil_convert::attribute_files::SourceTree;
use vigil_git::refs::Head;
use vigil_history::revision::head::HeadByName;
use vigil_model::path::is_at_or_below;
use vigil_model::tracked::Tracked;
use vigil_scan::SilentPaths;

use super::governing::governing_files;
use super::nested_sessions::NestedSessions;
use super::watch_basis::Basis;
use super::watched::{UNWATCHED, WatchedFindings};
use super::{IndexState, Session, SessionError, UnchangedProof, WatchPositions, WatchReport};
use crate::status::{Status, StatusRequest};

/// How many of the paths that are looked at each time are named.
const LOOKED_AT_MAX: usize = 100;

/// Reasons why something is looked at for each question.
const OTHER_NAMES: &str =
    "it has other names, is a link or converted, or has a directory in its place";
const NESTED: &str = "it is a repository, or may become one";
const SILENT_BESIDE: &str = "what is beside its tracked files cannot be heard of";

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
        if status.is_ok() {
            head = head.or_else(|| self.head_by_name().ok());
            self.keep_head(head.filter(|_| self.refs.unread_count() == unread_before));
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
        let nested = nested.flat_map(|nested| nested.watch_positions().0);
        WatchPositions(trees.chain(nested).collect())
    }

    /// Whether everything that the last answer rests on is watched, except the user's own configuration and the system's.
    pub fn watches_everything(&self) -> bool {
        let mut folders = self
            .repository_watch
            .iter()
            .flat_map(|watch| watch.known_until());
        let watched = self.watched.as_ref();
        // These also depend on files, references and repositories that are not watched.
        let rests_on_more = |state: &IndexState| {
            state.written_sparse.is_some() || state.tracked.sums().gitlinks > 0
        };
        let rests_on_more = self.index.as_ref().is_none_or(rests_on_more)
            || SourceTree::of(&self.repository).is_some();
        let is_more =
            |watched: &WatchedFindings| !watched.mounted_files().is_empty() || watched.lacks_any();
        if rests_on_more || watched.is_some_and(is_more) {
            return false;
        }
        let silent_paths = watched.and_then(|watched| watched.silent_paths());
        folders.next().is_some()
            && silent_paths.is_some_and(|silent_paths| *silent_paths == SilentPaths::default())
    }

    /// Reports what is watched for this session.
    pub fn watch_report(&self) -> WatchReport {
        let mut report = WatchReport::default();
        for (tree, _) in self.watch_positions().0 {
            report.watches = report.watches.saturating_add(tree.watches());
        }
        if let Some(index) = &self.index {
            let (named, more) = looked_at(self.watched.as_ref(), &index.tracked);
            report.looked_at = named;
            report.looked_at_more = more;
        }
        report
    }

    /// Returns what answers about `path` are based on; `None` if nothing is kept about the working tree.
    pub fn basis(&self, path: &BStr) -> Option<Basis> {
        let tracked = self.index.as_ref().map(|index| &index.tracked);
        basis(self.watched.as_ref()?, tracked, path, governing_files(path))
    }
}

/// Returns what answers about `path` are based on, in a tree that is `watched` and has these `tracked` files. The files
/// `governing` affect `path`.
pub(crate) fn basis(
    watched: &WatchedFindings,
    tracked: Option<&Tracked>,
    path: &BStr,
    governing: impl Iterator<Item = BString>,
) -> Option<Basis> {
    let (looked_at_all, last_change) = watched.heard_of(path, governing)?;
    let mut all = tracked
        .into_iter()
        .flat_map(|tracked| each_time(watched, tracked));
    let each_time = all.find(|(above, _)| above.is_empty() || is_at_or_below(path, above));
    Some(Basis {
        looked_at_all,
        last_change,
        each_time: each_time.map(|(_, why)| why),
    })
}

/// Returns the paths that are looked at for each question, and why; at most [`LOOKED_AT_MAX`], and how many more there are. If
/// that is everything, it is the empty path. `watched` is `None` if nothing can be watched.
pub(crate) fn looked_at(
    watched: Option<&WatchedFindings>,
    tracked: &Tracked,
) -> (Vec<(BString, BString)>, usize) {
    let everything = |why: String| (vec![(BString::default(), why.into())], 0);
    let Some(watched) = watched else {
        return everything(UNWATCHED.to_owned());
    };
    if let Some(why) = watched.not_kept() {
        return everything(why);
    }
    let Some(silent_paths) = watched.silent_paths() else {
        return Default::default();
    };
    let named = each_time(watched, tracked).take(LOOKED_AT_MAX);
    let named: Vec<_> = named.map(|(path, why)| (path, why.into())).collect();
    let SilentPaths {
        files,
        folders,
        trees,
        nested,
    } = silent_paths;
    let all = [files.len(), folders.len(), trees.len(), nested.len()];
    let more = all.iter().sum::<usize>().saturating_sub(named.len());
    (named, more)
}

/// The paths that are looked at for each question, and why.
fn each_time<'w>(
    watched: &'w WatchedFindings,
    tracked: &'w Tracked,
) -> impl Iterator<Item = (BString, String)> + use<'w> {
    watched.silent_paths().into_iter().flat_map(|silent_paths| {
        let files = silent_paths.files.iter();
        let files = files.filter_map(|number| tracked.entry(*number));
        let files = files.map(|entry| (entry.path, OTHER_NAMES.to_owned()));
        let folders = silent_paths.folders.iter().cloned();
        let folders = folders.map(|path| (path, SILENT_BESIDE.to_owned()));
        let nested = silent_paths.nested.iter();
        let nested = nested.map(|nested| (nested.path.clone(), NESTED.to_owned()));
        let trees = silent_paths.trees.iter().cloned();
        trees
            .map(|path| {
                let why = watched.why_unwatched(path.as_ref());
                (path, why)
            })
            .chain(folders)
            .chain(nested)
            .chain(files)
    })
}
