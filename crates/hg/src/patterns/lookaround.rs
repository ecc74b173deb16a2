//! Expressions with lookahead or lookbehind, which the `regex` crate does not support.
//!
//! Matching computes for all positions of a text at once, from its end back to its beginning, from which states of the
//! automaton the end of the expression is reached. What an assertion looks for is computed in the same way. So the time is at
//! most proportional to the length of the text times the size of the expression, whatever they are.

use std::cell::OnceCell;

use regex::bytes::{RegexSet, RegexSetBuilder};
use regex_automata::nfa::thompson::{Compiler, Config, NFA, State, WhichCaptures};
use regex_automata::util::primitives::StateID;
use regex_automata::util::syntax;

use super::regular::LookaroundRegex;

/// How deep parts of an expression may be nested.
pub(super) const NEST_MAX: u32 = 2000;
/// The maximum size in bytes of one compiled expression.
const SIZE_MAX: usize = 1 << 20;
/// The maximum number of states of all expressions together.
const STATES_MAX: usize = 20_000;

/// Expressions that match from the beginning of a text.
#[derive(Clone, Debug, Default)]
pub(super) struct LookaroundSet {
    /// A prefilter: each matches at least what the expression of the same number in `exact` matches.
    prefilter: RegexSet,
    exact: Vec<Automaton>,
}

impl LookaroundSet {
    /// Compiles the expressions; returns `None` if they are too large.
    pub(super) fn new(all: &[LookaroundRegex]) -> Option<Self> {
        let mut states_left = STATES_MAX;
        let exact = all
            .iter()
            .map(|regex| Automaton::new(regex, &mut states_left));
        let exact = exact.collect::<Option<_>>()?;
        let prefilter =
            RegexSetBuilder::new(all.iter().map(|regex| format!(r"\A(?:{})", regex.text)))
                .unicode(false)
                .nest_limit(NEST_MAX)
                .build();
        Some(Self {
            prefilter: prefilter.ok()?,
            exact,
        })
    }

    /// Returns whether an expression matches at the beginning of `text`.
    pub(super) fn is_match(&self, text: &[u8]) -> bool {
        // Most patterns have no assertions, and many paths are asked about.
        if self.exact.is_empty() {
            return false;
        }
        let likely = self.prefilter.matches(text);
        let mut likely = likely.iter().filter_map(|number| self.exact.get(number));
        likely.any(|exact| exact.matches(text).first() == Some(&true))
    }
}

/// One expression, with its assertions.
#[derive(Clone, Debug)]
struct Automaton {
    nfa: NFA,
    /// The states that consume a byte.
    consuming: Vec<StateID>,
    /// For each state, the states that lead to it without consuming a byte.
    predecessors: Vec<Vec<StateID>>,
    lookarounds: Vec<CompiledLookaround>,
}

#[derive(Clone, Debug)]
struct CompiledLookaround {
    seen: Automaton,
    is_negated: bool,
    behind: Option<usize>,
}

impl Automaton {
    fn new(regex: &LookaroundRegex, states_left: &mut usize) -> Option<Self> {
        let syntax = syntax::Config::new().unicode(false).utf8(false);
        let syntax = syntax.nest_limit(NEST_MAX);
        let config = Config::new()
            .utf8(false)
            .which_captures(WhichCaptures::All)
            .nfa_size_limit(Some(SIZE_MAX));
        let mut compiler = Compiler::new();
        compiler.syntax(syntax).configure(config);
        let nfa = compiler.build(&regex.text).ok()?;
        *states_left = states_left.checked_sub(nfa.states().len())?;
        let mut consuming = Vec::new();
        let mut predecessors = vec![Vec::new(); nfa.states().len()];
        for (number, state) in nfa.states().iter().enumerate() {
            let id = StateID::new(number).ok()?;
            let mut leads_to = |next: StateID| {
                if let Some(of_next) = predecessors.get_mut(next.as_usize()) {
                    of_next.push(id);
                }
            };
            match state {
                State::ByteRange { .. } | State::Sparse(_) | State::Dense(_) => consuming.push(id),
                State::Look { next, .. } | State::Capture { next, .. } => leads_to(*next),
                State::Union { alternates } => alternates.iter().copied().for_each(leads_to),
                State::BinaryUnion { alt1, alt2 } => [*alt1, *alt2].into_iter().for_each(leads_to),
                State::Fail | State::Match { .. } => {}
            }
        }
        let compiled = regex.lookarounds.iter().map(|look| {
            Some(CompiledLookaround {
                seen: Self::new(&look.seen, states_left)?,
                is_negated: look.is_negated,
                behind: look.behind,
            })
        });
        Some(Self {
            lookarounds: compiled.collect::<Option<_>>()?,
            nfa,
            consuming,
            predecessors,
        })
    }

