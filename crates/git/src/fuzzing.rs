//! Parsers that are not part of the public interface, for the fuzz targets.

use std::io;
use std::path::{Path, PathBuf};

use bstr::{BStr, BString};
use gix_hash::{Kind, ObjectId};

use crate::config::{Config, fsync, parameters, parse};
use crate::environment::Environment;
use crate::objects::{Compat, History, Tag};
use crate::operation::{todo, under_way};
use crate::reflog;
use crate::refs::packed::Packed;
use crate::refs::{Raw, loose, name};
use crate::reftable::Value;
use crate::reftable::table::ReftableFile;
use crate::repository::{git_dir, gitfile};
use vigil_model::config_value;
use vigil_stamp::file::Contents;
/// A key and its value, if it has one.
pub type Pair = (BString, Option<BString>);

/// Returns the entries of a configuration file with their line numbers, and the number of the invalid line.
pub fn config_text(bytes: &[u8]) -> (Vec<(Pair, usize)>, Option<usize>) {
    let text = parse::parse(bytes);
    let lines = text.lines.into_iter();
    let lines = lines.map(|line| ((line.key, line.value), line.number));
    (lines.collect(), text.bad_line)
}

/// Returns the number of warnings about the settings for writing to disk.
pub fn said_of_fsync(text: &[u8]) -> usize {
    let (config, _) = Config::up_to_error(text, "file config");
    fsync::warnings(&config).len()
}

/// Reads the configuration in the environment.
///
/// # Errors
/// git's error text.
pub fn config_parameters(environment: &Environment) -> Result<Vec<Pair>, String> {
    parameters::read(environment)
}

/// Parses a configuration value as a number.
pub fn config_number(value: &BStr, max: i64) -> Option<i64> {
    config_value::number(Some(value), max).ok()
}

/// Parses a configuration value as a boolean.
pub fn config_boolean(value: &BStr) -> Option<bool> {
    config_value::boolean(Some(value))
}

/// Returns `text` in single quotes.
pub fn shell_quoted(text: &[u8]) -> BString {
    let mut quoted = BString::default();
    vigil_model::quote::append_shell_quoted(text, &mut quoted);
    quoted
}

/// Returns the directory that a `.git` file with these `contents` names.
pub fn gitfile(contents: &[u8]) -> Option<&[u8]> {
    gitfile::target(contents).ok()
}

/// Returns the directory that a `commondir` file with these `contents` names, seen from `git_dir`.
pub fn common_dir(git_dir: &Path, contents: &[u8]) -> Option<PathBuf> {
    git_dir::common_dir_file(git_dir, |_| Ok(contents.to_vec())).ok()?
}

/// A `packed-refs` file.
#[derive(Debug)]
pub struct PackedRefs(Packed);

/// A name, what it points to, and what that peels to.
pub type PackedRef = (BString, ObjectId, Option<ObjectId>);

impl PackedRefs {
    /// Parses the bytes of the file.
    ///
    /// # Errors
    /// git's error text.
    pub fn parse(bytes: &[u8], hash: Kind) -> Result<Self, String> {
        let parsed = Packed::parse("packed-refs".into(), Contents::Read(bytes.to_vec()), hash);
        parsed.map(Self).map_err(|error| error.to_string())
    }

    /// Returns the records from `name` on.
    pub fn from(&self, name: &BStr) -> impl Iterator<Item = Result<PackedRef, String>> {
        self.0.from(name).map(|record| {
            let record = record.map_err(|error| error.to_string())?;
            Ok((record.name.to_owned(), record.id, record.peeled))
        })
    }

    /// Returns what `name` points to.
    ///
    /// # Errors
    /// git's error text.
    pub fn find(&self, name: &BStr) -> Result<Option<ObjectId>, String> {
        let found = self.0.find(name).map_err(|error| error.to_string())?;
        Ok(found.map(|record| record.id))
    }
}

/// Returns the object, or else the reference, to which a loose reference with these `contents` points.
pub fn loose_reference(contents: &[u8], hash: Kind) -> Option<Result<ObjectId, BString>> {
    match loose::parse(contents, hash) {
        Raw::Direct(id) => Some(Ok(id)),
        Raw::Symbolic(target) => Some(Err(target)),
        Raw::Missing | Raw::Broken | Raw::Unreadable => None,
    }
}

