//! Answers what changed in one working copy, by putting the lower crates together. Works without a daemon.
//!
//! May import everything but `daemon` and `cli`. The engine never prints, never reads the process's environment, never exits
//! and never names a socket: what it may know about its process comes in an
//! [`Environment`](vigil_git::environment::Environment), and its messages are returned as values.

mod checked_out;
pub mod dirty;
mod git_ignore_files;
mod git_system;
pub mod hg_large_files;
pub mod hg_session;
pub mod hg_status;
mod hg_system;
pub mod prompt;
pub mod removal;
pub mod session;
pub mod state;
pub mod status;
#[cfg(test)]
pub(crate) mod testing;
