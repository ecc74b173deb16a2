//! One Mercurial repository: where it is and what it requires, its configuration, dirstate, revlogs and patterns.
//!
//! May import `stamp`, `model` and `linux`, and nothing of git. It only reads the repository: it
//! never writes, prints, reads the environment or walks a working copy. Comparing the disk with what it knows is left
//! to the caller. Errors use Mercurial's words where it has some.

pub mod abort;
mod ancestry;
pub mod bookmarks;
pub mod bytes;
pub mod checkout;
pub mod config;
pub mod copies;
pub mod dirstate;
mod fields;
pub mod file_system;
pub mod large_files;
pub mod line_endings;
pub mod narrow;
pub mod node;
pub mod patterns;
pub mod portion_file;
pub mod repository;
pub mod revision;
pub mod revlog;
pub mod sparse;
pub mod stored;
pub mod subrepositories;
pub mod text_file;
pub mod verdict;
pub mod working_file;
