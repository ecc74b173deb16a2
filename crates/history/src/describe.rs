//! Human names of commits and blobs (git-describe(1)): the nearest tag, how far it is, and an abbreviated id.

mod blob;
mod contains;
mod index;
mod names;
mod table;
mod tag_object;
mod targets;
mod walk;

use bstr::{BStr, BString, ByteSlice};
use gix_hash::{ObjectId, oid};
use gix_object::Kind;

use self::names::Names;
use self::table::Rank;
use super::commits::{Commits, Number};
use super::revision::{self, Outcome};
use vigil_git::objects::{self, Objects};
use vigil_git::refs::{self, Refs};
use vigil_git::repository::Repository;

pub use self::contains::{Contained, contains};

/// The most candidates that are considered.
pub const CANDIDATES_MAX: usize = 28;

/// How many candidates are considered if nothing else is asked.
pub const CANDIDATES_DEFAULT: usize = 10;

/// Why there is no description. The text is git's, without "fatal: ".
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No reference counts at all.
    #[error("No names found, cannot describe anything.")]
    NoNames,
    /// A name that leads nowhere, or to what has no description.
    #[error("{text}")]
    Name {
        /// What git says of it, with the name's own bytes.
        text: BString,
    },
    /// No tag is at this very commit, and no other will do.
    #[error("no tag exactly matches '{id}'")]
    NotExact {
        /// The commit.
        id: ObjectId,
    },
    /// All tags in its history are lightweight.
    #[error(
        "No annotated tags can describe '{id}'.\nHowever, there were unannotated tags: try --tags."
    )]
    OnlyLightweight {
        /// The commit.
        id: ObjectId,
    },
    /// No tag is in its history.
    #[error("No tags can describe '{id}'.\nTry --always, or create some tags.")]
    NoTags {
        /// The commit.
        id: ObjectId,
    },
    /// There is no commit in which a blob could be looked for.
    #[error("cannot search for blob '{id}' on an unborn branch")]
    Unborn {
        /// The blob.
        id: ObjectId,
    },
    /// No commit in the history of HEAD has the blob.
    #[error("blob '{id}' not reachable from HEAD")]
    NotReachable {
        /// The blob.
        id: ObjectId,
    },
    /// Directories lie too deep in each other.
    #[error("exceeded maximum allowed tree depth")]
    TooDeep,
    /// No reference leads to the commit.
    #[error("cannot describe '{id}'")]
    Undescribed {
        /// The commit.
        id: ObjectId,
    },
    /// A reference.
    #[error(transparent)]
    Refs(#[from] refs::Error),
    /// An object.
    #[error(transparent)]
    Objects(#[from] objects::Error),
    /// The way from a name to an object.
    #[error(transparent)]
    Revision(#[from] revision::Error),
}

impl Error {
    fn of_name(parts: &[&[u8]]) -> Self {
        let text = parts.concat().into();
        Self::Name { text }
    }

    /// The text, where that of `Display` could not show all bytes of a name.
    pub fn text(&self) -> BString {
        match self {
            Self::Name { text } => text.clone(),
            Self::Refs(error) => error.text(),
            other => other.to_string().into(),
        }
    }
}

/// What is asked, as the options of `git describe` have it.
#[derive(Clone, Debug)]
pub struct Question {
    /// `--all`: any reference counts.
    pub all: bool,
    /// `--tags`: lightweight tags count, too.
    pub tags: bool,
    /// `--long`: distance and id also where a tag is at the very commit.
    pub long: bool,
    /// `--first-parent`.
    pub first_parent: bool,
    /// `--always`: where no name is found, the abbreviated id.
    pub always: bool,
    /// `--debug`: say how the search goes.
    pub is_debugged: bool,
    /// `--abbrev`: how many digits an id has at least, 0 for no id; `None` leaves it to the configuration.
    pub abbreviation: Option<usize>,
    /// `--candidates`: how many names are considered, [`CANDIDATES_MAX`] at most; with 0 only one at the very commit.
    pub candidates: usize,
    /// `--match`.
    pub patterns: Vec<BString>,
    /// `--exclude`.
    pub excluded: Vec<BString>,
}

impl Default for Question {
    fn default() -> Self {
        Self {
            all: false,
            tags: false,
            long: false,
            first_parent: false,
            always: false,
            is_debugged: false,
            abbreviation: None,
            candidates: CANDIDATES_DEFAULT,
            patterns: Vec::new(),
            excluded: Vec::new(),
        }
    }
}

impl Question {
    /// Whether lightweight tags are names.
    fn counts_lightweight(&self) -> bool {
        self.all || self.tags
    }
}

/// Where commits and names are looked for.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The repository.
    pub repository: &'a Repository,
    /// Its references.
    pub refs: &'a Refs,
    /// Its objects.
    pub objects: &'a Objects,
}

impl Place<'_> {
    /// The object to which `name` leads; `said` takes what git says meanwhile.
    fn find(&self, name: &BStr, said: &mut Vec<BString>) -> Result<Option<ObjectId>, Error> {
        let answer = revision::resolve_in_context(
            name,
            &revision::Options::default(),
            self.repository,
            self.refs,
            self.objects,
            &revision::StagedPaths::new(),
        );
        said.extend(answer.said);
        match answer.outcome {
            Outcome::Found(found) => Ok(Some(found.id)),
            Outcome::Fatal(text) => Err(Error::Name { text }),
            Outcome::Failed(error) => Err(error.into()),
            _ => Ok(None),
        }
    }
}

