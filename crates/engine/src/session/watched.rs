//! The findings in the working tree, kept true by the kernel's events: only what changed is looked at again.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bstr::{BStr, BString, ByteSlice};
use vigil_linux::mounts;
use vigil_linux::stat::{lstat_path, stat_path};
use vigil_model::ObjectId;
use vigil_model::timestamp::Timestamp;
use vigil_model::tracked::{Tracked, TrackedEntry, TreeDiff};
use vigil_scan::{Disagreement, Findings, Focus, KeptFindings, ScanError, SilentPaths, Watch};
use vigil_stamp::SeenFile;
use vigil_watch::{Changes, Position, Top, WatchedTree, Watcher};

use super::governing::{ToLookAt, governed_otherwise, linked_at};
use super::known_presence::HeardTree;
use super::linked::Linked;
use super::silent_looks::SilentLooks;
use super::watch_basis::LastChange;

/// The number of questions whose findings are kept: those of prompts, of git's status, and one or two with options.
const QUESTIONS_MAX: usize = 4;

/// If more paths changed than this, and more than one for this many tracked files, looking at everything costs less than looking
/// at each.
const PATHS_MIN: usize = 20_000;
const FILES_FOR_A_PATH: usize = 8;

/// Reasons why everything is looked at for each question.
pub(super) const UNWATCHED: &str = "it cannot be watched";
const INCOMPLETE: &str = "part of it cannot be read";

/// Identifies the directory at `path`, the top of a working tree.
///
/// # Errors
/// The directory cannot be looked at.
pub(crate) fn top_of(path: &Path) -> Result<Top, ScanError> {
    let stat = stat_path(path).map_err(|source| ScanError::WorkTree {
        path: path.to_owned(),
        source,
    })?;
    Ok(Top {
        path: path.to_owned(),
        id: (stat.dev, stat.ino),
    })
}

/// Tells which changes affect no answer.
pub(crate) trait ChangeFilter {
    /// Removes from `paths` and `folders`, which changed, those that do not affect an answer that has the paths `shown`, which
    /// are in order, besides tracked files. New folders are watched by `watch` before they are searched.
    fn leave_out(
        &self,
        paths: &mut BTreeSet<BString>,
        folders: &mut BTreeSet<BString>,
        shown: &[BString],
        watch: &dyn Watch,
    );
}

/// The most directories that are noted for a monitor that has yet to ask: all questions add to them, but it may never ask.
const UNTOLD_MAX: usize = 1000;

/// The most objects that findings may lack to be kept: each is looked for with each question.
const LACKED_MAX: usize = 100;

/// The findings in a watched working tree.
pub(crate) struct WatchedFindings {
    watcher: Arc<Watcher>,
    tree: Option<(Top, Arc<WatchedTree>)>,
    kept: Vec<QuestionFindings>,
    /// The objects, with attributes, that were not here when something in `kept` was found. Nothing in the working tree changes
    /// when one is here again.
    lacked: BTreeSet<ObjectId>,
    /// Why what was found for the last question is not kept, if so.
    not_kept: Option<&'static str>,
    linked: Linked,
    /// Whether everything was in doubt because of a file with links that were not known.
    has_met_links: bool,
    /// Files over which others are mounted: a write to such a file causes an event only where that file is.
    mounted: Vec<BString>,
    /// What was last seen, for file system monitors, of what changes without an event.
    pub(super) silent_looks: SilentLooks,
}

/// The findings for a question.
pub(crate) enum FreshOrKept {
    /// They were made for this question alone.
    Fresh(Box<Findings>),
    /// They are those of [`WatchedFindings::known`].
    Kept,
}

impl Default for FreshOrKept {
    fn default() -> Self {
        Self::fresh(Findings::default())
    }
}

impl FreshOrKept {
    /// Returns `findings` as made for a question alone.
    pub(crate) fn fresh(findings: Findings) -> Self {
        Self::Fresh(Box::new(findings))
    }

    /// Returns the findings, which may be kept in `watched`.
    pub(crate) fn findings<'f>(
        &'f self,
        watched: Option<&'f WatchedFindings>,
    ) -> Option<&'f Findings> {
        match self {
            Self::Fresh(findings) => Some(findings),
            Self::Kept => watched?.known(),
        }
    }
}

