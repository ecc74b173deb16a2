//! Checks the state on disk: its bytes, its tree of tracked files, and the answers that are made with it.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use bstr::BString;
use vigil_model::tracked::TrackedEntry;

use super::{Session, SessionError};
use crate::status::{Change, Status, StatusRequest};
use vigil_model::request::{IgnoredMode, UntrackedMode};
use vigil_stamp::Stamp;

/// How many times to ask for an answer that differs: the working copy may change between two scans.
const ASKED_MAX: usize = 3;

/// What is wrong with a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// Bytes are damaged or make no sense; the text says which.
    Damaged(String),
    /// The entry of a path and stage differs between the index and the tree that is made with the state.
    Entry {
        /// The path.
        path: BString,
        /// The stage.
        stage: u8,
        /// Whether the index has it.
        is_in_index: bool,
        /// Whether the tree has it.
        is_in_tree: bool,
    },
    /// An answer about a path differs with the state and without.
    Answer {
        /// The question.
        question: Question,
        /// The path.
        path: BString,
        /// The verdict with the state.
        with: Verdict,
        /// The verdict without the state.
        without: Verdict,
    },
}

/// What an answer says about one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing.
    Unchanged,
    /// It changed.
    Changed(Box<Change>),
    /// The path is untracked.
    Untracked,
    /// The path is ignored.
    Ignored,
}

/// A status question that is asked with and without the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// Which untracked files are asked for.
    pub untracked: UntrackedMode,
    /// Which ignored files are asked for.
    pub ignored: IgnoredMode,
}

/// What was checked, and what is wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// Whether there is a state, or the remains of one.
    pub is_present: bool,
    /// The number of blocks that were read.
    pub blocks: u64,
    /// The number of index entries that were compared; `None` if that was not possible because the state is damaged,
    /// the index is sparse, or it changed meanwhile.
    pub entries: Option<usize>,
    /// The questions that were asked.
    pub questions: Vec<Question>,
    /// What is wrong.
    pub problems: Vec<Problem>,
}

/// Checks the state of a working copy. `open` opens a new session for each answer, so that nothing that one answer
/// brought into memory helps the next. Writes nothing.
///
/// # Errors
/// `open` failed, or a question has no answer even without the state.
pub fn verify<E: From<SessionError>>(
    open: impl Fn() -> Result<Session, E>,
) -> Result<Verification, E> {
    let mut session = open()?;
    let mut found = Verification::default();
    let Some(state) = &session.state else {
        return Ok(found);
    };
    let (damage, blocks) = state.check_all(session.repository.hash);
    found.is_present = blocks > 0 || !damage.is_empty();
    found.blocks = blocks;
    found
        .problems
        .extend(damage.into_iter().map(Problem::Damaged));
    if !found.is_present {
        return Ok(found);
    }
    if found.problems.is_empty() {
        found.entries = compare_entries(&mut session, &mut found.problems)?;
    }
    let usual = session.settings.untracked;
    let question = |untracked, ignored| Question { untracked, ignored };
    for question in [
        question(usual, IgnoredMode::No),
        question(UntrackedMode::All, IgnoredMode::No),
        question(UntrackedMode::Normal, IgnoredMode::Traditional),
    ] {
        if found.questions.contains(&question) {
            continue;
        }
        found.questions.push(question);
        found.problems.extend(compare_answers(&open, question)?);
    }
    Ok(found)
}

/// Returns the paths on which the answers with and without the state differ each time.
fn compare_answers<E: From<SessionError>>(
    open: &impl Fn() -> Result<Session, E>,
    question: Question,
) -> Result<Vec<Problem>, E> {
    let request = StatusRequest {
        untracked: question.untracked,
        ignored: question.ignored,
        ..StatusRequest::default()
    };
    let mut problems = Vec::new();
    for _ in 0..ASKED_MAX {
        let with = open()?.status(&request)?;
        let mut session = open()?;
        session.leave_state();
        let without = session.status(&request)?;
        problems = differences(question, &with, &without);
        if problems.is_empty() {
            break;
        }
    }
    Ok(problems)
}

fn differences(question: Question, with: &Status, without: &Status) -> Vec<Problem> {
    let mut all: BTreeMap<&BString, [Verdict; 2]> = BTreeMap::new();
    for (status, side) in [(with, 0), (without, 1)] {
        let changed = status.changes.iter();
        let changed =
            changed.map(|(path, change)| (path, Verdict::Changed(Box::new(change.clone()))));
        let untracked = status
            .untracked
            .iter()
            .map(|path| (path, Verdict::Untracked));
        let ignored = status.ignored.iter().map(|path| (path, Verdict::Ignored));
        for (path, verdict) in changed.chain(untracked).chain(ignored) {
            let nothing = || [Verdict::Unchanged, Verdict::Unchanged];
            if let Some(place) = all.entry(path).or_insert_with(nothing).get_mut(side) {
                *place = verdict;
            }
        }
    }
    let differing = all
        .into_iter()
        .filter(|(_, [with, without])| with != without);
    let problem = |(path, [with, without]): (&BString, [Verdict; 2])| Problem::Answer {
        question,
        path: path.clone(),
        with,
        without,
    };
    differing.map(problem).collect()
}

/// Compares the tree that is made with the state with the index, and returns the number of the index's entries; `None`
/// if they cannot be compared.
fn compare_entries(
    session: &mut Session,
    problems: &mut Vec<Problem>,
) -> Result<Option<usize>, SessionError> {
    session.refresh_index()?;
    let Some(state) = session.index.as_ref().filter(|it| it.is_as_written()) else {
        return Ok(None);
    };
    let index = state.whole(&session.repository)?;
    let own = &state.file.own;
    if Stamp::of(&own.path).ok().flatten() != own.stamp {
        return Ok(None);
    }
    let mut entries = index.entries().iter().peekable();
    let mut differ = |path: BString, stage, is_in_index, is_in_tree| {
        problems.push(Problem::Entry {
            path,
            stage,
            is_in_index,
            is_in_tree,
        });
    };
    let _ = state.tracked.visit::<()>(
        |_| true,
        |number, path, file| {
            let found = TrackedEntry::new(number, path.to_owned(), file);
            let place = (path, found.flags.stage());
            let place_of = |entry| (index.path(entry), entry.flags.stage());
            while let Some(entry) = entries.next_if(|entry| place_of(entry) < place) {
                let (path, stage) = place_of(entry);
                differ(path.to_owned(), stage, true, false);
            }
            match entries.next_if(|entry| place_of(entry) == place) {
                None => differ(found.path, place.1, false, true),
                Some(entry) => {
                    let is_same = entry.stat == found.stat
                        && entry.mode == found.mode
                        && entry.flags == found.flags
                        && entry.id == found.id;
                    if !is_same {
                        differ(found.path, place.1, true, true);
                    }
                }
            }
            ControlFlow::Continue(())
        },
    );
    for entry in entries {
        let path = index.path(entry).to_owned();
        differ(path, entry.flags.stage(), true, false);
    }
    Ok(Some(index.entries().len()))
}
