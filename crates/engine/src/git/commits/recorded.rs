//! What tells of many commits at once: git's commit-graph, or what is remembered of a walk.

use gix_commitgraph::{Graph, Position};
use gix_hash::{ObjectId, oid};

use super::memory::{CommitMemory, Facts};
use super::{GENERATION_UNKNOWN, first_bytes};

/// Commits by their positions in the order of their ids.
pub(super) enum Recorded {
    /// git's own file.
    Graph(Box<Graph>),
    /// Vigil's.
    Memory(CommitMemory),
}

impl Recorded {
    /// How many positions there are.
    pub(super) fn count(&self) -> u32 {
        match self {
            Self::Graph(graph) => graph.num_commits(),
            Self::Memory(memory) => memory.count(),
        }
    }

    /// The position of the commit `id`.
    pub(super) fn position_of(&self, id: &oid) -> Option<u32> {
        match self {
            Self::Graph(graph) => graph.lookup(id).map(|position| position.0),
            Self::Memory(memory) => memory.position_of(id),
        }
    }

    /// The id at `position`, which is one of those there are.
    pub(super) fn id_at(&self, position: u32) -> Option<ObjectId> {
        match self {
            Self::Graph(graph) => Some(graph.id_at(Position(position)).to_owned()),
            Self::Memory(memory) => memory.id_at(position),
        }
    }

    /// The tree of the commit at `position`.
    pub(super) fn tree_at(&self, position: u32) -> Option<ObjectId> {
        match self {
            Self::Graph(graph) => {
                let commit = graph.commit_at(Position(position));
                Some(commit.root_tree_id().to_owned())
            }
            Self::Memory(memory) => memory.tree_at(position),
        }
    }

    /// What is recorded of the commit at `position`, whose parents' positions are added to `parents`. `None` where the
    /// file is damaged there, or has no more than the id.
    pub(super) fn read(&self, position: u32, parents: &mut Vec<u32>) -> Option<Facts> {
        match self {
            Self::Graph(graph) => {
                let commit = graph.commit_at(Position(position));
                for parent in commit.iter_parents() {
                    let parent = parent
                        .ok()
                        .filter(|parent| parent.0 < graph.num_commits())?;
                    parents.push(parent.0);
                }
                Some(Facts {
                    time_s: commit.committer_timestamp(),
                    // The oldest writers left the generation out.
                    generation: match commit.generation() {
                        0 => GENERATION_UNKNOWN,
                        generation => generation,
                    },
                    first: first_bytes(commit.id()),
                })
            }
            Self::Memory(memory) => memory.read(position, parents),
        }
    }
}
