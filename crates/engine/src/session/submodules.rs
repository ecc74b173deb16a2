//! The state of submodules: which of their changes count, and what they are.

use std::collections::HashMap;

use bstr::{BStr, BString, ByteSlice};
use gix_hash::ObjectId;
use vigil_model::raw_text::{raw, text_bytes};
use vigil_model::tracked::Tracked;

use super::error::SessionError;
use super::gitmodules::{self, Submodule};
use super::known_dirtiness::{Dirtiness, DirtinessQuestion, EntryCheck};
use super::missed_rules::MissedRules;
use super::nested_sessions::{Fresh, NestedSession, NestedSessions};
use super::{Session, UnchangedProof};
use crate::status::{Change, Status, StatusRequest, SubmoduleState};
use vigil_git::child::FilterStderr;
use vigil_git::objects::Objects;
use vigil_git::refs::{self, Refs};
use vigil_git::repository::settings::Settings;
use vigil_git::repository::{self, Repository, submodule, submodule_references};
use vigil_model::request::{IgnoreSubmodules, UntrackedMode};
use vigil_objects::parallel::on_cores;
use vigil_rules::messages::Messages;

/// The rules in `.gitmodules`, overridden by the configuration.
pub(super) struct SubmoduleRules {
    /// The submodules by path.
    by_path: HashMap<BString, Submodule>,
    /// `--ignore-submodules`, which overrides everything else.
    asked: Option<IgnoreSubmodules>,
    /// `diff.ignoreSubmodules`.
    configured: Option<IgnoreSubmodules>,
    /// Whether untracked files are not asked for at all.
    without_untracked: bool,
}

/// Which changes of one submodule are ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ignored {
    pub(super) all: bool,
    pub(super) dirty: bool,
    untracked: bool,
}

impl Ignored {
    /// The same as a value of the configuration.
    pub(super) fn kind(self) -> IgnoreSubmodules {
        match self {
            Self { all: true, .. } => IgnoreSubmodules::All,
            Self { dirty: true, .. } => IgnoreSubmodules::Dirty,
            Self {
                untracked: true, ..
            } => IgnoreSubmodules::Untracked,
            _ => IgnoreSubmodules::None,
        }
    }
}

impl From<IgnoreSubmodules> for Ignored {
    fn from(ignore: IgnoreSubmodules) -> Self {
        Self {
            all: ignore == IgnoreSubmodules::All,
            dirty: ignore == IgnoreSubmodules::Dirty,
            untracked: ignore == IgnoreSubmodules::Untracked,
        }
    }
}

impl SubmoduleRules {
    /// Returns which changes of the submodule at `path` are ignored between index and working tree.
    pub(super) fn ignored(&self, path: &BStr) -> Result<Ignored, SessionError> {
        if let Some(asked) = self.asked {
            return Ok(asked.into());
        }
        // If untracked files are not asked for, neither are those in submodules, whatever is configured for all.
        let mut base = self.configured.map_or(Ignored::default(), Ignored::from);
        base.untracked |= self.without_untracked;
        let submodule = self.by_path.get(path);
        if let Some(error) = submodule.and_then(|submodule| submodule.bad_ignore.clone()) {
            return Err(error.into());
        }
        match submodule.and_then(|submodule| submodule.ignore.as_ref()) {
            Some(value) => Ok(parse_ignore(value.as_bstr())?.into()),
            None => Ok(base),
        }
    }

    /// Returns the name of the submodule at `path`, and whether it has its own rule about which changes to ignore.
    pub(super) fn name(&self, path: &BStr) -> Option<(&BStr, bool)> {
        let submodule = self.by_path.get(path)?;
        Some((submodule.name.as_bstr(), submodule.ignore.is_some()))
    }
}

/// A submodule that is asked for its state.
pub(super) struct AskedSubmodule {
    pub(super) path: BString,
    /// Its commit in the index.
    pub(super) recorded: ObjectId,
    pub(super) ignored: Ignored,
}

/// The fewest submodules for which another thread is worthwhile: most of them rest, and are quickly asked.
const SHARE_MIN: usize = 16;

