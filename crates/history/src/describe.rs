//! Names of commits and blobs for people (git-describe(1)): the nearest tag, the distance from it, and an abbreviated
//! id.

mod blob;
mod contains;
mod context;
mod error;
mod index;
mod names;
mod options;
mod table;
mod tag_object;
mod targets;
mod walk;

use bstr::{BStr, BString, ByteSlice};
use gix_hash::ObjectId;
use gix_object::Kind;

use self::context::abbreviated;
use self::names::Names;
use self::options::TAGS;
use self::table::Rank;
use super::commits::{Commits, Number};
use super::revision::Memory;
use vigil_model::raw_text::text_bytes;

pub use self::contains::{NameRevResult, contains};
pub use self::context::Context;
pub use self::error::Error;
pub use self::options::{CANDIDATES_MAX, DescribeOptions};

/// Describes commits and blobs of one repository. The names are read once; each commit is read once.
pub struct Describer<'a> {
    options: &'a DescribeOptions,
    context: Context<'a>,
    names: Names<'a>,
    commits: Commits,
    /// Whether all names were checked once, for a search among them.
    has_looked: bool,
    /// The commit at which the last search began, if its flags are still set.
    start: Option<Number>,
    /// The object of the only revision, and the messages about it, until it is described.
    only: Option<Resolved>,
    /// What was read to resolve names.
    memory: Memory,
    messages: Vec<BString>,
}

/// The object that a name resolves to.
struct Resolved {
    name: BString,
    id: Result<Option<ObjectId>, Error>,
    messages: Vec<BString>,
}

impl<'a> Describer<'a> {
    /// Reads the references, in order to describe `revisions`.
    ///
    /// # Errors
    /// There are no names, and ids are not acceptable; or a reference or object cannot be read.
    pub fn new(
        options: &'a DescribeOptions,
        context: Context<'a>,
        revisions: &[BString],
    ) -> Result<Self, Error> {
        let mut commits = Commits::new(context.objects);
        let before = context.objects.reported_once();
        let mut only = match revisions {
            [only] => Some(Resolved::new(only.as_bstr(), context, &Memory::new())),
            _ => None,
        };
        let had_said = context.objects.reported_once();
        // What is resolved again has its messages again, those that are given only once, too.
        let resolve_again = |only: &mut Option<Resolved>| {
            *only = None;
            let [alternates, grafts] = context.objects.reported_once();
            context.objects.set_reported_once([
                alternates && (before[0] || !had_said[0]),
                grafts && (before[1] || !had_said[1]),
            ]);
        };
        let commit = only
            .as_ref()
            .and_then(|only| only.commit(context, &mut commits));
        // Messages about it are added when it is described.
        let has_said = context.objects.drop_messages();
        if has_said || context.objects.reported_once() != had_said {
            context.objects.set_reported_once(had_said);
            commits = Commits::new(context.objects);
        }
        let had_said_before_names = context.objects.reported_once();
        let mut names = Names::read(options, context, &commits, commit)?;
        if context.objects.history().has_replacements() {
            // A missing replacement is an error or not depending on what is known of the replaced object.
            resolve_again(&mut only);
        }
        if context.objects.has_non_commit_claims() {
            // The claims of tags count in their order, and are kept: so all tags are read, none is left out.
            context.objects.drop_messages();
            context.objects.set_reported_once(had_said_before_names);
            resolve_again(&mut only);
            commits = Commits::new(context.objects);
            names = names.read_again(&commits)?;
        }
        if names.is_empty() && !options.always {
            return Err(Error::NoNames);
        }
        let mut describer = Self {
            options,
            context,
            names,
            commits,
            has_looked: false,
            start: None,
            only,
            memory: Memory::new(),
            messages: Vec::new(),
        };
        describer.collect_messages();
        Ok(describer)
    }

    /// Returns the description of the object called `name`, without a mark for a dirty working tree.
    ///
    /// # Errors
    /// There is no description, or an object cannot be read.
    pub fn describe(&mut self, name: &BStr) -> Result<BString, Error> {
        if let Some(start) = self.start.take() {
            self.clear_from(start);
        }
        if self.options.is_debugged {
            self.messages
                .push([b"describe ", name.as_bytes()].concat().into());
        }
        let context = self.context;
        let resolved = match self.only.take() {
            Some(only) if only.name == name => only,
            _ => Resolved::new(name, context, &self.memory),
        };
        self.messages.extend(resolved.messages);
        let Some(id) = resolved.id? else {
            return Err(Error::of_name(&[b"Not a valid object name ", name]));
        };
        if let Some(commit) = self.commit(name, &id)? {
            return self.describe_commit(&commit);
        }
        match context.objects.kind(&id)? {
            Some(Kind::Blob) => self.describe_blob(&id),
            _ => Err(Error::of_name(&[name, b" is neither a commit nor blob"])),
        }
    }