    /// Returns, for each position of `text` up to the one after its end, whether the expression matches from there.
    fn matches(&self, text: &[u8]) -> Vec<bool> {
        let seen: Vec<OnceCell<Vec<bool>>> = vec![OnceCell::new(); self.lookarounds.len()];
        let mut matches = vec![false; text.len().saturating_add(1)];
        let mut here = StateWorklist::new(self.predecessors.len());
        let mut after = StateWorklist::new(self.predecessors.len());
        for at in (0..=text.len()).rev() {
            std::mem::swap(&mut here, &mut after);
            here.clear();
            for (number, state) in self.nfa.states().iter().enumerate() {
                if matches!(state, State::Match { .. }) {
                    here.add(number);
                }
            }
            if let Some(letter) = text.get(at) {
                for id in &self.consuming {
                    let next = match self.nfa.state(*id) {
                        State::ByteRange { trans } => {
                            trans.matches_byte(*letter).then_some(trans.next)
                        }
                        State::Sparse(all) => all.matches_byte(*letter),
                        State::Dense(all) => all.matches_byte(*letter),
                        _ => None,
                    };
                    if next.is_some_and(|next| after.has(next)) {
                        here.add(id.as_usize());
                    }
                }
            }
            while let Some(reached) = here.next() {
                for id in self.predecessors.get(reached).into_iter().flatten() {
                    if !here.has(*id) && self.is_open(*id, text, at, &seen) {
                        here.add(id.as_usize());
                    }
                }
            }
            if let Some(is_match) = matches.get_mut(at) {
                *is_match = here.has(self.nfa.start_anchored());
            }
        }
        matches
    }

    /// Returns whether the state may be left at this position without consuming a byte.
    fn is_open(&self, id: StateID, text: &[u8], at: usize, seen: &[OnceCell<Vec<bool>>]) -> bool {
        match self.nfa.state(id) {
            State::Look { look, .. } => self.nfa.look_matcher().matches(*look, text, at),
            // The first group is the whole expression. The others are empty and mark assertions; each has two such states.
            State::Capture {
                group_index, slot, ..
            } if slot.as_usize().is_multiple_of(2) => {
                let number = group_index.as_usize().checked_sub(1);
                let look = number.and_then(|number| {
                    let (look, seen) = (self.lookarounds.get(number)?, seen.get(number)?);
                    Some((look, seen.get_or_init(|| look.seen.matches(text))))
                });
                let Some((look, seen)) = look else {
                    return true;
                };
                let start = at.checked_sub(look.behind.unwrap_or(0));
                let is_there = start.and_then(|start| seen.get(start).copied());
                is_there.unwrap_or(false) != look.is_negated
            }
            _ => true,
        }
    }
}

/// States that were reached, and those of them still to be processed.
struct StateWorklist {
    all: Vec<bool>,
    left: Vec<usize>,
}

impl StateWorklist {
    fn new(states: usize) -> Self {
        Self {
            all: vec![false; states],
            left: Vec::new(),
        }
    }

    fn clear(&mut self) {
        self.all.fill(false);
        self.left.clear();
    }

    fn add(&mut self, number: usize) {
        if let Some(has) = self.all.get_mut(number)
            && !*has
        {
            *has = true;
            self.left.push(number);
        }
    }

    fn has(&self, id: StateID) -> bool {
        self.all.get(id.as_usize()).copied().unwrap_or(false)
    }

    /// Takes a state that is still to be processed.
    fn next(&mut self) -> Option<usize> {
        self.left.pop()
    }
}

#[cfg(test)]
mod tests;
