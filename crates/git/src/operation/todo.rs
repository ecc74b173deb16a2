//! The list of commands of an interactive rebase (git-rebase(1), "INTERACTIVE MODE").

use bstr::{BStr, BString, ByteSlice};
use gix_hash::ObjectId;

use super::under_way::Error;
use crate::config::Config;
use crate::objects::Objects;
use crate::refs::Refs;
use crate::repository::Repository;
use vigil_model::white_space;

/// How many commands the long format shows of each list.
const SHOWN: usize = 2;

/// The shortest abbreviated id that git takes for one.
const ABBREVIATION_MIN: usize = 4;

/// A list of commands, as far as it is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Todo {
    /// How many commands there are.
    pub count: usize,
    /// The first two, with abbreviated ids.
    pub first: Vec<BString>,
    /// The last two, with abbreviated ids.
    pub last: Vec<BString>,
}

/// What comment lines start with (`core.commentChar`, `core.commentString`).
pub fn comment_prefix(config: &Config) -> BString {
    let is_prefix = |key: &BStr| key == "core.commentchar" || key == "core.commentstring";
    let last = config
        .entries()
        .filter(|entry| is_prefix(entry.key))
        .last()
        .and_then(|entry| entry.value)
        .filter(|value| !value.is_empty() && !value.eq_ignore_ascii_case(b"auto"));
    last.unwrap_or(BStr::new("#")).to_owned()
}

/// Reads the commands in `text`.
pub(super) fn read_todo(
    text: &[u8],
    repo: &Repository,
    refs: &Refs,
    objects: &Objects,
) -> Result<Todo, Error> {
    let comment = comment_prefix(&repo.config);
    let lines: Vec<&[u8]> = commands(text, comment.as_ref()).collect();
    let shown = |lines: Option<&[&[u8]]>| {
        let lines = lines.unwrap_or_default().iter();
        lines
            .map(|line| with_short_id(line.as_bstr(), repo, refs, objects))
            .collect::<Result<Vec<_>, _>>()
    };
    Ok(Todo {
        count: lines.len(),
        first: shown(lines.get(..SHOWN.min(lines.len())))?,
        last: shown(lines.get(lines.len().saturating_sub(SHOWN)..))?,
    })
}

/// The lines of `text` that are commands.
pub(crate) fn commands<'a>(text: &'a [u8], comment: &'a BStr) -> impl Iterator<Item = &'a [u8]> {
    text.lines()
        .filter(|line| !line.starts_with(comment))
        .map(white_space::trim)
        .filter(|line| !line.is_empty())
}

/// The command `line`, in which the commit has its short id.
fn with_short_id(
    line: &BStr,
    repo: &Repository,
    refs: &Refs,
    objects: &Objects,
) -> Result<BString, Error> {
    let mut words = line.splitn_str(3, " ");
    let (Some(command), Some(name)) = (words.next(), words.next()) else {
        return Ok(line.into());
    };
    if matches!(command, b"exec" | b"x" | b"label" | b"l") {
        return Ok(line.into());
    }
    let Some(id) = object_named(name.as_bstr(), repo, refs, objects)? else {
        return Ok(line.into());
    };
    let id = objects.abbreviate(&id, &repo.config)?;
    let mut short = BString::from([command, b" ", id.as_slice()].concat());
    if let Some(rest) = words.next() {
        short.push(b' ');
        short.extend_from_slice(rest);
    }
    Ok(short)
}

/// The object that a whole id, a reference or an abbreviated id names.
fn object_named(
    name: &BStr,
    repo: &Repository,
    refs: &Refs,
    objects: &Objects,
) -> Result<Option<ObjectId>, Error> {
    if name.len() == repo.hash.len_in_hex()
        && let Ok(id) = ObjectId::from_hex(name)
    {
        return Ok(Some(id));
    }
    let full_name = if name == "@" { "HEAD".into() } else { name };
    if let Some(reference) = refs.expand(full_name, false)? {
        return Ok(refs.resolve(reference.as_ref())?);
    }
    let is_abbreviated = name.len() >= ABBREVIATION_MIN && name.iter().all(u8::is_ascii_hexdigit);
    if !is_abbreviated {
        return Ok(None);
    }
    match objects.all_starting_with(name)?.as_slice() {
        [id] => Ok(Some(*id)),
        _ => Ok(None),
    }
}
