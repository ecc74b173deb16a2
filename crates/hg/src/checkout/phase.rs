//! Phases: how far a changeset is known to others.
//!
//! The store lists roots, each with its phase. A changeset has the highest phase of those roots that it is, or descends from.

use std::collections::{BTreeMap, HashMap};

use bstr::ByteSlice;

use crate::abort::Abort;
use crate::ancestry;
use crate::bytes::trim;
use crate::node::Node;
use crate::repository::Repository;
use crate::revlog::Revlog;
use crate::text_file;

/// How far a changeset is known to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// It was exchanged, and does not change.
    Public,
    /// It may change.
    Draft,
    /// It may change, and is not exchanged.
    Secret,
    /// It is kept, and not shown.
    Archived,
    /// It is Mercurial's own.
    Internal,
}

impl Phase {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Draft => "draft",
            Self::Secret => "secret",
            Self::Archived => "archived",
            Self::Internal => "internal",
        }
    }

    fn of_number(number: &[u8]) -> Option<Self> {
        match number {
            b"0" => Some(Self::Public),
            b"1" => Some(Self::Draft),
            b"2" => Some(Self::Secret),
            b"32" => Some(Self::Archived),
            b"96" => Some(Self::Internal),
            _ => None,
        }
    }
}

/// The phase of the changeset `node`. `None` where it is not known, or the store cannot be read.
pub(super) fn of(repository: &Repository, node: &Node) -> Option<Phase> {
    if node.is_null() {
        return Some(Phase::Public);
    }
    let roots = roots(repository).ok()?;
    if roots.is_empty() {
        return Some(Phase::Public);
    }
    if let Some(phase) = roots.get(node)
        && roots.values().all(|other| other <= phase)
    {
        return Some(*phase);
    }
    highest_above(&repository.store().changelog().ok()?, node, &roots)
}

impl Phase {
    /// The phase of each changeset; `None` where what says so cannot be read, or is not understood.
    pub(crate) fn of_all(repository: &Repository, changelog: &Revlog) -> Option<Vec<Self>> {
        let roots = roots(repository).ok()?;
        let len = u32::try_from(changelog.len()).ok()?;
        let mut phases: Vec<Self> = Vec::with_capacity(changelog.len());
        for number in 0..len {
            let parents = ancestry::parents(changelog, number).into_iter().flatten();
            let inherited = parents.filter_map(|parent| phases.get(parent as usize).copied());
            let own = changelog
                .node(number)
                .and_then(|node| roots.get(&node).copied());
            phases.push(inherited.chain(own).max().unwrap_or(Self::Public));
        }
        Some(phases)
    }
}

/// The roots, with their phases.
///
/// # Errors
/// They cannot be read, or are damaged.
pub(crate) fn roots(repository: &Repository) -> Result<HashMap<Node, Phase>, Abort> {
    let path = repository.store().folder().join("phaseroots");
    let text = text_file::read_if_there(&path)?;
    parse(&text).ok_or_else(|| Abort::damaged(&path, "a line is no root of a phase"))
}

/// The roots of a list that is none but what it should be.
fn parse(text: &[u8]) -> Option<HashMap<Node, Phase>> {
    let lines = text.lines().filter(|line| !trim(line).is_empty());
    let root = |line: &[u8]| {
        let (number, node) = trim(line).split_once_str(" ")?;
        Some((Node::from_hex(node)?, Phase::of_number(number)?))
    };
    lines.map(root).collect()
}

/// What is done with bytes from a fuzzer.
#[cfg(feature = "fuzzing")]
pub(super) fn fuzz(bytes: &[u8]) {
    let _ = parse(bytes);
}

/// The highest phase of those `roots` that are `node` or above it. Nothing before the first root is looked at.
fn highest_above(changelog: &Revlog, node: &Node, roots: &HashMap<Node, Phase>) -> Option<Phase> {
    let mut by_number: BTreeMap<u32, Phase> = BTreeMap::new();
    let mut start = None;
    let mut missing = roots.len();
    // What is listed or checked out is mostly young.
    for number in (0..u32::try_from(changelog.len()).ok()?).rev() {
        let found = changelog.node(number)?;
        if found == *node {
            start = Some(number);
        }
        if let Some(phase) = roots.get(&found) {
            by_number.insert(number, *phase);
            missing = missing.saturating_sub(1);
        }
        if missing == 0 && start.is_some() {
            break;
        }
    }
    let highest = *roots.values().max()?;
    let first = by_number.first_key_value().map(|(number, _)| *number);
    let Some(first) = first else {
        return start.map(|_| Phase::Public);
    };
    let mut phase = Phase::Public;
    // The children of all that is still to come were met: a number is put in once.
    let mut pending = std::collections::BTreeSet::from([start?]);
    while let Some(number) = pending.pop_last() {
        if let Some(root) = by_number.get(&number) {
            phase = phase.max(*root);
            if phase == highest {
                break;
            }
        }
        let revision = changelog.revision(number)?;
        for parent in [revision.p1, revision.p2] {
            let parent = u32::try_from(parent).ok();
            // A parent that does not come before its child is damage, and would lead in circles.
            pending.extend(parent.filter(|parent| *parent >= first && *parent < number));
        }
    }
    Some(phase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_are_lines_of_a_number_and_a_node() {
        let node = "0123456789abcdef0123456789abcdef01234567";
        let text = format!("1 {node}\n96 {}\n", "f".repeat(40));
        let read = parse(text.as_bytes()).unwrap();
        let phase = read.get(&Node::from_hex(node.as_bytes()).unwrap());
        assert_eq!((read.len(), phase), (2, Some(&Phase::Draft)));
        assert_eq!(parse(b""), Some(HashMap::new()));
        for damaged in ["1", "1 xyz", "7 0123456789abcdef0123456789abcdef01234567"] {
            assert_eq!(parse(damaged.as_bytes()), None, "{damaged}");
        }
    }
}
