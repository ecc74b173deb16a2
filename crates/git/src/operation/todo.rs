//! The todo list of an interactive rebase (git-rebase(1), "INTERACTIVE MODE").

use std::collections::VecDeque;

use bstr::{BStr, BString, ByteSlice};
use gix_hash::ObjectId;

use super::error::Error;
use crate::config::Config;
use crate::objects::Objects;
use crate::refs::Refs;
use crate::repository::Repository;
use vigil_model::c_string::until_nul;
use vigil_model::white_space;

/// How many commands of each list the long format shows.
const SHOWN: usize = 2;

/// The minimum length of an abbreviated id in git.
const ABBREVIATION_MIN: usize = 4;

/// The part of a list of commands that is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Todo {
    /// The number of commands.
    pub count: usize,
    /// The first two, with abbreviated ids.
    pub first: Vec<BString>,
    /// The last two, with abbreviated ids.
    pub last: Vec<BString>,
}

/// Returns the prefix of comment lines (`core.commentChar`, `core.commentString`).
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
    let (mut count, mut first, mut last) = (0_usize, Vec::new(), VecDeque::new());
    for line in commands(text, comment.as_ref()) {
        count = count.saturating_add(1);
        if first.len() < SHOWN {
            first.push(line);
        }
        if last.len() == SHOWN {
            last.pop_front();
        }
        last.push_back(line);
    }
    // For git a line is a C string.
    let shown = |line| with_short_ids(until_nul(line).as_bstr(), repo, refs, objects);
    Ok(Todo {
        count,
        first: first.into_iter().map(shown).collect::<Result<_, _>>()?,
        last: last.into_iter().map(shown).collect::<Result<_, _>>()?,
    })
}

/// Returns the lines of `text` that are not comments.
pub(crate) fn commands<'a>(text: &'a [u8], comment: &'a BStr) -> impl Iterator<Item = &'a [u8]> {
    text.lines().map(white_space::trim).filter(move |line| {
        // A command is not a comment, even if it begins with the comment character.
        !line.is_empty() && (!line.starts_with(comment) || arguments_of(line).is_some())
    })
}

/// The arguments of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Arguments {
    /// A commit.
    Commit,
    /// A commit, possibly after an option.
    OptionAndCommit,
    /// Commits or labels; an option before the first of them makes that a commit.
    OptionAndMany,
    /// A commit or a label.
    CommitOrLabel,
    /// Anything else.
    Other,
}

/// The commands, with their one-letter abbreviations.
const COMMANDS: [(&str, Option<u8>, Arguments); 14] = [
    ("pick", Some(b'p'), Arguments::Commit),
    ("revert", None, Arguments::Commit),
    ("edit", Some(b'e'), Arguments::Commit),
    ("reword", Some(b'r'), Arguments::Commit),
    ("fixup", Some(b'f'), Arguments::OptionAndCommit),
    ("squash", Some(b's'), Arguments::Commit),
    ("exec", Some(b'x'), Arguments::Other),
    ("break", Some(b'b'), Arguments::Other),
    ("label", Some(b'l'), Arguments::Other),
    ("reset", Some(b't'), Arguments::CommitOrLabel),
    ("merge", Some(b'm'), Arguments::OptionAndMany),
    ("update-ref", Some(b'u'), Arguments::Other),
    ("noop", None, Arguments::Other),
    ("drop", Some(b'd'), Arguments::Commit),
];

/// Returns what the command at the start of `line` takes, and the rest of the line; `None` if it is not a command.
fn arguments_of(line: &[u8]) -> Option<(Arguments, &[u8])> {
    let end = line.iter().position(|&byte| white_space::is_space(byte));
    let (word, rest) = line.split_at_checked(end.unwrap_or(line.len()))?;
    let (.., arguments) = COMMANDS.iter().find(|(name, letter, _)| {
        word == name.as_bytes() || letter.is_some_and(|it| word == [it])
    })?;
    Some((*arguments, rest))
}