/// Describes commits and blobs of one repository. The names are read once; each commit is read once.
pub struct Describer<'a> {
    question: &'a Question,
    place: Place<'a>,
    names: Names<'a>,
    commits: Commits<'a>,
    /// All names were looked at once, to search among them.
    has_looked: bool,
    /// The commit at which the last search began, while its flags stand.
    start: Option<Number>,
    /// What the only name leads to, and what was said of it, until it is asked about.
    only: Option<Resolved>,
    said: Vec<BString>,
}

/// What a name leads to.
struct Resolved {
    name: BString,
    id: Result<Option<ObjectId>, Error>,
    said: Vec<BString>,
}

impl<'a> Describer<'a> {
    /// Reads the names, to describe what `revisions` lead to.
    ///
    /// # Errors
    /// If there are no names, unless ids will do; or a reference or object cannot be read.
    pub fn new(
        question: &'a Question,
        place: Place<'a>,
        revisions: &[BString],
    ) -> Result<Self, Error> {
        let mut commits = Commits::new(place.objects);
        let mut only = match revisions {
            [only] => Some(Resolved::new(only.as_bstr(), place)),
            _ => None,
        };
        let commit = only
            .as_ref()
            .and_then(|only| only.commit(place, &mut commits));
        // Whatever is wrong with it is said when it is described.
        place.objects.take_said();
        let mut names = Names::read(question, place, &commits, commit)?;
        if place.objects.history().has_replacements() {
            // What is known of an object that another should stand for decides what becomes of it, if that is missing.
            only = None;
        }
        if place.objects.has_doubts() {
            // What the tags say counts, in their order: none of them is to be left out, since it is remembered.
            place.objects.take_said();
            only = None;
            commits = Commits::new(place.objects);
            names = Names::read(question, place, &commits, None)?;
        }
        if names.is_empty() && !question.always {
            return Err(Error::NoNames);
        }
        let mut describer = Self {
            question,
            place,
            names,
            commits,
            has_looked: false,
            start: None,
            only,
            said: Vec::new(),
        };
        describer.hear();
        Ok(describer)
    }

    /// The description of what `name` leads to, without a mark for a dirty working tree.
    ///
    /// # Errors
    /// If there is none, or an object cannot be read.
    pub fn describe(&mut self, name: &BStr) -> Result<BString, Error> {
        if let Some(start) = self.start.take() {
            self.clear_from(start);
        }
        if self.question.is_debugged {
            self.said
                .push([b"describe ", name.as_bytes()].concat().into());
        }
        let place = self.place;
        let resolved = match self.only.take() {
            Some(only) if only.name == name => only,
            _ => Resolved::new(name, place),
        };
        self.said.extend(resolved.said);
        let Some(id) = resolved.id? else {
            return Err(Error::of_name(&[b"Not a valid object name ", name]));
        };
        if let Some(commit) = self.commit(name, &id)? {
            return self.describe_commit(&commit);
        }
        match place.objects.kind(&id)? {
            Some(Kind::Blob) => self.describe_blob(&id),
            _ => Err(Error::of_name(&[name, b" is neither a commit nor blob"])),
        }
    }

