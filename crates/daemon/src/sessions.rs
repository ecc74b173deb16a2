//! The working copies that are kept in memory: by where their repository is, by what is asked of them, and by what of the
//! asker's environment counts.
//!
//! Each is answered for by one thread at a time, and none waits for another's.

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
use vigil_engine::hg_session::HgWorkingCopy;
use vigil_engine::session::audit::{Audit, Extent};
use vigil_engine::session::{Basis, Everything, Heard, Session, Still, Told, WatchReport};
use vigil_git::repository::Location;
use vigil_linux::stat::stat_path;
use vigil_linux::{Errno, map, memory};
use vigil_model::raw_text::{bytes_of, said_by};
use vigil_store::NoSteps;
use vigil_watch::WatchedTree;

use crate::ahead::Ahead;
use crate::declined::Declined;
use crate::panics;
use crate::protocol::RepositoryDescription;
use crate::statistics::{Statistics, micros};

/// The most that are kept.
const KEPT_MAX: usize = 64;

/// Of so many working trees of one repository, those that were asked about last, all is kept; of the others only what is watched,
/// with what changed there. Who works in one of them now works in few.
const AWAKE_MAX: usize = 4;

/// How long one question waits for the one before it: as long as whoever asks waits for a daemon that is at work. He can answer by
/// himself, but many who did so at a time would slow down each other, and the one who is answered.
const TURN_MAX: Duration = Duration::from_secs(4);

/// Where a repository is, and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Git(Location),
    /// The top of a working copy of Mercurial's.
    Mercurial(PathBuf),
}

impl Place {
    /// The repository's own folder.
    fn folder(&self) -> PathBuf {
        match self {
            Self::Git(location) => location.git_dir(),
            Self::Mercurial(root) => root.join(".hg"),
        }
    }
}

/// What is known of a working copy of either system.
pub(crate) enum WorkingCopy {
    Git(Box<Session>),
    Mercurial(Box<HgWorkingCopy>),
}

impl WorkingCopy {
    /// The session with git's, if it is that.
    ///
    /// # Errors
    /// It is not.
    pub(crate) fn git(&mut self) -> Result<&mut Session, Declined> {
        match self {
            Self::Git(session) => Ok(session),
            Self::Mercurial(_) => Err(Declined::Question("it is not git's".into())),
        }
    }

    /// By what is known whatever is said of `path`; `None` where nothing is kept.
    pub(crate) fn basis(&self, path: &BStr) -> Option<Basis> {
        match self {
            Self::Git(session) => session.basis(path),
            Self::Mercurial(copy) => copy.basis(path),
        }
    }

    fn still(&mut self) -> Option<Still> {
        match self {
            Self::Git(session) => session.still(),
            // What a repository of Mercurial's is like is read for each question.
            Self::Mercurial(_) => None,
        }
    }