/// Returns the command `line` with commit ids abbreviated.
fn with_short_ids(
    line: &BStr,
    repo: &Repository,
    refs: &Refs,
    objects: &Objects,
) -> Result<BString, Error> {
    let Some((arguments, rest)) = arguments_of(line) else {
        return Ok(line.into());
    };
    let mut ids = ShortIds {
        line: line.strip_suffix(rest).unwrap_or(line).into(),
        rest,
        repo,
        refs,
        objects,
    };
    match arguments {
        Arguments::Other => {}
        Arguments::Commit => ids.name(false)?,
        Arguments::CommitOrLabel => ids.name(true)?,
        Arguments::OptionAndCommit => {
            ids.option();
            ids.name(false)?;
        }
        Arguments::OptionAndMany => {
            let mut may_be_label = !ids.option();
            while ids.has_name() {
                ids.name(may_be_label)?;
                may_be_label = true;
            }
        }
    }
    ids.line.extend_from_slice(ids.rest);
    Ok(ids.line)
}

/// A line whose ids are being abbreviated.
struct ShortIds<'a> {
    /// The finished part.
    line: BString,
    rest: &'a [u8],
    repo: &'a Repository,
    refs: &'a Refs,
    objects: &'a Objects,
}

impl<'a> ShortIds<'a> {
    /// Copies the first `length` bytes of the rest, and returns them.
    fn copy(&mut self, length: usize) -> &'a [u8] {
        let (passed, rest) = self.rest.split_at_checked(length).unwrap_or_default();
        self.line.extend_from_slice(passed);
        self.rest = rest;
        passed
    }

    fn pass_blanks(&mut self) {
        let is_blank = |byte: &&u8| matches!(byte, b' ' | b'\t');
        self.copy(self.rest.iter().take_while(is_blank).count());
    }

    /// Skips the option for the message; returns whether there is one.
    fn option(&mut self) -> bool {
        self.pass_blanks();
        let is_there = self.rest.starts_with(b"-C") || self.rest.starts_with(b"-c");
        if is_there {
            self.copy(2);
        }
        is_there
    }

    /// Whether another name follows, rather than the end or a comment.
    fn has_name(&mut self) -> bool {
        self.pass_blanks();
        match self.rest {
            [] | [b'#'] => false,
            [b'#', next, ..] => !white_space::is_space(*next),
            _ => true,
        }
    }

    /// Copies the name that follows, abbreviated if it is a whole id or a long one.
    fn name(&mut self, may_be_label: bool) -> Result<(), Error> {
        self.pass_blanks();
        let end = self.rest.find_byteset(b" \t").unwrap_or(self.rest.len());
        let name = self.rest.get(..end).unwrap_or_default().as_bstr();
        let short = self.short(name, may_be_label)?;
        match short.filter(|short| name.starts_with(short)) {
            Some(short) => {
                self.line.extend_from_slice(&short);
                self.rest = self.rest.get(end..).unwrap_or_default();
            }
            None => {
                self.copy(end);
            }
        }
        Ok(())
    }

    fn short(&self, name: &BStr, may_be_label: bool) -> Result<Option<BString>, Error> {
        if name.is_empty() || !name.iter().all(u8::is_ascii_hexdigit) {
            return Ok(None);
        }
        if may_be_label {
            let label = BString::from([LABELS, name.as_bytes()].concat());
            if matches!(self.refs.resolve(label.as_ref()), Ok(Some(_))) {
                return Ok(None);
            }
        }
        match object_named(name, self.repo, self.refs, self.objects)? {
            Some(id) => Ok(Some(self.objects.abbreviate(&id, &self.repo.config)?)),
            None => Ok(None),
        }
    }
}

/// The namespace in which a rebase keeps its labels.
const LABELS: &[u8] = b"refs/rewritten/";

/// Returns the object that `name`, of hexadecimal digits, means: a whole id, a reference or an abbreviated id.
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
    if let Some(reference) = refs.expand(name, false, &mut Vec::new())? {
        return Ok(refs.resolve(reference.as_ref())?);
    }
    if name.len() < ABBREVIATION_MIN {
        return Ok(None);
    }
    match objects.all_starting_with(name)?.as_slice() {
        [id] => Ok(Some(*id)),
        _ => Ok(None),
    }
}
