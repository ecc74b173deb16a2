//! The state of submodules: which of their changes count, and what they are.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::PathBuf;

use bstr::{BStr, BString, ByteSlice};
use gix_hash::ObjectId;
use vigil_linux::errno;
use vigil_linux::stat::lstat_path;
use vigil_model::config_value;
use vigil_model::raw_text::{bytes_of, raw, raw_path};
use vigil_model::tracked::Tracked;

use super::error::SessionError;
use super::{EntryCheck, Session};
use crate::checked_out::head_id;
use crate::status::{Change, Status, StatusRequest, SubmoduleState};
use vigil_git::config::{self, Config, Entry};
use vigil_git::convert::FilterStderr;
use vigil_git::objects::Objects;
use vigil_git::refs::Refs;
use vigil_git::repository::settings::Settings;
use vigil_git::repository::{self, Repository, submodule, submodule_references};
use vigil_git::staged::tree_entries;
use vigil_model::request::{IgnoreSubmodules, UntrackedMode};
use vigil_rules::messages::Messages;
use vigil_store::NoSteps;

/// The rules in `.gitmodules`, overridden by the configuration.
pub(super) struct SubmoduleRules {
    /// The submodules by path.
    by_path: HashMap<BString, Known>,
    /// `--ignore-submodules`, which overrides everything else.
    asked: Option<IgnoreSubmodules>,
    /// `diff.ignoreSubmodules`.
    configured: Option<IgnoreSubmodules>,
    /// Whether untracked files are not asked for at all.
    without_untracked: bool,
}

/// One submodule in `.gitmodules`.
#[derive(Default)]
struct Known {
    name: BString,
    /// Its path, with the number of the configuration entry that sets it.
    path: Option<(usize, BString)>,
    /// The value of `ignore` in force.
    ignore: Option<BString>,
    /// Why git cannot read that value, which matters only where it is used.
    bad_ignore: Option<config::Error>,
}

impl Known {
    /// Reads all submodules that have a path, by path. If several claim one, the last claim counts.
    fn by_path(
        repository: &Repository,
        tracked: &Tracked,
        objects: &Objects,
        messages: &Messages,
    ) -> Result<HashMap<BString, Self>, SessionError> {
        let mut known = Collected::default();
        let name = BStr::new(FILE_NAME);
        if tracked.find(name, 0).is_none()
            && (1..=3).any(|stage| tracked.find(name, stage).is_some())
        {
            // git does not read the file if it is in conflict.
            return Ok(HashMap::new());
        }
        let modules = match read_gitmodules(repository, tracked, objects, messages) {
            None => return Ok(HashMap::new()),
            Some(Source::File(text, path)) => {
                let name = format!("file {}", raw_path(&path));
                let modules = Config::from_bytes(&text, &name)?;
                modules.entries().try_for_each(|entry| check(&entry))?;
                modules
            }
            Some(Source::Blob(text, id)) => {
                let (modules, error) = Config::up_to_error(&text, &format!("blob {id}"));
                if let Some(error) = error {
                    messages.once(bytes_of(&format!("error: {error}")));
                }
                modules
            }
        };
        let mut warnings = Vec::new();
        for (number, entry) in modules.subsection_entries("submodule").enumerate() {
            let (submodule, name, value) = entry;
            if is_suspicious(submodule) {
                let said: &[&[u8]] = &[b"ignoring suspicious submodule name: ", submodule];
                warnings.push(said.concat());
                continue;
            }
            let key = [b"submodule.", submodule.as_bytes(), b".", name].concat();
            let Some(value) = value else {
                continue;
            };
            match name.as_bytes() {
                b"path" | b"url" if value.starts_with(b"-") => {
                    let said: &[&[u8]] = &[
                        b"ignoring '",
                        &key,
                        b"' which may be interpreted as a command-line option: ",
                        value,
                    ];
                    warnings.push(said.concat());
                }
                b"path" => {
                    if let Some(known) = known.of(submodule) {
                        known.path = Some((number, value.to_owned()));
                    }
                }
                b"ignore" if IgnoreSubmodules::named(value).is_none() => {
                    let said: &[&[u8]] = &[
                        b"Invalid parameter '",
                        value,
                        b"' for config option '",
                        &key,
                        b"'",
                    ];
                    warnings.push(said.concat());
                }
                b"ignore" => {
                    if let Some(known) = known.of(submodule) {
                        known.ignore = Some(value.to_owned());
                    }
                }
                _ => {}
            }
        }
        let warnings = warnings.into_iter();
        let warnings = warnings.map(|said| [b"warning: ".as_slice(), &said].concat().into());
        messages.all_once(warnings.collect());
        for submodule in &mut known.all {
            let config = &repository.config;
            let name = submodule.name.as_bstr();
            if let Some(entry) = config.subsection_entry("submodule", name, "ignore") {
                let value = entry.required();
                submodule.ignore = Some(entry.value.unwrap_or_default().to_owned());
                submodule.bad_ignore = value.err();
            }
        }
        known
            .all
            .sort_by_key(|known| known.path.as_ref().map(|(number, _)| *number));
        let with_paths = known.all.into_iter().filter_map(|known| {
            let (_, path) = known.path.as_ref()?;
            Some((path.clone(), known))
        });
        Ok(with_paths.collect())
    }
}