    /// Returns the commit that the object `id`, called `name`, leads to.
    fn commit(&mut self, name: &BStr, id: &ObjectId) -> Result<Option<ObjectId>, Error> {
        self.collect_messages();
        let had_said = self.context.objects.reported_once();
        // A name with a path means a blob, which may be large.
        if !name.contains(&b':') {
            let number = self.commits.number_of(id);
            if self.commits.read(number).is_ok() && self.commits.is_stored(number) {
                self.collect_messages();
                return Ok(Some(*id));
            }
        }
        // git asks for the type before it reads the object, and reports errors there.
        self.context.objects.drop_messages();
        self.context.objects.set_reported_once(had_said);
        let Some((id, Kind::Commit)) = self.context.objects.peel(id)? else {
            return Ok(None);
        };
        self.collect_messages();
        let number = self.commits.number_of(&id);
        let is_read = self
            .commits
            .read_or_report_damage(number, &mut self.messages)?;
        Ok(is_read.then_some(id))
    }

    /// Adds git's messages from reading objects.
    fn collect_messages(&mut self) {
        let messages = self.context.objects.take_messages();
        self.messages
            .extend(messages.into_iter().map(|line| text_bytes(&line)));
    }

    /// Takes git's messages for stderr, as whole lines.
    pub fn take_messages(&mut self) -> Vec<BString> {
        self.collect_messages();
        std::mem::take(&mut self.messages)
    }

    /// Returns the name with this number as it is shown. A tag object contains its own name.
    fn shown(&mut self, number: u32) -> Result<BString, Error> {
        let all = self.options.all;
        let path = BString::from(self.names.path(number));
        let Some(name) = self.names.get_mut(number) else {
            return Ok(path);
        };
        // It was asked about, or the walk reached it.
        self.context.objects.note_commit(&name.peeled);
        if name.rank == Rank::Annotated && name.read_tag(self.context)?.is_none() {
            return Err(Error::of_name(&[
                b"annotated tag ",
                &path,
                b" not available",
            ]));
        }
        let Some(tag) = &name.tag else {
            return Ok(path);
        };
        let own = &tag.name;
        if !name.is_checked {
            // With `--all`, git cuts off the length of "tags/", whatever the name begins with.
            let short = if all { path.get(TAGS.len()..) } else { None };
            if short.unwrap_or(&path) != own.as_slice() {
                let parts = [
                    b"warning: tag '",
                    path.as_bytes(),
                    b"' is externally known as '",
                    own,
                    b"'",
                ];
                self.messages.push(parts.concat().into());
                name.is_misnamed = true;
            }
            name.is_checked = true;
        }
        Ok(match all {
            true => [TAGS, own.as_slice()].concat().into(),
            false => own.clone(),
        })
    }

    /// Appends the distance from the name, and the id.
    fn append_distance(
        &self,
        text: &mut BString,
        depth: usize,
        id: &ObjectId,
    ) -> Result<(), Error> {
        text.extend_from_slice(format!("-{depth}-g").as_bytes());
        text.extend_from_slice(&self.abbreviated(id)?);
        Ok(())
    }

    fn abbreviated(&self, id: &ObjectId) -> Result<BString, Error> {
        abbreviated(id, self.options.abbreviation, self.context)
    }

    /// Clears the flags that a search from `start` set.
    fn clear_from(&mut self, start: Number) {
        let mut pending = vec![start];
        while let Some(number) = pending.pop() {
            if self.commits.clear_flag(number, 0) == 0 {
                continue;
            }
            self.commits.clear_flag(number, u32::MAX);
            for at in 0..self.commits.parent_count(number) {
                pending.extend(self.commits.parent(number, at));
            }
        }
    }
}

impl Resolved {
    fn new(name: &BStr, context: Context<'_>, memory: &Memory) -> Self {
        let mut messages = Vec::new();
        let id = context.find(name, memory, &mut messages);
        Self {
            name: name.into(),
            id,
            messages,
        }
    }

    /// Returns the commit that it leads to. Errors are reported when it is described.
    fn commit(&self, context: Context<'_>, commits: &mut Commits) -> Option<ObjectId> {
        let id = (*self.id.as_ref().ok()?)?;
        if self.name.contains(&b':') {
            return None;
        }
        if commits.is_commit(&id).ok()? {
            return Some(id);
        }
        // Asking for a missing object fetches it, which must happen no more often than in git.
        if !context.objects.is_here(&id) {
            return None;
        }
        match context.objects.peel(&id).ok()?? {
            (id, Kind::Commit) => Some(id),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
