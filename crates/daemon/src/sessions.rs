//! The working copies that are kept in memory, by the location of their repository and by the client's variables that count.
//!
//! Each is used by one thread at a time. Questions about different ones do not wait for each other.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use bstr::{BStr, BString};
use parking_lot::{Mutex, MutexGuard};
use vigil_engine::hg_session::{HgWorkingCopy, in_repository};
use vigil_engine::removal;
use vigil_engine::session::audit::{Audit, Extent};
use vigil_engine::session::{
    Basis, ChangeReport, FullReport, Session, UnchangedProof, WatchPositions, WatchReport,
};
use vigil_git::repository::Location;
use vigil_git::state_place;
use vigil_linux::{map, memory};
use vigil_model::raw_text::{message_bytes, text_bytes};
use vigil_store::NoSteps;
use vigil_watch::WatchedTree;

use crate::ahead::Ahead;
use crate::declined::Declined;
use crate::locate::is_gone;
use crate::panics;
use crate::protocol::RepositoryDescription;
use crate::statistics::{Statistics, micros};

/// The most slots that are kept.
const KEPT_MAX: usize = 64;

/// The number of working trees of one repository, those asked about last, of which everything is kept. Of the others only the
/// watches and the journal are kept: a user works in few of them at a time.
const FULL_SESSIONS_MAX: usize = 4;

/// The number of sessions of one working tree, those asked last, of which everything is kept. Clients whose environments differ
/// have sessions of their own.
const SESSIONS_OF_TREE_MAX: usize = 8;

/// How long a question waits for the one before it: as long as a client waits for a daemon that is at work. The client could
/// compute the answer itself, but many that did so at once would slow down each other and the answer under way.
const TURN_MAX: Duration = Duration::from_secs(4);

/// The location of a working copy, and its version control system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WorkingCopyLocation {
    Git(Location),
    /// The top of a Mercurial working copy.
    Mercurial(PathBuf),
}

impl WorkingCopyLocation {
    /// The repository's own folder.
    pub(crate) fn folder(&self) -> PathBuf {
        match self {
            Self::Git(location) => location.git_dir(),
            Self::Mercurial(root) => root.join(".hg"),
        }
    }

    /// Whether the repository's own folder, or a file that leads to it, is in `directory`.
    pub(crate) fn is_found_in(&self, directory: &Path) -> bool {
        match self {
            Self::Git(location) => location.found_in() == directory,
            Self::Mercurial(root) => root == directory,
        }
    }
}

/// A working copy of either system, as kept in memory.
pub(crate) enum WorkingCopy {
    Git(Box<Session>),
    Mercurial(Box<HgWorkingCopy>),
}

impl WorkingCopy {
    /// Returns git's session.
    ///
    /// # Errors
    /// The working copy is not git's.
    pub(crate) fn git(&mut self) -> Result<&mut Session, Declined> {
        match self {
            Self::Git(session) => Ok(session),
            Self::Mercurial(_) => Err(Declined::ThisTime("it is not git's".into())),
        }
    }

    /// What the answer for `path` rests on. `None` if nothing is kept.
    pub(crate) fn basis(&self, path: &BStr) -> Option<Basis> {
        match self {
            Self::Git(session) => session.basis(path),
            Self::Mercurial(copy) => copy.basis(path),
        }
    }

    fn prove_unchanged(&mut self) -> Option<UnchangedProof> {
        match self {
            Self::Git(session) => session.prove_unchanged(),
            // A Mercurial repository's set-up is read for each question.
            Self::Mercurial(_) => None,
        }
    }

    fn is_fresh(&self, unchanged: Option<UnchangedProof>) -> bool {
        match self {
            Self::Git(session) => session.is_fresh(unchanged),
            Self::Mercurial(_) => true,
        }
    }

    /// Takes over what `earlier`, a session for the same key that is no longer fresh, knows and what still holds.
    fn take_over_from(&mut self, earlier: Self) {
        if let (Self::Git(session), Self::Git(earlier)) = (self, earlier) {
            session.take_over_from(*earlier);
        }
    }

    fn tracked_files(&self) -> usize {
        match self {
            Self::Git(session) => session.tracked_files(),
            Self::Mercurial(copy) => copy.tracked_files(),
        }
    }

    fn top(&self) -> Option<&Path> {
        match self {
            Self::Git(session) => session.repository().work_tree.as_deref(),
            Self::Mercurial(copy) => copy.root(),
        }
    }

