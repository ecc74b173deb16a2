//! Vigil's long-lived processes: the protocol, the options and the loop of gitstatusd, and the sessions that it keeps.
//!
//! May import `engine` and what is below it. It never answers by itself what a repository is like, which is asked of a
//! session, and it never ends because of a request or a repository.

#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
pub mod gitstatusd;
pub mod protocol;
pub mod variables;
pub mod view;
