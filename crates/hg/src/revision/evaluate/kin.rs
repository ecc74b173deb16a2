//! Changesets that are related to others: parents and children, ancestors and descendants.

use std::collections::HashSet;

use bstr::ByteSlice;

use super::{Evaluation, Set, changesets, sorted, targets, without_null};
use crate::abort::{Abort, Kind};
use crate::ancestry;
use crate::revision::Target;
use crate::revision::expression::{Expression, number};

impl Evaluation<'_, '_> {
    /// Evaluates `inner^which`: the parents in that place.
    pub(super) fn parents_by_place(
        &mut self,
        inner: &Expression,
        which: &Expression,
    ) -> Result<Set, Abort> {
        let which = which.as_word().and_then(|word| word.to_str().ok());
        let which = which.and_then(|word| word.parse::<i64>().ok());
        let which = which.filter(|which| (0..=2).contains(which));
        let which = which.ok_or_else(|| Abort::of(Kind::Parse, "^ expects a number 0, 1, or 2"))?;
        let found = match which {
            0 => self.set(inner)?,
            _ => self.set_with_parents(inner)?,
        };
        let parent = |target: &Target| match which {
            0 => *target,
            1 => self.revisions.parent_of(*target),
            _ => self.revisions.second_parent_of(*target),
        };
        let parents: Set = found.iter().map(parent).collect();
        Ok(match which {
            2 => without_null(parents),
            _ => sorted(parents),
        })
    }

    /// Evaluates `inner~count`: the ancestors at that distance along first parents, or the descendants if `count` is negative.
    pub(super) fn ancestors_by_distance(
        &mut self,
        inner: &Expression,
        count: &Expression,
    ) -> Result<Set, Abort> {
        let word = count.word();
        let count = number(
            word.as_ref().map(|word| word.as_bstr()),
            "~ expects a number",
        )?;
        let count = count.ok_or_else(|| self.refused())?;
        let found = match count > 0 {
            true => self.set_with_parents(inner)?,
            false => self.set(inner)?,
        };
        match count < 0 {
            true => self.only_descendants(&found, count.unsigned_abs()),
            false => Ok(sorted(
                found
                    .iter()
                    .map(|target| self.nth_ancestor(*target, count))
                    .collect(),
            )),
        }
    }

    /// Evaluates `first::last`: the descendants of `first` that are ancestors of `last`, where they are given.
    pub(super) fn path(
        &mut self,
        first: Option<&Expression>,
        last: Option<&Expression>,
    ) -> Result<Set, Abort> {
        match (first, last) {
            (Some(first), Some(last)) => {
                let (first, last) = (self.set(first)?, self.changeset_numbers(last)?);
                let below = self.with_descendants(&first)?;
                let above: HashSet<u32> = self.ancestors(&last).into_iter().collect();
                let mut found: Set = Vec::new();
                for target in below {
                    match target {
                        // Everything descends from the null revision.
                        Target::Null if !last.is_empty() => found.push(target),
                        Target::Changeset(number) if above.contains(&number) => found.push(target),
                        _ => {}
                    }
                }
                Ok(found)
            }
            (Some(first), None) => {
                let first = self.set(first)?;
                self.with_descendants(&first)
            }
            (None, Some(last)) => {
                let last = self.set_with_parents(last)?;
                Ok(self.with_ancestors(&last))
            }
            (None, None) => Err(self.refused()),
        }
    }

    /// Returns these and their descendants, in order.
    pub(super) fn with_descendants(&self, found: &[Target]) -> Result<Set, Abort> {
        if found.contains(&Target::Null) {
            let mut all = self.all();
            all.insert(0, Target::Null);
            return Ok(all);
        }
        Ok(targets(self.descendants(&self.numbers(found)?)))
    }

    /// Returns these and their ancestors, in order; the null revision only if it is one of these.
    pub(super) fn with_ancestors(&self, found: &[Target]) -> Set {
        let mut heads = changesets(found);
        let has_working_copy = found.contains(&Target::WorkingCopy);
        if has_working_copy {
            heads.extend(changesets(&self.revisions.parents));
        }
        let null = found.contains(&Target::Null).then_some(Target::Null);
        let working = has_working_copy.then_some(Target::WorkingCopy);
        let all = targets(self.ancestors(&heads)).into_iter();
        null.into_iter().chain(all).chain(working).collect()
    }

    /// Returns the ancestor at this distance along first parents.
    fn nth_ancestor(&self, target: Target, count: i64) -> Target {
        let mut target = target;
        for _ in 0..count {
            if target == Target::Null {
                break;
            }
            target = self.revisions.parent_of(target);
        }
        target
    }

