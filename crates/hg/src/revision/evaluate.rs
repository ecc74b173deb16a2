//! Evaluates an expression of Mercurial's language of revisions to changesets in order.

mod kin;
mod labels;

use std::collections::HashSet;

use bstr::{BStr, BString, ByteSlice};

use super::expression::{Expression, not_understood, number};
use super::{Revisions, Target};
use crate::abort::{Abort, Kind};
use crate::checkout::{Phase, check_branch};

/// A set in the order of its expression, without duplicates.
pub(super) type Set = Vec<Target>;

/// The evaluation of one text.
pub(super) struct Evaluation<'e, 'r> {
    pub(super) revisions: &'e mut Revisions<'r>,
    pub(super) text: &'e BStr,
}

impl Evaluation<'_, '_> {
    pub(super) fn refused(&self) -> Abort {
        not_understood(self.text)
    }

    /// Evaluates an expression.
    ///
    /// # Errors
    /// There is no such changeset, or the expression is not understood here.
    pub(super) fn set(&mut self, expression: &Expression) -> Result<Set, Abort> {
        match expression {
            Expression::Symbol(name) | Expression::Text(name) => self.named(name.as_bstr()),
            Expression::Negated(_) => match expression.word() {
                Some(word) => self.named(word.as_bstr()),
                None => Err(self.refused()),
            },
            Expression::Group(inner) => self.set(inner),
            Expression::Call(name, arguments) => self.call(name, arguments),
            Expression::FirstParent(inner) => {
                let found = self.set_with_parents(inner)?;
                let parents = found.iter().map(|target| self.revisions.parent_of(*target));
                Ok(without_null(parents.collect()))
            }
            Expression::Parent(inner, which) => self.parents_by_place(inner, which),
            Expression::Ancestor(inner, count) => self.ancestors_by_distance(inner, count),
            Expression::Range(first, last) => self.range(first.as_deref(), last.as_deref()),
            Expression::Path(first, last) => self.path(first.as_deref(), last.as_deref()),
            Expression::And(first, second) => self.filter_by(first, second, true),
            Expression::Minus(first, second) => self.filter_by(first, second, false),
            Expression::Or(first, second) => {
                if first.turns_other_sets() || second.turns_other_sets() {
                    return Err(self.refused());
                }
                let mut found = self.set(first)?;
                add(&mut found, self.set(second)?);
                Ok(found)
            }
            Expression::Not(inner) => {
                let without = self.set(inner)?;
                let without: HashSet<Target> = without.into_iter().collect();
                let all = self.all().into_iter();
                Ok(all.filter(|target| !without.contains(target)).collect())
            }
            Expression::Only(first, second) => self.only(first, second.as_deref()),
            Expression::List(_) | Expression::Named(..) => Err(self.refused()),
        }
    }

    /// Evaluates an expression for changesets whose parents are looked up. For those of the working copy, Mercurial reads its
    /// branch, too.
    fn set_with_parents(&mut self, expression: &Expression) -> Result<Set, Abort> {
        let found = self.set(expression)?;
        if found.contains(&Target::WorkingCopy) {
            check_branch(self.revisions.repository)?;
        }
        Ok(found)
    }

    fn named(&mut self, name: &BStr) -> Result<Set, Abort> {
        if name.is_empty() {
            let message = "empty string is not a valid revision";
            return Err(Abort::of(Kind::Parse, message));
        }
        Ok(vec![self.revisions.resolve_or_abort(name)?])
    }

    /// Evaluates an expression that must mean changesets only, and returns their numbers.
    fn changeset_numbers(&mut self, expression: &Expression) -> Result<Vec<u32>, Abort> {
        let found = self.set(expression)?;
        self.numbers(&found)
    }

    pub(super) fn numbers(&self, found: &[Target]) -> Result<Vec<u32>, Abort> {
        let number = |target: &Target| match target {
            Target::Changeset(number) => Ok(*number),
            _ => Err(self.refused()),
        };
        found.iter().map(number).collect()
    }

    /// Returns the numbers of these, without the null revision.
    fn changesets_or_null(&self, found: &[Target]) -> Result<Vec<u32>, Abort> {
        match found.contains(&Target::WorkingCopy) {
            true => Err(self.refused()),
            false => Ok(changesets(found)),
        }
    }

