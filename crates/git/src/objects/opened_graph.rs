//! The commit-graph, with what git says when it opens it (`core.commitGraph` and `commitGraph.*` in git-config(1)).

use std::path::PathBuf;
use std::sync::Arc;

use bstr::BString;
use gix_hash::Kind;
use vigil_objects::commit_graph::{CommitGraph, OptionalParts};

use crate::config::{self, Config};

/// The commit-graph as it was opened.
pub(super) struct OpenedGraph {
    /// `None` if there is none.
    pub(super) graph: Option<Arc<CommitGraph>>,
    /// What git writes to stderr when it opens it, as whole lines.
    pub(super) complaints: Vec<BString>,
}

impl OpenedGraph {
    /// Opens the first commit-graph in the `folders` of objects.
    pub(super) fn open(folders: &[PathBuf], hash: Kind, parts: OptionalParts) -> Self {
        let mut complaints = Vec::new();
        let graph = CommitGraph::open(folders, hash, parts, &mut complaints);
        Self {
            graph: graph.map(Arc::new),
            complaints,
        }
    }
}

/// Returns what git reads of a commit-graph; `None` if it uses none.
pub(super) fn graph_parts(config: &Config) -> Result<Option<OptionalParts>, config::Error> {
    if config.boolean("core.commitGraph")? == Some(false) {
        return Ok(None);
    }
    let number = |key: &str, default: i64| match config.entry(key) {
        Some(entry) => entry.int().map(i64::from),
        None => Ok(default),
    };
    let reads_paths = config.boolean("commitGraph.readChangedPaths")? != Some(false);
    let paths_version = number("commitGraph.changedPathsVersion", -i64::from(reads_paths))?;
    Ok(Some(OptionalParts {
        generations: number("commitGraph.generationVersion", 2)? >= 2,
        changed_paths: paths_version != 0,
    }))
}
