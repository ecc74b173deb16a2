//! One Mercurial working copy, kept in memory between questions. [`crate::session`] is the same for git.
//!
//! The caller reads the configuration and requirements anew for each question, since any client may ask. What costs most is
//! kept: the dirstate, the compiled ignore patterns, what scans saw, and in a daemon the findings, which the kernel's events
//! keep up to date.

mod audit;
pub mod checkup;
mod compared;
mod ignored_changes;
mod known_ignored;
mod known_phase;
mod known_sparse;
mod on_disk;
mod own_folders;
mod patterns;
mod recorded;
mod state_place;
pub mod verify;
pub mod why;
mod working_copy;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bstr::{BStr, BString};
use vigil_hg::abort::Abort;
use vigil_hg::bookmarks::BookmarkSharing;
use vigil_hg::checkout::Checkout;
use vigil_hg::dirstate::Dirstate;
use vigil_hg::line_endings::LineEndings;
use vigil_hg::node::Node;
use vigil_hg::patterns::{Ignore, LoadedIgnore};
use vigil_hg::repository::Repository;
use vigil_hg::sparse::Sparse;
use vigil_linux::stat::stat_path;
use vigil_model::clock::ClockMark;
use vigil_model::request::{IgnoredMode, UntrackedMode};
use vigil_scan::{Findings, Focus, ScanError, ScanMemory, Watch};
use vigil_stamp::{Stamp, trust};
use vigil_store::Store;
use vigil_watch::Watcher;

use self::compared::ComparedFiles;
use self::ignored_changes::IgnoredChanges;
use self::known_ignored::KnownIgnored;
use self::known_phase::KnownPhase;
use self::known_sparse::KnownSparse;
use self::own_folders::OwnFolders;
use self::patterns::KnownPatterns;
use self::recorded::Recorded;
use crate::hg_status::{HgQuestion, HgRequest, HgStatus, RecordedFiles, ScanInputs, status_of};
use crate::hg_system::HgSystem;
use crate::session::looked_at::{basis, looked_at};
use crate::session::watch_basis::WatchPositions;
use crate::session::watched::{ChangeFilter, FindingsKey, FreshOrKept, WatchedFindings, top_of};
use crate::session::{Basis, WatchReport};
use crate::state::{self, State};

pub use state_place::{in_repository, places};
pub use working_copy::{HgWorkingCopy, is_innermost, root_around};

/// One working copy and what is known about it.
pub struct HgSession {
    root: PathBuf,
    /// The folder that holds the dirstate.
    dot_hg: PathBuf,
    /// Where the state may be on disk, in order of preference.
    places: Vec<Store>,
    /// How files are converted before they are compared.
    line_endings: Option<Arc<LineEndings>>,
    state: Option<State>,
    recorded: Option<Recorded>,
    patterns: KnownPatterns,
    sparse: KnownSparse,
    ignored: KnownIgnored,
    phase: KnownPhase,
    watched: Option<WatchedFindings>,
    own_folders: Option<OwnFolders>,
    /// Files whose contents were compared with those in the first parent. If the stored version changes, they are compared again.
    compared: ComparedFiles,
    /// Files so young that the same stat data may prove more later, or that could not be read, as of the last question whose
    /// answer is kept. The next question looks at them again.
    look_again: BTreeSet<BString>,
    /// The repository and its ignore patterns, as of the last question whose answer is kept.
    last: Option<(Repository, Arc<Ignore>)>,
    /// The parents that were found in the changelog, and the changelog's stamp at that time.
    parents: Option<([Node; 2], Stamp)>,
    /// When the session began to look.
    mark: ClockMark,
}

/// The parents of a working copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parents {
    /// Both parents. One that is not in the changelog is replaced by the null node, as in Mercurial.
    pub nodes: [Node; 2],
    /// The first parent that is not in the changelog.
    pub unknown: Option<Node>,
}

/// Whether something could not be looked at.
struct HasUnreadable(bool);

/// What is used of all that is kept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Uses {
    /// The findings for all files, from which other questions are answered, too.
    AllFiles,
    /// What is known of recorded files whose contents were compared.
    Comparisons,
    /// What is known of directories for this kind of question.
    Listings,
}