    /// Returns the members of the first set that are in the second one, or, unless `is_in`, those that are not.
    fn filter_by(
        &mut self,
        first: &Expression,
        second: &Expression,
        is_in: bool,
    ) -> Result<Set, Abort> {
        let found = match self.set(first) {
            Ok(found) => found,
            // A difference from names begins with its first set, which may be a part of a name that is unknown.
            Err(abort) if !is_in && second.is_of_names() => return Err(abort),
            // Otherwise, Mercurial begins with the set that it takes for the smaller one.
            Err(abort) => {
                return match self.set(second) {
                    Err(other) if other != abort => Err(self.refused()),
                    _ => Err(abort),
                };
            }
        };
        // Whether null or the working copy is in a set depends on how Mercurial evaluates the set.
        if is_in && !(first.is_of_names() && second.is_of_names()) {
            self.numbers(&found)?;
        }
        let second: HashSet<Target> = self.set(second)?.into_iter().collect();
        let found = found.into_iter();
        Ok(found
            .filter(|target| second.contains(target) == is_in)
            .collect())
    }

    pub(super) fn len(&self) -> u32 {
        u32::try_from(self.revisions.changelog.len()).unwrap_or(u32::MAX)
    }

    fn all(&self) -> Set {
        targets(self.revisions.visible())
    }

    fn range(
        &mut self,
        first: Option<&Expression>,
        last: Option<&Expression>,
    ) -> Result<Set, Abort> {
        let newest = self.revisions.tip();
        if newest == Target::Null && (first.is_none() || last.is_none()) {
            return Err(self.refused());
        }
        let first = match first {
            Some(first) => self.set(first)?.first().copied(),
            None => Some(Target::Changeset(0)),
        };
        let last = match last {
            Some(last) => self.set(last)?.last().copied(),
            None => Some(newest),
        };
        let (Some(first), Some(last)) = (first, last) else {
            return Ok(Set::new());
        };
        if first == last {
            return Ok(vec![first]);
        }
        let between = |from: Target, to: Target| {
            let number = |target| match target {
                Target::Null => 0,
                Target::Changeset(number) => number,
                Target::WorkingCopy => u32::MAX,
            };
            let (from_number, to_number) = (number(from), number(to));
            let all = self.revisions.visible().into_iter();
            let numbers = all.filter(move |number| (from_number..=to_number).contains(number));
            let null = (from == Target::Null).then_some(Target::Null);
            let within = numbers
                .filter(|_| to != Target::Null)
                .map(Target::Changeset);
            let working = (to == Target::WorkingCopy).then_some(Target::WorkingCopy);
            null.into_iter()
                .chain(within)
                .chain(working)
                .collect::<Set>()
        };
        Ok(match order(first) <= order(last) {
            true => between(first, last),
            false => {
                let mut all = between(last, first);
                all.reverse();
                all
            }
        })
    }

    fn call(&mut self, name: &BString, arguments: &[Expression]) -> Result<Set, Abort> {
        if let Some(found) = self.of_contents(name.as_bstr(), arguments) {
            return found;
        }
        if let Some(found) = self.of_generations(name.as_bstr(), arguments) {
            return found;
        }
        match (name.as_slice(), arguments) {
            (b"all", []) => Ok(self.all()),
            (b"none", []) => Ok(Set::new()),
            (b"wdir", []) => Ok(vec![Target::WorkingCopy]),
            (b"p1" | b"p2" | b"parents", []) => {
                // Mercurial asks the working copy, and so reads its branch first.
                check_branch(self.revisions.repository)?;
                let parents = self.revisions.parents;
                let (first, second) = parents.split_at(1);
                Ok(without_null(match name.as_slice() {
                    b"p1" => first.to_vec(),
                    b"p2" => second.to_vec(),
                    _ => parents.to_vec(),
                }))
            }
            (b"draft", []) => self.of_phase(Phase::Draft),
            (b"public", []) => self.of_phase(Phase::Public),
            (b"secret", []) => self.of_phase(Phase::Secret),
            (b"merge", []) => {
                let mut all = self.revisions.visible();
                all.retain(|number| self.parents(*number).count() > 1);
                Ok(targets(all))
            }
            (b"tag" | b"tagged", arguments @ ([] | [_])) => self.tags(arguments.first()),
            (b"bookmark", arguments @ ([] | [_])) => self.bookmarks(arguments.first()),
            (b"branch", [of]) => self.of_branch(of),
            (b"only", [first]) => self.only(first, None),
            (b"only", [first, second]) => self.only(first, Some(second)),
            (b"first" | b"limit", [of, more @ ..]) if more.len() < 3 => {
                self.first_or_last(of, more, true)
            }
            (b"last", [of, more @ ..]) if more.len() < 2 => self.first_or_last(of, more, false),
            (b"ancestor", arguments) => {
                let mut heads = Vec::new();
                for argument in arguments {
                    add(&mut heads, self.set(argument)?);
                }
                self.common_ancestor(&heads)
            }
            (_, [of]) => self.call_on_set(name, of),
            _ => Err(self.refused()),
        }
    }

