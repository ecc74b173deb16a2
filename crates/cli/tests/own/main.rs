//! The commands that git does not have.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "all of this is tests"
)]

mod doctor;
mod documents;
mod names;
mod sandbox;
mod state;
mod why;
