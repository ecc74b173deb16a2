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
use vigil_git::config::{self, Config, Entry};
use vigil_git::objects::Objects;
use vigil_git::refs::Refs;
use vigil_git::repository::Repository;
use vigil_rules::messages::Messages;

const FILE_NAME: &str = ".gitmodules";

/// One submodule in `.gitmodules`.
#[derive(Default)]
pub(super) struct Submodule {
    pub(super) name: BString,
    /// Its path, with the number of the configuration entry that sets it.
    path: Option<(usize, BString)>,
    /// The value of `ignore` in force.
    pub(super) ignore: Option<BString>,
    /// Why git cannot read that value, which matters only where it is used.
    pub(super) bad_ignore: Option<config::Error>,
}

/// Returns the submodules in the `.gitmodules` of `repository` that have a path, by path. If several claim one, the last claim
/// counts. The configuration overrides which of their changes are ignored.
///
/// # Errors
/// The file in the working tree is one over which git exits.
pub(super) fn read(
    repository: &Repository,
    tracked: &Tracked,
    objects: &Objects,
    messages: &Messages,
) -> Result<HashMap<BString, Submodule>, SessionError> {
    let name = BStr::new(FILE_NAME);
    if tracked.find(name, 0).is_none() && (1..=3).any(|stage| tracked.find(name, stage).is_some()) {
        // git does not read the file if it is in conflict.
        return Ok(HashMap::new());
    }
    let Some(modules) = parse(repository, tracked, objects, messages)? else {
        return Ok(HashMap::new());
    };
    let mut all = collect(&modules, messages);
    for submodule in &mut all {
        let config = &repository.config;
        let name = submodule.name.as_bstr();
        if let Some(entry) = config.subsection_entry("submodule", name, "ignore") {
            let value = entry.required();
            submodule.ignore = Some(entry.value.unwrap_or_default().to_owned());
            submodule.bad_ignore = value.err();
        }
    }
    all.sort_by_key(|submodule| submodule.path.as_ref().map(|(number, _)| *number));
    let with_paths = all.into_iter().filter_map(|submodule| {
        let (_, path) = submodule.path.as_ref()?;
        Some((path.clone(), submodule))
    });
    Ok(with_paths.collect())
}

/// Parses the file, if there is one.
fn parse(
    repository: &Repository,
    tracked: &Tracked,
    objects: &Objects,
    messages: &Messages,
) -> Result<Option<Config>, SessionError> {
    Ok(match find(repository, tracked, objects, messages) {
        None => None,
        Some(Source::File(text, path)) => {
            let name = format!("file {}", raw_path(&path));
            let Some(modules) = Config::from_beginning(&text, &name)? else {
                warn_of_unread(&path, Errno::FBIG.into(), messages);
                return Ok(None);
            };
            modules.entries().try_for_each(|entry| check(&entry))?;
            Some(modules)
        }
        Some(Source::Blob(text, id)) => {
            let (modules, error) = Config::up_to_error(&text, &format!("blob {id}"));
            if let Some(error) = error {
                messages.once(text_bytes(&format!("error: {error}")));
            }
            Some(modules)
        }
    })
}

/// Collects the submodules in `modules`. Warns of entries that git does not accept.
fn collect(modules: &Config, messages: &Messages) -> Vec<Submodule> {
    let mut submodules = Collected::default();
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
                if let Some(known) = submodules.of(submodule) {
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
                if let Some(known) = submodules.of(submodule) {
                    known.ignore = Some(value.to_owned());
                }
            }
            _ => {}
        }
    }
    let warnings = warnings.into_iter();
    let warnings = warnings.map(|said| [b"warning: ".as_slice(), &said].concat().into());
    messages.all_once(warnings.collect());
    submodules.all
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
    all: Vec<Submodule>,
    by_name: HashMap<BString, usize>,
}

impl Collected {
    /// Returns the submodule of this name, adding it if it is new.
    fn of(&mut self, name: &BStr) -> Option<&mut Submodule> {
        let next = self.all.len();
        let at = *self.by_name.entry(name.to_owned()).or_insert(next);
        if at == next {
            self.all.push(Submodule {
                name: name.to_owned(),
                ..Submodule::default()
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

/// The contents of `.gitmodules`, and where they come from.
enum Source {
    /// What was read of the file: no more than [`config::FILE_LEN_MAX`].
    File(Vec<u8>, PathBuf),
    Blob(Vec<u8>, ObjectId),
}

/// Finds `.gitmodules` as git does: in the working tree, else in the index, else in HEAD.
fn find(
    repository: &Repository,
    tracked: &Tracked,
    objects: &Objects,
    messages: &Messages,
) -> Option<Source> {
    let path = repository.work_tree.as_deref()?.join(FILE_NAME);
    match vigil_stamp::file::read_beginning(&path, config::FILE_LEN_MAX) {
        Ok(text) => return Some(Source::File(text, path)),
        Err(error) if lstat_path(&path).is_ok() => {
            if error.kind() != ErrorKind::NotFound {
                warn_of_unread(&path, error, messages);
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
