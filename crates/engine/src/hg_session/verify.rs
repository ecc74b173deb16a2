//! Verifies the state on disk: its bytes, its tree of recorded files, and the answers made with it.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use bstr::BString;
use vigil_hg::abort::Abort;
use vigil_hg::repository::Repository;
use vigil_model::HashKind;
use vigil_model::tracked::{Tracked, TrackedEntry};
use vigil_store::Store;

use super::HgSession;
use crate::hg_status::{HgRequest, HgStatus};
use crate::hg_system::HgSystem;

/// How often a question is asked if the answers differ: the working copy may change between the two.
const ASKED_MAX: usize = 3;

/// A problem of a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HgProblem {
    /// Bytes are not as they were written, or make no sense. Described in words.
    Damaged(String),
    /// A file is recorded differently in the dirstate and in the tree made with the state.
    File {
        /// The path.
        path: BString,
        /// Whether the dirstate has it.
        is_in_dirstate: bool,
        /// Whether the tree has it.
        is_in_tree: bool,
    },
    /// The answer for a path differs with and without the state.
    Answer {
        /// The path.
        path: BString,
        /// Whether ignored files were asked for, too.
        ignored: bool,
        /// Mercurial's letter with the state, if the path is reported.
        with: Option<char>,
        /// The same without.
        without: Option<char>,
    },
}

/// What was verified, and what is wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HgVerification {
    /// Whether there is a state, or remains of one.
    pub is_present: bool,
    /// The number of blocks read.
    pub blocks: u64,
    /// The number of recorded files compared; `None` if damage to the state made that impossible.
    pub files: Option<usize>,
    /// The number of questions asked with and without the state.
    pub questions: usize,
    /// The problems found.
    pub problems: Vec<HgProblem>,
}

/// Which state to verify.
#[derive(Debug)]
pub struct HgVerifyQuestion<'q> {
    /// The repository.
    pub repository: &'q Repository,
    /// Where the state may be.
    pub places: &'q [Store],
    /// The files with ignore patterns.
    pub ignore_files: &'q [PathBuf],
}

/// Verifies the state of a working copy. Each question gets a new session, so that nothing kept in memory for one answer helps
/// the next. Nothing is written.
///
/// # Errors
/// A question cannot be answered.
pub fn verify(question: &HgVerifyQuestion<'_>) -> Result<HgVerification, Abort> {
    let mut session = HgSession::new(question.repository, question.places.to_vec());
    session.open_state();
    let mut found = HgVerification::default();
    let Some(state) = &session.state else {
        return Ok(found);
    };
    let (damage, blocks) = state.check_all(HashKind::Sha1);
    found.is_present = blocks > 0 || !damage.is_empty();
    found.blocks = blocks;
    let damage = damage.into_iter().map(HgProblem::Damaged);
    found.problems.extend(damage);
    if !found.is_present {
        return Ok(found);
    }
    if found.problems.is_empty() {
        let dirstate = session.dirstate(question.repository)?;
        if let Some(recorded) = &session.recorded {
            let expected = HgSystem::tracked(&dirstate);
            compare_files(&expected, &recorded.tracked, &mut found.problems);
            found.files = Some(dirstate.len());
        }
    }
    for ignored in [false, true] {
        found.questions = found.questions.saturating_add(1);
        found.problems.extend(compare_answers(question, ignored)?);
    }
    Ok(found)
}

fn files(tracked: &Tracked) -> BTreeMap<BString, TrackedEntry> {
    let mut all = BTreeMap::new();
    let _ = tracked.visit::<()>(
        |_| true,
        |number, path, file| {
            all.insert(
                path.into(),
                TrackedEntry::new(number, path.to_owned(), file),
            );
            ControlFlow::Continue(())
        },
    );
    all
}

fn compare_files(expected: &Tracked, tracked: &Tracked, problems: &mut Vec<HgProblem>) {
    let (expected, found) = (files(expected), files(tracked));
    let is_same = |one: &TrackedEntry, other: &TrackedEntry| {
        (one.number, one.stat, one.mode) == (other.number, other.stat, other.mode)
    };
    for (path, entry) in &expected {
        let other = found.get(path);
        if !other.is_some_and(|other| is_same(entry, other)) {
            problems.push(HgProblem::File {
                path: path.clone(),
                is_in_dirstate: true,
                is_in_tree: other.is_some(),
            });
        }
    }
    let more = found.keys().filter(|path| !expected.contains_key(*path));
    problems.extend(more.map(|path| HgProblem::File {
        path: path.clone(),
        is_in_dirstate: false,
        is_in_tree: true,
    }));
}

/// Returns the paths for which the answers with and without the state differ each time.
fn compare_answers(
    question: &HgVerifyQuestion<'_>,
    ignored: bool,
) -> Result<Vec<HgProblem>, Abort> {
    let mut problems = Vec::new();
    for _ in 0..ASKED_MAX {
        let with = letters(&status(question, question.places, ignored)?);
        let without = letters(&status(question, &[], ignored)?);
        problems.clear();
        let mut paths: Vec<&BString> = with.keys().chain(without.keys()).collect();
        paths.sort_unstable();
        paths.dedup();
        for path in paths {
            let (with, without) = (with.get(path).copied(), without.get(path).copied());
            if with != without {
                problems.push(HgProblem::Answer {
                    path: path.clone(),
                    ignored,
                    with,
                    without,
                });
            }
        }
        if problems.is_empty() {
            break;
        }
    }
    Ok(problems)
}

fn status(
    question: &HgVerifyQuestion<'_>,
    places: &[Store],
    ignored: bool,
) -> Result<HgStatus, Abort> {
    let mut session = HgSession::new(question.repository, places.to_vec());
    let ignore = session.ignore(question.ignore_files).ignore.clone()?;
    session.dirstate(question.repository)?;
    session.status(&HgRequest {
        repository: question.repository,
        ignore,
        matcher: Arc::default(),
        clean: true,
        unknown: true,
        ignored,
    })
}

/// Returns Mercurial's letter for each reported path.
fn letters(status: &HgStatus) -> BTreeMap<BString, char> {
    let kinds = status.lists.iter();
    let all =
        kinds.flat_map(|(kind, paths)| paths.iter().map(move |path| (path.clone(), kind.letter())));
    all.collect()
}