/// The submodules of a working copy.
#[derive(Clone, Copy)]
pub(super) struct Submodules<'s> {
    /// The repository that contains them.
    pub(super) repository: &'s Repository,
    pub(super) objects: &'s Objects,
    pub(super) messages: &'s Messages,
    /// Collects what a partial clone left out.
    pub(super) missed: &'s MissedRules,
    /// Collects what is said inside of them.
    pub(super) said_inside: &'s Messages,
    /// Keeps their sessions, if any are kept.
    pub(super) nested: Option<&'s NestedSessions>,
    /// `diff.ignoreSubmodules`.
    pub(super) configured: Option<IgnoreSubmodules>,
    pub(super) stderr: FilterStderr,
    /// Checks the entries of their configurations that are no settings of a session.
    pub(super) check: EntryCheck,
}

impl Submodules<'_> {
    /// Returns the rules for an answer to `request`. Call this only if there is a submodule, which need not be among the `tracked`
    /// ones.
    pub(super) fn rules(
        &self,
        request: &StatusRequest,
        tracked: &Tracked,
    ) -> Result<SubmoduleRules, SessionError> {
        Ok(SubmoduleRules {
            by_path: match request.ignore_submodules {
                Some(_) => HashMap::new(),
                None => self.known(tracked)?,
            },
            asked: request.ignore_submodules,
            configured: self.configured,
            without_untracked: request.untracked == UntrackedMode::No,
        })
    }

    /// Returns the submodules in `.gitmodules`, by path.
    fn known(&self, tracked: &Tracked) -> Result<HashMap<BString, Submodule>, SessionError> {
        let (repository, objects) = (self.repository, self.objects);
        gitmodules::read(repository, tracked, objects, self.messages, self.missed)
    }

    /// Checks that the submodule at `path` is not behind a symbolic link. git's status looks for it whatever is in its place.
    pub(super) fn check_place(&self, path: &BStr) -> Result<(), SessionError> {
        match submodule(self.repository, path) {
            Ok(_) => Ok(()),
            Err(error) => Err(unusable(path, error)),
        }
    }

    /// Returns what [`Self::state`] does for each of the submodules `asked`, in order. They are asked at the same time.
    pub(super) fn states(
        &self,
        asked: &[AskedSubmodule],
        request: &StatusRequest,
        looks: usize,
    ) -> Result<Vec<Option<SubmoduleState>>, SessionError> {
        let found = on_cores(asked, SHARE_MIN, |share| {
            let mut found = Vec::with_capacity(share.len());
            for one in share {
                let (messages, said_inside) = (Messages::default(), Messages::default());
                let submodules = Submodules {
                    messages: &messages,
                    said_inside: &said_inside,
                    ..*self
                };
                let path = one.path.as_bstr();
                let state = submodules.state(path, &one.recorded, one.ignored, request, looks);
                let is_last = state.is_err();
                found.push((state, messages.take(), said_inside.take()));
                if is_last {
                    break;
                }
            }
            found
        });
        // git stops at the first error.
        let found = found.into_iter().map(|(state, messages, said_inside)| {
            self.messages.extend(&messages);
            self.said_inside.extend(&said_inside);
            state
        });
        found.collect()
    }

    /// Returns the state of the submodule at `path`, whose commit in the index is `recorded`; `None` if it counts as
    /// unchanged. git `looks` for the commit so many times, and may warn each time.
    pub(super) fn state(
        &self,
        path: &BStr,
        recorded: &ObjectId,
        ignored: Ignored,
        request: &StatusRequest,
        looks: usize,
    ) -> Result<Option<SubmoduleState>, SessionError> {
        // git looks for the commit even then, and tells of a format that it does not know. Whoever ignores all that is in submodules
        // wants no time spent on them.
        if ignored.all {
            return Ok(None);
        }
        let known = self.nested.filter(|_| !ignored.dirty);
        let known = known.and_then(|nested| nested.take_fresh(path, self.repository));
        let inside = match known {
            Some(known) => Inside::Known(Box::new(known)),
            None => match self.open(path, ignored, looks)? {
                Some(repository) => Inside::Opened(Box::new(repository)),
                None => {
                    self.nested.and_then(|nested| nested.forget(path));
                    return Ok(None);
                }
            },
        };
        let mut state = SubmoduleState::default();
        if let Ok(commit) = inside.commit() {
            state.new_commits = commit.is_some_and(|id| !is_same(&id, recorded));
        }
        let is_known_to_differ = state.new_commits && request.as_diff_index;
        if !ignored.dirty && !is_known_to_differ {
            let kept = self.nested.filter(|nested| nested.has_room_for(path));
            let question = QuestionInside {
                asked: DirtinessQuestion {
                    looks_for_untracked: !ignored.untracked,
                    check: self.check,
                },
                threads_max: request.threads_max,
                stderr: self.stderr,
                kept: kept.map(|nested| (nested, path)),
            };
            let dirtiness = question
                .dirtiness(inside, self.said_inside)
                .map_err(|source| SessionError::Submodule {
                    path: path.to_owned(),
                    text: format!(
                        "'git status --porcelain=2' failed in submodule {path}",
                        path = raw(path)
                    ),
                    source: Box::new(source),
                })?;
            (state.modified, state.untracked) = (dirtiness.modified, dirtiness.untracked);
        } else if let (Inside::Known(known), Some(nested)) = (inside, self.nested) {
            nested.keep(path, known.kept);
        }
        Ok((state != SubmoduleState::default()).then_some(state))
    }

    /// Opens the submodule at `path`; `None` if there is none to look into. git `looks` for its commit so many times.
    fn open(
        &self,
        path: &BStr,
        ignored: Ignored,
        looks: usize,
    ) -> Result<Option<Repository>, SessionError> {
        let found = match ignored.dirty {
            true => submodule_references(self.repository, path),
            false => submodule(self.repository, path),
        };
        if let Err(repository::Error::Format(_) | repository::Error::Explained { .. }) = found {
            let warnings = repository::format_warnings(self.repository, path);
            let lines: Vec<_> = warnings.iter().map(|line| text_bytes(line)).collect();
            for _ in 0..looks {
                self.messages.extend(&lines);
            }
        }
        match found {
            // git does not look inside, so it does not find this error.
            Err(
                repository::Error::Refused(_)
                | repository::Error::Format(_)
                | repository::Error::Explained { .. },
            ) if ignored.dirty => Ok(None),
            found => found.map_err(|error| unusable(path, error)),
        }
    }

    /// Whether the submodule at `path` is configured so that all its changes are ignored.
    pub(super) fn leaves_out(&self, path: &BStr, tracked: &Tracked) -> Result<bool, SessionError> {
        let rules = SubmoduleRules {
            by_path: self.known(tracked)?,
            asked: None,
            configured: None,
            without_untracked: true,
        };
        Ok(rules.ignored(path)?.all)
    }
}

