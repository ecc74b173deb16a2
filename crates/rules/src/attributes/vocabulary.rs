//! The attributes that matter to a question, as numbers: those that were asked for, and the macros that set them.
//! All other attributes are skipped.

use std::collections::HashMap;
use std::sync::Arc;

use bstr::{BStr, BString};

use super::parse::{Assignment, Rules};
use super::source::Loaded;
use super::value::Value;

/// The attributes of one question, with the macros that the files define.
pub(super) struct Vocabulary {
    /// The names that were asked for.
    asked: Vec<BString>,
    /// The files that may define macros, in order of precedence, the highest first.
    sources: Vec<Arc<Loaded>>,
    numbers: HashMap<BString, usize>,
    /// The assignments of each macro, by its number, as far as they are in this vocabulary.
    macros: Vec<Vec<(usize, Value)>>,
}

impl Vocabulary {
    /// Makes the vocabulary of a question for `asked`, where `sources` and then `built_in` define macros.
    pub(super) fn new(asked: &[&str], sources: Vec<Arc<Loaded>>, built_in: &Rules) -> Self {
        let yielding = sources.iter().rev().map(|loaded| &*loaded.rules);
        let mut defined: HashMap<&BStr, &[Assignment]> = HashMap::new();
        for rules in std::iter::once(built_in).chain(yielding) {
            for (name, assignments) in &rules.macros {
                defined.insert(name.as_ref(), assignments);
            }
        }
        let mut users: HashMap<&BStr, Vec<&BStr>> = HashMap::new();
        for (name, assignments) in &defined {
            for assignment in *assignments {
                let users = users.entry(assignment.name.as_ref()).or_default();
                users.push(name);
            }
        }
        let mut numbers: HashMap<BString, usize> = HashMap::new();
        let mut words: Vec<&BStr> = Vec::new();
        let mut waiting: Vec<&BStr> = asked.iter().map(|name| BStr::new(*name)).collect();
        while let Some(word) = waiting.pop() {
            if !numbers.contains_key(word) {
                numbers.insert(word.to_owned(), words.len());
                words.push(word);
                waiting.extend(users.get(word).into_iter().flatten());
            }
        }
        let macros = words.iter().map(|word| {
            let assignments = defined.get(word).copied().unwrap_or_default();
            let number = |assignment: &Assignment| numbers.get(&assignment.name).copied();
            let assignments = assignments.iter();
            assignments
                .filter_map(|assignment| Some((number(assignment)?, assignment.value.clone())))
                .collect()
        });
        Self {
            asked: asked.iter().map(|name| BString::from(*name)).collect(),
            macros: macros.collect(),
            numbers,
            sources,
        }
    }

    /// Whether this is the vocabulary of a question for `asked`, where `sources` define macros.
    pub(super) fn is_of<'a>(
        &self,
        asked: &[&str],
        sources: impl ExactSizeIterator<Item = &'a Arc<Loaded>>,
    ) -> bool {
        self.asked.len() == asked.len()
            && self.sources.len() == sources.len()
            && (self.asked.iter().zip(asked)).all(|(ours, theirs)| ours == theirs)
            && (self.sources.iter().zip(sources)).all(|(ours, theirs)| Arc::ptr_eq(ours, theirs))
    }

    /// The number of attributes in it.
    pub(super) fn len(&self) -> usize {
        self.macros.len()
    }

    /// Returns the number of `name`, if it matters to the question.
    pub(super) fn number(&self, name: &BStr) -> Option<usize> {
        self.numbers.get(name).copied()
    }

    /// Returns the assignments of the macro with this number, or nothing if it is no macro.
    pub(super) fn meaning(&self, number: usize) -> &[(usize, Value)] {
        self.macros
            .get(number)
            .map(Vec::as_slice)
            .unwrap_or_default()
    }
}
