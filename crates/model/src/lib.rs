//! Vigil's values, rules and formats: the index, the tree of tracked files, what a scan saw, when a stamp is proof, how a
//! question is asked and how a path changed.
//!
//! May import none of Vigil's other crates. Nothing here touches files, the clock, threads or the environment: all facts are
//! passed in.

pub mod bytes;
pub mod c_string;
pub mod calendar;
pub mod change;
pub mod clock;
pub mod config_value;
pub mod conversion;
pub mod counted;
pub mod escape;
pub mod facts;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
pub mod id_hasher;
pub mod index;
pub mod mode;
pub mod path;
pub mod path_set;
pub mod quote;
pub mod raw_text;
pub mod request;
pub mod seen;
pub mod state_layout;
pub mod timestamp;
pub mod tracked;
pub mod verdict;
pub mod white_space;
pub mod wildmatch;

pub use gix_hash::{Kind as HashKind, ObjectId, oid};
