//! Vigil's long-lived processes: the daemon of a user, and gitstatusd, which a shell starts; and those who ask the daemon.
//!
//! May import `engine`, `watch` and what is below them. It never answers by itself what a repository is like, which is asked of
//! a session; how `vigil status` writes its answer is handed in. It never ends because of a request or a repository.

mod ahead;
mod answers;
pub mod audit;
pub mod client;
mod declined;
mod doors;
pub mod fsmonitor;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
pub mod gitstatusd;
mod log;
mod mounts;
mod panics;
mod peer;
pub mod place;
pub mod protocol;
pub mod server;
mod sessions;
mod spare_memory;
pub mod start;
mod statistics;
mod stream;
pub mod variables;
pub mod view;
mod waiting;
mod work_ahead;

pub use answers::{DECLINED_REST, StatusWriter};
pub use declined::Declined;
