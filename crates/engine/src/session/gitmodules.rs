//! Reads `.gitmodules`: the submodules that a repository knows by name (gitmodules(5)).

use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};
use gix_hash::ObjectId;
use vigil_linux::stat::lstat_path;
use vigil_linux::{Errno, errno};
use vigil_model::config_value;
use vigil_model::raw_text::{raw, raw_path, text_bytes};
use vigil_model::request::IgnoreSubmodules;
use vigil_model::tracked::Tracked;

use super::error::SessionError;
use super::missed_rules::MissedRules;
use vigil_git::config::{self, Config, ConfigEntry};
use vigil_git::objects::Objects;
use vigil_git::refs::Refs;
use vigil_git::repository::Repository;
use vigil_rules::messages::{Messages, prefixed};

const FILE_NAME: &str = ".gitmodules";

/// One submodule in `.gitmodules`.
#[derive(Default)]
pub(super) struct Submodule {
    pub(super) name: BString,
    /// The last path that it is given.
    path: Option<BString>,
    /// The value of `ignore` in force.
    pub(super) ignore: Option<BString>,
    /// Why git cannot read that value, which matters only where it is used.
    pub(super) bad_ignore: Option<config::Error>,
}

/// Returns the submodules in the `.gitmodules` of `repository` that have a path, by path. If several claim one, the last claim
/// counts. The configuration overrides which of their changes are ignored. If the blob that stands for the file is not here, `missed`
/// is told.
///
/// # Errors
/// The file, or the blob that stands for it, is one over which git exits, or cannot be fetched.
pub(super) fn read(
    repository: &Repository,
    tracked: &Tracked,
    objects: &Objects,
    messages: &Messages,
    missed: &MissedRules,
) -> Result<HashMap<BString, Submodule>, SessionError> {
    let name = BStr::new(FILE_NAME);
    if tracked.find(name, 0).is_none() && (1..=3).any(|stage| tracked.find(name, stage).is_some()) {
        // git does not read the file if it is in conflict.
        return Ok(HashMap::new());
    }
    let Some(file) = find(repository, tracked, objects, messages, missed)? else {
        return Ok(HashMap::new());
    };
    let Some(mut submodules) = parse(&file, messages).map_err(SessionError::Modules)? else {
        return Ok(HashMap::new());
    };
    for submodule in &mut submodules.all {
        let config = &repository.config;
        let name = submodule.name.as_bstr();
        if let Some(entry) = config.subsection_entry("submodule", name, "ignore") {
            let value = entry.required();
            submodule.ignore = Some(entry.value.unwrap_or_default().to_owned());
            submodule.bad_ignore = value.err();
        }
    }
    Ok(submodules.into_paths())
}

/// Parses the file up to its end, or to the entry that ends git's reading of it. What git says of the entries before that is said
/// in any case. `None` if the file is too long.
fn parse(
    file: &GitmodulesText,
    messages: &Messages,
) -> Result<Option<SubmoduleList>, config::Error> {
    let (modules, bad_line) = match file {
        GitmodulesText::File(text, path) => {
            let name = format!("file {}", raw_path(path));
            let Some(parsed) = Config::from_beginning(text, &name) else {
                warn_of_unread(path, Errno::FBIG.into(), messages);
                return Ok(None);
            };
            parsed
        }
        GitmodulesText::Blob(text, id) => Config::up_to_error(text, &format!("blob {id}")),
    };
    let mut submodules = SubmoduleList::default();
    let mut said = Vec::new();
    let outcome = modules
        .entries()
        .try_for_each(|entry| submodules.take(&entry, &mut said))
        .and(bad_line.map_or(Ok(()), |error| Err(Refusal::Line(error))));
    let outcome = match (outcome, file) {
        // git goes on with what it has read until then.
        (Err(Refusal::Line(error)), GitmodulesText::Blob(..)) => {
            let lines = error.messages().iter();
            said.extend(lines.map(|line| text_bytes(line)));
            said.push(text_bytes(&format!("error: {error}")));
            Ok(Some(submodules))
        }
        (Err(Refusal::Line(error) | Refusal::Value(error)), _) => Err(error),
        (Ok(()), _) => Ok(Some(submodules)),
    };
    messages.all_once(said);
    outcome
}

/// Why git reads no further.
enum Refusal {
    /// A line cannot be used. This is fatal in a file, but not in a blob.
    Line(config::Error),
    /// A value over which git exits at once.
    Value(config::Error),
}

impl Refusal {
    /// The refusal of an entry without a value.
    fn without_value(entry: &ConfigEntry<'_>) -> Self {
        let text = match entry.position {
            Some((name, line)) => format!("bad config line {line} in {}", raw(name)),
            None => entry.refusal(),
        };
        Self::Line(config::Error::Explained {
            messages: vec![format!("error: missing value for '{}'", raw(entry.key))],
            text,
        })
    }
}

/// The submodules of one `.gitmodules`, in order, and the position of each by name and by path.
#[derive(Default)]
struct SubmoduleList {
    all: Vec<Submodule>,
    by_name: HashMap<BString, usize>,
    by_path: HashMap<BString, usize>,
}

