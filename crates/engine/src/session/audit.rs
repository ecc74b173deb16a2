//! Audits what is kept about the working tree: compares it with a scan that trusts no earlier scan and no event.

use bstr::{BStr, BString, ByteSlice};
use vigil_model::path::directory_len;
use vigil_model::request::{IgnoredMode, UntrackedMode};
use vigil_model::tracked::Tracked;
use vigil_rules::pathspec::Pathspec;
use vigil_scan::Focus;
pub use vigil_scan::{Disagreement, Observed, PathFinding};

use super::findings::ScanScope;
use super::nested_sessions::NestedSessions;
use super::{Session, SessionError};
use crate::status::StatusRequest;

/// How many times to try to compare while nothing changes.
const TRIES_MAX: usize = 3;

/// The number of tracked files in a sample. What else is in their directories is looked at, too.
const SAMPLE_FILES: u32 = 300;

/// How much is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Everything.
    All,
    /// A sample that begins with the file of this number, or with the first file if there are fewer.
    From(u32),
}

/// The outcome of an audit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    /// How many questions' answers were compared.
    pub questions: usize,
    /// How many of those could not be compared: the working copy changed at each try.
    pub unsettled: usize,
    /// How many tracked files were looked at for each question.
    pub files: u32,
    /// The file with which the next sample begins.
    pub next: u32,
    /// The differences found.
    pub differences: Vec<Difference>,
}

impl Audit {
    /// Counts one question and compares its answer by `compare`, which returns `None` if something changed meanwhile; it is then
    /// called again.
    ///
    /// # Errors
    /// The error of `compare`.
    pub(crate) fn compare<E>(
        &mut self,
        mut compare: impl FnMut(&mut Self) -> Result<Option<Vec<Difference>>, E>,
    ) -> Result<(), E> {
        self.questions = self.questions.saturating_add(1);
        for _ in 0..TRIES_MAX {
            if let Some(differences) = compare(self)? {
                self.differences.extend(differences);
                return Ok(());
            }
        }
        self.unsettled = self.unsettled.saturating_add(1);
        Ok(())
    }

    /// Adds the audit of the submodule at `path`, after which the next sample begins with the file `next`.
    fn add_inside(&mut self, path: &BStr, inside: Self, next: u32) {
        self.questions = self.questions.saturating_add(inside.questions);
        self.unsettled = self.unsettled.saturating_add(inside.unsettled);
        self.files = self.files.saturating_add(inside.files);
        self.next = next;
        let differences = inside.differences.into_iter().map(|mut difference| {
            let below = &mut difference.disagreement.path;
            *below = [path.as_bytes(), b"/", below.as_bytes()].concat().into();
            difference
        });
        self.differences.extend(differences);
    }
}

/// A path about which the kept findings are wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The path, and what is kept and found.
    pub disagreement: Disagreement,
    /// Which untracked files the question asks for.
    pub untracked: UntrackedMode,
    /// Which ignored files the question asks for.
    pub ignored: IgnoredMode,
    /// How many changes had been heard in the whole working tree by then.
    pub heard: u64,
    /// The number of the last of those changes that was to this path, if it is still known.
    pub heard_of_path: Option<u64>,
}

impl Session {
    /// Compares the kept findings with the working tree, and those of submodules with theirs. A caller that finds differences must
    /// drop the session, and [`Self::doubt`] it. In the order of samples, the files of submodules come after those of the
    /// repository around them.
    ///
    /// # Errors
    /// The working tree, or the index, cannot be looked at.
    pub fn audit(&mut self, extent: Extent) -> Result<Audit, SessionError> {
        self.refresh_index()?;
        let (mut end, all) = (self.own_files(), self.audited_files());
        let first = match extent {
            Extent::All => None,
            Extent::From(first) => Some(if first < all { first } else { 0 }),
        };
        // What comes after a sample, if that ended at `next` in a part of the files that begins and ends here.
        let after = |next: u32, begin: u32, end: u32| match next {
            0 if end < all => end,
            0 => 0,
            next => begin.saturating_add(next),
        };
        let mut audit = Audit::default();
        if first.is_none_or(|first| first < end || end == all) {
            audit = self.audit_own(extent)?;
            audit.next = first.map_or(0, |_| after(audit.next, 0, end));
        }
        for (path, session) in self.nested.iter_mut().flat_map(NestedSessions::sessions) {
            let begin = end;
            end = begin.saturating_add(session.audited_files());
            let extent = match first {
                None => Extent::All,
                Some(first) if (begin..end).contains(&first) => {
                    Extent::From(first.saturating_sub(begin))
                }
                Some(_) => continue,
            };
            match session.audit(extent) {
                Ok(inside) => {
                    let next = first.map_or(0, |_| after(inside.next, begin, end));
                    audit.add_inside(path.as_ref(), inside, next);
                }
                // It may be gone; the next question finds out.
                Err(_) => audit.unsettled = audit.unsettled.saturating_add(1),
            }
        }
        Ok(audit)
    }

