//! `vigil gitstatusd` as a process, driven over pipes as by a shell.

#![allow(clippy::unwrap_used, reason = "all of this is tests")]
#![allow(clippy::panic, reason = "all of this is tests")]
#![allow(clippy::indexing_slicing, reason = "all of this is tests")]

mod bad_input;
mod daemon;
mod damage;
mod environment;
mod few_descriptors;
mod lifecycle;
mod options;
mod protocol;
mod repeated_questions;
mod sandbox;
mod shells;
