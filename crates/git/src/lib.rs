//! One git repository: set-up, configuration, references, the index file, objects as the repository reads them, HEAD against
//! index, renames, the programs that git would start, and where Vigil's state for it is.
//!
//! May import `objects`, `store`, `stamp`, `model` and `linux`. It neither walks history nor looks at the files of the working
//! tree, and never writes in a repository.

pub mod advice;
pub mod child;
pub mod config;
pub mod environment;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
pub mod index_file;
pub mod installed;
pub mod locale;
pub mod maintenance;
pub mod objects;
pub mod operation;
pub mod promisor;
pub(crate) mod reflog;
pub mod refs;
pub mod reftable;
pub mod remote_objects;
pub mod renames;
pub mod repository;
pub mod staged;
pub mod state_place;
#[cfg(test)]
pub(crate) mod testing;