    /// Evaluates a function of one set.
    fn call_on_set(&mut self, name: &BString, of: &Expression) -> Result<Set, Abort> {
        match name.as_slice() {
            b"p1" => {
                let found = self.set_with_parents(of)?;
                let parents = found.iter().map(|target| self.revisions.parent_of(*target));
                return Ok(without_null(parents.collect()));
            }
            b"reverse" => {
                let mut found = self.set(of)?;
                found.reverse();
                return Ok(found);
            }
            b"ancestors" => {
                let found = self.set_with_parents(of)?;
                return Ok(self.with_ancestors(&found));
            }
            b"descendants" => {
                let found = self.set(of)?;
                return self.with_descendants(&found);
            }
            b"max" | b"min" => {
                let found = self.set(of)?;
                let found = found.iter().copied();
                let best = match name.as_slice() {
                    b"max" => found.max_by_key(|target| order(*target)),
                    _ => found.min_by_key(|target| order(*target)),
                };
                return Ok(best.map_or(Set::new(), |best| targets(changesets(&[best]))));
            }
            b"p2" | b"parents" | b"children" | b"heads" | b"roots" => {}
            _ => return Err(self.refused()),
        }
        let all = self.set(of)?;
        let has_null = all.contains(&Target::Null);
        if name == "parents" && all.contains(&Target::WorkingCopy) {
            check_branch(self.revisions.repository)?;
            let parents = changesets(&all)
                .into_iter()
                .flat_map(|number| self.parents(number));
            let mut parents = targets(parents);
            parents.extend(self.revisions.parents);
            return Ok(without_null(parents));
        }
        let found = self.changesets_or_null(&all)?;
        Ok(match name.as_slice() {
            b"p2" => {
                let second =
                    |number: &u32| self.revisions.second_parent_of(Target::Changeset(*number));
                without_null(found.iter().map(second).collect())
            }
            b"children" => {
                let mut children = self.children(&found);
                if has_null {
                    let mut all = self.revisions.visible();
                    all.retain(|number| self.parents(*number).next().is_none());
                    children.extend(all);
                }
                sorted(targets(children))
            }
            _ => {
                let all: HashSet<u32> = found.iter().copied().collect();
                let parents = found.iter().flat_map(|number| self.parents(*number));
                let parents: HashSet<u32> = parents.collect();
                match name.as_slice() {
                    b"parents" => sorted(targets(parents)),
                    b"heads" => {
                        let heads = found.into_iter().filter(|number| !parents.contains(number));
                        sorted(targets(heads))
                    }
                    _ => {
                        let is_root =
                            |number: &u32| !self.parents(*number).any(|one| all.contains(&one));
                        let mut roots = targets(found.iter().copied().filter(is_root));
                        roots.extend(has_null.then_some(Target::Null));
                        sorted(roots)
                    }
                }
            }
        })
    }

