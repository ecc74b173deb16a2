//! What is watched for a session, what is looked at for each question even so, and why.

use bstr::{BStr, BString};
use vigil_convert::attribute_files::SourceTree;
use vigil_git::operation::Operation;
use vigil_model::path::is_at_or_below;
use vigil_model::tracked::Tracked;
use vigil_scan::SilentPaths;

use super::governing::governing_files;
use super::watch_basis::Basis;
use super::watched::{UNWATCHED, WatchedFindings};
use super::{IndexState, Session, WatchReport};

/// How many of the paths that are looked at each time are named.
const LOOKED_AT_MAX: usize = 100;

/// Reasons why something is looked at for each question.
const OTHER_NAMES: &str =
    "it has other names, is a link or converted, or has a directory in its place";
const NESTED: &str = "it is a repository, or may become one";
const GOVERNED_SILENTLY: &str = "what is shown of it depends on files that cannot be heard of";
const SILENT_BESIDE: &str = "what is beside its tracked files cannot be heard of";

impl Session {
    /// Whether everything that the last answer rests on is watched, except the user's own configuration and the system's.
    pub fn watches_everything(&self) -> bool {
        let mut folders = self
            .repository_watch
            .iter()
            .flat_map(|watch| watch.known_until());
        let watched = self.watched.as_ref();
        // These also depend on files, references and repositories that are not watched, as does an operation in progress.
        let rests_on_more = |state: &IndexState| {
            state.written_sparse.is_some() || state.tracked.sums().gitlinks > 0
        };
        let rests_on_more = self.index.as_ref().is_none_or(rests_on_more)
            || SourceTree::of(&self.repository).is_some()
            || Operation::may_come(&self.repository);
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
        for (tree, _) in self.watch_positions().trees {
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
                (path, why.unwrap_or(GOVERNED_SILENTLY.to_owned()))
            })
            .chain(folders)
            .chain(nested)
            .chain(files)
    })
}