    fn is_fresh(&self, still: Option<Still>) -> bool {
        match self {
            Self::Git(session) => session.is_fresh(still),
            Self::Mercurial(_) => true,
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

    /// The folder that its repository has in common with those of other working trees.
    fn common_dir(&self) -> Option<&Path> {
        match self {
            Self::Git(session) => Some(&session.repository().common_dir),
            Self::Mercurial(_) => None,
        }
    }

    fn has_looked(&self) -> bool {
        match self {
            Self::Git(session) => session.has_looked(),
            // No monitor asks.
            Self::Mercurial(_) => false,
        }
    }

    fn watched_tree(&self) -> Option<Arc<WatchedTree>> {
        match self {
            Self::Git(session) => session.watched_tree(),
            Self::Mercurial(_) => None,
        }
    }

    fn heard(&self) -> Heard {
        match self {
            Self::Git(session) => session.heard(),
            Self::Mercurial(copy) => copy.heard(),
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
            Self::Git(session) => session.audit(extent).map_err(|error| said_by(&error)),
            Self::Mercurial(copy) => copy.audit(extent).map_err(|abort| abort.message),
        }
    }

    fn save(&mut self) {
        match self {
            Self::Git(session) => {
                drop(session.take_dropped_states());
                // A state that cannot be written is missed by nobody here.
                let _ = session.save(&NoSteps);
            }
            Self::Mercurial(copy) => copy.save(&NoSteps),
        }
    }
}

/// What must be the same for two questions to be answered from one memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) location: Place,
    /// The variables by which memories are told apart.
    pub(crate) variables: Vec<(BString, BString)>,
    /// Where the asker stands, if they may be about that.
    pub(crate) directory: Option<PathBuf>,
}

/// One working copy.
#[derive(Default)]
pub(crate) struct Slot {
    kept: Mutex<Kept>,
    /// How many files are tracked in it.
    files: AtomicUsize,
    /// The top of its working tree, once there was an answer.
    top: OnceLock<PathBuf>,
    /// What was asked about it.
    pub(crate) statistics: Statistics,
    /// What is done before it is asked.
    pub(crate) ahead: Mutex<Ahead>,
    audited: Mutex<Audited>,
    /// What git can be told while others are being answered.
    pub(crate) everything: Mutex<Option<Everything>>,
    /// Whether the session that is kept began with a look at everything: what is asked now is about what changed since.
    has_looked: AtomicBool,
    /// The folder that its repository has in common with others, once there was an answer.
    common_dir: OnceLock<PathBuf>,
    /// What stays watched while no session is kept.
    at_rest: Mutex<Option<Arc<WatchedTree>>>,
}

/// What came of doubting what is known of one working copy.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Audited {
    /// With which file the next sample begins.
    pub(crate) next: u32,
    /// How often it was compared.
    pub(crate) audits: u64,
    /// How often something differed, in all.
    pub(crate) differences: u64,
}

/// What is known of one working copy.
#[derive(Default)]
pub(crate) struct Kept {
    session: Option<WorkingCopy>,
    /// How many mapped files were found to be cut by the end of the last answer.
    cuts: usize,
    /// Until when it is of no use to ask again, and why.
    declined: Option<(Instant, BString)>,
}

struct Known {
    key: Key,
    slot: Arc<Slot>,
    used_at: Instant,
}

/// All of them; the one that was asked last is the last.
#[derive(Default)]
pub(crate) struct Sessions(Mutex<Vec<Known>>);

impl Sessions {
    /// The place for what `key` says, which may be empty.
    pub(crate) fn slot(&self, key: Key) -> Arc<Slot> {
        let mut all = self.0.lock();
        let known = all.iter().rposition(|known| known.key == key);
        let is_last = known.is_some_and(|at| at.saturating_add(1) == all.len());
        let mut known = match known {
            Some(at) => all.remove(at),
            None => Known {
                key,
                slot: Arc::default(),
                used_at: Instant::now(),
            },
        };
        known.used_at = Instant::now();
        let slot = known.slot.clone();
        all.push(known);
        let too_many = all.len().saturating_sub(KEPT_MAX);
        let old: Vec<Known> = all.drain(..too_many).collect();
        let others = match is_last {
            true => Vec::new(),
            false => not_asked_of_late(&all),
        };
        drop(all);
        // To free what is remembered of many files takes time.
        drop(old);
        if others.iter().filter(|slot| slot.rest()).count() > 0 {
            memory::give_back();
        }
        slot
    }

    /// The place for what `key` says, if there is one.
    pub(crate) fn known(&self, key: &Key) -> Option<Arc<Slot>> {
        let all = self.0.lock();
        let known = all.iter().find(|known| known.key == *key);
        known.map(|known| known.slot.clone())
    }

    /// All of them.
    pub(crate) fn all(&self) -> Vec<Arc<Slot>> {
        let all = self.0.lock();
        all.iter().map(|known| known.slot.clone()).collect()
    }

    /// Forgets those that nobody asked for in the last `ttl`.
    pub(crate) fn drop_idle(&self, ttl: Duration) {
        self.drop_those(|known| known.used_at.elapsed() >= ttl);
    }

    /// Forgets those whose repository or working tree is gone. This waits for their disks.
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

    fn drop_those(&self, is_meant: impl Fn(&Known) -> bool) {
        let mut all = self.0.lock();
        let (old, others) = std::mem::take(&mut *all)
            .into_iter()
            .partition::<Vec<_>, _>(is_meant);
        *all = others;
        drop(all);
        drop(old);
    }