/// The error about the submodule at `path`, which git does not use.
fn unusable(path: &BStr, source: repository::Error) -> SessionError {
    SessionError::NoSubmodule {
        path: path.to_owned(),
        source,
    }
}

fn parse_ignore(value: &BStr) -> Result<IgnoreSubmodules, SessionError> {
    IgnoreSubmodules::named(value).ok_or_else(|| {
        repository::Error::Refused(format!(
            "bad --ignore-submodules argument: {value}",
            value = raw(value)
        ))
        .into()
    })
}

/// A submodule to look into.
enum Inside {
    /// It was asked about before, and is set up as it was.
    Known(Box<Fresh>),
    Opened(Box<Repository>),
}

impl Inside {
    fn repository(&self) -> &Repository {
        match self {
            Self::Known(known) => known.kept.session.repository(),
            Self::Opened(repository) => repository,
        }
    }

    /// HEAD's commit, if it has one.
    fn commit(&self) -> Result<Option<ObjectId>, refs::Error> {
        if let Self::Known(known) = self
            && let Some(commit) = known.kept.session.known_commit(known.unchanged)
        {
            return Ok(commit);
        }
        Ok(Refs::open(self.repository()).head()?.commit())
    }
}

/// What git asks when it runs itself in a submodule.
struct QuestionInside<'s> {
    asked: DirtinessQuestion,
    threads_max: Option<usize>,
    stderr: FilterStderr,
    /// Where sessions are kept, if they are, and the path there.
    kept: Option<(&'s NestedSessions, &'s BStr)>,
}

