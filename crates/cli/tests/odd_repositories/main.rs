//! Repositories in which something is missing or unusable, compared with git: the same bytes, messages and exit codes.

#![allow(clippy::unwrap_used, reason = "all of this is tests")]

mod commit_graph;
mod configuration;
mod index;
mod objects;
mod references;
mod remotes;
mod sandbox;
