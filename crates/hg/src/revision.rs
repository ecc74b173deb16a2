//! What names of changesets mean, as far as no set of revisions has to be computed.

mod branches;
mod description;
mod expression;
#[cfg(feature = "fuzzing")]
mod fuzzing;
mod names;
mod tags;

use bstr::{BStr, BString, ByteSlice};

use crate::abort::{Abort, Kind};
use crate::ancestry;
use crate::bytes::bytes;
use crate::node::Node;
use crate::repository::Repository;
use crate::revlog::Revlog;
use crate::stored::Manifest;
use expression::{Ends, Expression};
use names::Meaning;

/// A changeset, or the working copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// What comes before the first changeset.
    Null,
    /// The changeset of this number.
    Changeset(u32),
    /// The working copy.
    WorkingCopy,
}

/// The changesets of a repository by their names.
#[derive(Debug)]
pub struct Revisions<'r> {
    repository: &'r Repository,
    changelog: Revlog,
    /// The parents of the working copy.
    parents: [Target; 2],
    /// Whether some changesets may be hidden.
    has_hidden: bool,
    /// Whether names mean those, too.
    shows_hidden: bool,
}

impl<'r> Revisions<'r> {
    /// Those of `repository`, whose working copy has `parents`.
    ///
    /// # Errors
    /// They cannot be read, or a parent is none.
    pub fn new(repository: &'r Repository, parents: [Node; 2]) -> Result<Self, Abort> {
        let changelog = repository.store().changelog()?;
        let [p1, p2] = parents.map(|node| target_of(&changelog, &node));
        Ok(Self {
            repository,
            changelog,
            parents: [p1?, p2?],
            has_hidden: names::has_hidden(repository),
            shows_hidden: false,
        })
    }

    /// From now on names may mean hidden changesets, too.
    pub fn show_hidden(&mut self) {
        self.shows_hidden = true;
    }

    /// The changelog.
    pub fn changelog(&self) -> &Revlog {
        &self.changelog
    }

    /// The files of a changeset; of the working copy those of its first parent.
    ///
    /// # Errors
    /// They cannot be read, or are damaged.
    pub fn manifest(&self, target: Target) -> Result<Manifest, Abort> {
        match target {
            Target::Null => Ok(Manifest::default()),
            Target::Changeset(number) => self.manifest_of(number),
            Target::WorkingCopy => match self.parent() {
                Target::Changeset(number) => self.manifest_of(number),
                _ => Ok(Manifest::default()),
            },
        }
    }

    fn manifest_of(&self, number: u32) -> Result<Manifest, Abort> {
        let store = self.repository.store();
        store.manifest_at(&mut store.changelog()?, number)
    }

    /// What a node is that of, if anything here.
    pub fn find(&self, node: &Node) -> Option<Target> {
        match node {
            node if node.is_null() => Some(Target::Null),
            node if *node == Node::WORKING_COPY => Some(Target::WorkingCopy),
            node => self.changelog.find(node).map(Target::Changeset),
        }
    }

    /// The first parent of the working copy.
    pub fn parent(&self) -> Target {
        self.parents[0]
    }

    /// What `--rev` says, once or more often: what is compared, and with what.
    ///
    /// # Errors
    /// There is nothing of that name, nothing at all, or it is a set that is not understood here.
    pub fn pair(&mut self, texts: &[BString]) -> Result<[Target; 2], Abort> {
        let mut all: Vec<Target> = Vec::new();
        let mut has_empty = false;
        if texts.iter().any(|text| text.is_empty()) {
            return Err(Abort::of(Kind::Parse, "empty query"));
        }
        for text in texts {
            let ends = self.ends(text.as_bstr())?;
            let is_one = match ends {
                Ends::One(_) => true,
                Ends::Pair([first, last]) => first == last,
                _ => false,
            };
            if texts.len() == 1 && is_one {
                // Mercurial then looks whether it is a range, without knowing names: a dash makes it a difference.
                let mut has_dash = false;
                Expression::parse(text.as_bstr(), &mut |_| {
                    has_dash = true;
                    Ok(true)
                })?;
                if let (true, Ends::Pair([only, _])) = (has_dash, ends) {
                    return Ok([only, Target::WorkingCopy]);
                }
            }
            match ends {
                Ends::None => has_empty = true,
                Ends::One(target) => {
                    if !all.contains(&target) {
                        all.push(target);
                    }
                }
                Ends::Pair([first, last]) if texts.len() == 1 => return Ok([first, last]),
                Ends::Set([first, last]) if texts.len() == 1 => {
                    return Ok(match first == last {
                        true => [first, Target::WorkingCopy],
                        false => [first, last],
                    });
                }
                Ends::Pair(_) | Ends::Set(_) => return Err(not_understood(text.as_bstr())),
            }
        }
        match (all.as_slice(), texts.len()) {
            ([], _) => Err(Abort::of(Kind::Input, "empty revision range")),
            ([_], 2..) if has_empty => {
                let said = "empty revision on one side of range";
                Err(Abort::of(Kind::Input, said))
            }
            ([only], 2..) => Ok([*only, *only]),
            ([only], _) => Ok([*only, Target::WorkingCopy]),
            ([first, .., last], _) => Ok([*first, *last]),
        }
    }

