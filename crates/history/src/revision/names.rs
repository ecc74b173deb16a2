//! Resolves a name to an object, by its suffixes, from the last one inwards.

use bstr::{BStr, BString, ByteSlice};
use gix_hash::ObjectId;
use gix_object::Kind;

use super::{Hint, Memory, Options, Resolved, Unresolved};
use crate::commits::{Commits, Number};
use vigil_git::objects::{Circle, Objects, Parsed};
use vigil_git::refs::{self, Refs};
use vigil_git::repository::Repository;
use vigil_model::raw_text::text_bytes;

/// How many commits in a row are recorded to be commits, to detect a tag that claims otherwise.
const NOTED_MAX: usize = 256;

/// A flag of commits that are recorded, with their parents.
const NOTED: u32 = 1;

/// How many `^{...}` may be nested.
const DEPTH_MAX: usize = 256;

/// Makes a fatal error of git's message, which may contain any bytes.
pub(super) fn fatal(parts: &[&[u8]]) -> Unresolved {
    Unresolved::Fatal(parts.concat().into())
}

/// Turns a missing object into `None`, so that another rule can be tried; keeps errors that end the search.
fn or_none<T>(result: Result<T, Unresolved>) -> Result<Option<T>, Unresolved> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(why) if why.is_fatal() => Err(why),
        Err(_) => Ok(None),
    }
}

/// The options that apply to the parts of a name.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flags {
    pub(super) quietly: bool,
    pub(super) hint: Option<Hint>,
    pub(super) skips_check_of_ids: bool,
}

impl Flags {
    /// The flags for the part before `^` or `~`, for which git is never quiet.
    fn of_committish(self) -> Self {
        Self {
            quietly: false,
            hint: Some(Hint::Committish),
            ..self
        }
    }

    fn with_hint(self, hint: Option<Hint>) -> Self {
        Self { hint, ..self }
    }
}

/// The request in the braces of `^{...}`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted<'a> {
    /// Any object that is not a tag.
    TagError,
    /// Any object.
    Any,
    Kind(Kind),
    /// The youngest commit from there on with a matching message.
    Message(&'a BStr),
}

impl<'a> Wanted<'a> {
    /// Like git, this looks only at the first letters: text between the brace after the type and the last one is
    /// ignored.
    fn parse(braced: &'a [u8]) -> Option<Self> {
        let inner = braced.strip_suffix(b"}")?;
        if let Some(pattern) = inner.strip_prefix(b"/") {
            return Some(Self::Message(pattern.as_bstr()));
        }
        Some(match braced.split(|byte| *byte == b'}').next()? {
            b"" => Self::TagError,
            b"object" => Self::Any,
            b"commit" => Self::Kind(Kind::Commit),
            b"tag" => Self::Kind(Kind::Tag),
            b"tree" => Self::Kind(Kind::Tree),
            b"blob" => Self::Kind(Kind::Blob),
            _ => return None,
        })
    }

    fn hint(self) -> Option<Hint> {
        match self {
            Self::Kind(Kind::Commit) | Self::Message(_) => Some(Hint::Committish),
            Self::Kind(Kind::Tree) => Some(Hint::Treeish),
            _ => None,
        }
    }
}

/// The suffix `^` or `~` at the end of a name, with its number.
struct Suffix<'a> {
    base: &'a [u8],
    sign: u8,
    /// `None` if it is too large for git.
    number: Option<usize>,
}

impl<'a> Suffix<'a> {
    fn split(name: &'a [u8]) -> Option<Self> {
        let digits = name.iter().rev().take_while(|byte| byte.is_ascii_digit());
        let (rest, number) = name.split_at_checked(name.len().saturating_sub(digits.count()))?;
        let (sign, base) = rest.split_last()?;
        if !matches!(sign, b'^' | b'~') {
            return None;
        }
        let number = match number {
            b"" => Some(1),
            number => number
                .to_str()
                .ok()
                .and_then(|number| number.parse::<u32>().ok())
                .filter(|number| i32::try_from(*number).is_ok())
                .and_then(|number| usize::try_from(number).ok()),
        };
        Some(Self {
            base,
            sign: *sign,
            number,
        })
    }
}