/// Checks an entry of a `.gitmodules` in the working tree. git reads more of them than are needed here.
fn check(entry: &Entry<'_>) -> Result<(), config::Error> {
    let Some((section, Some(submodule), name)) = entry.parts() else {
        return Ok(());
    };
    if section != "submodule" || is_suspicious(submodule) {
        return Ok(());
    }
    let key = raw(entry.key);
    match (name.as_bytes(), entry.value) {
        (b"path" | b"url" | b"branch" | b"ignore" | b"update", None) => {
            let text = match entry.position {
                Some((name, line)) => format!("bad config line {line} in {}", raw(name)),
                None => entry.refusal(),
            };
            Err(config::Error::Explained {
                messages: vec![format!("error: missing value for '{key}'")],
                text,
            })
        }
        (b"update", Some(value)) => match value.as_bytes() {
            b"none" | b"checkout" | b"rebase" | b"merge" => Ok(()),
            _ => Err(config::Error::Bad(format!("invalid value for '{key}'"))),
        },
        (b"fetchrecursesubmodules", Some(value)) => {
            if value == "on-demand" || config_value::boolean(Some(value)).is_some() {
                return Ok(());
            }
            let text = format!("bad {key} argument: {}", raw(value));
            Err(config::Error::Bad(text))
        }
        (b"shallow", _) => entry.boolean().map(drop),
        _ => Ok(()),
    }
}

/// The submodules of one `.gitmodules`, in order, and the position of each by name.
#[derive(Default)]
struct Collected {
    all: Vec<Known>,
    by_name: HashMap<BString, usize>,
}

impl Collected {
    /// Returns the submodule of this name, adding it if it is new.
    fn of(&mut self, name: &BStr) -> Option<&mut Known> {
        let next = self.all.len();
        let at = *self.by_name.entry(name.to_owned()).or_insert(next);
        if at == next {
            self.all.push(Known {
                name: name.to_owned(),
                ..Known::default()
            });
        }
        self.all.get_mut(at)
    }
}

/// Whether `name` is one that git does not accept from `.gitmodules`: it could lead out of the folder of submodules'
/// repositories.
fn is_suspicious(name: &BStr) -> bool {
    let mut components = name.split(|byte| matches!(byte, b'/' | b'\\'));
    name.is_empty() || components.any(|component| component == b"..")
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
    /// Reads the rules for the submodules of `repository`. Call this only if there is a submodule, which need not be
    /// among the `tracked` ones.
    fn new(
        repository: &Repository,
        tracked: &Tracked,
        objects: &Objects,
        messages: &Messages,
        request: &StatusRequest,
        configured: Option<IgnoreSubmodules>,
    ) -> Result<Self, SessionError> {
        let mut rules = Self {
            by_path: HashMap::new(),
            asked: request.ignore_submodules,
            configured,
            without_untracked: request.untracked == UntrackedMode::No,
        };
        if rules.asked.is_none() {
            rules.by_path = Known::by_path(repository, tracked, objects, messages)?;
        }
        Ok(rules)
    }

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
}