    /// What there is to tell of each repository. The one that was asked about last is the first.
    pub(crate) fn describe(&self) -> Vec<RepositoryDescription> {
        let all = self.0.lock();
        let mut by_location: Vec<(&Place, Vec<&Slot>)> = Vec::new();
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
            };
            (summary.idle, description)
        });
        // Work ahead is use of a session, too, and no question.
        let mut described: Vec<_> = described.collect();
        described.sort_by_key(|(idle, _)| *idle);
        let descriptions = described.into_iter().map(|(_, description)| description);
        descriptions.collect()
    }
}

/// Those of working trees after whose last question others of the same repository were asked about: [`AWAKE_MAX`], or more.
fn not_asked_of_late(all: &[Known]) -> Vec<Arc<Slot>> {
    let mut awake: HashMap<&Path, Vec<PathBuf>> = HashMap::new();
    let mut late = Vec::new();
    for known in all.iter().rev() {
        let Some(common_dir) = known.slot.common_dir.get() else {
            continue;
        };
        let git_dir = known.key.location.folder();
        let awake = awake.entry(common_dir).or_default();
        if awake.contains(&git_dir) {
            continue;
        }
        match awake.len() < AWAKE_MAX {
            true => awake.push(git_dir),
            false => late.push(known.slot.clone()),
        }
    }
    late
}

/// No session is opened where what is known is asked for.
fn gone() -> Result<WorkingCopy, Declined> {
    Err(Declined::Question("nothing is kept of it".into()))
}

/// Whether nothing is at `path`: what cannot be looked at just now may be.
fn is_gone(path: &Path) -> bool {
    matches!(stat_path(path), Err(Errno::NOENT | Errno::NOTDIR))
}