impl HgSession {
    /// Has files converted before they are compared. For a session that was made for one question, without places for a state:
    /// what is learnt about files would not hold for others.
    pub fn convert(&mut self, line_endings: Arc<LineEndings>) {
        self.line_endings = Some(line_endings);
    }

    /// Makes a session for `repository`, whose state may be on disk in one of `places`.
    pub fn new(repository: &Repository, places: Vec<Store>) -> Self {
        Self {
            root: repository.root.clone(),
            dot_hg: repository.dot_hg.clone(),
            places,
            line_endings: None,
            state: None,
            recorded: None,
            patterns: KnownPatterns::default(),
            sparse: KnownSparse::default(),
            ignored: KnownIgnored::default(),
            phase: KnownPhase::default(),
            watched: None,
            own_folders: None,
            compared: ComparedFiles::default(),
            look_again: BTreeSet::new(),
            last: None,
            parents: None,
            mark: trust::mark(),
        }
    }

    /// From now on, once everything has been looked at, looks only at what `watcher` reports.
    pub fn watch_by(&mut self, watcher: Arc<Watcher>) {
        self.own_folders = Some(OwnFolders::new(watcher.clone()));
        self.watched = Some(WatchedFindings::new(watcher));
    }

    /// Whether answers are taken from the findings for all files. Then the ignore patterns are needed whatever is asked.
    pub fn keeps_all(&self) -> bool {
        self.watched.is_some()
    }

    /// Whether this is the session of `repository`.
    pub fn is_of(&self, repository: &Repository) -> bool {
        self.root == repository.root && self.dot_hg == repository.dot_hg
    }

    /// Returns the current dirstate.
    ///
    /// # Errors
    /// The dirstate cannot be read, or is damaged.
    pub fn dirstate(&mut self, repository: &Repository) -> Result<Arc<Dirstate>, Abort> {
        self.refresh(repository)?;
        let recorded = self.recorded.as_ref();
        Ok(recorded.map_or_else(
            || Arc::new(Dirstate::empty()),
            |recorded| recorded.dirstate.clone(),
        ))
    }

    /// Returns the current ignore patterns in `files`.
    pub fn ignore(&mut self, files: &[PathBuf]) -> Arc<LoadedIgnore> {
        self.patterns.read(&self.root, files)
    }

    /// Returns which part of the files a sparse working copy has, by the dirstate that [`Self::dirstate`] last returned.
    ///
    /// # Errors
    /// The sparse configuration cannot be read.
    pub fn sparse(&mut self, repository: &Repository) -> Result<Arc<Sparse>, Abort> {
        if !repository.is_sparse() {
            return Ok(Arc::new(Sparse::everything()));
        }
        let parents = self.parents(repository)?;
        self.sparse.read(repository, &self.root, parents.nodes)
    }

    /// Answers a question, by the dirstate that [`Self::dirstate`] last returned.
    ///
    /// # Errors
    /// The working copy or the store cannot be read, or is damaged.
    pub fn status(&mut self, request: &HgRequest<'_>) -> Result<HgStatus, Abort> {
        let answered = self.try_status(request);
        if !self.drop_damaged_state() {
            return answered;
        }
        self.refresh(request.repository)?;
        self.try_status(request)
    }

    /// Returns the parents of the working copy, by the dirstate that [`Self::dirstate`] last returned.
    ///
    /// # Errors
    /// The changelog cannot be read, or is damaged. Mercurial reads it whatever is asked, and so fails, too.
    pub fn parents(&mut self, repository: &Repository) -> Result<Parents, Abort> {
        let Some(recorded) = &self.recorded else {
            return Ok(Parents::default());
        };
        let parents = recorded.dirstate.parents();
        let store = repository.store();
        let now = vigil_stamp::now();
        let stamp = stat_path(&store.changelog_index()).ok();
        let stamp = stamp.and_then(|stat| Stamp::trusted(&stat, now));
        let found = stamp.map(|stamp| (parents, stamp));
        if found.is_some() && self.parents == found {
            return Ok(Parents {
                nodes: parents,
                unknown: None,
            });
        }
        let changelog = store.changelog()?;
        let is_unknown = |parent: &Node| !parent.is_null() && changelog.find(parent).is_none();
        let unknown = parents.into_iter().find(is_unknown);
        self.parents = found.filter(|_| unknown.is_none());
        let nodes = parents.map(|parent| match is_unknown(&parent) {
            true => Node::default(),
            false => parent,
        });
        Ok(Parents { nodes, unknown })
    }

