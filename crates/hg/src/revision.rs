//! Revisions: resolves names of changesets, and sets of them.

mod alias;
mod branches;
mod date;
mod description;
mod evaluate;
mod expression;
mod functions;
#[cfg(feature = "fuzzing")]
mod fuzzing;
mod generations;
mod hidden;
mod names;
mod obsolescence;
mod tags;
mod target;
mod topics;

pub use alias::RevisionAliases;
pub use date::LocalClocks;
pub use target::Target;

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::rc::Rc;

use bstr::{BStr, BString, ByteSlice};

use crate::abort::{Abort, Kind};
use crate::ancestry;
use crate::bookmarks::BookmarkSharing;
use crate::bytes::bytes;
use crate::node::Node;
use crate::repository::Repository;
use crate::revlog::Revlog;
use crate::stored::Manifest;
use evaluate::Evaluation;
use expression::{Expression, not_understood};
use obsolescence::HiddenMarks;
use target::Meaning;

/// The changesets of a repository by their names.
#[derive(Debug)]
pub struct Revisions<'r> {
    repository: &'r Repository,
    changelog: Revlog,
    /// The parents of the working copy.
    parents: [Target; 2],
    /// Whether some changesets may be hidden. An error is reported only when a name has to be resolved.
    has_hidden: Result<bool, Abort>,
    /// Whether names may mean hidden changesets, too.
    shows_hidden: bool,
    /// Which changesets are hidden, once that was needed.
    hidden_marks: Option<HiddenMarks>,
    /// Which bookmarks a share has.
    sharing: BookmarkSharing,
    /// Whether names may mean topics, too.
    knows_topics: bool,
    /// The topics of changesets by their numbers, once they were needed.
    topics: Option<HashMap<u32, BString>>,
    /// The manifests that were read: copies are searched for in those that were compared.
    manifests: RefCell<HashMap<u32, Rc<Manifest>>>,
    /// The directory to which patterns of files are relative, if it is known.
    cwd: Option<PathBuf>,
    aliases: RevisionAliases,
    /// The user's clocks, if they are known.
    clocks: Option<Box<dyn LocalClocks>>,
    /// What names were found to mean.
    meanings: HashMap<BString, Meaning>,
}

impl<'r> Revisions<'r> {
    /// Opens the changesets of `repository`, whose working copy has `parents`.
    ///
    /// # Errors
    /// The changelog cannot be read, or a parent is not in it.
    pub fn new(repository: &'r Repository, parents: [Node; 2]) -> Result<Self, Abort> {
        let changelog = repository.store().changelog()?;
        let [p1, p2] = parents.map(|node| target_of(&changelog, &node));
        Ok(Self {
            repository,
            changelog,
            parents: [p1?, p2?],
            has_hidden: obsolescence::has_hidden(repository),
            shows_hidden: false,
            hidden_marks: None,
            sharing: BookmarkSharing::Unknown,
            knows_topics: false,
            topics: None,
            manifests: RefCell::default(),
            cwd: None,
            aliases: RevisionAliases::default(),
            clocks: None,
            meanings: HashMap::new(),
        })
    }

    /// Lets names mean hidden changesets from now on, too.
    pub fn show_hidden(&mut self) {
        self.shows_hidden = true;
    }

    /// Lets a share have the bookmarks of its source, if `sharing` is known.
    pub fn share_bookmarks(&mut self, sharing: BookmarkSharing) {
        self.sharing = sharing;
    }

    /// Lets names and functions be these aliases from now on.
    pub fn know_aliases(&mut self, aliases: RevisionAliases) {
        self.aliases = aliases;
    }

    /// Lets dates be those of these clocks from now on.
    pub fn go_by(&mut self, clocks: Box<dyn LocalClocks>) {
        self.clocks = Some(clocks);
    }

    /// Returns the changelog.
    pub fn changelog(&self) -> &Revlog {
        &self.changelog
    }

    /// Returns the manifest of a changeset; for the working copy, that of its first parent.
    ///
    /// # Errors
    /// The manifest cannot be read, or is damaged.
    pub fn manifest(&self, target: Target) -> Result<Rc<Manifest>, Abort> {
        let Some(number) = self.number_of(target) else {
            return Ok(Rc::default());
        };
        if let Some(known) = self.manifests.borrow().get(&number) {
            return Ok(known.clone());
        }
        self.read_manifests(&[number])?;
        let manifests = self.manifests.borrow();
        Ok(manifests.get(&number).cloned().unwrap_or_default())
    }

