//! One Mercurial repository: where it is and what it requires, its configuration, dirstate, revlogs and patterns.
//!
//! May import `rules`, `store`, `stamp`, `model` and `linux`, and nothing of git. It reads and never writes, prints nothing, reads no
//! environment and walks over no working copy: what is on disk is compared with what it knows by whoever asks it. Errors are in
//! Mercurial's words, where it has some.

pub mod abort;
pub mod ancestry;
mod bookmarks;
pub mod bytes;
pub mod checkout;
pub mod config;
pub mod copies;
pub mod dirstate;
mod fields;
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