/// Whether `name` is a valid reference name.
pub fn is_reference_name(name: &[u8]) -> bool {
    name::is_valid(name)
}

/// Returns the new id and the message of each record in the log `text`, newest first.
pub fn reflog_newest_first(text: &[u8], hash: Kind) -> Vec<(ObjectId, BString)> {
    let mut records = Vec::new();
    let read_at = |part: &mut [u8], at| {
        let rest = usize::try_from(at).ok().and_then(|at| text.get(at..));
        io::Read::read_exact(&mut rest.unwrap_or_default(), part)
    };
    let reading =
        reflog::records_newest_first(text.len() as u64, read_at, hash, |record, message| {
            records.push((record.new, message.to_owned()));
            true
        });
    assert!(reading.is_ok(), "a log was read beyond its end");
    records
}

/// One file of a reftable stack.
#[derive(Debug)]
pub struct Reftable(ReftableFile);

/// The target of a reference in a table: an object or a reference; `None` if it is deleted.
pub type Target = Option<Result<ObjectId, BString>>;

impl Reftable {
    /// Parses the bytes of the file.
    pub fn parse(bytes: &[u8], hash: Kind) -> Option<Self> {
        ReftableFile::parse("table".into(), Contents::Read(bytes.to_vec()), hash)
            .ok()
            .map(Self)
    }

    /// Calls `found` for each reference whose name starts with `prefix`. Returns whether the table could be read.
    pub fn for_each(&self, prefix: &BStr, mut found: impl FnMut(&BStr, Target)) -> bool {
        let read = self.0.for_each_ref(prefix, |name, value| {
            found(name, target(value));
        });
        read.is_ok()
    }

    /// Returns what `name` points to, if it is in the table.
    pub fn find(&self, name: &BStr) -> Option<Target> {
        self.0.find(name).ok()?.map(target)
    }

    /// Calls `found` with the size of each record's message in the log of `name`. Returns whether the table could be read.
    pub fn for_each_log(&self, name: &BStr, mut found: impl FnMut(u64, Option<usize>)) -> bool {
        let read = self.0.for_each_log(name, |update, record| {
            found(update, record.map(|(_, message)| message.len()));
        });
        read.is_ok()
    }
}

fn target(value: Value) -> Target {
    match value {
        Value::Deleted => None,
        Value::Direct(id) | Value::Peeled(id, _) => Some(Ok(id)),
        Value::Symbolic(target) => Some(Err(target)),
    }
}

/// Parses a tag object: its target, the target's type, the tag's own name, and its time.
pub fn tag(content: &[u8], hash: Kind) -> Option<(ObjectId, gix_object::Kind, BString, u64)> {
    let tag = Tag::parse(content, hash).ok()?;
    Some((tag.target, tag.target_kind, tag.name, tag.time_s))
}

/// Returns the commits whose parents are changed by grafts or a shallow boundary, with their new parents, and whether
/// the boundary is invalid.
pub fn history(
    grafts: &[u8],
    shallow: &[u8],
    hash: Kind,
) -> (Vec<(ObjectId, Vec<ObjectId>)>, bool) {
    let history = History::of_lines(grafts, shallow, hash);
    let changed = history.all_changed();
    let changed = changed.map(|(commit, parents)| (*commit, parents.to_vec()));
    (changed.collect(), history.check().is_err())
}

/// Parses `objects/loose-object-idx`, which gives the ids of objects under a second hash function.
pub fn compat(contents: &[u8], own: Kind, other: Kind) -> Compat {
    Compat::parse(contents, own, other)
}

/// Returns the commands in the todo list of an interactive rebase.
pub fn todo_commands<'a>(text: &'a [u8], comment: &'a BStr) -> impl Iterator<Item = &'a [u8]> {
    todo::commands(text, comment)
}

/// Returns the branch or commit that HEAD was switched to, according to the message of a log record.
pub fn switched_to(message: &BStr) -> Option<&BStr> {
    under_way::switched_to(message)
}