    /// The folder that its repository shares with other working trees.
    fn common_dir(&self) -> Option<&Path> {
        match self {
            Self::Git(session) => Some(&session.repository().common_dir),
            Self::Mercurial(_) => None,
        }
    }

    fn has_looked(&self) -> bool {
        match self {
            Self::Git(session) => session.has_looked(),
            // No monitor asks about these.
            Self::Mercurial(_) => false,
        }
    }

    fn watched_tree(&self) -> Option<Arc<WatchedTree>> {
        match self {
            Self::Git(session) => session.watched_tree(),
            Self::Mercurial(_) => None,
        }
    }

    /// Has everything looked at again by whoever relies on the same events.
    fn doubt(&self) {
        match self {
            Self::Git(session) => session.doubt(),
            Self::Mercurial(_) => (),
        }
    }

    fn watch_positions(&self) -> WatchPositions {
        match self {
            Self::Git(session) => session.watch_positions(),
            Self::Mercurial(copy) => copy.watch_positions(),
        }
    }

    fn watch_report(&self) -> WatchReport {
        match self {
            Self::Git(session) => session.watch_report(),
            Self::Mercurial(copy) => copy.watch_report(),
        }
    }

    fn audit(&mut self, extent: Extent) -> Result<Audit, BString> {
        match self {
            Self::Git(session) => session.audit(extent).map_err(|error| message_bytes(&error)),
            Self::Mercurial(copy) => copy.audit(extent).map_err(|abort| abort.message),
        }
    }

    /// The place of its state in the repository.
    fn state_folder(&self) -> Option<PathBuf> {
        match self {
            Self::Git(session) => Some(state_place::in_repository(session.repository())),
            Self::Mercurial(copy) => Some(in_repository(&copy.root()?.join(".hg"))),
        }
    }

    fn save(&mut self) {
        if self
            .state_folder()
            .is_some_and(|folder| removal::may_be_under_way(&folder))
        {
            // The next answer is saved too.
            return;
        }
        match self {
            Self::Git(session) => {
                drop(session.take_dropped_states());
                // The daemon can do without a state that cannot be written.
                let _ = session.save(&NoSteps);
            }
            Self::Mercurial(copy) => copy.save(&NoSteps),
        }
    }
}

/// What two questions must have in common to be answered from one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) location: WorkingCopyLocation,
    /// The variables by which sessions are told apart.
    pub(crate) variables: Vec<(BString, BString)>,
    /// The client's directory, if the variables may be relative to it.
    pub(crate) directory: Option<PathBuf>,
}

/// The place of one working copy, which may be empty.
#[derive(Default)]
pub(crate) struct Slot {
    kept: Mutex<SlotState>,
    /// The number of tracked files.
    files: AtomicUsize,
    /// The top of its working tree, once there has been an answer.
    top: OnceLock<PathBuf>,
    /// Statistics of the questions about it.
    pub(crate) statistics: Statistics,
    /// The work that is done ahead of questions.
    pub(crate) ahead: Mutex<Ahead>,
    audited: Mutex<Audited>,
    /// What git can be told while other questions are being answered.
    pub(crate) everything: Mutex<Option<FullReport>>,
    /// Whether the kept session has looked at everything: the next question is only about what changed since.
    has_looked: AtomicBool,
    /// The folder that its repository shares with other working trees, once there has been an answer.
    common_dir: OnceLock<PathBuf>,
    /// The tree that stays watched while no session is kept.
    watched_without_session: Mutex<Option<Arc<WatchedTree>>>,
}

/// The results of the audits of one working copy.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Audited {
    /// The number of the file with which the next sample begins.
    pub(crate) next: u32,
    /// The number of audits.
    pub(crate) audits: u64,
    /// The number of differences in all audits.
    pub(crate) differences: u64,
}

/// What is kept of one working copy.
#[derive(Default)]
pub(crate) struct SlotState {
    session: Option<WorkingCopy>,
    /// The count of truncated mapped files at the end of the last answer.
    cuts: usize,
    /// Until when it is of no use to ask again, and why.
    declined: Option<(Instant, BString)>,
}

struct KeyedSlot {
    key: Key,
    slot: Arc<Slot>,
    used_at: Instant,
}

/// All slots. The one that was asked for last is the last.
#[derive(Default)]
pub(crate) struct Sessions(Mutex<Vec<KeyedSlot>>);