/// A resolver of one name.
pub(super) struct Resolver<'a> {
    /// If there is none, neither logs nor the configuration are used.
    pub(super) repository: Option<&'a Repository>,
    pub(super) refs: &'a Refs,
    pub(super) objects: &'a Objects,
    pub(super) memory: &'a Memory,
    /// Whole lines for stderr.
    pub(super) messages: Vec<BString>,
    /// The nesting depth of `^{...}` of the current part.
    depth: usize,
}

impl<'a> Resolver<'a> {
    pub(super) fn new(
        repository: Option<&'a Repository>,
        refs: &'a Refs,
        objects: &'a Objects,
        memory: &'a Memory,
    ) -> Self {
        Self {
            repository,
            refs,
            objects,
            memory,
            messages: Vec::new(),
            depth: 0,
        }
    }

    pub(super) fn add_message(&mut self, parts: &[&[u8]]) {
        self.collect_messages();
        self.messages.push(parts.concat().into());
    }

    /// Adds git's messages from reading objects.
    pub(super) fn collect_messages(&mut self) {
        let messages = self.objects.take_messages();
        self.messages
            .extend(messages.into_iter().map(|line| text_bytes(&line)));
    }

    /// Returns a boolean that is true unless it is configured otherwise.
    pub(super) fn is_on(&self, key: &str) -> Result<bool, Unresolved> {
        match self.repository {
            Some(repository) => Ok(repository.config.boolean(key)? != Some(false)),
            None => Ok(true),
        }
    }

    /// Resolves the whole name, including its path.
    pub(super) fn resolve(
        &mut self,
        name: &BStr,
        options: &Options,
    ) -> Result<Resolved, Unresolved> {
        let flags = Flags {
            quietly: options.quietly,
            hint: options.hint,
            skips_check_of_ids: options.skips_check_of_ids,
        };
        let whole = match self.object(name, flags) {
            Ok(_) if options.requires_path => {
                return Err(fatal(&[
                    b"<object>:<path> required, only <object> '",
                    name,
                    b"' given",
                ]));
            }
            Ok(id) => {
                return Ok(Resolved {
                    id,
                    mode: None,
                    path: None,
                });
            }
            Err(why) if why.is_fatal() => return Err(why),
            Err(why) => why,
        };
        if let Some(rest) = name.strip_prefix(b":") {
            if !options.is_fatal_on_failure
                && let Some(pattern) = rest.strip_prefix(b"/")
                && !pattern.is_empty()
            {
                let id = self.message_anywhere(pattern.as_bstr())?;
                return Ok(Resolved {
                    id,
                    mode: None,
                    path: None,
                });
            }
            return self.staged(rest.as_bstr(), options);
        }
        let Some((revision, path)) = split_path(name) else {
            return Err(whole);
        };
        let Some(tree) = or_none(self.object(revision, flags.with_hint(Some(Hint::Treeish))))?
        else {
            if options.is_fatal_on_failure {
                return Err(fatal(&[b"invalid object name '", revision, b"'."]));
            }
            return Err(whole);
        };
        let path = self.path_from_top(path)?;
        self.in_tree(&tree, revision, path, options)
    }

    /// Resolves the part before a path.
    pub(super) fn object(&mut self, name: &BStr, flags: Flags) -> Result<ObjectId, Unresolved> {
        let mut suffixes = Vec::new();
        let mut base = name.as_bytes();
        while let Some(suffix) = Suffix::split(base) {
            base = suffix.base;
            suffixes.push((suffix.sign, suffix.number.ok_or(Unresolved::Missing)?));
        }
        if suffixes.is_empty() {
            return self.base(name, flags);
        }
        let mut id = self.base(base.as_bstr(), flags.of_committish())?;
        for (sign, number) in suffixes.into_iter().rev() {
            id = match sign {
                b'^' => self.parent(&id, number)?,
                _ => self.ancestor(&id, number)?,
            };
        }
        Ok(id)
    }

