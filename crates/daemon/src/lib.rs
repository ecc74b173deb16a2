//! Vigil's long-lived processes: the daemon of each user, and the gitstatusd that a shell starts. Also the daemon's clients.
//!
//! May import `engine`, `watch` and what is below them. It never works out a repository's status itself: a session does. How
//! `vigil status` formats its answer is passed in by the caller. It never ends because of a request or a repository.

mod accept;
mod ahead;
mod answers;
pub mod audit;
pub mod client;
mod declined;
mod deputy;
pub mod fsmonitor;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod git_sockets;
pub mod gitstatusd;
mod locate;
mod log;
mod mounts;
mod open_questions;
mod panics;
mod peer;
pub mod protocol;
pub mod runtime_folder;
pub mod server;
mod sessions;
mod spare_memory;
pub mod start;
mod statistics;
mod stream;
pub mod variables;
pub mod view;
mod work_ahead;

pub use answers::{DECLINED_REST, Printed, StatusWriter};
pub use declined::Declined;
