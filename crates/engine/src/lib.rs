//! Answers what changed in one working copy. Works without a daemon.
//!
//! The engine never prints, never reads the process's environment, never exits and never names a socket: what it
//! may know of its surroundings comes in an [`environment::Environment`], what it has to say goes out in values.

mod checked_out;
pub mod dirty;
mod git_ignore_files;
mod git_system;
pub mod prompt;
pub mod session;
pub mod state;
pub mod status;
#[cfg(test)]
pub(crate) mod testing;

pub use vigil_model as model;