/// What findings belong to, besides the working tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FindingsKey {
    /// The number of the question.
    pub(crate) question: u32,
    /// The serial number of the index.
    pub(crate) index: u64,
    /// The tree that attributes come from, if they do not come from the working tree.
    pub(crate) attribute_tree: Option<ObjectId>,
    /// The digest of the ignore rules from outside the working tree.
    pub(crate) rules: u128,
    /// Identifies the top directory.
    pub(crate) top: Top,
}

/// What the findings for a question rest on.
pub(super) struct Resting {
    pub(super) key: FindingsKey,
    /// The position up to which they cover changes.
    position: Position,
}

/// Scans for what is not tracked, without looking at tracked files.
type ScanNonTracked<'s, E> = dyn Fn(&dyn Watch) -> Result<Findings, E> + 's;

/// The changes since some findings, which are to be looked at one by one.
struct Since {
    changes: Changes,
    /// The changes below folders that changed.
    below: Changes,
    /// The position up to which these are all changes.
    position: Position,
}

/// The findings for one question.
struct QuestionFindings {
    key: FindingsKey,
    /// The files of attributes outside the working tree, as they were then.
    attributes: Vec<SeenFile>,
    /// When everything was looked at.
    seen_at: Timestamp,
    /// The position up to which that look covers changes.
    seen_until: Position,
    known: KeptFindings,
    /// The position up to which the findings cover changes.
    position: Position,
    /// The directories whose entries changed since a monitor last took them, for which commands may have asked the same question
    /// meanwhile. `None` if any may have changed.
    untold: Option<BTreeSet<BString>>,
}

impl WatchedFindings {
    /// Creates an instance that knows nothing yet.
    pub(crate) fn new(watcher: Arc<Watcher>) -> Self {
        Self {
            watcher,
            tree: None,
            kept: Vec::new(),
            lacked: BTreeSet::new(),
            not_kept: None,
            linked: Linked::default(),
            has_met_links: false,
            mounted: Vec::new(),
            silent_looks: SilentLooks::default(),
        }
    }

    /// The watched tree, with the position up to which the last answer covers changes.
    pub(crate) fn known_until(&self) -> Option<(&Arc<WatchedTree>, Position)> {
        let (_, tree) = self.tree.as_ref()?;
        self.kept.last().map(|kept| (tree, kept.position))
    }

    /// What the findings for the last question rest on.
    pub(super) fn resting(&self) -> Option<Resting> {
        let kept = self.kept.last()?;
        Some(Resting {
            key: kept.key.clone(),
            position: kept.position,
        })
    }