    /// Resolves the part before any `^` and `~`.
    fn base(&mut self, name: &BStr, flags: Flags) -> Result<ObjectId, Unresolved> {
        if self.depth >= DEPTH_MAX {
            return Err(Unresolved::Missing);
        }
        if let Some(id) = or_none(self.peeled(name, flags))? {
            return Ok(id);
        }
        if let Some(id) = or_none(self.basic(name, flags))? {
            return Ok(id);
        }
        if let Some(id) = or_none(self.described(name))? {
            return Ok(id);
        }
        self.abbreviated(name, flags)
    }

    /// Returns the commit that `id` leads to, where `~` and `^` start. An object of another type is not read.
    fn commit(&mut self, id: &ObjectId, commits: &mut Commits) -> Result<Number, Unresolved> {
        let (target, kind) = self.objects.peel(id)?.ok_or(Unresolved::Missing)?;
        if kind != Kind::Commit {
            let text = format!("error: object {id} is a {kind}, not a commit");
            self.add_message(&[text.as_bytes()]);
            return Err(Unresolved::Missing);
        }
        let number = commits.number_of(&target);
        self.read_commit(number, commits)
    }

    fn read_commit(&mut self, number: Number, commits: &mut Commits) -> Result<Number, Unresolved> {
        match commits.read_or_report(number, &mut self.messages)? {
            true => Ok(number),
            false => Err(Unresolved::Missing),
        }
    }

    /// Returns the parent `number` of the commit that `id` leads to, from 1; 0 means that commit.
    fn parent(&mut self, id: &ObjectId, number: usize) -> Result<ObjectId, Unresolved> {
        let mut commits = self.memory.commits(self.objects);
        let mut commit = self.commit(id, &mut commits)?;
        note_links(commit, &mut commits);
        if let Some(at) = number.checked_sub(1) {
            commit = commits.parent(commit, at).ok_or(Unresolved::Missing)?;
        }
        commits.id_of(commit).ok_or(Unresolved::Missing)
    }

    /// Returns the ancestor of the commit that `id` leads to, `count` first parents away.
    fn ancestor(&mut self, id: &ObjectId, count: usize) -> Result<ObjectId, Unresolved> {
        let mut commits = self.memory.commits(self.objects);
        let mut commit = self.commit(id, &mut commits)?;
        for step in 0..count {
            commit = self.read_commit(commit, &mut commits)?;
            if step < NOTED_MAX {
                note_links(commit, &mut commits);
            }
            commit = commits.parent(commit, 0).ok_or(Unresolved::Missing)?;
        }
        commits.id_of(commit).ok_or(Unresolved::Missing)
    }

    /// Resolves `base^{...}`.
    fn peeled(&mut self, name: &BStr, flags: Flags) -> Result<ObjectId, Unresolved> {
        if name.len() < 4 || !name.ends_with(b"}") {
            return Err(Unresolved::Missing);
        }
        let at = name.rfind(b"^{").ok_or(Unresolved::Missing)?;
        let base = name.get(..at).unwrap_or_default().as_bstr();
        let braced = name.get(at.saturating_add(2)..).unwrap_or_default();
        let wanted = Wanted::parse(braced).ok_or(Unresolved::Missing)?;
        self.depth = self.depth.saturating_add(1);
        let outer = self.object(base, flags.with_hint(wanted.hint()));
        self.depth = self.depth.saturating_sub(1);
        let outer = outer?;
        let parsed = self.objects.parse(&outer, &mut Vec::new())?;
        let parsed = parsed.ok_or(Unresolved::Missing)?;
        match wanted {
            Wanted::Any => Ok(outer),
            Wanted::TagError => match self.objects.untagged(&outer)? {
                Some((id, _)) => Ok(id),
                None => {
                    self.add_message(&[b"error: missing object referenced by '", base, b"'"]);
                    Err(Unresolved::Missing)
                }
            },
            Wanted::Kind(kind) => self.dereference_to(name, outer, parsed, kind),
            Wanted::Message(pattern) => {
                let commit = self.dereference_to(name, outer, parsed, Kind::Commit)?;
                match pattern.first() {
                    None | Some(b'}') => Ok(commit),
                    Some(_) => self.message_from(pattern, &[commit]),
                }
            }
        }
    }