    /// The number of tracked files that a full audit looks at, among them those in submodules.
    pub(super) fn audited_files(&self) -> u32 {
        let nested = self.nested.iter().map(NestedSessions::audited_files);
        nested.fold(self.own_files(), u32::saturating_add)
    }

    /// The number of tracked files, if the index was read.
    pub(super) fn own_files(&self) -> u32 {
        let index = self.index.as_ref();
        index.map_or(0, |index| index.tracked.sums().entries)
    }

    /// Has everything looked at again by whoever relies on the events that this session relies on.
    pub fn doubt(&self) {
        if let Some(tree) = self.watched_tree() {
            tree.doubt();
        }
        self.nested.iter().for_each(NestedSessions::doubt);
    }

    fn audit_own(&mut self, extent: Extent) -> Result<Audit, SessionError> {
        let mut audit = Audit::default();
        let sample = match (extent, &self.index) {
            (_, None) => return Ok(audit),
            (Extent::All, Some(state)) => {
                audit.files = state.tracked.sums().entries;
                None
            }
            (Extent::From(first), Some(state)) => Some(Sample::new(&state.tracked, first)),
        };
        if let Some(sample) = &sample {
            audit.files = u32::try_from(sample.files.len()).unwrap_or(u32::MAX);
            audit.next = sample.next;
        }
        let watched = self.watched.as_ref();
        let questions = watched.map(|watched| watched.questions());
        for number in questions.unwrap_or_default() {
            let Some((untracked, ignored)) = vigil_scan::question::of_number(number) else {
                continue;
            };
            let request = StatusRequest {
                untracked,
                ignored,
                ..StatusRequest::default()
            };
            audit.compare(|_| self.compare(&request, sample.as_ref()))?;
        }
        Ok(audit)
    }

    /// Returns where the kept findings for the question differ from the working tree; `None` if something changed meanwhile.
    fn compare(
        &mut self,
        request: &StatusRequest,
        sample: Option<&Sample>,
    ) -> Result<Option<Vec<Difference>>, SessionError> {
        let nothing = Pathspec::default();
        let index = self.index.as_ref().map(|state| state.serial);
        // Take in what was heard first, as for any question.
        self.scan_part(request, &nothing, &ScanScope::ALL)?;
        let focus = |session: &Self| {
            let tracked = session.index.as_ref().map(|state| &state.tracked)?;
            sample.map(|sample| Focus::new(tracked, &sample.files, &sample.directories))
        };
        let scope = ScanScope {
            focus: focus(self),
            ignores_memory: true,
            ..ScanScope::ALL
        };
        let found = self.scan_part(request, &nothing, &scope)?;
        let (Some(watched), Some(state)) = (&self.watched, &self.index) else {
            return Ok(Some(Vec::new()));
        };
        if index != Some(state.serial) {
            return Ok(None);
        }
        let number = vigil_scan::question::number(request.untracked, request.ignored);
        let focus = scope.focus.as_ref();
        let compared = watched.compare(number, &state.tracked, focus, &found);
        Ok(compared.map(|differences| {
            let differences = differences.into_iter();
            let difference = |(disagreement, heard, heard_of_path)| Difference {
                disagreement,
                untracked: request.untracked,
                ignored: request.ignored,
                heard,
                heard_of_path,
            };
            differences.map(difference).collect()
        }))
    }
}

/// A run of tracked files, and their directories.
pub(crate) struct Sample {
    pub(crate) files: Vec<BString>,
    pub(crate) directories: Vec<BString>,
    /// The file with which the next sample begins.
    pub(crate) next: u32,
}

impl Sample {
    /// Takes the sample of `tracked` that begins with the file of the number `first`, or with the first file if there are fewer.
    pub(crate) fn new(tracked: &Tracked, first: u32) -> Self {
        let mut sample = Self {
            files: Vec::new(),
            directories: Vec::new(),
            next: 0,
        };
        let count = tracked.sums().entries;
        let first = if first < count { first } else { 0 };
        let end = first.saturating_add(SAMPLE_FILES).min(count);
        for number in first..end {
            let Some(entry) = tracked.entry(number) else {
                continue;
            };
            let len = directory_len(entry.path.as_ref());
            let directory = entry.path.get(..len).unwrap_or_default();
            if sample
                .directories
                .last()
                .is_none_or(|last| last != directory)
            {
                sample.directories.push(directory.into());
            }
            sample.files.push(entry.path);
        }
        if end < count {
            sample.next = end;
        }
        sample
    }
}