    /// The commit to which the object `id` leads, which `name` stands for.
    fn commit(&mut self, name: &BStr, id: &ObjectId) -> Result<Option<ObjectId>, Error> {
        self.hear();
        // A path leads to a blob, which may be large.
        if !name.contains(&b':') && matches!(self.commits.is_commit(id), Ok(true)) {
            return Ok(Some(*id));
        }
        // git asks for the type before it reads, and what is wrong shows there.
        self.place.objects.take_said();
        let Some((id, Kind::Commit)) = self.place.objects.peel(id)? else {
            return Ok(None);
        };
        self.hear();
        let number = self.commits.number_of(&id);
        let is_read = self.commits.read_or_say_damage(number, &mut self.said)?;
        Ok(is_read.then_some(id))
    }

    /// Adds what git says while it reads objects.
    fn hear(&mut self) {
        let said = self.place.objects.take_said();
        self.said.extend(said.into_iter().map(BString::from));
    }

    /// What git says on stderr, each line whole, since this was last asked.
    pub fn take_said(&mut self) -> Vec<BString> {
        self.hear();
        std::mem::take(&mut self.said)
    }

    /// The name of this number as it is shown. A tag object knows its own.
    fn shown(&mut self, number: u32) -> Result<BString, Error> {
        let all = self.question.all;
        let path = BString::from(self.names.path(number));
        let Some(name) = self.names.get_mut(number) else {
            return Ok(path);
        };
        // It was asked about, or the walk came to it.
        self.place.objects.note_commit(&name.peeled);
        if name.rank == Rank::Annotated && name.read_tag(self.place)?.is_none() {
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
            // With `--all` git takes "tags/" off, whatever the name begins with.
            let short = if all { path.get(TAGS.len()..) } else { None };
            if short.unwrap_or(&path) != own.as_slice() {
                let parts = [
                    b"warning: tag '",
                    path.as_bytes(),
                    b"' is externally known as '",
                    own,
                    b"'",
                ];
                self.said.push(parts.concat().into());
                name.is_misnamed = true;
            }
            name.is_checked = true;
        }
        Ok(match all {
            true => [TAGS, own.as_slice()].concat().into(),
            false => own.clone(),
        })
    }

    /// Adds how far the name is, and the id.
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
        abbreviated(id, self.question.abbreviation, self.place)
    }

    /// Takes back what a search that began at `start` noted of commits.
    fn clear_from(&mut self, start: Number) {
        let mut pending = vec![start];
        while let Some(number) = pending.pop() {
            if self.commits.take_flag(number, 0) == 0 {
                continue;
            }
            self.commits.take_flag(number, u32::MAX);
            for at in 0..self.commits.parent_count(number) {
                pending.extend(self.commits.parent(number, at));
            }
        }
    }
}

impl Resolved {
    fn new(name: &BStr, place: Place<'_>) -> Self {
        let mut said = Vec::new();
        let id = place.find(name, &mut said);
        Self {
            name: name.into(),
            id,
            said,
        }
    }

    /// The commit to which it leads. Whatever is wrong with it is said when it is described.
    fn commit(&self, place: Place<'_>, commits: &mut Commits<'_>) -> Option<ObjectId> {
        let id = (*self.id.as_ref().ok()?)?;
        if self.name.contains(&b':') {
            return None;
        }
        if commits.is_commit(&id).ok()? {
            return Some(id);
        }
        match place.objects.peel(&id).ok()?? {
            (id, Kind::Commit) => Some(id),
            _ => None,
        }
    }
}

/// How the names of references begin that `question` asks for.
fn prefix_of(question: &Question) -> &'static str {
    if question.all { "refs/" } else { "refs/tags/" }
}

/// How names of tags begin where they are shown among other references.
const TAGS: &[u8] = b"tags/";

/// `id` with at least `digits` digits; 0 stands for all of them, and `None` for as many as the configuration says.
fn abbreviated(id: &oid, digits: Option<usize>, place: Place<'_>) -> Result<BString, Error> {
    let config = &place.repository.config;
    Ok(match digits {
        None => place.objects.abbreviate(id, config)?,
        Some(0) => id.to_string().into(),
        Some(digits) => place.objects.abbreviate_to(id, digits)?,
    })
}

#[cfg(test)]
mod tests;