    /// Returns the object of the type `wanted` that `id` leads to through tags and from a commit to its tree. `parsed`
    /// is the object `id`.
    fn dereference_to(
        &mut self,
        name: &BStr,
        mut id: ObjectId,
        mut parsed: Parsed,
        wanted: Kind,
    ) -> Result<ObjectId, Unresolved> {
        let mut buf = Vec::new();
        let mut circle = Circle::default();
        while !circle.is_closed_by(&id) {
            id = match parsed {
                ref found if found.kind() == wanted => return Ok(id),
                Parsed::Tag(tag) => tag.target,
                Parsed::Commit(tree) => tree,
                Parsed::Other(kind) => {
                    let text = format!(
                        ": expected {wanted} type, but the object dereferences to {kind} type"
                    );
                    self.add_message(&[b"error: ", name, text.as_bytes()]);
                    return Err(Unresolved::Missing);
                }
            };
            let found = self.objects.parse(&id, &mut buf)?;
            parsed = found.ok_or(Unresolved::Missing)?;
        }
        Err(Unresolved::Missing)
    }

    /// Resolves the output of `git describe`: a tag, a number, and an abbreviated id after `-g`.
    fn described(&mut self, name: &BStr) -> Result<ObjectId, Unresolved> {
        for at in name.rfind_iter(b"-g") {
            let (before, after) = name.split_at_checked(at).ok_or(Unresolved::Missing)?;
            let hex = after.get(2..).unwrap_or_default().as_bstr();
            if is_tag_and_number(before) {
                let flags = Flags {
                    quietly: true,
                    hint: Some(Hint::Commit),
                    skips_check_of_ids: false,
                };
                return self.abbreviated(hex, flags);
            }
        }
        Err(Unresolved::Missing)
    }
}

/// Records that the commit `number` and its parents are commits, unless that was done for a name before.
fn note_links(number: Number, commits: &mut Commits) {
    if commits.flags_of(number) & NOTED == 0 {
        commits.add_flags(number, NOTED);
        commits.note_links(number);
    }
}

/// Whether `text` is a valid reference name, a dash and a number, for which git accepts hexadecimal digits.
fn is_tag_and_number(text: &[u8]) -> bool {
    let Some((tag, number)) = text.rsplit_once_str("-") else {
        return false;
    };
    !number.is_empty() && number.iter().all(u8::is_ascii_hexdigit) && refs::name::is_valid(tag)
}

/// Splits a name at the colon before its path, which is the first one outside of braces.
fn split_path(name: &BStr) -> Option<(&BStr, &BStr)> {
    let mut depth = 0_usize;
    let mut bytes = name.iter().copied().enumerate().peekable();
    while let Some((at, byte)) = bytes.next() {
        let opens = bytes.peek().is_some_and(|(_, next)| *next == b'{');
        match byte {
            b'@' | b'^' if opens => {
                bytes.next();
                depth = depth.saturating_add(1);
            }
            b'}' => depth = depth.saturating_sub(1),
            b':' if depth == 0 => {
                let (revision, path) = name.split_at_checked(at)?;
                return Some((revision.as_bstr(), path.get(1..)?.as_bstr()));
            }
            _ => {}
        }
    }
    None
}