impl Sessions {
    /// Returns the slot for `key`, creating an empty one if there is none.
    pub(crate) fn slot(&self, key: Key) -> Arc<Slot> {
        let mut all = self.0.lock();
        let known = all.iter().rposition(|known| known.key == key);
        let is_last = known.is_some_and(|at| at.saturating_add(1) == all.len());
        let mut known = match known {
            Some(at) => all.remove(at),
            None => KeyedSlot {
                key,
                slot: Arc::default(),
                used_at: Instant::now(),
            },
        };
        known.used_at = Instant::now();
        let slot = known.slot.clone();
        all.push(known);
        let too_many = all.len().saturating_sub(KEPT_MAX);
        let old: Vec<KeyedSlot> = all.drain(..too_many).collect();
        let others = match is_last {
            true => Vec::new(),
            false => not_asked_recently(&all),
        };
        drop(all);
        // Freeing what is kept of many files takes time, so the lock is released first.
        drop(old);
        if others.iter().filter(|slot| slot.drop_session()).count() > 0 {
            memory::trim();
        }
        slot
    }

    /// Returns the slot for `key`, if there is one.
    pub(crate) fn known(&self, key: &Key) -> Option<Arc<Slot>> {
        let all = self.0.lock();
        let known = all.iter().find(|known| known.key == *key);
        known.map(|known| known.slot.clone())
    }

    /// Whether there are no slots.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }

    /// All slots.
    pub(crate) fn all(&self) -> Vec<Arc<Slot>> {
        let all = self.0.lock();
        all.iter().map(|known| known.slot.clone()).collect()
    }

    /// Drops slots that have not been asked for within the last `ttl`.
    pub(crate) fn drop_idle(&self, ttl: Duration) {
        self.drop_those(|known| known.used_at.elapsed() >= ttl);
    }

    /// Drops slots whose repository or working tree is gone. May block on slow disks.
    pub(crate) fn drop_gone(&self) {
        let all = self.0.lock();
        let looked_at = all.iter().map(|known| {
            let top = known.slot.top.get().cloned();
            (known.slot.clone(), known.key.location.folder(), top)
        });
        let looked_at: Vec<_> = looked_at.collect();
        drop(all);
        let gone = looked_at
            .into_iter()
            .filter(|(_, git_dir, top)| is_gone(git_dir) || top.as_deref().is_some_and(is_gone));
        let gone: Vec<Arc<Slot>> = gone.map(|(slot, ..)| slot).collect();
        self.drop_those(|known| gone.iter().any(|slot| Arc::ptr_eq(slot, &known.slot)));
    }

    fn drop_those(&self, is_meant: impl Fn(&KeyedSlot) -> bool) {
        let mut all = self.0.lock();
        let (old, others) = std::mem::take(&mut *all)
            .into_iter()
            .partition::<Vec<_>, _>(is_meant);
        *all = others;
        drop(all);
        drop(old);
    }

    /// Describes each repository, the one that was asked about last first.
    pub(crate) fn describe(&self) -> Vec<RepositoryDescription> {
        let all = self.0.lock();
        let mut by_location: Vec<(&WorkingCopyLocation, Vec<&Slot>)> = Vec::new();
        for known in all.iter().rev() {
            let location = &known.key.location;
            match by_location.iter_mut().find(|(seen, _)| *seen == location) {
                Some((_, slots)) => slots.push(&known.slot),
                None => by_location.push((location, vec![&known.slot])),
            }
        }
        let described = by_location.into_iter().map(|(location, slots)| {
            let summary = Statistics::summary_of(slots.iter().map(|slot| &slot.statistics));
            let files = slots.iter().map(|slot| slot.files.load(Ordering::Relaxed));
            let report = slots.iter().find_map(|slot| slot.watch_report());
            let scanned_more = report.as_ref().map_or(0, |report| report.looked_at_more);
            let top = slots.iter().find_map(|slot| slot.top.get());
            let path = top.map_or_else(|| location.folder(), PathBuf::clone);
            let description = RepositoryDescription {
                path: BString::from(path.into_os_string().into_vec()),
                files: files.max().unwrap_or_default() as u64,
                watches: report.as_ref().map(|report| report.watches as u64),
                memory: None,
                questions: summary.questions,
                median_us: micros(summary.median),
                last_us: micros(summary.last),
                asked_s: summary.idle.as_secs(),
                ahead: slots.iter().map(|slot| slot.ahead.lock().done()).sum(),
                audits: slots.iter().map(|slot| slot.audited().audits).sum(),
                differences: slots.iter().map(|slot| slot.audited().differences).sum(),
                scanned: report.map_or_else(Vec::new, |report| report.looked_at),
                scanned_more: scanned_more as u64,
            };
            (summary.idle, description)
        });
        // Work ahead moves a slot to the end, too, but is not a question: so they are sorted by their last questions.
        let mut described: Vec<_> = described.collect();
        described.sort_by_key(|(idle, _)| *idle);
        let descriptions = described.into_iter().map(|(_, description)| description);
        descriptions.collect()
    }
}