    /// What `--change` says: a changeset, after the one it is compared with.
    ///
    /// # Errors
    /// As of [`Self::pair`].
    pub fn change(&mut self, text: &BStr) -> Result<[Target; 2], Abort> {
        let last = match self.ends(text)? {
            Ends::None => return Err(Abort::of(Kind::Input, "empty revision set")),
            Ends::One(target) => target,
            Ends::Pair([_, last]) | Ends::Set([_, last]) => last,
        };
        Ok([self.parent_of(last), last])
    }

    fn ends(&mut self, text: &BStr) -> Result<Ends, Abort> {
        let expression = match self.old_range(text)? {
            Some(expression) => expression,
            None => Expression::parse(text, &mut |name| self.knows(name))?,
        };
        self.evaluate(&expression, text)
    }

    /// Names may have letters that mean something in sets; between two such may be a colon.
    fn old_range(&mut self, text: &BStr) -> Result<Option<Expression>, Abort> {
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

    fn evaluate(&mut self, expression: &Expression, text: &BStr) -> Result<Ends, Abort> {
        let found = match expression {
            Expression::Symbol(name) => Some(self.known(name.as_bstr())?),
            Expression::WorkingCopy => Some(Target::WorkingCopy),
            Expression::WorkingParent(which) => {
                let parent = self.parents.get(*which).copied();
                parent.filter(|parent| *parent != Target::Null)
            }
            Expression::Parent(inner, which) => {
                let Some(target) = self.one(inner, text)? else {
                    return Ok(Ends::None);
                };
                let parent = match which {
                    0 => target,
                    1 => self.parent_of(target),
                    _ => self.second_parent_of(target),
                };
                (parent != Target::Null || *which == 0).then_some(parent)
            }
            Expression::Ancestor(inner, generations) => {
                let Some(mut target) = self.one(inner, text)? else {
                    return Ok(Ends::None);
                };
                for _ in 0..*generations {
                    if target == Target::Null {
                        break;
                    }
                    target = self.parent_of(target);
                }
                Some(target)
            }
            Expression::Range(first, last) => {
                return self.range(first.as_deref(), last.as_deref(), text);
            }
            Expression::Description(searched) => {
                if self.has_hidden && !self.shows_hidden {
                    return Err(not_understood(text));
                }
                let found = self.described(searched.as_bstr())?;
                return Ok(match found.as_slice() {
                    [] => Ends::None,
                    [only] => Ends::One(Target::Changeset(*only)),
                    [first, .., last] => Ends::Set([*first, *last].map(Target::Changeset)),
                });
            }
            Expression::Path(first, last) => {
                let (Some(first), Some(last)) = (self.one(first, text)?, self.one(last, text)?)
                else {
                    return Ok(Ends::None);
                };
                return match (first, last) {
                    (Target::Changeset(first), Target::Changeset(last)) => {
                        let is_so = ancestry::is_ancestor(&self.changelog, first, last);
                        let ends = [first, last].map(Target::Changeset);
                        Ok(if is_so { Ends::Set(ends) } else { Ends::None })
                    }
                    _ => Err(not_understood(text)),
                };
            }
        };
        Ok(found.map_or(Ends::None, Ends::One))
    }

    fn range(
        &mut self,
        first: Option<&Expression>,
        last: Option<&Expression>,
        text: &BStr,
    ) -> Result<Ends, Abort> {
        let newest = self.tip();
        if newest == Target::Null && (first.is_none() || last.is_none()) {
            return Err(not_understood(text));
        }
        let first = match first {
            Some(first) => self.one(first, text)?,
            None => Some(Target::Changeset(0)),
        };
        let last = match last {
            Some(last) => self.one(last, text)?,
            None => Some(newest),
        };
        Ok(match (first, last) {
            (Some(first), Some(last)) => Ends::Pair([first, last]),
            _ => Ends::None,
        })
    }

    /// What an expression means that is about one changeset.
    fn one(&mut self, expression: &Expression, text: &BStr) -> Result<Option<Target>, Abort> {
        match self.evaluate(expression, text)? {
            Ends::None => Ok(None),
            Ends::One(target) => Ok(Some(target)),
            Ends::Pair(_) | Ends::Set(_) => Err(not_understood(text)),
        }
    }

    fn known(&mut self, name: &BStr) -> Result<Target, Abort> {
        match self.symbol(name)? {
            Meaning::One(target) => Ok(target),
            Meaning::Nothing => {
                let said = bytes!("unknown revision '", name, "'");
                Err(Abort::of(Kind::Input, said))
            }
            Meaning::Several => {
                let digits = name.strip_prefix(b"x").unwrap_or(name);
                let said = bytes!("00changelog@", digits, ": ambiguous identifier");
                Err(Abort::of(Kind::Storage, said))
            }
        }
    }

    /// Whether a name means something.
    fn knows(&mut self, name: &BStr) -> Result<bool, Abort> {
        match self.symbol(name)? {
            Meaning::One(_) => Ok(true),
            Meaning::Nothing => Ok(false),
            Meaning::Several => {
                let said = bytes!("ambiguous revision identifier: ", name);
                Err(Abort::of(Kind::Input, said))
            }
        }
    }

    fn tip(&self) -> Target {
        let last = self.changelog.len().checked_sub(1);
        let last = last.and_then(|last| u32::try_from(last).ok());
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
        let said = bytes!("unknown changeset '", node.hex(), "'");
        Abort::of(Kind::Storage, said)
    })
}

fn not_understood(text: &BStr) -> Abort {
    Abort::unsupported(bytes!("the set of revisions '", text, "'"))
}