    /// Whether the first parent is not in the changelog, where it may have been before, and may be again.
    fn lacks_parent(&mut self, repository: &Repository) -> bool {
        let unknown = self
            .parents(repository)
            .ok()
            .and_then(|parents| parents.unknown);
        let recorded = self.recorded.as_ref();
        let first = recorded.and_then(|recorded| recorded.dirstate.parents().first().copied());
        unknown.is_some() && unknown == first
    }

    /// Returns what is checked out besides files, in a working copy with these `parents`.
    pub fn checkout(
        &mut self,
        repository: &Repository,
        parents: [Node; 2],
        sharing: BookmarkSharing,
    ) -> Checkout {
        let phase = self.phase.read(repository, &parents[0]);
        Checkout::read(repository, parents, phase, sharing)
    }

    fn try_status(&mut self, request: &HgRequest<'_>) -> Result<HgStatus, Abort> {
        if let Some(status) = self.status_from_all_files(request)? {
            return Ok(status);
        }
        if let Some(status) = self.status_from_comparisons(request)? {
            return Ok(status);
        }
        Ok(self.status_with(request, Uses::Listings)?.0)
    }

    /// Answers a question about all recorded files, and no others, by what walks found out about their contents. Returns `None`
    /// for other questions, and where Mercurial may end, as it never does on a walk.
    fn status_from_comparisons(
        &mut self,
        request: &HgRequest<'_>,
    ) -> Result<Option<HgStatus>, Abort> {
        let is_of_all_recorded =
            !request.unknown && !request.ignored && request.matcher.is_everything();
        if !is_of_all_recorded || self.keeps_all() || !self.has_scan_memory() {
            return Ok(None);
        }
        let (status, HasUnreadable(has_unreadable)) =
            self.status_with(request, Uses::Comparisons)?;
        let is_certain = !has_unreadable && !self.compared.any_is_out_of_reach(&self.root);
        Ok(is_certain.then_some(status))
    }

    /// Answers from the findings for all files, if the question is about recorded files alone, ignored files without unknown ones,
    /// or what patterns match. Returns `None` for other questions, if paths are asked for by name, and if something could not be
    /// looked at.
    fn status_from_all_files(
        &mut self,
        request: &HgRequest<'_>,
    ) -> Result<Option<HgStatus>, Abort> {
        let is_of_recorded = !request.unknown && !request.ignored;
        let matcher = &request.matcher;
        let is_filtered = !matcher.is_everything();
        let lacks_only_unknown = request.ignored && !request.unknown && !is_filtered;
        let has_it = match self.keeps_all() {
            _ if lacks_only_unknown => self.keeps_all() || self.has_scan_memory(),
            true => is_of_recorded || is_filtered && request.unknown,
            // The memory of full scans saves more than leaving out what is not part of the working copy.
            false => {
                is_filtered
                    && request.unknown
                    && matcher.has_no_patterns()
                    && self.has_scan_memory()
            }
        };
        if !has_it || !request.ignore.is_whole() || !matcher.named().is_empty() {
            return Ok(None);
        }
        let all = HgRequest {
            ignore: request.ignore.clone(),
            matcher: Arc::default(),
            ..*request
        };
        let (mut status, HasUnreadable(false)) = self.status_with(&all, Uses::AllFiles)? else {
            return Ok(None);
        };
        if !request.unknown && self.compared.any_is_out_of_reach(&self.root) {
            return Ok(None);
        }
        // The file that could not be compared may not be asked for.
        if is_filtered && status.failure.is_some() {
            return Ok(None);
        }
        if is_filtered {
            status.lists.retain(|path| matcher.is_match(path));
            for list in [&mut status.lists.unknown, &mut status.lists.ignored] {
                list.retain(|path| matcher.is_reached(path.as_ref()));
            }
            // Mercurial does not read the patterns for files that are not asked for.
            if request.ignored && status.lists.unknown.is_empty() && status.lists.ignored.is_empty()
            {
                status.ignore_use = None;
            }
        }
        Ok(Some(status))
    }