impl SubmoduleList {
    /// Takes over what `entry` says. Adds what git says of it to `said`. git reads more entries than are needed here.
    fn take(&mut self, entry: &ConfigEntry<'_>, said: &mut Vec<BString>) -> Result<(), Refusal> {
        let Some((section, Some(submodule), name)) = entry.parts() else {
            return Ok(());
        };
        if section != "submodule" {
            return Ok(());
        }
        if is_suspicious(submodule) {
            let parts: &[&[u8]] = &[b"ignoring suspicious submodule name: ", submodule];
            said.push(prefixed("warning: ", parts.concat()));
            return Ok(());
        }
        match (name.as_bytes(), entry.value) {
            (b"path" | b"url" | b"branch" | b"ignore" | b"update", None) => {
                return Err(Refusal::without_value(entry));
            }
            (b"path" | b"url", Some(value)) if value.starts_with(b"-") => {
                let parts: &[&[u8]] = &[
                    b"ignoring '",
                    entry.key,
                    b"' which may be interpreted as a command-line option: ",
                    value,
                ];
                said.push(prefixed("warning: ", parts.concat()));
            }
            (b"path", Some(path)) => self.set_path(submodule, path),
            (b"ignore", Some(value)) if IgnoreSubmodules::named(value).is_none() => {
                let parts: &[&[u8]] = &[
                    b"Invalid parameter '",
                    value,
                    b"' for config option '",
                    entry.key,
                    b"'",
                ];
                said.push(prefixed("warning: ", parts.concat()));
            }
            (b"ignore", Some(value)) => {
                if let Some((_, known)) = self.of(submodule) {
                    known.ignore = Some(value.to_owned());
                }
            }
            _ => check(entry, name).map_err(Refusal::Value)?,
        }
        Ok(())
    }

    /// Returns the submodule of this name and its position, adding it if it is new.
    fn of(&mut self, name: &BStr) -> Option<(usize, &mut Submodule)> {
        let next = self.all.len();
        let at = *self.by_name.entry(name.to_owned()).or_insert(next);
        if at == next {
            self.all.push(Submodule {
                name: name.to_owned(),
                ..Submodule::default()
            });
        }
        self.all.get_mut(at).map(|submodule| (at, submodule))
    }

    /// Gives the submodule `name` the path. As in git, its earlier path then belongs to no submodule, even if another one has claimed
    /// it meanwhile.
    fn set_path(&mut self, name: &BStr, path: &BStr) {
        let Some((at, submodule)) = self.of(name) else {
            return;
        };
        if let Some(earlier) = submodule.path.replace(path.to_owned()) {
            self.by_path.remove(&earlier);
        }
        self.by_path.insert(path.to_owned(), at);
    }

    /// Returns the submodules by path.
    fn into_paths(self) -> HashMap<BString, Submodule> {
        let mut all: Vec<_> = self.all.into_iter().map(Some).collect();
        let paths = self.by_path.into_iter();
        let paths = paths.filter_map(|(path, at)| Some((path, all.get_mut(at)?.take()?)));
        paths.collect()
    }
}

/// Checks an entry in the section of a submodule of which only an unusable value matters.
fn check(entry: &ConfigEntry<'_>, name: &BStr) -> Result<(), config::Error> {
    let key = raw(entry.key);
    match (name.as_bytes(), entry.value) {
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

/// Whether `name` is one that git does not accept from `.gitmodules`: it could lead out of the folder of submodules'
/// repositories.
fn is_suspicious(name: &BStr) -> bool {
    let mut components = name.split(|byte| matches!(byte, b'/' | b'\\'));
    name.is_empty() || components.any(|component| component == b"..")
}

/// The contents of `.gitmodules`, and where they come from.
enum GitmodulesText {
    /// What was read of the file: no more than [`config::FILE_LEN_MAX`].
    File(Vec<u8>, PathBuf),
    Blob(Vec<u8>, ObjectId),
}

/// Finds `.gitmodules` as git does: in the working tree, else in the index, else in HEAD.
///
/// # Errors
/// The blob was left out of a partial clone, and cannot be fetched.
fn find(
    repository: &Repository,
    tracked: &Tracked,
    objects: &Objects,
    messages: &Messages,
    missed: &MissedRules,
) -> Result<Option<GitmodulesText>, SessionError> {
    let Some(top) = repository.work_tree.as_deref() else {
        return Ok(None);
    };
    let path = top.join(FILE_NAME);
    match vigil_stamp::file::read_beginning(&path, config::FILE_LEN_MAX) {
        Ok(text) => return Ok(Some(GitmodulesText::File(text, path))),
        Err(error) if lstat_path(&path).is_ok() => {
            if error.kind() != ErrorKind::NotFound {
                warn_of_unread(&path, error, messages);
            }
            return Ok(None);
        }
        Err(_) => {}
    }
    let recorded = tracked.find(BStr::new(FILE_NAME), 0).map(|entry| entry.id);
    let Some(id) = recorded.or_else(|| in_head(repository, objects)) else {
        return Ok(None);
    };
    let mut text = Vec::new();
    match objects.read(&id, &mut text).map_err(SessionError::from) {
        Ok(Some(_)) => Ok(Some(GitmodulesText::Blob(text, id))),
        Ok(None) => {
            missed.miss(id);
            let error = format!("error: unable to load config blob object '{id}'");
            messages.once(text_bytes(&error));
            Ok(None)
        }
        Err(error) if error.is_of_fetching() => Err(error),
        Err(_) => Ok(None),
    }
}

fn warn_of_unread(path: &Path, error: io::Error, messages: &Messages) {
    let reason = errno::text_of(&error);
    let path = raw_path(path);
    let warning = format!("warning: unable to access '{path}': {reason}");
    messages.once(text_bytes(&warning));
}

/// Returns the ID of `.gitmodules` in HEAD.
fn in_head(repository: &Repository, objects: &Objects) -> Option<ObjectId> {
    let head = Refs::open(repository).head().ok()?.commit()?;
    let tree = objects.peel_to_tree(&head).ok()?;
    objects.find_in_tree(&tree, FILE_NAME.into()).ok()?
}