/// The slots of working trees that are not among the [`FULL_SESSIONS_MAX`] of their repository that were asked about last, and
/// those that are not among the [`SESSIONS_OF_TREE_MAX`] of their working tree.
fn not_asked_recently(all: &[KeyedSlot]) -> Vec<Arc<Slot>> {
    let mut full: HashMap<&Path, HashMap<PathBuf, usize>> = HashMap::new();
    let mut others = Vec::new();
    for known in all.iter().rev() {
        let Some(common_dir) = known.slot.common_dir.get() else {
            continue;
        };
        let git_dir = known.key.location.folder();
        let full = full.entry(common_dir).or_default();
        let has_room = full.len() < FULL_SESSIONS_MAX;
        match full.get_mut(&git_dir) {
            Some(sessions) if *sessions < SESSIONS_OF_TREE_MAX => {
                *sessions = sessions.saturating_add(1);
            }
            None if has_room => {
                full.insert(git_dir, 1);
            }
            _ => others.push(known.slot.clone()),
        }
    }
    others
}

/// Declines instead of opening a session, for questions about what is kept.
fn no_session() -> Result<WorkingCopy, Declined> {
    Err(Declined::ThisTime("nothing is kept of it".into()))
}

impl Slot {
    /// Waits for the questions before this one, for at most [`TURN_MAX`].
    pub(crate) fn take_turn(&self) -> Option<MutexGuard<'_, SlotState>> {
        self.kept.try_lock_for(TURN_MAX)
    }

    /// Answers by `answer` from the kept session if it is still valid, else from a session that `open` returns. If the attempt
    /// fails after something was looked at, the session is dropped, so that nothing half done is used again.
    ///
    /// # Errors
    /// There is no answer, for the reason returned.
    pub(crate) fn answer<T>(
        &self,
        kept: &mut SlotState,
        open: impl FnOnce() -> Result<WorkingCopy, Declined>,
        answer: impl FnOnce(&mut WorkingCopy, Option<UnchangedProof>) -> Result<T, Declined>,
    ) -> Result<T, Declined> {
        let cuts = map::truncation_count();
        let known = kept.session.take();
        let known = known.filter(|_| kept.cuts == cuts);
        let answered = panics::catch(|| {
            let known = known.map(|mut known| {
                let unchanged = known.prove_unchanged();
                (known, unchanged)
            });
            let (mut session, unchanged) = match known {
                Some((known, unchanged)) if known.is_fresh(unchanged) => (known, unchanged),
                earlier => {
                    self.forget_look();
                    let mut session = open()?;
                    if let Some((earlier, _)) = earlier {
                        session.take_over_from(earlier);
                    }
                    self.has_looked
                        .store(session.has_looked(), Ordering::Relaxed);
                    let unchanged = session.prove_unchanged();
                    (session, unchanged)
                }
            };
            match answer(&mut session, unchanged) {
                Err(declined @ Declined::ForNow(_)) => Err(declined),
                answer => Ok((session, answer)),
            }
        });
        let answered = answered.unwrap_or_else(|told| {
            let reason = format!("defect: {told}");
            Err(Declined::ForNow(text_bytes(&reason)))
        });
        kept.cuts = map::truncation_count();
        let answered = match kept.cuts == cuts {
            true => answered,
            false => answered.and(Err(Declined::ThisTime(
                "a file was cut off while it was read".into(),
            ))),
        };
        let (session, answer) = answered.inspect_err(|_| self.forget_look())?;
        self.files.store(session.tracked_files(), Ordering::Relaxed);
        if let Some(top) = session.top() {
            self.top.get_or_init(|| top.to_owned());
        }
        if let Some(common_dir) = session.common_dir() {
            self.common_dir.get_or_init(|| common_dir.to_owned());
        }
        self.has_looked
            .store(session.has_looked(), Ordering::Relaxed);
        *self.watched_without_session.lock() = None;
        self.ahead.lock().answered(session.watch_positions());
        kept.session = Some(session);
        answer
    }

    /// Drops the session but keeps its tree watched: git's tokens stay valid, and the next answer begins with a look at
    /// everything. Does nothing while a question is being answered. Returns whether there was a session.
    fn drop_session(&self) -> bool {
        let Some(mut kept) = self.kept.try_lock() else {
            return false;
        };
        if let Some(session) = kept.session.take() {
            *self.watched_without_session.lock() = session.watched_tree();
            *self.everything.lock() = None;
            self.forget_look();
            self.ahead.lock().forget_questions();
            drop(session);
            return true;
        }
        false
    }

    /// What to tell git when nothing else can be said for now: that everything may have changed.
    pub(crate) fn everything(&self) -> Option<ChangeReport> {
        self.everything.lock().as_ref()?.current_report()
    }

    /// The top of its working tree, once it is known.
    pub(crate) fn path(&self) -> Option<BString> {
        let top = self.top.get()?;
        Some(BString::from(top.clone().into_os_string().into_vec()))
    }

    /// The results of the audits so far.
    pub(crate) fn audited(&self) -> Audited {
        *self.audited.lock()
    }

    /// Compares what is kept with the disk, and drops it if it differs. `None` if nothing is kept, or if other questions take
    /// `patience` or longer.
    ///
    /// # Errors
    /// It could not be compared, for the reason returned.
    pub(crate) fn audit(
        &self,
        extent: Extent,
        patience: Duration,
    ) -> Option<Result<Audit, BString>> {
        let mut kept = self.kept.try_lock_for(patience)?;
        kept.session.as_ref()?;
        let audited = self.answer(&mut kept, no_session, |copy, _| {
            // A failure here is not the fault of what is kept.
            copy.audit(extent).map_err(Declined::ThisTime)
        });
        let audit = match audited {
            Ok(audit) => audit,
            Err(declined) => return Some(Err(declined.reason().clone())),
        };
        if !audit.differences.is_empty()
            && let Some(session) = kept.session.take()
        {
            self.forget_look();
            // Others that rest on the same events may be as wrong: other sessions, and git by what it was told.
            session.doubt();
        }
        drop(kept);
        let mut counts = self.audited.lock();
        let differences = audit.differences.len() as u64;
        counts.audits = counts.audits.saturating_add(1);
        counts.differences = counts.differences.saturating_add(differences);
        counts.next = audit.next;
        Some(Ok(audit))
    }

    /// Calls `look` with the session that is kept.
    ///
    /// # Errors
    /// No session is kept, or it is busy for too long.
    pub(crate) fn with_session<T>(
        &self,
        look: impl FnOnce(&WorkingCopy) -> T,
    ) -> Result<T, Declined> {
        let kept = self.take_turn();
        let mut kept = kept.ok_or_else(|| Declined::ThisTime("it is being asked about".into()))?;
        self.answer(&mut kept, no_session, |copy, _| Ok(look(copy)))
    }

    /// Whether a question can be answered without a look at everything. Does not wait for other questions.
    pub(crate) fn has_looked(&self) -> bool {
        self.has_looked.load(Ordering::Relaxed)
    }

    /// Records that the next question is about everything, because the session is not kept any more.
    fn forget_look(&self) {
        self.has_looked.store(false, Ordering::Relaxed);
    }

    /// Whether a session is kept. `None` while a question is being answered.
    #[cfg(test)]
    pub(crate) fn is_kept(&self) -> Option<bool> {
        Some(self.kept.try_lock()?.session.is_some())
    }

    /// What is watched for it. `None` if nothing is kept or a question is being answered.
    fn watch_report(&self) -> Option<WatchReport> {
        let kept = self.kept.try_lock()?;
        kept.session.as_ref().map(WorkingCopy::watch_report)
    }

    /// Writes what the last answer learned to the state on disk, for other processes. Does nothing while another question is
    /// being answered: that one will save.
    pub(crate) fn save(&self) {
        if let Some(mut kept) = self.kept.try_lock()
            && let Some(mut session) = kept.session.take()
        {
            match panics::catch(|| session.save()) {
                Ok(()) => kept.session = Some(session),
                Err(_) => self.forget_look(),
            }
        }
    }
}

impl SlotState {
    /// Records that there will be no answer for `pause`.
    pub(crate) fn decline_for(&mut self, pause: Duration, reason: BString) {
        let until = Instant::now().checked_add(pause);
        self.declined = until.map(|until| (until, reason));
    }

    /// The reason why there is no answer now, after a recent failure.
    pub(crate) fn declined(&self) -> Option<&BString> {
        let (until, reason) = self.declined.as_ref()?;
        (Instant::now() < *until).then_some(reason)
    }
}