    /// `X~-N`: goes to the only child, `N` times.
    fn only_descendants(&self, found: &[Target], count: u64) -> Result<Set, Abort> {
        let mut reached = Set::new();
        for number in self.numbers(found)? {
            let mut at = Some(number);
            for _ in 0..count {
                let Some(parent) = at else { break };
                let children = self.children(&[parent]);
                at = match children.as_slice() {
                    [] => None,
                    [only] => Some(*only),
                    _ => {
                        let message = "revision in set has more than one child";
                        return Err(Abort::of(Kind::Input, message));
                    }
                };
            }
            reached.extend(at.map(Target::Changeset));
        }
        Ok(sorted(reached))
    }

    /// Returns the parents of a changeset, without the null revision.
    pub(in crate::revision) fn parents(&self, number: u32) -> impl Iterator<Item = u32> {
        ancestry::parents(&self.revisions.changelog, number)
            .into_iter()
            .flatten()
    }

    /// Returns these changesets and their ancestors, in order.
    pub(in crate::revision) fn ancestors(&self, heads: &[u32]) -> Vec<u32> {
        let mut is_above = vec![false; self.len() as usize];
        for number in heads {
            mark(&mut is_above, *number);
        }
        for number in (0..self.len()).rev() {
            if is_marked(&is_above, number) {
                self.parents(number)
                    .for_each(|parent| mark(&mut is_above, parent));
            }
        }
        marked(&is_above)
    }

    /// Returns these changesets and their descendants, in order.
    fn descendants(&self, roots: &[u32]) -> Vec<u32> {
        let mut is_below = vec![false; self.len() as usize];
        for number in roots {
            mark(&mut is_below, *number);
        }
        for number in self.revisions.visible() {
            if self
                .parents(number)
                .any(|parent| is_marked(&is_below, parent))
            {
                mark(&mut is_below, number);
            }
        }
        marked(&is_below)
    }

    /// Returns the children of these changesets, in order.
    pub(super) fn children(&self, parents: &[u32]) -> Vec<u32> {
        let parents: HashSet<u32> = parents.iter().copied().collect();
        let mut all = self.revisions.visible();
        all.retain(|number| {
            self.parents(*number)
                .any(|parent| parents.contains(&parent))
        });
        all
    }

    /// Returns the ancestors of `first` that are none of `second`, or, without that, of other heads.
    pub(super) fn only(
        &mut self,
        first: &Expression,
        second: Option<&Expression>,
    ) -> Result<Set, Abort> {
        let first = self.set(first)?;
        let (heads, others) = match second {
            Some(second) => (self.changesets_or_null(&first)?, {
                let second = self.set(second)?;
                self.changesets_or_null(&second)?
            }),
            // Everything descends from the null revision.
            None if first.contains(&Target::Null) => (self.changesets_or_null(&first)?, Vec::new()),
            None => {
                let heads = self.numbers(&first)?;
                let below: HashSet<u32> = self.descendants(&heads).into_iter().collect();
                let mut others = self.revisions.heads();
                others.retain(|head| !below.contains(head));
                (heads, others)
            }
        };
        let without: HashSet<u32> = self.ancestors(&others).into_iter().collect();
        let mut found = self.ancestors(&heads);
        found.retain(|number| !without.contains(number));
        Ok(targets(found))
    }

    /// Returns the common ancestor of these, of which the working copy stands for its first parent.
    pub(super) fn common_ancestor(&self, heads: &[Target]) -> Result<Set, Abort> {
        if let [only] = heads {
            return Ok(targets(changesets(&[*only])));
        }
        let mut heads = heads.iter().map(|head| match head {
            Target::WorkingCopy => self.revisions.parent(),
            head => *head,
        });
        let mut common = heads.next();
        for head in heads {
            common = match (common, head) {
                (Some(Target::Changeset(one)), Target::Changeset(other)) => {
                    let best = ancestry::best_common(&self.revisions.changelog, one, other);
                    best.map(Target::Changeset)
                }
                _ => None,
            };
        }
        Ok(common
            .into_iter()
            .filter(|common| *common != Target::Null)
            .collect())
    }
}

fn mark(marks: &mut [bool], number: u32) {
    if let Some(mark) = marks.get_mut(number as usize) {
        *mark = true;
    }
}

fn is_marked(marks: &[bool], number: u32) -> bool {
    marks.get(number as usize).copied().unwrap_or_default()
}

/// Returns the numbers that are marked, in order.
fn marked(marks: &[bool]) -> Vec<u32> {
    let numbers = (0u32..).zip(marks);
    numbers
        .filter_map(|(number, mark)| mark.then_some(number))
        .collect()
}
