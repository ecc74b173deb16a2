//! Ancestors and descendants up to a number of generations.

use std::collections::{HashMap, HashSet};

use bstr::{BStr, ByteSlice};

use super::evaluate::{Evaluation, Set, sorted, targets};
use super::expression::{Expression, number};
use crate::abort::{Abort, Kind};

impl Evaluation<'_, '_> {
    /// Evaluates `name(set, depth)`, in which the arguments may have their names; returns `None` if it is no such function.
    pub(super) fn of_generations(
        &mut self,
        name: &BStr,
        arguments: &[Expression],
    ) -> Option<Result<Set, Abort>> {
        let is_upwards = match name.as_bytes() {
            b"ancestors" => true,
            b"descendants" => false,
            _ => return None,
        };
        let (of, depth) = match arguments {
            [of, depth] => (argument(of, "set")?, argument(depth, "depth")?),
            _ => return None,
        };
        Some(self.within(of, depth, is_upwards))
    }

    fn within(
        &mut self,
        of: &Expression,
        depth: &Expression,
        is_upwards: bool,
    ) -> Result<Set, Abort> {
        let name = if is_upwards {
            "ancestors"
        } else {
            "descendants"
        };
        let word = depth.word();
        let word = word.as_ref().map(|word| word.as_bstr());
        let depth = number(word, &format!("{name} expects an integer depth"))?;
        let depth = depth.ok_or_else(|| self.refused())?;
        if depth < 0 {
            return Err(Abort::of(Kind::Parse, "negative depth"));
        }
        let found = self.set(of)?;
        let mut last = self.numbers(&found)?;
        let children = match is_upwards {
            true => HashMap::new(),
            false => self.children_by_parent(),
        };
        let mut reached: HashSet<u32> = last.iter().copied().collect();
        for _ in 0..depth {
            let next: Vec<u32> = match is_upwards {
                true => last.iter().flat_map(|of| self.parents(*of)).collect(),
                false => {
                    let known = last.iter().filter_map(|of| children.get(of));
                    known.flatten().copied().collect()
                }
            };
            last = next.into_iter().filter(|of| reached.insert(*of)).collect();
            if last.is_empty() {
                break;
            }
        }
        Ok(sorted(targets(reached)))
    }

    fn children_by_parent(&self) -> HashMap<u32, Vec<u32>> {
        let mut children = HashMap::<u32, Vec<u32>>::new();
        for number in self.revisions.visible() {
            for parent in self.parents(number) {
                children.entry(parent).or_default().push(number);
            }
        }
        children
    }
}

/// Returns the argument that `given` is, if it has this name or none.
fn argument<'e>(given: &'e Expression, name: &str) -> Option<&'e Expression> {
    match given {
        Expression::Named(said, value) => said.is_symbol(name).then_some(&**value),
        other => Some(other),
    }
}
