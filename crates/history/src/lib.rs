//! Walks through the history of commits, and what needs them: names of objects (gitrevisions(7)), describe, ahead and
//! behind, tags and mailmap.
//!
//! May import `git` and what is below it. It reads the index only for names like `:path`, and of the working tree only
//! `.mailmap`.

pub mod branch;
pub mod commits;
pub mod describe;
pub mod detached;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
pub mod mailmap;
pub mod revision;
pub mod tags;
#[cfg(test)]
pub(crate) mod testing;