    /// The working tree, if every file that comes or goes is heard of.
    pub(super) fn heard_tree(&self) -> Option<HeardTree<'_>> {
        let (kept, (_, tree)) = (self.kept.last()?, self.tree.as_ref()?);
        let silent_paths = &kept.known.findings().silent_paths;
        let is_heard = silent_paths.trees.is_empty()
            && silent_paths.folders.is_empty()
            && silent_paths.nested.is_empty()
            && self.mounted.is_empty();
        is_heard.then_some(HeardTree {
            tree,
            looked_until: kept.position,
        })
    }

    /// Whether nothing that findings rest on has changed since `then`, by the events read so far. Something must have read them for
    /// this question, and nothing may change unheard.
    pub(super) fn rests_since(&self, then: &Resting) -> bool {
        let mut kept = self.kept.iter();
        let (Some(kept), Some((top, tree))) =
            (kept.find(|kept| kept.key == then.key), self.tree.as_ref())
        else {
            return false;
        };
        tree.heard_until() == then.position
            && kept.has_attributes_as_then()
            && linked_at(&top.path).next().is_none()
    }

    /// The findings for the last question.
    pub(crate) fn known(&self) -> Option<&Findings> {
        self.kept.last().map(|kept| kept.known.findings())
    }

    /// Forgets all findings, and returns those of the last question, `found`.
    pub(crate) fn keep_no_longer(&mut self, found: FreshOrKept) -> FreshOrKept {
        let last = self.kept.pop();
        self.kept.clear();
        self.lacked.clear();
        match (found, last) {
            (FreshOrKept::Kept, Some(last)) => FreshOrKept::fresh(last.known.findings().clone()),
            (found, _) => found,
        }
    }

    /// Forgets all findings if an object that they lacked is here by now, as `is_here` tells.
    pub(super) fn forget_if_here(&mut self, is_here: impl Fn(&ObjectId) -> bool) {
        if self.lacked.iter().any(is_here) {
            self.kept.clear();
            self.lacked.clear();
        }
    }

    /// Forgets all findings if they lacked any object.
    pub(super) fn forget_lacking(&mut self) {
        self.forget_if_here(|_| true);
    }

    /// Notes that the findings of the last question, `found`, lacked the objects `absent`, and returns them.
    pub(super) fn note_lacked(
        &mut self,
        found: FreshOrKept,
        absent: BTreeSet<ObjectId>,
    ) -> FreshOrKept {
        if let FreshOrKept::Kept = found {
            self.lacked.extend(absent);
        }
        match self.lacked.len() <= LACKED_MAX {
            true => found,
            false => self.keep_no_longer(found),
        }
    }

    /// Whether any object with attributes was not here when what is kept was found.
    pub(super) fn lacks_any(&self) -> bool {
        !self.lacked.is_empty()
    }

    /// What may change without an event, by the findings for the last question.
    pub(crate) fn silent_paths(&self) -> Option<&SilentPaths> {
        self.known().map(|findings| &findings.silent_paths)
    }

    /// Why everything is looked at for each question, if so.
    pub(super) fn not_kept(&self) -> Option<String> {
        self.not_kept.map(|why| match why {
            UNWATCHED => self.why_unwatched("".into()).unwrap_or(why.to_owned()),
            _ => why.to_owned(),
        })
    }

    /// Why the folder at `path` is not watched; `None` if it is.
    pub(super) fn why_unwatched(&self, path: &BStr) -> Option<String> {
        let tree = self.watched_tree();
        if tree.is_some_and(|tree| tree.is_watched(path)) {
            return None;
        }
        let why = tree.and_then(|tree| tree.why_unwatched(path));
        Some(why.map_or_else(|| UNWATCHED.to_owned(), |why| why.to_string()))
    }

    /// Takes the directories whose entries changed since the last call, by the findings for the last question; `None` if any may
    /// have changed.
    pub(crate) fn take_untold_directories(&mut self) -> Option<BTreeSet<BString>> {
        let kept = self.kept.last_mut()?;
        kept.untold.replace(BTreeSet::new())
    }

    /// The files over which others are mounted, which are looked at for each question.
    pub(crate) fn mounted_files(&self) -> &[BString] {
        &self.mounted
    }

    /// Whether everything was in doubt since the last call because a file that changed has links that were not known.
    pub(super) fn take_met_links(&mut self) -> bool {
        std::mem::take(&mut self.has_met_links)
    }

    /// The watched tree, if there is one.
    pub(crate) fn watched_tree(&self) -> Option<&Arc<WatchedTree>> {
        self.tree.as_ref().map(|(_, tree)| tree)
    }

    /// Returns the tree below `top`, and forgets findings about another one.
    pub(super) fn tree(&mut self, top: &Top) -> Arc<WatchedTree> {
        match &self.tree {
            Some((known, tree)) if known == top => tree.clone(),
            _ => {
                self.kept.clear();
                let tree = self.watcher.tree(top.clone());
                self.tree = Some((top.clone(), tree.clone()));
                tree
            }
        }
    }

    /// Brings the findings up to date by scanning what changed with `scan`, or everything if that is not known. If the tracked
    /// files are known from another question, `scan_non_tracked`, if given, scans only for the rest. Changes that `change_filter`
    /// removes are not looked at.
    pub(crate) fn findings<E>(
        &mut self,
        key: FindingsKey,
        change_filter: Option<&dyn ChangeFilter>,
        attributes: impl Fn() -> Vec<SeenFile>,
        tracked: &Tracked,
        scan: impl Fn(Option<&Focus>, &dyn Watch) -> Result<Findings, E>,
        scan_non_tracked: Option<&ScanNonTracked<'_, E>>,
    ) -> Result<FreshOrKept, E> {
        let tree = self.tree(&key.top);
        if let Some((kept, since)) = self.begin(&key, &tree, tracked, scan_non_tracked)?
            && self.update(kept, since, &tree, change_filter, tracked, &scan)?
        {
            return Ok(FreshOrKept::Kept);
        }
        self.find_everything(key, &tree, attributes, scan)
    }

    /// Brings `kept` up to date by scanning what changed since, and keeps it. Returns `false` if everything must be scanned
    /// instead.
    fn update<E>(
        &mut self,
        mut kept: QuestionFindings,
        since: Since,
        tree: &WatchedTree,
        change_filter: Option<&dyn ChangeFilter>,
        tracked: &Tracked,
        scan: impl Fn(Option<&Focus>, &dyn Watch) -> Result<Findings, E>,
    ) -> Result<bool, E> {
        let listener = Listener(tree);
        let top = kept.key.top.path.clone();
        if self
            .linked
            .has_unknown_links(&top, &since.changes, &since.below)
        {
            // All kept findings are then in doubt.
            self.kept.clear();
            self.has_met_links = true;
            return Ok(false);
        }
        let Some(ToLookAt {
            mut paths,
            mut folders,
            ruled,
        }) = ToLookAt::after(since.changes, tracked)
        else {
            return Ok(false);
        };
        if let Some(change_filter) = change_filter {
            let shown = shown(kept.known.findings());
            change_filter.leave_out(&mut paths, &mut folders, &shown, &listener);
        }
        let changed = kept.known.take_changed_directories();
        let mut is_merged = true;
        if let Some(focus) = kept.known.focus(tracked, &paths, &folders, &ruled) {
            let began_at = vigil_stamp::now();
            let later = scan(Some(&focus), &listener)?;
            let linked = kept.known.findings().silent_paths.files.clone();
            is_merged = kept.known.merge(tracked, &focus, later);
            let still = &kept.known.findings().silent_paths.files;
            if linked.iter().any(|file| still.binary_search(file).is_err()) {
                self.linked.forget_former(began_at);
            }
        }
        let files = tracked.sums().entries as usize;
        if self.linked.has_unknown_links_in(&top, &folders, files) {
            self.kept.clear();
            self.has_met_links = true;
            return Ok(false);
        }
        if is_merged {
            kept.position = since.position;
            kept.note_changed_directories(&changed);
            self.keep(kept);
        }
        Ok(is_merged)
    }

    /// Scans everything, and keeps the findings for `key` if events can keep them true.
    fn find_everything<E>(
        &mut self,
        key: FindingsKey,
        tree: &WatchedTree,
        attributes: impl Fn() -> Vec<SeenFile>,
        scan: impl Fn(Option<&Focus>, &dyn Watch) -> Result<Findings, E>,
    ) -> Result<FreshOrKept, E> {
        let seen_at = vigil_stamp::now();
        let attributes = attributes();
        let position = tree.position();
        self.mounted = mounted_files(&key.top.path);
        let findings = scan(None, &Listener(tree))?;
        self.linked.forget_former(seen_at);
        tree.finish_scan();
        let known = match KeptFindings::new(findings) {
            Ok(known) => known,
            Err(findings) => {
                let mut trees = findings.silent_paths.trees.iter();
                let is_unwatched = trees.any(|path| path.is_empty());
                self.not_kept = Some(if is_unwatched { UNWATCHED } else { INCOMPLETE });
                return Ok(FreshOrKept::Fresh(findings));
            }
        };
        self.keep(QuestionFindings {
            key,
            attributes,
            seen_at,
            seen_until: position,
            known,
            position,
            untold: None,
        });
        Ok(FreshOrKept::Kept)
    }

    /// Returns the kept findings for `key`, or those of another question or by other ignore rules, completed by
    /// `scan_non_tracked`, and what changed since. `None` if there are none, or if so much changed that scanning everything
    /// that is `tracked` costs less than looking at each change.
    fn begin<E>(
        &mut self,
        key: &FindingsKey,
        tree: &WatchedTree,
        tracked: &Tracked,
        scan_non_tracked: Option<&ScanNonTracked<'_, E>>,
    ) -> Result<Option<(QuestionFindings, Since)>, E> {
        let paths_max = one_by_one_max(tracked);
        let mounted = self.mounted.clone();
        let since = |kept: &QuestionFindings| {
            let (mut changes, position) = tree.changes_since(kept.position);
            changes.paths.extend(mounted.iter().cloned());
            changes.paths.extend(linked_at(&key.top.path));
            let below = changes.take_below_folders();
            let is_for_one_by_one = !changes.everything && changes.len() <= paths_max;
            is_for_one_by_one.then_some(Since {
                changes,
                below,
                position,
            })
        };
        let mut same_question = self.take(key);
        if let Some(kept) = same_question.take_if(|kept| kept.key == *key)
            && let Some(since) = since(&kept)
        {
            return Ok(Some((kept, since)));
        }
        let Some(scan_non_tracked) = scan_non_tracked else {
            return Ok(None);
        };
        let others = same_question.iter().chain(self.kept.iter().rev());
        let mut others = others.filter(|kept| kept.are_tracked_valid_for(key));
        let Some((kept, since)) = others.find_map(|kept| Some((kept, since(kept)?))) else {
            return Ok(None);
        };
        let known = kept
            .known
            .with_non_tracked(scan_non_tracked(&Listener(tree))?);
        Ok(known.map(|known| {
            let kept = QuestionFindings {
                key: key.clone(),
                attributes: kept.attributes.clone(),
                known,
                untold: None,
                ..*kept
            };
            (kept, since)
        }))
    }

    fn keep(&mut self, kept: QuestionFindings) {
        self.not_kept = None;
        let all = self.kept.len().saturating_add(1);
        self.kept.drain(..all.saturating_sub(QUESTIONS_MAX));
        self.kept.push(kept);
    }

    /// Returns when everything was looked at for the last question, and the last change since of `path` or the files `governing`
    /// it.
    pub(crate) fn heard_of(
        &self,
        path: &BStr,
        governing: impl Iterator<Item = BString>,
    ) -> Option<(Timestamp, Option<LastChange>)> {
        let (kept, (_, tree)) = (self.kept.last()?, self.tree.as_ref()?);
        // Take in what happened until now.
        tree.position();
        let heard = |path: BString| {
            let (position, at) = tree.heard_of(path.as_ref())?;
            let change = LastChange {
                path,
                at,
                is_looked_at: position <= kept.position,
            };
            (position > kept.seen_until).then_some((position, change))
        };
        let ends = path.find_iter(b"/").map(Some).chain([None]);
        let above =
            ends.map(|end| BString::from(end.and_then(|end| path.get(..end)).unwrap_or(path)));
        let last = above.chain(governing).filter_map(heard);
        let last = last.max_by_key(|(position, _)| *position);
        Some((kept.seen_at, last.map(|(_, change)| change)))
    }

    /// The numbers of the questions whose findings are kept.
    pub(crate) fn questions(&self) -> Vec<u32> {
        let kept = self.kept.iter();
        kept.map(|kept| kept.key.question).collect()
    }

    /// Returns where the findings kept for `question` differ from what was just `found` in `focus`, or everywhere; each with the
    /// number of changes heard, and that of the last one of its path. `None` if anything changed since.
    pub(crate) fn compare(
        &self,
        question: u32,
        tracked: &Tracked,
        focus: Option<&Focus>,
        found: &Findings,
    ) -> Option<Vec<(Disagreement, u64, Option<u64>)>> {
        let mut all = self.kept.iter();
        let (Some(kept), Some((_, tree))) = (
            all.find(|kept| kept.key.question == question),
            self.tree.as_ref(),
        ) else {
            return Some(Vec::new());
        };
        let (changes, position) = tree.changes_since(kept.position);
        if !changes.is_empty() {
            return None;
        }
        let differences = kept.known.differences(tracked, focus, found);
        let heard_of = |path: &BStr| {
            let path = path.strip_suffix(b"/").unwrap_or(path);
            tree.heard_of(path.into())
                .map(|(position, _)| position.number())
        };
        let differences = differences.into_iter().map(|difference| {
            let heard_of_path = heard_of(difference.path.as_ref());
            (difference, position.number(), heard_of_path)
        });
        Some(differences.collect())
    }

    /// Moves on from the index `before` to `now`, in which the directories in `tree_diff` differ. The findings stay valid for the
    /// rest, except below governing files that differ in the index and count. `is_in_doubt` tells which of the files found to
    /// differ may no longer do so.
    pub(crate) fn index_moved(
        &mut self,
        before: (u64, &Tracked),
        now: (u64, &Tracked),
        tree_diff: &TreeDiff,
        is_in_doubt: impl Fn(&TrackedEntry) -> bool,
    ) {
        let top = self.tree.as_ref().map(|(top, _)| top.path.as_path());
        let governed = governed_otherwise(top, before.1, now.1, tree_diff);
        let files_max = one_by_one_max(now.1);
        self.kept.retain_mut(|kept| {
            if kept.key.index != before.0 {
                return false;
            }
            if !kept
                .known
                .move_to(before.1, now.1, tree_diff, &is_in_doubt, files_max)
            {
                return false;
            }
            for path in &governed {
                kept.known.invalidate_tree(path.clone());
            }
            kept.key.index = now.0;
            true
        });
    }

    /// Makes the next question look at the entries `paths`, even if nothing is heard of them.
    pub(crate) fn invalidate_entries(&mut self, paths: &BTreeSet<BString>) {
        for kept in &mut self.kept {
            for path in paths {
                kept.known.invalidate_entry(path.clone());
            }
        }
    }

    /// Takes out the findings for the question of `key`, if what they tell of tracked files is valid for `key`.
    fn take(&mut self, key: &FindingsKey) -> Option<QuestionFindings> {
        let question = key.question;
        let at = self
            .kept
            .iter()
            .position(|kept| kept.key.question == question)?;
        let kept = self.kept.remove(at);
        kept.are_tracked_valid_for(key).then_some(kept)
    }
}

