//! Phases: whether a changeset is known to others, and may still change.
//!
//! The store lists roots, each with its phase. The phase of a changeset is the highest of itself and its ancestors that
//! are roots.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use bstr::ByteSlice;

use crate::abort::Abort;
use crate::ancestry;
use crate::bytes::trim;
use crate::node::Node;
use crate::repository::Repository;
use crate::revlog::Revlog;
use crate::text_file;

/// The phase of a changeset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// The changeset was exchanged, and does not change.
    Public,
    /// The changeset may change.
    Draft,
    /// The changeset may change, and is not exchanged.
    Secret,
    /// The changeset is kept, and not shown.
    Archived,
    /// The changeset is for Mercurial's own use.
    Internal,
}

impl Phase {
    /// Returns the name of the phase.
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

impl Phase {
    /// Returns the phase of the changeset `node`, or `None` if the changeset is not known or the store cannot be read.
    pub fn of(repository: &Repository, node: &Node) -> Option<Self> {
        if node.is_null() {
            return Some(Self::Public);
        }
        let roots = roots(repository).ok()?;
        if roots.is_empty() {
            return Some(Self::Public);
        }
        if let Some(phase) = roots.get(node)
            && roots.values().all(|other| other <= phase)
        {
            return Some(*phase);
        }
        highest_above(&repository.store().changelog().ok()?, node, &roots)
    }

    /// The path of the list of roots. Changing the phase of a changeset writes there, and so does adding one that is not public.
    pub fn roots_path(repository: &Repository) -> PathBuf {
        repository.store().folder().join("phaseroots")
    }

    /// Returns the phase of each changeset, or `None` if the roots cannot be read or understood.
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

/// Reads the roots with their phases.
///
/// # Errors
/// The list cannot be read, or is damaged.
pub(crate) fn roots(repository: &Repository) -> Result<HashMap<Node, Phase>, Abort> {
    let path = Phase::roots_path(repository);
    let text = text_file::read_if_there(&path)?.unwrap_or_default();
    parse(&text).ok_or_else(|| Abort::damaged(&path, "a line is no root of a phase"))
}

/// Parses a list of roots; returns `None` if any line is not a root.
fn parse(text: &[u8]) -> Option<HashMap<Node, Phase>> {
    let lines = text.lines().filter(|line| !trim(line).is_empty());
    let root = |line: &[u8]| {
        let (number, node) = trim(line).split_once_str(" ")?;
        Some((Node::from_hex(node)?, Phase::of_number(number)?))
    };
    lines.map(root).collect()
}

/// The entry point of the fuzzer.
#[cfg(feature = "fuzzing")]
pub(super) fn fuzz(bytes: &[u8]) {
    let _ = parse(bytes);
}

/// Returns the highest phase among the `roots` that are `node` or its ancestors. The walk ends at the first root.
fn highest_above(changelog: &Revlog, node: &Node, roots: &HashMap<Node, Phase>) -> Option<Phase> {
    let mut by_number: BTreeMap<u32, Phase> = BTreeMap::new();
    let mut start = None;
    let mut missing = roots.len();
    // The changesets asked for are mostly recent, so the search begins at the end.
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
    // Numbers are taken from the highest down, so all children of a changeset come before it, and it is visited once.
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
            // A parent whose number is not below its child's is damage, and would make the walk endless.
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
