//! Parsers that are no part of the public interface, for the fuzz targets.

use std::io;
use std::path::{Path, PathBuf};

use bstr::{BStr, BString};
use gix_hash::{Kind, ObjectId};

use crate::config::{Config, fsync, parameters, parse};
use crate::convert::conversation::{Conversation, Outcome};
use crate::convert::shell::Input;
use crate::convert::{eol, ident};
use crate::environment::Environment;
use crate::objects::{Compat, History, Tag};
use crate::operation::{todo, under_way};
use crate::refs::packed::Packed;
use crate::refs::{Raw, loose, name, reflog};
use crate::reftable::Value;
use crate::reftable::table::Table;
use crate::repository::{git_dir, gitfile};
use crate::staged::tree::TreeEntry;
use vigil_model::config_value;
use vigil_rules::messages::Messages;
use vigil_stamp::file::Contents;
/// A key and its value, if it has one.
pub type Pair = (BString, Option<BString>);

/// The entries of a configuration file with the numbers of their lines, and the number of the line that is bad.
pub fn config_text(bytes: &[u8]) -> (Vec<(Pair, usize)>, Option<usize>) {
    let text = parse::parse(bytes);
    let lines = text.lines.into_iter();
    let lines = lines.map(|line| ((line.key, line.value), line.number));
    (lines.collect(), text.bad_line)
}

/// How many lines are said of how a configuration file wants things written to disk.
pub fn said_of_fsync(text: &[u8]) -> usize {
    let (config, _) = Config::up_to_error(text, "file config");
    fsync::warnings(&config).len()
}

/// The configuration in the environment.
///
/// # Errors
/// git's words.
pub fn config_parameters(environment: &Environment) -> Result<Vec<Pair>, String> {
    parameters::read(environment)
}

/// The number that a configuration value means.
pub fn config_number(value: &BStr, max: i64) -> Option<i64> {
    config_value::number(Some(value), max).ok()
}

/// The boolean that a configuration value means.
pub fn config_boolean(value: &BStr) -> Option<bool> {
    config_value::boolean(Some(value))
}

/// `text` in single quotes.
pub fn shell_quoted(text: &[u8]) -> BString {
    let mut quoted = BString::default();
    vigil_model::quote::append_shell_quoted(text, &mut quoted);
    quoted
}

/// The folder that a `.git` file of these `contents` names.
pub fn gitfile(contents: &[u8]) -> Option<&[u8]> {
    gitfile::target(contents).ok()
}

/// The folder that a `commondir` file of these `contents` names from `git_dir`.
pub fn common_dir(git_dir: &Path, contents: &[u8]) -> Option<PathBuf> {
    git_dir::common_dir_file(git_dir, |_| Ok(contents.to_vec())).ok()?
}

/// A `packed-refs` file.
#[derive(Debug)]
pub struct PackedRefs(Packed);

/// A name, what it points to, and what that peels to.
pub type PackedRef = (BString, ObjectId, Option<ObjectId>);

impl PackedRefs {
    /// Takes over the bytes of the file.
    ///
    /// # Errors
    /// git's words.
    pub fn parse(bytes: &[u8], hash: Kind) -> Result<Self, String> {
        let parsed = Packed::parse("packed-refs".into(), Contents::Read(bytes.to_vec()), hash);
        parsed.map(Self).map_err(|error| error.to_string())
    }

    /// The records from `name` on.
    pub fn from(&self, name: &BStr) -> impl Iterator<Item = Result<PackedRef, String>> {
        self.0.from(name).map(|record| {
            let record = record.map_err(|error| error.to_string())?;
            Ok((record.name.to_owned(), record.id, record.peeled))
        })
    }

    /// What `name` points to.
    ///
    /// # Errors
    /// git's words.
    pub fn find(&self, name: &BStr) -> Result<Option<ObjectId>, String> {
        let found = self.0.find(name).map_err(|error| error.to_string())?;
        Ok(found.map(|record| record.id))
    }
}

/// The object, or else the reference, that a loose reference of these `contents` points to.
pub fn loose_reference(contents: &[u8], hash: Kind) -> Option<Result<ObjectId, BString>> {
    match loose::parse(contents, hash) {
        Raw::Direct(id) => Some(Ok(id)),
        Raw::Symbolic(target) => Some(Err(target)),
        Raw::Missing | Raw::Broken => None,
    }
}

/// Whether `name` may be a reference's.
pub fn is_reference_name(name: &[u8]) -> bool {
    name::is_valid(name)
}

/// The number of well-formed records in the log `text`.
pub fn reflog_count(text: &[u8], hash: Kind) -> usize {
    reflog::count_in(text, hash)
}