impl QuestionFindings {
    /// Adds the directories `changed` to those of which a monitor is to be told.
    fn note_changed_directories(&mut self, changed: &BTreeSet<BString>) {
        let mut untold = self.untold.take();
        if let Some(untold) = &mut untold {
            untold.extend(changed.iter().cloned());
        }
        self.untold = untold.filter(|untold| untold.len() <= UNTOLD_MAX);
    }

    /// Whether what the findings tell of tracked files is valid for `key`: these depend neither on the question nor on what is
    /// ignored.
    fn are_tracked_valid_for(&self, key: &FindingsKey) -> bool {
        let same_question = FindingsKey {
            question: self.key.question,
            rules: self.key.rules,
            ..key.clone()
        };
        self.key == same_question && self.has_attributes_as_then()
    }

    /// Whether the files of attributes outside the working tree are the same still.
    fn has_attributes_as_then(&self) -> bool {
        let mut attributes = self.attributes.iter();
        attributes.all(|file| file.is_current(self.seen_at))
    }
}

/// Returns the files below `top` over which another is mounted, from the top. A mount or unmount there has everything looked
/// at.
pub(super) fn mounted_files(top: &Path) -> Vec<BString> {
    let Ok(table) = mounts::table() else {
        return Vec::new();
    };
    let points = mounts::below(top, &table).into_iter();
    let files = points.filter(|point| lstat_path(point).is_ok_and(|stat| !stat.is_dir()));
    let from_top = |point: PathBuf| {
        let path = point.strip_prefix(top).ok()?;
        Some(path.as_os_str().as_bytes().into())
    };
    files.filter_map(from_top).collect()
}

/// Returns the paths in an answer besides tracked files, in order: those that are untracked, and those that warnings name.
fn shown(findings: &Findings) -> Cow<'_, [BString]> {
    if findings.unlisted.is_empty() {
        return Cow::Borrowed(&findings.untracked);
    }
    let unlisted = findings.unlisted.iter().map(|unseen| &unseen.path);
    let mut shown: Vec<BString> = findings.untracked.iter().chain(unlisted).cloned().collect();
    shown.sort_unstable();
    Cow::Owned(shown)
}

/// The maximum number of changes to look at one by one, in a tree with these `tracked` files.
fn one_by_one_max(tracked: &Tracked) -> usize {
    let files = tracked.sums().entries as usize;
    PATHS_MIN.max(files / FILES_FOR_A_PATH)
}

/// Watches the folders of one tree.
struct Listener<'w>(&'w WatchedTree);

impl Watch for Listener<'_> {
    fn watch(&self, path: &BStr, folder: BorrowedFd<'_>) -> bool {
        self.0.watch(path, folder).is_ok()
    }
}