impl Slot {
    /// Waits for the questions before this one, but not for long.
    pub(crate) fn take_turn(&self) -> Option<MutexGuard<'_, Kept>> {
        self.kept.try_lock_for(TURN_MAX)
    }

    /// Answers by `answer` from the session that is kept, if it is still right, or else from the one that `open` gives. Where
    /// something was looked at and there is no answer, nothing is kept: what was left half done is not used again.
    ///
    /// # Errors
    /// There is no answer, and why.
    pub(crate) fn answer<T>(
        &self,
        kept: &mut Kept,
        open: impl FnOnce() -> Result<WorkingCopy, Declined>,
        answer: impl FnOnce(&mut WorkingCopy, Option<Still>) -> Result<T, Declined>,
    ) -> Result<T, Declined> {
        let cuts = map::cuts();
        let known = kept.session.take();
        let known = known.filter(|_| kept.cuts == cuts);
        let answered = panics::catch(|| {
            let known = known.and_then(|mut known| {
                let still = known.still();
                known.is_fresh(still).then_some((known, still))
            });
            let (mut session, still) = match known {
                Some(known) => known,
                None => {
                    self.has_looked.store(false, Ordering::Relaxed);
                    let mut session = open()?;
                    let still = session.still();
                    (session, still)
                }
            };
            match answer(&mut session, still) {
                Err(declined @ Declined::Answer(_)) => Err(declined),
                answer => Ok((session, answer)),
            }
        });
        let answered = answered.unwrap_or_else(|told| {
            let reason = format!("defect: {told}");
            Err(Declined::Answer(bytes_of(&reason)))
        });
        kept.cuts = map::cuts();
        let (session, answer) = answered?;
        if kept.cuts != cuts {
            return Err(Declined::Question(
                "a file was cut off while it was read".into(),
            ));
        }
        self.files.store(session.tracked_files(), Ordering::Relaxed);
        if let Some(top) = session.top() {
            self.top.get_or_init(|| top.to_owned());
        }
        if let Some(common_dir) = session.common_dir() {
            self.common_dir.get_or_init(|| common_dir.to_owned());
        }
        self.has_looked
            .store(session.has_looked(), Ordering::Relaxed);
        *self.at_rest.lock() = None;
        self.ahead.lock().answered(session.heard());
        kept.session = Some(session);
        answer
    }

    /// Keeps no more than what is watched: tokens that git has stay right, and the next answer begins with a look at everything. Not
    /// while it is being asked about. Whether there was more.
    fn rest(&self) -> bool {
        let Some(mut kept) = self.kept.try_lock() else {
            return false;
        };
        if let Some(session) = kept.session.take() {
            *self.at_rest.lock() = session.watched_tree();
            *self.everything.lock() = None;
            self.has_looked.store(false, Ordering::Relaxed);
            self.ahead.lock().rest();
            drop(session);
            return true;
        }
        false
    }

    /// That everything may have changed, as git is told it, while nobody can say more.
    pub(crate) fn everything(&self) -> Option<Told> {
        self.everything.lock().as_ref()?.told()
    }

    /// The top of its working tree, once that is known.
    pub(crate) fn path(&self) -> Option<BString> {
        let top = self.top.get()?;
        Some(BString::from(top.clone().into_os_string().into_vec()))
    }

    /// What came of doubting what is known until now.
    pub(crate) fn audited(&self) -> Audited {
        *self.audited.lock()
    }

    /// Compares what is known with what is there, and forgets it if that differs. `None` where nothing is known, or others are
    /// being answered for `patience` or longer.
    ///
    /// # Errors
    /// It cannot be compared, and why.
    pub(crate) fn audit(
        &self,
        extent: Extent,
        patience: Duration,
    ) -> Option<Result<Audit, BString>> {
        let mut kept = self.kept.try_lock_for(patience)?;
        kept.session.as_ref()?;
        let audited = self.answer(&mut kept, gone, |copy, _| {
            // It is not the fault of what is known.
            copy.audit(extent).map_err(Declined::Question)
        });
        let audit = match audited {
            Ok(audit) => audit,
            Err(declined) => return Some(Err(declined.reason().clone())),
        };
        if !audit.differences.is_empty() {
            kept.session = None;
        }
        drop(kept);
        let mut counts = self.audited.lock();
        let differences = audit.differences.len() as u64;
        counts.audits = counts.audits.saturating_add(1);
        counts.differences = counts.differences.saturating_add(differences);
        counts.next = audit.next;
        Some(Ok(audit))
    }

    /// What `look` makes of the session that is kept, if one is.
    ///
    /// # Errors
    /// None is, and why.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&WorkingCopy) -> T) -> Result<T, Declined> {
        let kept = self.take_turn();
        let mut kept = kept.ok_or_else(|| Declined::Question("it is being asked about".into()))?;
        self.answer(&mut kept, gone, |copy, _| Ok(look(copy)))
    }

    /// Whether what is asked is answered without a look at everything, even while others are being answered.
    pub(crate) fn has_looked(&self) -> bool {
        self.has_looked.load(Ordering::Relaxed)
    }

    /// Whether a session is kept; `None` while it is being asked about.
    #[cfg(test)]
    pub(crate) fn is_kept(&self) -> Option<bool> {
        Some(self.kept.try_lock()?.session.is_some())
    }

    /// What is watched for it, unless it is being asked about.
    fn watch_report(&self) -> Option<WatchReport> {
        let kept = self.kept.try_lock()?;
        kept.session.as_ref().map(WorkingCopy::watch_report)
    }

    /// Writes what was learned in the last answer to the state on disk, for other processes. Whoever answers meanwhile does
    /// it himself.
    pub(crate) fn save(&self) {
        if let Some(mut kept) = self.kept.try_lock()
            && let Some(mut session) = kept.session.take()
            && panics::catch(|| session.save()).is_ok()
        {
            kept.session = Some(session);
        }
    }
}

impl Kept {
    /// Says that there will be no answer for `pause`.
    pub(crate) fn decline_for(&mut self, pause: Duration, reason: BString) {
        let until = Instant::now().checked_add(pause);
        self.declined = until.map(|until| (until, reason));
    }

    /// Why there is no answer now, if there was none of late.
    pub(crate) fn declined(&self) -> Option<&BString> {
        let (until, reason) = self.declined.as_ref()?;
        (Instant::now() < *until).then_some(reason)
    }
}