impl QuestionInside<'_> {
    /// Returns what the submodule's status comes to. What it has to say goes to `said`.
    fn dirtiness(&self, inside: Inside, said: &Messages) -> Result<Dirtiness, SessionError> {
        match inside {
            Inside::Known(mut known) => {
                let again = (known.kept.session).dirtiness_again(self.asked, known.unchanged);
                match (again, self.kept) {
                    (Some(dirtiness), Some((nested, path))) => {
                        nested.keep(path, known.kept);
                        Ok(dirtiness)
                    }
                    _ => self.look(Inside::Known(known), said),
                }
            }
            Inside::Opened(_) => self.look(inside, said),
        }
    }

    /// Answers for the submodule by its own configuration.
    fn look(&self, inside: Inside, said: &Messages) -> Result<Dirtiness, SessionError> {
        let mut is_silent = true;
        let mut say = |lines: &[String]| {
            is_silent &= lines.is_empty();
            let lines = lines.iter().map(|line| text_bytes(line));
            said.extend(&lines.collect::<Vec<_>>());
        };
        let repository = inside.repository();
        say(repository.config.messages());
        if repository.contains_itself() {
            return Err(repository::Error::Refused(IN_ITSELF.to_owned()).into());
        }
        let settings = Settings::read_with(repository, self.asked.check)?;
        say(&settings.warnings);
        let request = StatusRequest {
            untracked: match self.asked.looks_for_untracked {
                true => settings.untracked,
                false => UntrackedMode::No,
            },
            threads_max: self.threads_max,
            ..StatusRequest::default()
        };
        let (
            NestedSession {
                mut session,
                folder,
            },
            unchanged,
        ) = match inside {
            Inside::Known(known) => (known.kept, known.unchanged),
            Inside::Opened(repository) => {
                let is_kept = self.kept.is_some();
                let mut session = Session::open_with(*repository, settings, is_kept, self.stderr)?;
                if let Some((nested, path)) = self.kept {
                    nested.watch(path, &mut session);
                }
                let unchanged = session.prove_unchanged();
                let folder = None;
                (NestedSession { session, folder }, unchanged)
            }
        };
        session.check_in_submodules(self.asked.check);
        let status = self.ask(&mut session, &request, unchanged, said)?;
        if let Some((nested, _)) = self.kept
            && std::mem::take(&mut session.has_met_links)
        {
            nested.note_links();
        }
        let dirtiness = dirtiness(&status);
        match self.kept {
            Some((nested, path)) if status.warnings.is_empty() => {
                if is_silent {
                    session.keep_dirtiness(self.asked, dirtiness);
                }
                nested.keep(path, NestedSession { session, folder });
            }
            // Whatever is said must be said again for each question, and so found again.
            _ => session.save_if_left_alone(),
        }
        Ok(dirtiness)
    }

    fn ask(
        &self,
        session: &mut Session,
        request: &StatusRequest,
        unchanged: Option<UnchangedProof>,
        said: &Messages,
    ) -> Result<Status, SessionError> {
        let mut status = match self.kept {
            Some(_) => session.status_in_submodule(request, unchanged),
            None => session.status(request),
        };
        // git's status in there fetches what a partial clone left out. Others have no time for it.
        if status.as_ref().is_err_and(SessionError::is_of_fetching)
            && matches!(self.stderr, FilterStderr::Inherit)
        {
            session.fetch_missing()?;
            // The second look has the messages of the first again.
            session.take_messages();
            status = session.status(request);
        }
        let status = status.inspect_err(|_| {
            said.extend(&session.take_messages());
        })?;
        said.extend(&status.warnings);
        Ok(status)
    }
}

/// git has no message for this: it runs itself until the system has no more processes for it.
const IN_ITSELF: &str = "a submodule of this repository is the repository itself";

/// Whether a submodule's commit is the one that is recorded. If its IDs are of another kind than those of the repository
/// around it, git has padded the shorter one with zeros.
fn is_same(head: &ObjectId, recorded: &ObjectId) -> bool {
    let longest = head.as_slice().len().max(recorded.as_slice().len());
    let padded = |id: &ObjectId| {
        let mut bytes = id.as_slice().to_vec();
        bytes.resize(longest, 0);
        bytes
    };
    head == recorded || padded(head) == padded(recorded)
}

/// Returns what a submodule's own status comes to.
fn dirtiness(status: &Status) -> Dirtiness {
    let mut modified = false;
    let mut untracked = !status.untracked.is_empty();
    for (_, change) in &status.changes {
        match change {
            Change::Tracked(change) => {
                let nested = change.submodule.unwrap_or_default();
                untracked |= nested.untracked;
                // A nested submodule with nothing but untracked files does not count as modified, and neither does this
                // one because of it.
                let only_untracked = change.staged_source.is_none()
                    && change.unstaged_source.is_none()
                    && nested.untracked
                    && !nested.modified
                    && !nested.new_commits;
                modified |= !only_untracked;
            }
            Change::Unmerged(change) => {
                untracked |= change.submodule.unwrap_or_default().untracked;
                modified = true;
            }
        }
    }
    Dirtiness {
        modified,
        untracked,
    }
}
