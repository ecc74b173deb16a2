//! What walks through the history of commits, and what goes by their names: names of objects (gitrevisions(7)), describe,
//! ahead and behind, tags and mailmap.
//!
//! May import `git` and what is below it. It reads no index entry and no file of the working tree.

pub mod branch;
pub mod commits;
pub mod describe;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
pub mod mailmap;
pub mod revision;
pub mod tags;
#[cfg(test)]
pub(crate) mod testing;