impl SubmoduleRules {
    /// Returns the name of the submodule at `path`, and whether it has its own rule about which changes to ignore.
    pub(super) fn name(&self, path: &BStr) -> Option<(&BStr, bool)> {
        let submodule = self.by_path.get(path)?;
        Some((submodule.name.as_bstr(), submodule.ignore.is_some()))
    }
}

/// The submodules of a working copy.
#[derive(Clone, Copy)]
pub(super) struct Submodules<'s> {
    /// The repository that contains them.
    pub(super) repository: &'s Repository,
    pub(super) objects: &'s Objects,
    pub(super) messages: &'s Messages,
    /// Collects what is said inside of them.
    pub(super) said_inside: &'s Messages,
    /// `diff.ignoreSubmodules`.
    pub(super) configured: Option<IgnoreSubmodules>,
    pub(super) stderr: FilterStderr,
    /// Checks the entries of their configurations that are no settings of a session.
    pub(super) check: EntryCheck,
}

impl Submodules<'_> {
    /// Returns the rules for an answer to `request`.
    pub(super) fn rules(
        &self,
        request: &StatusRequest,
        tracked: &Tracked,
    ) -> Result<SubmoduleRules, SessionError> {
        SubmoduleRules::new(
            self.repository,
            tracked,
            self.objects,
            self.messages,
            request,
            self.configured,
        )
    }

    /// Returns the state of the submodule at `path`, whose commit in the index is `recorded`; `None` if it counts as
    /// unchanged.
    pub(super) fn state(
        &self,
        path: &BStr,
        recorded: &ObjectId,
        ignored: Ignored,
        threads_max: Option<usize>,
    ) -> Result<Option<SubmoduleState>, SessionError> {
        if ignored.all {
            return Ok(None);
        }
        let found = match ignored.dirty {
            true => submodule_references(self.repository, path),
            false => submodule(self.repository, path),
        };
        let repository = match found {
            // git does not look inside, so it does not find this error.
            Err(
                repository::Error::Refused(_)
                | repository::Error::Format(_)
                | repository::Error::Explained { .. },
            ) if ignored.dirty => None,
            found => found?,
        };
        let Some(repository) = repository else {
            return Ok(None);
        };
        let mut state = SubmoduleState::default();
        if let Ok(head) = Refs::open(&repository).head() {
            state.new_commits = head_id(&head).is_some_and(|id| !is_same(&id, recorded));
        }
        if !ignored.dirty {
            let question = QuestionInside {
                looks_for_untracked: !ignored.untracked,
                threads_max,
                stderr: self.stderr,
                check: self.check,
            };
            let status = question
                .status(repository, self.said_inside)
                .map_err(|source| SessionError::Submodule {
                    path: path.to_owned(),
                    text: format!(
                        "'git status --porcelain=2' failed in submodule {path}",
                        path = raw(path)
                    ),
                    source: Box::new(source),
                })?;
            (state.modified, state.untracked) = dirtiness(&status);
        }
        Ok((state != SubmoduleState::default()).then_some(state))
    }

    /// Whether the submodule at `path` is configured so that all its changes are ignored.
    pub(super) fn leaves_out(&self, path: &BStr, tracked: &Tracked) -> Result<bool, SessionError> {
        let rules = SubmoduleRules {
            by_path: Known::by_path(self.repository, tracked, self.objects, self.messages)?,
            asked: None,
            configured: None,
            without_untracked: true,
        };
        Ok(rules.ignored(path)?.all)
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

/// The contents of `.gitmodules`, and where they come from.
enum Source {
    File(Vec<u8>, PathBuf),
    Blob(Vec<u8>, ObjectId),
}

const FILE_NAME: &str = ".gitmodules";

/// Reads `.gitmodules` as git does: from the working tree, else from the index, else from HEAD.
fn read_gitmodules(
    repository: &Repository,
    tracked: &Tracked,
    objects: &Objects,
    messages: &Messages,
) -> Option<Source> {
    let path = repository.work_tree.as_deref()?.join(FILE_NAME);
    match vigil_stamp::file::read(&path) {
        Ok(text) => return Some(Source::File(text, path)),
        Err(error) if lstat_path(&path).is_ok() => {
            if error.kind() != ErrorKind::NotFound {
                let reason = errno::text_of(&error);
                let path = raw_path(&path);
                messages.once(bytes_of(&format!(
                    "warning: unable to access '{path}': {reason}"
                )));
            }
            return None;
        }
        Err(_) => {}
    }
    let recorded = tracked.find(BStr::new(FILE_NAME), 0).map(|entry| entry.id);
    let id = recorded.or_else(|| in_head(repository, objects))?;
    let mut text = Vec::new();
    objects.read(&id, &mut text).ok()??;
    Some(Source::Blob(text, id))
}

/// Returns the ID of `.gitmodules` in HEAD.
fn in_head(repository: &Repository, objects: &Objects) -> Option<ObjectId> {
    let head = head_id(&Refs::open(repository).head().ok()?)?;
    let tree = objects.peel_to_tree(&head).ok()?;
    let mut contents = Vec::new();
    objects.read(&tree, &mut contents).ok()??;
    let mut entries = tree_entries(&contents, repository.hash).map_while(Result::ok);
    entries
        .find(|entry| entry.name == FILE_NAME)
        .map(|entry| entry.id)
}

/// What git asks when it runs itself in a submodule.
struct QuestionInside {
    looks_for_untracked: bool,
    threads_max: Option<usize>,
    stderr: FilterStderr,
    check: EntryCheck,
}

impl QuestionInside {
    /// Answers for the submodule in `repository`, by its own configuration. What it has to say goes to `said`.
    fn status(&self, repository: Repository, said: &Messages) -> Result<Status, SessionError> {
        let say = |lines: &[String]| {
            let lines = lines.iter().map(|line| bytes_of(line));
            said.extend(&lines.collect::<Vec<_>>());
        };
        say(repository.config.messages());
        if repository.contains_itself() {
            return Err(repository::Error::Refused(IN_ITSELF.to_owned()).into());
        }
        let settings = Settings::read_with(&repository, self.check)?;
        say(&settings.warnings);
        let request = StatusRequest {
            untracked: match self.looks_for_untracked {
                true => settings.untracked,
                false => UntrackedMode::No,
            },
            threads_max: self.threads_max,
            ..StatusRequest::default()
        };
        let mut session = Session::open_with(repository, settings, false, self.stderr)?;
        session.check_in_submodules(self.check);
        let status = session.status(&request).inspect_err(|_| {
            said.extend(&session.take_messages());
        })?;
        said.extend(&status.warnings);
        // Only the next status would have been faster for it.
        let _ = session.save(&NoSteps);
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

/// Returns whether a submodule's own status counts as modified, and as having untracked files.
fn dirtiness(status: &Status) -> (bool, bool) {
    let mut is_modified = false;
    let mut has_untracked = !status.untracked.is_empty();
    for (_, change) in &status.changes {
        match change {
            Change::Tracked(change) => {
                let nested = change.submodule.unwrap_or_default();
                has_untracked |= nested.untracked;
                // A nested submodule with nothing but untracked files does not count as modified, and neither does this
                // one because of it.
                let only_untracked = change.staged_source.is_none()
                    && change.unstaged_source.is_none()
                    && nested.untracked
                    && !nested.modified
                    && !nested.new_commits;
                is_modified |= !only_untracked;
            }
            Change::Unmerged(change) => {
                has_untracked |= change.submodule.unwrap_or_default().untracked;
                is_modified = true;
            }
        }
    }
    (is_modified, has_untracked)
}
