//! What git tracks, ignores and compares.

pub(crate) mod advice;
pub mod attributes;
pub mod branch;
pub(crate) mod commits;
pub mod config;
pub mod convert;
pub mod describe;
pub mod ignore;
pub mod index_file;
pub mod mailmap;
pub mod operation;
pub mod pathspec;
pub mod refs;
pub mod reftable;
pub mod renames;
pub mod repository;
pub mod revision;
pub mod sparse;
pub mod staged;
pub mod tags;
pub mod textconv;
pub mod wildmatch;