    /// Returns the first or the last changesets of a set: one, unless a number is given.
    fn first_or_last(
        &mut self,
        of: &Expression,
        count: &[Expression],
        is_first: bool,
    ) -> Result<Set, Abort> {
        let mut numbers = [1, 0];
        let name = if is_first { "limit" } else { "last" };
        let negative = ["negative number to select", "negative offset"];
        for ((read, count), negative) in numbers.iter_mut().zip(count).zip(negative) {
            let word = count.word();
            let word = word.as_ref().map(|word| word.as_bstr());
            let count = number(word, &format!("{name} expects a number"))?;
            let count = count.ok_or_else(|| self.refused())?;
            *read = usize::try_from(count).map_err(|_| Abort::of(Kind::Parse, negative))?;
        }
        let [count, offset] = numbers;
        let mut found = self.set(of)?;
        if is_first {
            found.drain(..offset.min(found.len()));
            found.truncate(count);
        } else {
            found.drain(..found.len().saturating_sub(count));
        }
        Ok(found)
    }
}

impl Expression {
    /// Whether this has nothing but names, and what joins them.
    fn is_of_names(&self) -> bool {
        match self {
            Self::Symbol(_) | Self::Text(_) | Self::Negated(_) => true,
            Self::Group(inner) => inner.is_of_names(),
            Self::Or(one, other) => one.is_of_names() && other.is_of_names(),
            _ => false,
        }
    }

    /// Whether Mercurial, while it turns a set around or sorts it, does so with what this is joined with, too: sets that it filters from
    /// the same one are in the order of that.
    pub(super) fn turns_other_sets(&self) -> bool {
        match self {
            Self::Call(name, arguments) => match (name.as_slice(), arguments.as_slice()) {
                (b"reverse" | b"sort", [of, ..]) => of.is_filtered() || of.turns_other_sets(),
                (b"present", [of]) => of.turns_other_sets(),
                _ => false,
            },
            Self::Group(inner) => inner.turns_other_sets(),
            Self::And(one, other) | Self::Minus(one, other) | Self::Or(one, other) => {
                one.turns_other_sets() || other.turns_other_sets()
            }
            _ => false,
        }
    }

    /// Whether Mercurial may make the set by asking for each changeset whether it is in there.
    fn is_filtered(&self) -> bool {
        match self {
            Self::Call(name, arguments) => match (name.as_slice(), arguments.as_slice()) {
                (b"reverse" | b"sort" | b"present", [of, ..]) => of.is_filtered(),
                (name, _) => matches!(
                    name,
                    b"author"
                        | b"branch"
                        | b"closed"
                        | b"date"
                        | b"desc"
                        | b"draft"
                        | b"file"
                        | b"keyword"
                        | b"merge"
                        | b"public"
                        | b"secret"
                        | b"user"
                ),
            },
            Self::Group(inner) => inner.is_filtered(),
            Self::And(..) | Self::Minus(..) | Self::Or(..) | Self::Not(_) => true,
            _ => false,
        }
    }

    /// Returns the word that this expression is, without a sign before it.
    fn as_word(&self) -> Option<&BString> {
        match self {
            Self::Symbol(word) | Self::Text(word) => Some(word),
            Self::Group(inner) => inner.as_word(),
            _ => None,
        }
    }
}

/// Returns the numbers of those that are changesets.
fn changesets(found: &[Target]) -> Vec<u32> {
    let number = |target: &Target| match target {
        Target::Changeset(number) => Some(*number),
        _ => None,
    };
    found.iter().filter_map(number).collect()
}

/// Returns the sort key of a target in a range.
pub(super) fn order(target: Target) -> u64 {
    match target {
        Target::Null => 0,
        Target::Changeset(number) => u64::from(number).saturating_add(1),
        Target::WorkingCopy => u64::MAX,
    }
}

pub(super) fn targets(numbers: impl IntoIterator<Item = u32>) -> Set {
    numbers.into_iter().map(Target::Changeset).collect()
}

pub(super) fn sorted(mut found: Set) -> Set {
    found.sort_unstable_by_key(|target| order(*target));
    found.dedup();
    found
}

fn without_null(mut found: Set) -> Set {
    found.retain(|target| *target != Target::Null);
    sorted(found)
}

/// Appends what is not in the set yet.
fn add(found: &mut Set, more: Set) {
    let known: HashSet<Target> = found.iter().copied().collect();
    found.extend(more.into_iter().filter(|target| !known.contains(target)));
}
