//! Compares `vigil hg status` with Mercurial.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "all of this is tests"
)]

mod codes;
mod configured;
mod daemon;
mod dirstate;
mod doctor;
mod formats;
mod here;
mod listed;
mod named;
mod narrow;
mod odd_names;
mod random;
mod revisions;
mod rewritten;
mod sandbox;
mod sets;
mod sparse;
mod state;
mod stored;
mod subrepositories;
mod templates;
mod unfinished;
mod unreadable;
mod why;