/// The new id and the message of each record in the log `text`, the newest first.
pub fn reflog_newest_first(text: &[u8], hash: Kind) -> impl Iterator<Item = (ObjectId, &BStr)> {
    reflog::records_newest_first(text, hash)
}

/// A file of a stack of reftables.
#[derive(Debug)]
pub struct Reftable(Table);

/// What a reference in a table points to: an object or a reference; nothing, if it is deleted.
pub type Target = Option<Result<ObjectId, BString>>;

impl Reftable {
    /// Takes over the bytes of the file.
    pub fn parse(bytes: &[u8], hash: Kind) -> Option<Self> {
        Table::parse("table".into(), bytes.to_vec(), hash)
            .ok()
            .map(Self)
    }

    /// Calls `found` for each reference whose name starts with `prefix`; whether the table could be read.
    pub fn for_each(&self, prefix: &BStr, mut found: impl FnMut(&BStr, Target)) -> bool {
        let read = self.0.for_each_ref(prefix, |name, value| {
            found(name, target(value));
        });
        read.is_ok()
    }

    /// What `name` points to, if it is there.
    pub fn find(&self, name: &BStr) -> Option<Target> {
        self.0.find(name).ok()?.map(target)
    }

    /// Calls `found` with the size of each record's message in the log of `name`; whether the table could be read.
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

/// A tree's entry: its name, its mode, its object, and how many bytes it takes.
pub type TreeRecord = (BString, u32, ObjectId, usize);

/// The first entry of what is left of a tree object.
///
/// # Errors
/// git's words.
pub fn tree_entry(data: &[u8], hash: Kind) -> Result<Option<TreeRecord>, &'static str> {
    let entry = TreeEntry::first(data, hash)?;
    Ok(entry.map(|entry| (entry.key.name.into(), entry.mode.0, entry.id, entry.len)))
}

/// What a tag object points to, the type of that, the tag's own name, and its time.
pub fn tag(content: &[u8], hash: Kind) -> Option<(ObjectId, gix_object::Kind, BString, u64)> {
    let tag = Tag::parse(content, hash).ok()?;
    Some((tag.target, tag.target_kind, tag.name, tag.time_s))
}

/// The commits whose parents grafts and a shallow boundary change, with the new ones, and whether the boundary is bad.
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

/// Which ids objects have beside their own, as `objects/loose-object-idx` says.
pub fn compat(contents: &[u8], own: Kind, other: Kind) -> Compat {
    Compat::parse(contents, own, other)
}

/// What remains of a conversation with a filter.
#[derive(Debug, Default)]
pub struct Conversed {
    /// The contents that the filter gave, file by file; `None` where it gave none.
    pub outcomes: Vec<Option<Vec<u8>>>,
    /// All that was said to it.
    pub said: Vec<u8>,
    /// Why git would have ended.
    pub fatal: Option<String>,
}

/// Greets a filter that says `replies`, and has it clean `files`.
pub fn converse(replies: impl io::Read, files: &[&[u8]]) -> Conversed {
    let mut conversed = Conversed::default();
    let messages = Messages::default();
    let mut conversation = Conversation::new(&mut conversed.said, replies);
    if conversation.shake_hands("filter".into()).is_err() {
        return conversed;
    }
    for file in files {
        match conversation.clean("path".into(), Input::Bytes(file), &messages) {
            Ok(Outcome::Converted(contents)) => conversed.outcomes.push(Some(contents)),
            Ok(Outcome::Declined) => conversed.outcomes.push(None),
            Ok(Outcome::Broken) => break,
            Err(error) => {
                conversed.fatal = Some(error.to_string());
                break;
            }
        }
    }
    conversed
}

/// The commands in a list for an interactive rebase.
pub fn todo_commands<'a>(text: &'a [u8], comment: &'a BStr) -> impl Iterator<Item = &'a [u8]> {
    todo::commands(text, comment)
}

/// What a log's message says that HEAD was switched to.
pub fn switched_to(message: &BStr) -> Option<&BStr> {
    under_way::switched_to(message)
}

/// The numbers of lone LF and of CRLF in contents that come in `pieces`, and the contents with LF for CRLF.
pub fn line_endings<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (u64, u64, Vec<u8>) {
    let mut statistics = eol::Statistics::default();
    let mut out = Vec::new();
    let mut held_cr = false;
    for piece in pieces {
        statistics.add(piece);
        eol::strip_cr(piece, &mut held_cr, |bytes| out.extend_from_slice(bytes));
    }
    out.extend_from_slice(if held_cr { b"\r" } else { b"" });
    statistics.finish();
    (statistics.lone_lf, statistics.crlf, out)
}

/// `contents` with their idents collapsed, if they have any.
pub fn ident_collapsed(contents: &[u8]) -> Option<Vec<u8>> {
    ident::collapse(contents)
}