    /// Whether scans have a memory.
    fn has_scan_memory(&self) -> bool {
        let recorded = self.recorded.as_ref();
        recorded.is_some_and(|recorded| recorded.memory.is_some())
    }

    /// Answers a question, by a walk over the whole working copy if the findings are for all files, or files are asked for that
    /// are not recorded; otherwise by looking at recorded files only. Also returns whether something could not be looked at.
    fn status_with(
        &mut self,
        request: &HgRequest<'_>,
        uses: Uses,
    ) -> Result<(HgStatus, HasUnreadable), Abort> {
        let lacks_parent = self.lacks_parent(request.repository);
        let Some(recorded) = &mut self.recorded else {
            return Err(Abort::plain("the dirstate was not read"));
        };
        // Nothing is kept for other questions: they follow links, and no event comes from behind those. Nor with patterns that
        // are read during the walk: they are identified by file names alone.
        let is_for_all = uses == Uses::AllFiles;
        let is_plain = (request.unknown || is_for_all) && request.ignore.is_whole();
        let is_whole = is_plain && request.matcher.is_everything();
        if is_plain && recorded.memory.is_none() && self.watched.is_some() {
            recorded.remember();
        }
        let recorded = &*recorded;
        let is_used = is_whole || uses == Uses::Comparisons;
        let memory = recorded.memory.as_ref().filter(|_| is_used);
        let is_of_daemon = self.watched.is_some();
        let watched = self.watched.as_mut().filter(|_| is_whole);
        let is_kept = watched.is_some();
        if is_kept {
            self.last = Some((request.repository.clone(), request.ignore.clone()));
        }
        let ignored = match request.ignored {
            true => IgnoredMode::Traditional,
            false => IgnoredMode::No,
        };
        let ignore = &request.ignore;
        let (serial, tracked) = (recorded.serial, &recorded.tracked);
        let known = &mut self.ignored;
        let ignored_directories = watched
            .is_some()
            .then(|| known.directories(serial, tracked, ignore));
        let files = RecordedFiles {
            tracked,
            special: &recorded.special,
            is_remembered: memory.is_some(),
            ignored_directories,
        };
        let (compared, look_again) = (&mut self.compared, &mut self.look_again);
        let of_watched = watched
            .zip(memory)
            .map(|(watched, memory)| WatchedQuestion {
                watched,
                memory,
                recorded,
                ignore,
                ignored,
                root: &self.root,
            });
        let question_of = HgQuestion {
            request,
            dirstate: &recorded.dirstate,
            line_endings: self.line_endings.clone(),
            lacks_parent,
            walks: is_for_all || request.unknown || request.ignored,
        };
        let mut has_unreadable = HasUnreadable(false);
        let status = status_of(&question_of, &files, |system, look| {
            let found = match of_watched {
                Some(question) => question.findings(system, compared, look),
                None => look(ScanInputs {
                    memory,
                    ..ScanInputs::default()
                })
                .map(Cow::Owned),
            };
            has_unreadable = HasUnreadable(
                found
                    .as_ref()
                    .is_ok_and(|found| !found.unlisted.is_empty() || !found.unknown.is_empty()),
            );
            compared.add(system.take_unsure());
            if is_kept {
                *look_again = system.look_again();
            }
            let found = found?;
            match ScanError::beyond_means(&found).filter(|_| is_of_daemon) {
                Some(error) => Err(error),
                None => Ok(found),
            }
        })?;
        Ok((status, has_unreadable))
    }

    /// Reads the dirstate if it is no longer the one in memory.
    fn refresh(&mut self, repository: &Repository) -> Result<(), Abort> {
        if let Some(folders) = &mut self.own_folders {
            folders.listen(&self.dot_hg);
        }
        self.forget_if_clock_went_back();
        let is_v2 = repository.has_dirstate_v2();
        let known = self.recorded.take();
        if let Some(known) = known.filter(|known| known.is_v2 == is_v2) {
            if known.is_current() {
                self.recorded = Some(known);
                return Ok(());
            }
            let next = recorded::read(&self.dot_hg, is_v2)?;
            let (next, tree_diff) = next.after(&known);
            if let Some(watched) = &mut self.watched {
                let before = (known.serial, &known.tracked);
                let now = (next.serial, &next.tracked);
                watched.index_moved(before, now, &tree_diff, |_| true);
            }
            self.recorded = Some(next.with_memory(known, tree_diff));
            return Ok(());
        }
        let next = recorded::read(&self.dot_hg, is_v2)?;
        self.open_state();
        self.recorded = Some(match &self.state {
            Some(state) => next.with_state(state),
            None => next.without_state(),
        });
        Ok(())
    }