    /// Returns the manifests of both, as [`Self::manifest`] does, but reads what they share once.
    ///
    /// # Errors
    /// As for [`Self::manifest`].
    pub fn manifest_pair(&self, pair: [Target; 2]) -> Result<[Rc<Manifest>; 2], Abort> {
        let known = self.manifests.borrow();
        let numbers = pair.into_iter().filter_map(|target| self.number_of(target));
        let mut unknown: Vec<u32> = numbers
            .filter(|number| !known.contains_key(number))
            .collect();
        drop(known);
        unknown.dedup();
        self.read_manifests(&unknown)?;
        let [first, second] = pair.map(|target| self.manifest(target));
        Ok([first?, second?])
    }

    /// The number of a changeset, or of the first parent of the working copy; `None` for the null revision.
    fn number_of(&self, target: Target) -> Option<u32> {
        match target {
            Target::Null => None,
            Target::Changeset(number) => Some(number),
            Target::WorkingCopy => match self.parent() {
                Target::Changeset(number) => Some(number),
                _ => None,
            },
        }
    }

    fn read_manifests(&self, numbers: &[u32]) -> Result<(), Abort> {
        if numbers.is_empty() {
            return Ok(());
        }
        let store = self.repository.store();
        let read = store.manifests_at(&mut store.changelog()?, numbers)?;
        let read = numbers.iter().copied().zip(read.into_iter().map(Rc::new));
        self.manifests.borrow_mut().extend(read);
        Ok(())
    }

    /// Returns what a node names, if it is in this repository.
    pub fn find(&self, node: &Node) -> Option<Target> {
        match node {
            node if node.is_null() => Some(Target::Null),
            node if *node == Node::WORKING_COPY => Some(Target::WorkingCopy),
            node => self.changelog.find(node).map(Target::Changeset),
        }
    }

    /// Does the same as [`Self::find`] for each of `nodes`. There may be very many.
    fn find_all(&self, nodes: impl Iterator<Item = Node>) -> HashMap<Node, Target> {
        let nodes: HashSet<Node> = nodes.collect();
        let special = [Node::NULL, Node::WORKING_COPY].into_iter();
        let special = special.filter(|node| nodes.contains(node));
        let special: Vec<(Node, Target)> = special
            .filter_map(|node| Some((node, self.find(&node)?)))
            .collect();
        let found = self.changelog.find_all(nodes).into_iter();
        let found = found.map(|(node, number)| (node, Target::Changeset(number)));
        found.chain(special).collect()
    }

    /// Returns the first parent of the working copy.
    pub fn parent(&self) -> Target {
        self.parents[0]
    }

    /// Resolves the arguments of `--rev`: returns what is compared with what.
    ///
    /// # Errors
    /// A name is unknown, the set is empty, or it is not understood here.
    pub fn pair(&mut self, texts: &[BString]) -> Result<[Target; 2], Abort> {
        // Of the changesets of all texts, the first one and the last one that no earlier text has.
        let (mut first, mut last) = (None, None);
        let mut seen = HashSet::new();
        let mut has_empty = false;
        if texts.iter().any(|text| text.is_empty()) {
            return Err(Abort::of(Kind::Parse, "empty query"));
        }
        let is_alone = texts.len() == 1;
        let read = texts
            .iter()
            .map(|text| self.parse(text.as_bstr(), is_alone));
        let expressions = read.collect::<Result<Vec<_>, _>>()?;
        expressions.iter().try_for_each(Expression::check)?;
        for (expression, text) in expressions.iter().zip(texts) {
            if texts.len() > 1 && expression.turns_other_sets() {
                return Err(not_understood(text.as_bstr()));
            }
            let set = self.set(expression, text.as_bstr())?;
            has_empty |= set.is_empty();
            for target in set {
                if seen.insert(target) {
                    first = first.or(Some(target));
                    last = Some(target);
                }
            }
        }
        let (Some(first), Some(last)) = (first, last) else {
            return Err(Abort::of(Kind::Input, "empty revision range"));
        };
        let pair = [first, last];
        match texts {
            _ if first != last => Ok(pair),
            // Mercurial decides whether the text is a range before it knows any names, so that every dash is a difference.
            [only] => match Expression::parse(only.as_bstr(), &mut |_| Ok(false))?.is_range() {
                true => Ok(pair),
                false => Ok([first, Target::WorkingCopy]),
            },
            _ if has_empty => {
                let message = "empty revision on one side of range";
                Err(Abort::of(Kind::Input, message))
            }
            _ => Ok(pair),
        }
    }

