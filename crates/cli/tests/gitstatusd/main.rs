//! `vigil gitstatusd` as a process, driven over pipes as by a shell.

#![allow(clippy::unwrap_used, reason = "all of this is tests")]
#![allow(clippy::panic, reason = "all of this is tests")]
#![allow(clippy::indexing_slicing, reason = "all of this is tests")]

mod bad_input;
mod daemon;
mod damage;
mod environment;
mod in_a_row;
mod life;
mod options;
mod protocol;
mod sandbox;
mod shells;
