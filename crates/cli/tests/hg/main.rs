//! Compares `vigil hg status` with Mercurial.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "all of this is tests"
)]

mod command_line;
mod daemon;
mod defaults_and_aliases;
mod dirstate;
mod doctor;
mod exit_codes;
mod extensions;
mod file_systems;
mod formats;
mod ignore_files;
mod narrow;
mod odd_names;
mod pager;
mod random;
mod recorded_listings;
mod refusals;
mod revision_sets;
mod revisions;
mod rewritten_store;
mod sandbox;
mod sparse;
mod state;
mod status;
mod store_contents;
mod subrepositories;
mod templates;
mod unfinished_operations;
mod unreadable;
mod vigils_own_commands;
mod why;