    /// Forgets everything that rests on stamps if the clock was set back since the session began to look.
    fn forget_if_clock_went_back(&mut self) {
        if self.recorded.is_some() && state::clock_went_back(&mut self.mark, self.state.as_mut()) {
            self.recorded = None;
        }
    }

    /// The number of recorded files, or 0 if the dirstate was not read.
    pub fn tracked_files(&self) -> usize {
        let recorded = self.recorded.as_ref();
        recorded.map_or(0, |recorded| recorded.dirstate.len())
    }

    /// The top of the working copy.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Reports what is watched for this session.
    pub fn watch_report(&self) -> WatchReport {
        let trees = self.watch_positions().trees.into_iter();
        let watches = trees.map(|(tree, _)| tree.watches());
        let recorded = self.recorded.as_ref();
        let (looked_at, looked_at_more) = recorded
            .map(|recorded| looked_at(self.watched.as_ref(), &recorded.tracked))
            .unwrap_or_default();
        WatchReport {
            watches: watches.fold(0, usize::saturating_add),
            looked_at,
            looked_at_more,
        }
    }

    /// Returns what answers about `path`, from the top, are based on; `None` if nothing is kept about the working copy.
    pub fn basis(&self, path: &BStr) -> Option<Basis> {
        let tracked = self.recorded.as_ref().map(|recorded| &recorded.tracked);
        let governing = std::iter::once(BString::from(".hgignore"));
        basis(self.watched.as_ref()?, tracked, path, governing)
    }

    /// Returns the positions up to which the last answer covers changes.
    pub fn watch_positions(&self) -> WatchPositions {
        let watched = self.watched.iter();
        let trees = watched.flat_map(|watched| watched.known_until());
        let own = self.own_folders.iter();
        let trees = trees.chain(own.flat_map(OwnFolders::known_until));
        WatchPositions {
            trees: trees
                .map(|(tree, position)| (tree.clone(), position))
                .collect(),
            lock: Some(self.dot_hg.join("wlock")),
        }
    }
}

/// A question whose findings a daemon keeps, and what they depend on.
struct WatchedQuestion<'k> {
    watched: &'k mut WatchedFindings,
    memory: &'k ScanMemory,
    recorded: &'k Recorded,
    ignore: &'k Ignore,
    /// Whether ignored files are asked for.
    ignored: IgnoredMode,
    root: &'k Path,
}

impl<'k> WatchedQuestion<'k> {
    /// Brings the findings up to date by looking at what changed, or at everything if that is not known.
    fn findings(
        self,
        system: &HgSystem<'_>,
        compared: &mut ComparedFiles,
        look: &dyn Fn(ScanInputs<'_>) -> Result<Findings, ScanError>,
    ) -> Result<Cow<'k, Findings>, ScanError> {
        let (watched, tracked) = (self.watched, &self.recorded.tracked);
        let key = FindingsKey {
            question: vigil_scan::question::number(UntrackedMode::All, self.ignored),
            index: self.recorded.serial,
            attribute_tree: None,
            rules: self.ignore.digest(),
            top: top_of(self.root)?,
        };
        let changes = IgnoredChanges {
            tracked,
            ignore: self.ignore,
        };
        let filter = (self.ignored == IgnoredMode::No).then_some(&changes as &dyn ChangeFilter);
        let with = |path: &BStr| system.compared_with(path);
        watched.invalidate_entries(&compared.take_outdated(system.store_seen(), with));
        let scan = |focus: Option<&Focus>, watch: &dyn Watch| {
            look(ScanInputs {
                focus,
                memory: Some(self.memory),
                watch: Some(watch),
            })
        };
        let found = watched.findings(key, filter, Vec::new, tracked, scan, None)?;
        watched.invalidate_entries(&system.look_again());
        Ok(match found {
            FreshOrKept::Fresh(findings) => Cow::Owned(*findings),
            FreshOrKept::Kept => watched.known().map(Cow::Borrowed).unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests;
