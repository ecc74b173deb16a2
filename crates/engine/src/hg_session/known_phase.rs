//! A cache of the phase of the first parent: in a long history, finding it means walking over many changesets.

use vigil_hg::checkout::Phase;
use vigil_hg::node::Node;
use vigil_hg::repository::Repository;
use vigil_linux::stat::stat_path;
use vigil_stamp::Stamp;

/// The phase as of the last question, and what it was read from.
#[derive(Default)]
pub(super) struct KnownPhase(Option<(PhaseSeen, Phase)>);

/// What the phase of a changeset depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PhaseSeen {
    node: Node,
    roots: Stamp,
    changelog: Stamp,
}

impl PhaseSeen {
    /// Looks at the files. Returns `None` if one is missing, or may change without another stamp.
    fn now(repository: &Repository, node: &Node) -> Option<Self> {
        let now = vigil_stamp::now();
        let stamp = |path| Stamp::trusted(&stat_path(path).ok()?, now);
        Some(Self {
            node: *node,
            roots: stamp(&Phase::roots_path(repository))?,
            changelog: stamp(&repository.store().changelog_index())?,
        })
    }
}

impl KnownPhase {
    /// Returns the phase of the changeset `node`, or `None` if the store cannot be read.
    pub(super) fn read(&mut self, repository: &Repository, node: &Node) -> Option<Phase> {
        let seen = PhaseSeen::now(repository, node);
        if let Some((known, phase)) = &self.0
            && Some(*known) == seen
        {
            return Some(*phase);
        }
        let phase = Phase::of(repository, node);
        // A store that could not be read may be readable the next time, and look the same.
        self.0 = seen.zip(phase);
        phase
    }

    /// Whether the phase of the changeset `node` would be taken from memory.
    #[cfg(test)]
    pub(super) fn is_kept(&self, repository: &Repository, node: &Node) -> bool {
        let known = self.0.map(|(seen, _)| seen);
        known.is_some() && known == PhaseSeen::now(repository, node)
    }
}