    /// Resolves the argument of `--change`: returns the first parent of a changeset, and the changeset.
    ///
    /// # Errors
    /// As for [`Self::pair`].
    pub fn change(&mut self, text: &BStr) -> Result<[Target; 2], Abort> {
        let expression = self.parse(text, true)?;
        expression.check()?;
        match self.set(&expression, text)?.last() {
            Some(last) => Ok([self.parent_of(*last), *last]),
            None => Err(Abort::of(Kind::Input, "empty revision set")),
        }
    }

    /// Parses a text, which may be the only one.
    fn parse(&mut self, text: &BStr, is_alone: bool) -> Result<Expression, Abort> {
        let parsed = match self.parse_plain_names(text)? {
            Some(expression) => expression,
            None => Expression::parse(text, &mut |name| self.knows(name))?,
        };
        match text.as_bytes() {
            // Mercurial finds these before it parses.
            b"." | b"null" if is_alone => Ok(parsed),
            _ => self.aliases.expanded(&parsed, text),
        }
    }

    fn set(&mut self, expression: &Expression, text: &BStr) -> Result<evaluate::Set, Abort> {
        // Only these two can be resolved without knowing what is hidden.
        if !matches!(text.as_bytes(), b"." | b"null") {
            self.look_for_hidden()?;
        }
        let revisions = self;
        Evaluation { revisions, text }.set(expression)
    }

    /// Parses a name, or a range of two names. Such names may contain characters that are operators in sets.
    fn parse_plain_names(&mut self, text: &BStr) -> Result<Option<Expression>, Abort> {
        let mut parts = text.splitn(2, |byte| *byte == b':');
        let first = parts.next().unwrap_or_default();
        let second = parts.next();
        for name in [Some(first), second].into_iter().flatten() {
            if !name.is_empty() && !self.knows(name.as_bstr())? {
                return Ok(None);
            }
        }
        let symbol = |name: &[u8]| Box::new(Expression::Symbol(name.into()));
        let some = |name: &[u8]| (!name.is_empty()).then(|| symbol(name));
        Ok(Some(match second {
            None => Expression::Symbol(first.into()),
            Some(second) => Expression::Range(some(first), some(second)),
        }))
    }

    fn resolve_or_abort(&mut self, name: &BStr) -> Result<Target, Abort> {
        match self.resolve(name)? {
            Meaning::One(target) => Ok(target),
            Meaning::Nothing => {
                let message = bytes!("unknown revision '", name, "'");
                Err(Abort::of(Kind::Input, message))
            }
            Meaning::Ambiguous => {
                let digits = name.strip_prefix(b"x").unwrap_or(name);
                let message = bytes!("00changelog@", digits, ": ambiguous identifier");
                Err(Abort::of(Kind::Storage, message))
            }
        }
    }

    /// Returns whether a name means something.
    fn knows(&mut self, name: &BStr) -> Result<bool, Abort> {
        match self.resolve(name)? {
            Meaning::One(_) => Ok(true),
            Meaning::Nothing => Ok(false),
            Meaning::Ambiguous => {
                let message = bytes!("ambiguous revision identifier: ", name);
                Err(Abort::of(Kind::Input, message))
            }
        }
    }

    fn tip(&self) -> Target {
        let all = 0..u32::try_from(self.changelog.len()).unwrap_or(u32::MAX);
        let last = all.rev().find(|number| !self.is_hidden(*number));
        last.map_or(Target::Null, Target::Changeset)
    }

    fn parent_of(&self, target: Target) -> Target {
        match target {
            Target::Null => Target::Null,
            Target::WorkingCopy => self.parents[0],
            Target::Changeset(number) => {
                let [parent, _] = ancestry::parents(&self.changelog, number);
                parent.map_or(Target::Null, Target::Changeset)
            }
        }
    }

    fn second_parent_of(&self, target: Target) -> Target {
        match target {
            Target::Null => Target::Null,
            Target::WorkingCopy => self.parents[1],
            Target::Changeset(number) => {
                let [_, parent] = ancestry::parents(&self.changelog, number);
                parent.map_or(Target::Null, Target::Changeset)
            }
        }
    }
}

fn target_of(changelog: &Revlog, node: &Node) -> Result<Target, Abort> {
    if node.is_null() {
        return Ok(Target::Null);
    }
    let number = changelog.find(node).map(Target::Changeset);
    number.ok_or_else(|| {
        let message = bytes!("unknown changeset '", node.hex(), "'");
        Abort::of(Kind::Storage, message)
    })
}
